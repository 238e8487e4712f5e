// The B-link tree in all schedules with few preemptions. Its nodes have three ranks here, so that
// an insert splits a leaf, or a leaf and the root.
#include "engine/storage/btree.h"

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <span>

#include "engine/storage/arena.h"
#include "engine/storage/btree_removal.h"
#include "engine/storage/index.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

using SmallTree = btree::Tree<btree::ByKey, 3, 3>;
using Keys = std::vector<Key>;
constexpr Key kMostKeys = 32;
constexpr uint32_t kThreads = 3;

// The arenas of all schedules, one for each thread. They lie in the host's memory.
Arena& arena(uint32_t thread) {
  static auto& all = *HostAllocator<std::array<Arena, kThreads>>().allocate(1);
  static const bool made = (new (&all) std::array<Arena, kThreads>, true);
  return made ? all[thread] : all[0];
}

// A tree, and what the threads see of it. A thread that misses a key, or scans, notes the versions
// of the nodes, as OCC does: if the key is inserted later, one of them must change.
class KeysInATree {
 public:
  explicit KeysInATree(const Keys& present) : present_(present) {
    constexpr size_t kRoom = size_t{8} << 10;
    // A thread never finds its arena full: some schedules would have more steps than others.
    for (uint32_t i = 0; i < kThreads; ++i) {
      arena(i).free(arena(i).allocate(kRoom, alignof(SmallTree)), kRoom);
    }
    for (Key key = 0; key < kMostKeys; ++key) (*entries_)[key].key = key;
    for (const Key key : present) insert(key, 0);
  }

  // Returns what is wrong after all threads have ended: the tree must have all keys that were there
  // or were inserted, once each and in order, but those that were removed.
  std::string wrong() {
    if (wrong_ != nullptr) return wrong_;
    std::string expected, found;
    for (Key key = 0; key < kMostKeys; ++key) {
      if (!has_[key]) continue;
      expected += std::to_string(key) + " ";
      if (tree_->find(key, nullptr) != &(*entries_)[key]) return "a key is lost";
    }
    tree_->scan(0, kMostKeys, false, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (const Keyed* entry : entries) found += std::to_string(entry->key) + " ";
      return true;
    });
    return expected == found ? "" : "the tree has " + found + "in place of " + expected;
  }

 protected:
  // Also called by several threads with one key.
  void insert(Key key, uint32_t thread, Finger* finger = nullptr) {
    const InsertResult done =
        tree_->insert(&(*entries_)[key], arena(thread), nullptr, nullptr, finger);
    if (done.entry != &(*entries_)[key]) wrong_ = "an insert finds another key";
    if (done.inserted && has_[key]) wrong_ = "a key is inserted twice";
    has_[key] = has_[key] || done.inserted;
  }
  void remove(Key key) {
    std::vector<Retired> retired;
    has_[key] = false;
    tree_->remove(key, &(*entries_)[key], &retired);
  }
  // Looks for a key that was there from the beginning.
  void find_present(Key key, Finger* finger = nullptr) {
    if (tree_->find(key, nullptr, finger) != &(*entries_)[key]) wrong_ = "a key is not found";
  }
  // Looks for a key that is being inserted.
  void find_inserted(Key key, Finger* finger = nullptr) {
    NodeVersion missed_in;
    const Keyed* entry = tree_->find(key, &missed_in, finger);
    if (entry == nullptr) seen_[seen_count_++] = missed_in;
  }
  void scan(bool descending) {
    Key last = descending ? kMostKeys : 0;
    tree_->scan(0, kMostKeys, descending, [&](NodeVersion node, std::span<Keyed* const> entries) {
      seen_[seen_count_++] = node;
      for (const Keyed* entry : entries) {
        if (descending ? entry->key >= last : entry->key <= last) wrong_ = "a scan goes back";
        scanned_[last = entry->key] = true;
      }
      return true;
    });
  }

  // Returns whether the find, or the scan, that missed a key would notice that it came later.
  bool notices() const {
    if (seen_count_ == 0) return true;
    for (uint32_t i = 0; i < seen_count_; ++i) {
      if (seen_[i].node->structure.load() != seen_[i].structure) return true;
    }
    return false;
  }
  // Returns what is wrong with the one scan beside one insert.
  std::string wrong_after_scan(Key inserted) {
    for (const Key key : present_) {
      if (!scanned_[key]) return "a scan misses a key";
    }
    if (!scanned_[inserted] && !notices()) return "a scan does not notice an insert";
    return KeysInATree::wrong();
  }

 private:
  static constexpr uint32_t kMostSeen = 16;

  const Keys present_;
  std::unique_ptr<SmallTree> tree_ = std::make_unique<SmallTree>();
  std::unique_ptr<std::array<Keyed, kMostKeys>> entries_ =
      std::make_unique<std::array<Keyed, kMostKeys>>();
  std::array<bool, kMostKeys> has_{}, scanned_{};
  std::array<NodeVersion, kMostSeen> seen_;
  uint32_t seen_count_ = 0;
  const char* wrong_ = nullptr;
};

// A full leaf below the root; the inserts split it.
const Keys kFullLeaf = {10, 20, 30};
// Four full leaves, and a full root; an insert splits both.
const Keys kFullRoot = {2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24};

// One thread inserts, another looks for a key that is there and for the new one. Checked: the first
// is found; if the second is not, its node's version changes.
class InsertBesideFind : public KeysInATree {
 public:
  InsertBesideFind(const Keys& keys, Key inserted, Key present)
      : KeysInATree(keys), inserted_(inserted), present_(present) {}
  // A reader stores nothing. So to the reader, an insert whose stores are late looks like an insert
  // that has stopped earlier.
  static constexpr bool kStoresLandAtOnce = true;
  std::vector<Body> threads() {
    const Body finds = [this] {
      find_inserted(inserted_);
      find_present(present_);
    };
    return {[this] { insert(inserted_, 0); }, finds};
  }
  std::string wrong() {
    return notices() ? KeysInATree::wrong() : "a find does not notice an insert";
  }

 private:
  const Key inserted_, present_;
};

TEST(BtreeSteps, AFindBesideASplitFindsItsKey) {
  search_all<InsertBesideFind>(2, kFullLeaf, Key{15}, Key{20});
  search_all<InsertBesideFind>(2, kFullLeaf, Key{31}, Key{30});
  search_all<InsertBesideFind>(2, kFullRoot, Key{9}, Key{12});
  search_all<InsertBesideFind>(2, kFullRoot, Key{25}, Key{24});
}

// Two threads insert keys of one leaf, or one key. Checked: both are there, once.
class TwoInserts : public KeysInATree {
 public:
  TwoInserts(const Keys& keys, Key first, Key second)
      : KeysInATree(keys), first_(first), second_(second) {}
  std::vector<Body> threads() {
    return {[this] { insert(first_, 0); }, [this] { insert(second_, 1); }};
  }

 private:
  const Key first_, second_;
};

struct TwoInsertsAtOnce : TwoInserts {
  using TwoInserts::TwoInserts;
  static constexpr bool kStoresLandAtOnce = true;
};

TEST(BtreeSteps, InsertsBesideASplitLoseNoKey) {
  search_all<TwoInserts>(1, kFullLeaf, Key{15}, Key{25});
  search_all<TwoInserts>(1, kFullLeaf, Key{15}, Key{15});
  search_all<TwoInsertsAtOnce>(2, kFullLeaf, Key{15}, Key{25});
  search_all<TwoInsertsAtOnce>(2, kFullRoot, Key{9}, Key{11});
  search_all<TwoInsertsAtOnce>(2, kFullRoot, Key{3}, Key{25});
}

// The other thread moves the entries of the leaf. Checked: the first thread finds its own key.
TEST(BtreeSteps, AnInsertOfAKeyThatIsThereFindsIt) {
  search_all<TwoInsertsAtOnce>(2, Keys{20, 30}, Key{20}, Key{10});
  search_all<TwoInsertsAtOnce>(2, kFullLeaf, Key{20}, Key{15});
}

// A thread misses a key, and inserts it where its finger then is. Meanwhile another thread splits
// that leaf. Checked: both keys are there, once.
class InsertAtAFinger : public KeysInATree {
 public:
  InsertAtAFinger(const Keys& keys, Key first, Key second)
      : KeysInATree(keys), first_(first), second_(second) {}
  static constexpr bool kStoresLandAtOnce = true;
  std::vector<Body> threads() {
    const Body inserts = [this] {
      find_inserted(first_, &finger_);
      insert(first_, 0, &finger_);
      find_present(first_, &finger_);
    };
    return {inserts, [this] { insert(second_, 1); }};
  }

 private:
  const Key first_, second_;
  Finger finger_;
};

TEST(BtreeSteps, AnInsertAtAFingerBesideASplitIsNotLost) {
  search_all<InsertAtAFinger>(2, kFullLeaf, Key{25}, Key{15});
  search_all<InsertAtAFinger>(2, kFullLeaf, Key{25}, Key{25});
  search_all<InsertAtAFinger>(2, kFullRoot, Key{11}, Key{9});
}

// One thread inserts, another scans. Checked: the scan has each old key, in order and once; if it
// lacks the new one, the version of a node that it visited changes.
class InsertBesideScan : public KeysInATree {
 public:
  InsertBesideScan(const Keys& keys, Key inserted, bool descending)
      : KeysInATree(keys), inserted_(inserted), descending_(descending) {}
  static constexpr bool kStoresLandAtOnce = true;
  std::vector<Body> threads() {
    return {[this] { insert(inserted_, 0); }, [this] { scan(descending_); }};
  }
  std::string wrong() { return wrong_after_scan(inserted_); }

 private:
  const Key inserted_;
  const bool descending_;
};

TEST(BtreeSteps, AScanBesideASplitHasEachKeyOnce) {
  search_all<InsertBesideScan>(2, kFullLeaf, Key{15}, false);
  search_all<InsertBesideScan>(2, kFullLeaf, Key{15}, true);
  search_all<InsertBesideScan>(2, kFullRoot, Key{9}, false);
  search_all<InsertBesideScan>(2, kFullRoot, Key{9}, true);
}

// The second of four leaves has one key, 8. One thread removes it, and with it the leaf. Another
// thread inserts a key of that leaf, and looks for one of each neighbour. Checked: these are found,
// and the inserted key is there in the end.
class RemovalBesideInsert : public KeysInATree {
 public:
  explicit RemovalBesideInsert(Key inserted, std::optional<Finger> finger = std::nullopt)
      : KeysInATree(kFullRoot), inserted_(inserted), finger_(finger) {
    for (const Key key : Keys{10, 12}) remove(key);
  }
  static constexpr bool kStoresLandAtOnce = true;
  std::vector<Body> threads() {
    const Body inserts = [this] {
      if (finger_.has_value()) find_inserted(inserted_, &*finger_);
      insert(inserted_, 0, finger_.has_value() ? &*finger_ : nullptr);
      find_present(6);
      find_present(14);
    };
    return {[this] { remove(8); }, inserts};
  }

 private:
  const Key inserted_;
  std::optional<Finger> finger_;
};

TEST(BtreeSteps, AnInsertBesideTheRemovalOfItsLeafIsNotLost) {
  search_all<RemovalBesideInsert>(2, Key{9});
  search_all<RemovalBesideInsert>(2, Key{5});
  search_all<RemovalBesideInsert>(2, Key{9}, Finger{});
}

}  // namespace
}  // namespace logjam::sim

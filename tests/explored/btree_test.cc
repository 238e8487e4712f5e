// The B-link tree in all schedules with few preemptions. Its nodes hold at most three keys, so one
// insert may split a leaf, or a leaf and the root.
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

// Returns the thread's arena. All schedules use the same arenas, which lie in the host's memory.
Arena& arena(uint32_t thread) {
  static auto& all = *HostAllocator<std::array<Arena, kThreads>>().allocate(1);
  static const bool made = (new (&all) std::array<Arena, kThreads>, true);
  return made ? all[thread] : all[0];
}

// A tree, and the threads' notes. As under OCC, a thread that scans, or misses a key, notes the
// node versions. If another thread inserts the key later, a noted version must have changed.
class KeysInATree {
 public:
  explicit KeysInATree(const Keys& present) : present_(present) {
    constexpr size_t kRoom = size_t{8} << 10;
    // Gives the arenas enough memory for all schedules: a schedule in which an arena runs out of
    // memory would have additional steps.
    for (uint32_t i = 0; i < kThreads; ++i) {
      arena(i).free(arena(i).allocate(kRoom, alignof(SmallTree)), kRoom);
    }
    for (Key key = 0; key < kMostKeys; ++key) (*entries_)[key].key = key;
    for (const Key key : present) insert(key, 0);
  }

  // Checks the tree after all threads have ended. The tree must have each key that is inserted and
  // not removed, once and in order. Returns an error, or "".
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
  // Inserts a key. Several threads may insert the same key.
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
  void find_present(Key key, Finger* finger = nullptr) {
    if (tree_->find(key, nullptr, finger) != &(*entries_)[key]) wrong_ = "a key is not found";
  }
  // Looks for a key that another thread inserts. If the key is missing, notes the node's version.
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

  // Returns whether a find or scan that missed a key would notice the insert of this key.
  bool notices() const {
    if (seen_count_ == 0) return true;
    for (uint32_t i = 0; i < seen_count_; ++i) {
      if (seen_[i].node->structure.load() != seen_[i].structure) return true;
    }
    return false;
  }
  // Checks a scan during which another thread inserted the key. Returns an error, or "".
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

// One leaf below the root. The leaf is full, so an insert splits it.
const Keys kFullLeaf = {10, 20, 30};
// Four leaves below the root. All nodes are full, so an insert splits a leaf and the root.
const Keys kFullRoot = {2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24};

// One thread inserts a key. Another thread looks for this key and for an old key. Checked: the old
// key is found. If the new key is missed, the version of the new key's node changes.
class InsertBesideFind : public KeysInATree {
 public:
  InsertBesideFind(const Keys& keys, Key inserted, Key present)
      : KeysInATree(keys), inserted_(inserted), present_(present) {}
  // The reader stores nothing. So it cannot tell an insert with late stores from an insert that has
  // made fewer steps. The search tries all numbers of steps, so it need not try late stores.
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

// Two threads insert keys of one leaf, or one key. Checked: the tree has each key once.
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

// One thread looks for its key while the other moves the leaf's entries. Checked: the key is found.
TEST(BtreeSteps, AnInsertOfAKeyThatIsThereFindsIt) {
  search_all<TwoInsertsAtOnce>(2, Keys{20, 30}, Key{20}, Key{10});
  search_all<TwoInsertsAtOnce>(2, kFullLeaf, Key{20}, Key{15});
}

// A thread misses a key and inserts this key at its finger. Meanwhile another thread splits the
// finger's leaf. Checked: the tree has both keys once.
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

// One thread inserts a key while another scans. Checked: the scan has each old key once and in
// order. If the scan lacks the new key, the version of a visited node changes.
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

// Of four leaves the second one has only key 8. One thread removes key 8, and with it the leaf.
// Another thread inserts a key of this leaf and looks for a key in each neighbouring leaf. Checked:
// the neighbours' keys are found, and in the end the new key is in the tree.
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

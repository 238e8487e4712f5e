// The interface of an index. Its nodes tell whether their sets of keys have changed.
//
// A *node* is the unit of phantom protection: a leaf of the ordered index, a bucket of the hash
// index. Its `structure` word changes only when a new key is inserted into the node, when the node
// splits, when an entry is removed, and when the node's range changes. OCC validates the word at
// commit (cc/occ.cc). 2PL takes the node's `lock`, which an insert checks
// (cc/two_phase_locking.cc).
//
// Protocol. Bit 0 of `structure` is the latch, the other bits are a counter. An inserter sets the
// latch (acquire), changes the node, and stores counter + 1 without the latch (release). A reader
// loads the word, loads the node's fields, each with acquire, and loads the word again. If the word
// has changed or was latched, the reader starts again (optimistic lock coupling).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/storage/arena.h"
#include "engine/storage/tuple.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/cache_lines.h"
#include "platform/cpu.h"
#include "platform/function_ref.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {

using platform::FunctionRef;

class Index;

struct LJ_CAPABILITY("latch") IndexNode {
  platform::atomic<uint64_t> structure{0};
  platform::atomic<uint64_t> lock{0};  // a RowLock word; 2PL only

  static constexpr uint64_t kLatched = 1;
};

// Latches the node. Returns its structure word without the latch bit. The exchange is seq_cst,
// because an insert's gate then loads `lock` (two_phase_locking.cc).
inline uint64_t latch(IndexNode& node) LJ_ACQUIRE(node) LJ_NOT_ANALYSED {
  platform::BackOff wait;
  for (;;) {
    uint64_t word = node.structure.load(platform::memory_order_relaxed);
    if ((word & IndexNode::kLatched) == 0 &&
        node.structure.compare_exchange_weak(word, word | IndexNode::kLatched,
                                             platform::memory_order_seq_cst,
                                             platform::memory_order_relaxed)) {
      return word;
    }
    wait.once();
  }
}

// Releases the latch of a node that has not changed; latch() returned `before`.
inline void unlatch_unchanged(IndexNode& node, uint64_t before) LJ_RELEASE(node) LJ_NOT_ANALYSED {
  LJ_ASSERT_IN_TESTS(node.structure.load(platform::memory_order_relaxed) ==
                     (before | IndexNode::kLatched));
  node.structure.store(before, platform::memory_order_release);
}

// Releases the latch of a node that has changed. Returns the new structure word.
inline uint64_t unlatch_changed(IndexNode& node, uint64_t before) LJ_RELEASE(node) LJ_NOT_ANALYSED {
  LJ_ASSERT_IN_TESTS(node.structure.load(platform::memory_order_relaxed) ==
                     (before | IndexNode::kLatched));
  const uint64_t after = before + 2;
  node.structure.store(after, platform::memory_order_release);
  return after;
}

// Tells clang that the caller holds `latch`, because no type says so here.
template <class Latch>
void assume_latched(const Latch& latch) LJ_ASSERT_HELD(latch) {
  static_cast<void>(latch);
}

// Waits until the node is unlatched. Returns its structure word.
inline uint64_t begin_reading(const IndexNode& node) {
  platform::SpinWait wait;
  for (;;) {
    const uint64_t word = node.structure.load(platform::memory_order_acquire);
    if ((word & IndexNode::kLatched) == 0) return word;
    wait.once();
  }
}

// Returns whether the node has kept its structure word `seen`. Load the node's fields with acquire,
// so that this function's load comes after those loads.
inline bool unchanged_since(const IndexNode& node, uint64_t seen) {
  return node.structure.load(platform::memory_order_relaxed) == seen;
}

// A node, and the unlatched structure word that a reader saw.
struct NodeVersion {
  IndexNode* node = nullptr;
  uint64_t structure = 0;
};

// A change of a node by an insert. It tells a transaction which changes are its own.
struct NodeChange {
  IndexNode* node = nullptr;
  uint64_t before = 0;  // the structure word before the change; meaningless if created
  uint64_t after = 0;
  bool created = false;  // the node is new, and took keys from the node of the previous change
};

struct InsertResult {
  Keyed* entry = nullptr;  // now in the index: the new entry, or an earlier entry
  bool inserted = false;
  bool refused = false;  // the gate returned false; nothing was changed
};

// The function that an insert of a new key calls under the node's latch. 2PL checks in it that no
// other transaction has scanned the node. If the gate returns false, the insert is refused. If the
// insert splits the node, the insert also calls the gate for the new node, before another thread
// can reach that node, and ignores the result. 2PL then locks the new node like the old node.
using InsertGate = FunctionRef<bool(IndexNode&)>;

// An entry of a secondary index. `primary` distinguishes entries with equal keys.
struct Posting : Keyed {
  Key primary;
  Tuple* tuple;
};

// The leaf in which a transaction last found or inserted an entry of an ordered index. The index
// looks there first. A finger is valid within one transaction, even if the leaf was split or
// removed: the leaf's memory is not used again before the transaction ends (reclaimer.h).
struct Finger {
  const Index* index = nullptr;
  IndexNode* leaf = nullptr;
};

// Memory of a removed tuple or node, or of a replaced old version. Threads may still be reading it.
struct Retired {
  enum class Kind : uint8_t { kTuple, kOldVersion, kLeaf, kInner };
  void* memory;
  Kind kind;
};

// A unique index has one Tuple or Posting for each key. A non-unique index has one Posting for each
// (key, primary). The index does not own its entries.
class Index {
 public:
  virtual ~Index() = default;

  virtual bool unique() const = 0;
  virtual bool ordered() const = 0;

  // Returns the entry of `key` in a unique index. If there is none, returns null and sets
  // `*missed_in` to the node that would have the entry. `missed_in` and `finger` may be null.
  virtual Keyed* find(Key key, NodeVersion* missed_in, Finger* finger) = 0;
  Keyed* find(Key key, NodeVersion* missed_in) { return find(key, missed_in, nullptr); }

  // Inserts `entry`, or returns the index's entry with the same key (non-unique: key and primary).
  // Appends the changed nodes to `changes`. `gate`, `changes` and `finger` may be null. `arena`
  // belongs to the calling thread.
  virtual InsertResult insert(Keyed* entry, Arena& arena, InsertGate gate,
                              std::vector<NodeChange>* changes, Finger* finger) = 0;
  InsertResult insert(Keyed* entry, Arena& arena, InsertGate gate,
                      std::vector<NodeChange>* changes) {
    return insert(entry, arena, gate, changes, nullptr);
  }

  // A visitor is called for each node in the order of the scan. The visitor gets the node's version
  // and a consistent copy of the node's entries in the range. It returns false to end the scan.
  using NodeVisitor = FunctionRef<bool(NodeVersion node, std::span<Keyed* const> entries)>;
  virtual void find_all(Key key, const NodeVisitor& visit) = 0;
  virtual void scan(Key low, Key high, bool descending, const NodeVisitor& visit) = 0;

  // Returns whether the index implements remove() and recycle().
  virtual bool removes() const { return false; }
  // Removes `entry` (the entry of `key`, or null), and then the node that covers the key, if that
  // node is empty. No other thread removes this entry. Appends the removed nodes to `retired`.
  // Returns false if the node cannot be removed yet: call remove() again later, with a null entry.
  virtual bool remove(Key, Keyed*, std::vector<Retired>*) {
    LJ_ASSERT(removes());
    return true;
  }
  // Puts a removed node's memory, which no thread can reach, into the arena's part of a free list.
  virtual void recycle(const Retired&, const Arena&) { LJ_ASSERT(removes()); }

  // Visits part `part` of `parts`. Each entry is in exactly one part. Later parts of an ordered
  // index have larger keys. No thread may insert into an ordered index during the visit. A visit of
  // a hash index misses no entry that was present when the visit began.
  virtual void for_each(uint32_t part, uint32_t parts, FunctionRef<void(Keyed*)> visit) = 0;
  // Visits every entry, in key order if ordered(). No thread may insert during the visit.
  void for_each(FunctionRef<void(Keyed*)> visit) { for_each(0, 1, visit); }
  // Divides the keys into at most `parts` ranges of similar size. Returns the first key of each
  // range except the first. A hash index returns no key. No thread may remove entries meanwhile.
  virtual std::vector<Key> split_keys(uint32_t /*parts*/) const { return {}; }
  // Starts loading the memory that find(key) will read, if its address is known without a search.
  virtual void prefetch(Key key) const = 0;
  // Starts loading the memory that find() will read for `keys`, and the first `entry_bytes` bytes
  // of each entry. Call it in a transaction.
  virtual void prefetch(std::span<const Key> keys, size_t entry_bytes) const = 0;

 protected:
  // Loads at most kMostPrefetched bytes: the core itself fetches the later lines of a long row when
  // the first lines are read.
  static void prefetch_entry(const Keyed* entry, size_t bytes) {
    constexpr size_t kMostPrefetched = 512;
    for (const platform::CacheLine& line :
         platform::cache_lines_of(entry, std::min(bytes, kMostPrefetched))) {
      platform::prefetch(&line);
    }
  }
};

struct IndexOptions {
  bool unique = true;
  uint64_t expected_entries = 1024;  // sizes a hash index's bucket array
  std::string name = {};             // for the sentence about a mistake
};
std::unique_ptr<Index> make_hash_index(const IndexOptions& options);
std::unique_ptr<Index> make_ordered_index(const IndexOptions& options);

}  // namespace logjam

// What an index is to concurrency control: keys to entries, and nodes that can be watched.
//
// A *node* is the unit of phantom protection: a leaf of the ordered index, a bucket of the hash
// index. Its `structure` word changes whenever a key that was not there is inserted in it, it
// splits, an entry is taken out, or its range changes, never otherwise. OCC remembers (node,
// structure) of what it scanned or missed and validates it at commit, as Silo does; 2PL takes
// `lock` shared, and an insert asks for it (see cc/two_phase_locking.cc). A deleted row is an
// absent tuple; only the reclaimer takes it out of the index, some time later (reclaimer.h).
//
// Protocol. `structure`: bit 0 is the latch, the rest a counter. An inserter latches (acquire),
// changes the node and stores counter + 1 without the latch (release); readers load it (acquire),
// read the node with relaxed loads, and load it again after an acquire fence (optimistic lock
// coupling): if it moved or was latched they start again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/storage/arena.h"
#include "engine/storage/function_ref.h"
#include "engine/storage/tuple.h"
#include "platform/atomic.h"

namespace logjam {

struct IndexNode {
  platform::atomic<uint64_t> structure{0};
  platform::atomic<uint64_t> lock{0};  // a RowLock word; 2PL only

  static constexpr uint64_t kLatched = 1;
};

// A RowLock word that is held exclusively by nobody, for good: of tuples and nodes taken out.
inline constexpr uint64_t kLockedForGood = uint64_t{1} << 63;

// A node as a reader saw it: unlatched, with this structure word.
struct NodeSight {
  IndexNode* node = nullptr;
  uint64_t structure = 0;
};

// What an insert did to nodes, so that a transaction can tell its own change from another's.
struct NodeChange {
  IndexNode* node = nullptr;
  uint64_t before = 0;  // its structure word before; meaningless if created
  uint64_t after = 0;
  bool created = false;  // a new node that took keys from the one named just before it
};

struct InsertResult {
  Keyed* entry = nullptr;  // the entry now under the key: the new one or the one already there
  bool inserted = false;
  bool refused = false;  // the gate said no; nothing was changed
};

// Asked under the node's latch, before a new key goes in: 2PL checks that nobody else has scanned
// the node. Returning false refuses the insert. If the insert splits the node, the gate is then
// called once more, for the created node, before anybody else can reach it: what guards the old
// node can be put on the new one there. The result of that second call is ignored.
using InsertGate = FunctionRef<bool(IndexNode&)>;

// An entry of a secondary index. `primary` tells entries with equal keys apart.
struct Posting : Keyed {
  Key primary;
  Tuple* tuple;
};

// What was taken out of a table or its index, and may still be looked at by readers who came
// before.
struct Retired {
  enum class Kind : uint8_t { kTuple, kLeaf, kInner };
  void* memory;
  Kind kind;
};

// A unique index holds Tuples or Postings, one a key. A non-unique one holds Postings, several a
// key, one a (key, primary).
class Index {
 public:
  virtual ~Index() = default;

  virtual bool unique() const = 0;
  virtual bool ordered() const = 0;

  // Unique only: the entry, or null and (if `missed_in` is given) the node that would hold it.
  virtual Keyed* find(Key key, NodeSight* missed_in) = 0;

  // Inserts `entry` under its key (non-unique: key and primary) unless that is there already, in
  // which case the result names the entry that is. `gate` may be null. Changed nodes are appended
  // to `changes` (may be null). `arena` is the calling thread's.
  virtual InsertResult insert(Keyed* entry, Arena& arena, InsertGate gate,
                              std::vector<NodeChange>* changes) = 0;

  // Visits node by node. The visitor gets a consistent picture of the node's entries in the range
  // (maybe none) and the node as it was; returning false ends the scan. Entries of one node come in
  // key order, descending if asked, and so do the nodes.
  using NodeVisitor = FunctionRef<bool(NodeSight node, std::span<Keyed* const> entries)>;
  // All entries of one key.
  virtual void find_all(Key key, const NodeVisitor& visit) = 0;
  // All entries with keys in [low, high]; ordered indexes only (others end the process).
  virtual void scan(Key low, Key high, bool descending, const NodeVisitor& visit) = 0;

  // Whether it can do the two things below.
  virtual bool removes() const { return false; }
  // Takes out `entry` (null: none), which is under `key` (nobody else takes it out), and then, if
  // the node that would hold the key is empty, that node. False: the node could not go now, call
  // again, with null. Nodes taken out are appended to `retired`.
  virtual bool remove(Key key, Keyed* entry, std::vector<Retired>* retired);
  // Takes back such a node, when nobody can look at it any more.
  virtual void recycle(const Retired& node);

  // Every entry, while nobody inserts.
  virtual void for_each(FunctionRef<void(Keyed*)> visit) = 0;
  // Starts loading the memory find(key) will touch, where that is known without searching.
  virtual void prefetch(Key key) const = 0;
};

struct IndexOptions {
  bool unique = true;
  uint64_t expected_entries = 1024;  // sizes a hash index's bucket array
};
std::unique_ptr<Index> make_hash_index(const IndexOptions& options);
std::unique_ptr<Index> make_ordered_index(const IndexOptions& options);

}  // namespace logjam

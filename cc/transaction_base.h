// The common part of OCC and 2PL. Writes are private until commit. `Protocol` derives from
// TransactionBase<Protocol>, and provides seven functions, none of them virtual:
//
//   track_node(NodeVersion, index)  notes that the transaction depends on the keys in an index node
//   read_tuple(tuple, bytes, &row)  reads the first `bytes` bytes of a tuple's row, with the
//                                   transaction's own writes; if the row is absent, sets `row` to
//                                   null
//   read_for_update(tuple, bytes, copy, &version)
//                                   reads a tuple that the transaction will change; `copy` (may be
//                                   null) receives the row's first `bytes` bytes
//   prepare_blind_write(tuple, &version)
//                                   prepares a change that does not depend on the row's bytes
//   init_tuple(tuple)               prepares a new tuple that no other transaction can reach yet
//   tuple_inserted(tuple)           notes that the new tuple is in the index
//   insert_entry(index, entry, &result)
//                                   inserts `entry` into an index; refuses or detects phantoms
//
// track_node() returns a NodeCheck, init_tuple() and tuple_inserted() return nothing. The other
// functions return bool: if false, the transaction must abort, and fail() has noted the reason.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cc/access_set.h"
#include "cc/commit_log.h"
#include "cc/row_memory.h"
#include "engine/protocol.h"
#include "platform/assert.h"
#include "platform/thread_annotations.h"

namespace logjam {

enum class NodeCheck : uint8_t {
  kUnchanged,
  kChanged,  // the node has changed since it was read: read it again
  kAbort,
};

// The answer of a visitor that is called for each entry of an index.
enum class WalkStep : uint8_t { kContinue, kStop, kAbort };

// The postings that one transaction reads and inserts. A secondary index maps a key to *postings*,
// each of which names a tuple. Postings never leave an index, so a reader skips a posting if the
// posting's row was erased or if the row's key has changed. `Owner` is the TransactionBase.
template <class Owner>
class Postings {
 public:
  explicit Postings(Owner& owner) : owner_(owner) {}

  // Tracks the secondary keys of `tuple` that an update may change. `row` is the row before the
  // change, or null if the transaction has not read it.
  void track(Table& table, Tuple& tuple, const std::byte* row) {
    if (!table.keys_move()) return;
    for (uint32_t which = 0; which < table.secondary_count(); ++which) {
      const SecondarySchema& schema = table.schema().secondaries[which];
      if (!schema.moves) continue;
      const Key key = row == nullptr ? 0 : schema.key_of(tuple.key, row);
      tracked_.push_back({&tuple, which, row != nullptr, key});
    }
  }

  // Inserts a posting for every tracked secondary key that this transaction has changed. Returns
  // false if the transaction must abort.
  //
  // Each read of a secondary index calls this function first, so that the transaction finds its own
  // changes. Each commit() calls it first too, because OCC must not have locked a tuple yet (proof
  // in occ.cc). Under 2PL the tuples are already locked, so another transaction that finds a new
  // posting waits for the posting's row. If the transaction aborts, the posting stays and matches
  // no row.
  bool post_moved() {
    for (TrackedKey& tracked : tracked_) {
      const Write* own = owner_.writes_.find(tracked.tuple);
      if (own == nullptr || own->row == nullptr) continue;
      const auto& schema = own->table->schema().secondaries[tracked.which];
      const Key key = schema.key_of(tracked.tuple->key, own->row);
      if (tracked.posted && tracked.key == key) continue;
      if (!insert(*own->table, tracked.which, *tracked.tuple, own->row)) return false;
      tracked.key = key;
      tracked.posted = true;
    }
    return true;
  }

  // Inserts the posting for `row`, which the caller is about to insert as `tuple`. Returns kOk;
  // kExists if the index is unique and another row has the key; or kAbort.
  Status add(Table& table, size_t which, Tuple& tuple, const std::byte* row) {
    Index& index = table.secondary(which);
    const SecondarySchema& schema = table.schema().secondaries[which];
    const Key key = schema.key_of(tuple.key, row);
    bool taken = false;
    if (schema.unique) {
      owner_.self().checks_unique(true);
      const Status status = owner_.walk_key(index, key, [&](Keyed* entry) {
        const auto& posting = *static_cast<Posting*>(entry);
        if (posting.tuple == &tuple) return WalkStep::kContinue;
        const std::byte* other;
        if (!owner_.self().read_tuple(*posting.tuple, table.row_bytes(), &other))
          return WalkStep::kAbort;
        taken = taken || matches(schema, posting, other);
        return WalkStep::kContinue;
      });
      owner_.self().checks_unique(false);
      if (status != Status::kOk) return status;
    }
    if (taken) return Status::kExists;
    return insert(table, which, tuple, row) ? Status::kOk : Status::kAbort;
  }

  // Reads `bytes` bytes of the row of `posting`, and calls `visit` if the row matches the posting.
  WalkStep visit(Table& table, size_t which, const Posting& posting, uint32_t bytes,
                 const Transaction::RowVisitor& visit) {
    const std::byte* row;
    if (!owner_.self().read_tuple(*posting.tuple, bytes, &row)) return WalkStep::kAbort;
    if (!matches(table.schema().secondaries[which], posting, row)) return WalkStep::kContinue;
    return visit(posting.primary, row) ? WalkStep::kContinue : WalkStep::kStop;
  }

  void clear() { tracked_.clear(); }

 private:
  // A tuple that the transaction may change, and its key in secondary index `which`. A tuple may be
  // tracked twice; then the index refuses the second insert of its posting.
  struct TrackedKey {
    Tuple* tuple;
    uint32_t which;
    bool posted;  // the index has a posting under `key`
    Key key;
  };

  static bool matches(const SecondarySchema& schema, const Posting& posting, const std::byte* row) {
    return row != nullptr && schema.key_of(posting.primary, row) == posting.key;
  }

  // Inserts a posting if the index does not have it. Returns false if the transaction must abort.
  bool insert(Table& table, size_t which, Tuple& tuple, const std::byte* row) {
    Arena& arena = *owner_.context_.arena;
    Posting* posting = table.new_posting(which, tuple, row, arena);
    InsertResult result;
    const bool insert_ok = owner_.self().insert_entry(table.secondary(which), posting, &result);
    if (!result.inserted) arena.free(posting, sizeof(Posting));
    return insert_ok;
  }

  Owner& owner_;
  std::vector<TrackedKey> tracked_;
};

template <class Protocol>
class TransactionBase : public ProtocolTransaction {
 public:
  explicit TransactionBase(WorkerContext& context)
      : context_(context), log_(context), postings_(*this) {}

  AbortReason abort_reason() const final { return reason_; }
  CommitPoint commit_point() const final { return commit_point_; }
  bool holds_locks() const final { return holds_locks_; }

  Status read(Table& table, Key key, const std::byte** row) final {
    return read_head(table, key, table.row_bytes(), row);
  }

  Status read_head(Table& table, Key key, uint32_t bytes, const std::byte** row) final {
    LJ_ASSERT_IN_TESTS(bytes <= table.row_bytes());
    Tuple* tuple;
    if (!find(table, key, &tuple)) return Status::kAbort;
    if (tuple == nullptr) return Status::kNotFound;
    if (!self().read_tuple(*tuple, bytes, row)) return Status::kAbort;
    return *row == nullptr ? Status::kNotFound : Status::kOk;
  }

  Status update(Table& table, Key key, std::byte** row) final {
    Tuple* tuple;
    if (!find(table, key, &tuple)) return Status::kAbort;
    if (tuple == nullptr) return Status::kNotFound;
    if (const Write* own = writes_.find(tuple)) return update_own_write(*own, row);
    std::byte* copy = rows_.allocate(table.row_bytes());
    Version version;
    if (!self().read_for_update(*tuple, table.row_bytes(), copy, &version)) return Status::kAbort;
    if (version.absent()) return Status::kNotFound;
    *row = writes_.add(table, tuple, copy, true).row;
    postings_.track(table, *tuple, *row);
    return Status::kOk;
  }

  Status write(Table& table, Key key, std::byte** row) final {
    Tuple* tuple;
    if (!find(table, key, &tuple)) return Status::kAbort;
    if (tuple == nullptr) return Status::kNotFound;
    if (const Write* own = writes_.find(tuple)) return update_own_write(*own, row);
    Version version;
    if (!self().prepare_blind_write(*tuple, &version)) return Status::kAbort;
    // If the row is absent, the transaction depends on this absence, so the write is also a read.
    if (version.absent() && !self().read_for_update(*tuple, 0, nullptr, &version))
      return Status::kAbort;
    if (version.absent()) return Status::kNotFound;
    Write& own = writes_.add(table, tuple, rows_.allocate(table.row_bytes()), true);
    own.blind = true;
    *row = own.row;
    postings_.track(table, *tuple, nullptr);
    return Status::kOk;
  }

  Status erase(Table& table, Key key) final {
    table.note_membership_change();
    Tuple* tuple;
    if (!find(table, key, &tuple)) return Status::kAbort;
    if (tuple == nullptr) return Status::kNotFound;
    if (Write* own = writes_.find(tuple)) {
      if (own->row == nullptr) return Status::kNotFound;
      own->row = nullptr;
      return Status::kOk;
    }
    Version version;
    if (!self().read_for_update(*tuple, 0, nullptr, &version)) return Status::kAbort;
    if (version.absent()) return Status::kNotFound;
    writes_.add(table, tuple, nullptr, true);
    return Status::kOk;
  }

  // Puts an absent tuple into the indexes now; the tuple becomes present at commit. After an abort
  // the absent tuple stays in the indexes, and the next insert of the key uses it.
  Status insert(Table& table, Key key, const std::byte* row) final {
    table.note_membership_change();
    Write* own = nullptr;
    Tuple* tuple = nullptr;
    // Only a hash index is searched before the insert: in an ordered index, a second search costs
    // more than making a tuple and freeing it again.
    if (table.schema().kind == IndexKind::kHash) {
      tuple = static_cast<Tuple*>(table.primary().find(key, nullptr));
    }
    if (tuple == nullptr) {
      tuple = table.new_tuple(key, *context_.arena);
      self().init_tuple(*tuple);
      InsertResult result;
      const bool insert_ok = self().insert_entry(table.primary(), tuple, &result);
      if (result.inserted) {
        self().tuple_inserted(*tuple);
        own = &writes_.add(table, tuple, nullptr, false);
      } else {
        table.free(tuple, *context_.arena);
        tuple = Table::tuple_of(result.entry);
      }
      if (!insert_ok) return Status::kAbort;
    }
    if (own == nullptr) own = writes_.find(tuple);
    if (own == nullptr) {
      Version version;
      if (!self().read_for_update(*tuple, 0, nullptr, &version)) return Status::kAbort;
      if (!version.absent()) return Status::kExists;
      own = &writes_.add(table, tuple, nullptr, false);
    }
    if (own->row != nullptr) return Status::kExists;
    for (size_t which = 0; which < table.secondary_count(); ++which) {
      const Status status = postings_.add(table, which, *tuple, row);
      if (status != Status::kOk) return status;
    }
    own->row = rows_.allocate(table.row_bytes());
    std::memcpy(own->row, row, table.row_bytes());
    return Status::kOk;
  }

  Status scan(Table& table, Key low, Key high, bool descending, const RowVisitor& visit) final {
    return walk(table.primary(), low, high, descending, [&](Keyed* entry) {
      Tuple* tuple = Table::tuple_of(entry);
      const std::byte* row;
      if (!self().read_tuple(*tuple, table.row_bytes(), &row)) return WalkStep::kAbort;
      return row == nullptr || visit(tuple->key, row) ? WalkStep::kContinue : WalkStep::kStop;
    });
  }

  Status scan_secondary(Table& table, size_t which, Key low, Key high, bool descending,
                        const RowVisitor& visit) final {
    if (!postings_.post_moved()) return Status::kAbort;
    return walk(table.secondary(which), low, high, descending, [&](Keyed* entry) {
      return postings_.visit(table, which, *static_cast<Posting*>(entry), table.row_bytes(), visit);
    });
  }

  Status read_secondary(Table& table, size_t which, Key key, const RowVisitor& visit) final {
    return read_secondary_head(table, which, key, table.row_bytes(), visit);
  }

  Status read_secondary_head(Table& table, size_t which, Key key, uint32_t bytes,
                             const RowVisitor& visit) final {
    if (!postings_.post_moved()) return Status::kAbort;
    return walk_key(table.secondary(which), key, [&](Keyed* entry) {
      return postings_.visit(table, which, *static_cast<Posting*>(entry), bytes, visit);
    });
  }

  // Notes that the calls until checks_unique(false) look for another row with a unique key. A
  // protocol whose reads are not validated redefines this function.
  void checks_unique(bool) {}

 protected:
  bool fail(AbortReason reason) {
    reason_ = reason;
    return false;
  }

  void note_read(const Tuple& tuple, Version version) {
    deps_.reads = true;
    const uint64_t sequence = version.sequence();
    if (sequence != 0) log_.note_read(tuple);
    deps_.max_read = std::max(deps_.max_read, sequence);
    if (log_.is_foreign(sequence)) deps_.max_foreign = std::max(deps_.max_foreign, sequence);
  }
  // Notes the dependencies of a write, at the serialization point. A blind write depends on the
  // presence of its row. So if transactions insert or erase rows of the table, the blind write
  // counts as a read of the row. An insert depends on the transaction whose number the absent tuple
  // has: under OCC another transaction may have filled and erased the tuple before this insert
  // commits. An insert may also follow an erase whose tuple has left the index.
  // Table::removed_up_to() is the largest sequence number of these erases. These erases are
  // durable, so the insert needs only a larger sequence number than theirs.
  void note_overwritten(const Write& write, Version version) {
    deps_.max_overwritten = std::max(deps_.max_overwritten, version.sequence());
    if (write.was_present && write.table->membership_changes()) note_read(*write.tuple, version);
    if (!write.was_present) {
      if (version.sequence() != 0) note_read(*write.tuple, version);
      deps_.max_overwritten = std::max(deps_.max_overwritten, write.table->removed_up_to());
    }
  }

  // Hands the tuples of the erased rows, and of the rows that this transaction inserted and erased
  // again, to the reclaimer. Call it after the rows are installed.
  void report_erased(uint64_t sequence) LJ_REQUIRES(platform::worker_role) {
    if (context_.reclaimer == nullptr) return;
    for (const Write& write : writes_.all()) {
      if (write.row != nullptr || !write.table->reclaims()) continue;
      if (write.was_present) {
        context_.reclaimer->note_erased({write.table, write.tuple->key, sequence});
      } else {
        context_.reclaimer->note_abandoned(*write.table, write.tuple->key);
      }
    }
  }
  // Hands the tuples of an aborted transaction's inserts to the reclaimer.
  void report_abandoned() LJ_REQUIRES(platform::worker_role) {
    if (context_.reclaimer == nullptr) return;
    for (const Write& write : writes_.all()) {
      if (!write.was_present && write.table->reclaims()) {
        context_.reclaimer->note_abandoned(*write.table, write.tuple->key);
      }
    }
  }

  void reset() {
    LJ_ASSERT(!holds_locks_);
    finger_ = {};
    log_.begin();
    postings_.clear();
    writes_.clear();
    rows_.clear();
    deps_ = {};
    commit_point_ = {};
  }

  WorkerContext& context_;
  CommitLog log_;
  WriteSet writes_;
  RowMemory rows_;
  Finger finger_;
  Dependencies deps_;
  AbortReason reason_ = AbortReason::kCount;
  CommitPoint commit_point_;
  bool holds_locks_ = false;  // has committed, and keeps its locks until it is durable
  Postings<TransactionBase> postings_;

 private:
  friend class Postings<TransactionBase>;

  Protocol& self() { return static_cast<Protocol&>(*this); }

  // Finds the tuple of `key`. Sets `*tuple` to null if the index does not have the key; the
  // transaction then depends on the key's absence. Returns false if the transaction must abort.
  bool find(Table& table, Key key, Tuple** tuple) {
    while (true) {
      NodeVersion missed_in;
      Keyed* entry = table.primary().find(key, &missed_in, &finger_);
      *tuple = static_cast<Tuple*>(entry);
      if (entry != nullptr) return true;
      const NodeCheck check = self().track_node(missed_in, table.primary());
      if (check != NodeCheck::kChanged) return check == NodeCheck::kUnchanged;
    }
  }

  Status update_own_write(const Write& own, std::byte** row) {
    if (own.row == nullptr) return Status::kNotFound;
    *row = own.row;
    postings_.track(*own.table, *own.tuple, own.row);
    return Status::kOk;
  }

  // Tracks a node of `index`, and then visits its entries. Sets `*restart` if the node has changed
  // since `entries` was read. Returns whether the walk goes on.
  template <class Visit>
  bool visit_node(const Index& index, NodeVersion version, std::span<Keyed* const> entries,
                  WalkStep* step, bool* restart, const Visit& visit) {
    const NodeCheck check = self().track_node(version, index);
    *restart = check == NodeCheck::kChanged;
    if (check == NodeCheck::kAbort) *step = WalkStep::kAbort;
    if (check != NodeCheck::kUnchanged) return false;
    for (Keyed* entry : entries) {
      *step = visit(entry);
      if (*step != WalkStep::kContinue) return false;
    }
    return true;
  }

  // Calls `visit` once for every entry in [low, high]. If a node changes before the transaction
  // tracks it, the walk starts again after the last visited entry.
  template <class Visit>
  Status walk(Index& index, Key low, Key high, bool descending, const Visit& visit) {
    struct Position {
      Key key, primary;
      bool operator==(const Position&) const = default;
      auto operator<=>(const Position&) const = default;
    };
    const bool postings = !index.unique();
    Position last{};
    bool any = false;
    WalkStep step = WalkStep::kContinue;
    bool restart = true;
    while (restart) {
      restart = false;
      index.scan(low, high, descending, [&](NodeVersion version, std::span<Keyed* const> entries) {
        return visit_node(index, version, entries, &step, &restart, [&](Keyed* entry) {
          const Position here{entry->key, postings ? static_cast<Posting*>(entry)->primary : 0};
          if (any && (descending ? here >= last : here <= last)) return WalkStep::kContinue;
          last = here;
          any = true;
          return visit(entry);
        });
      });
      if (restart && any) (descending ? high : low) = last.key;
    }
    return step == WalkStep::kAbort ? Status::kAbort : Status::kOk;
  }

  template <class Visit>
  Status walk_key(Index& index, Key key, const Visit& visit) {
    if (index.ordered()) return walk(index, key, key, false, visit);
    WalkStep step = WalkStep::kContinue;
    bool restart = true;
    while (restart) {
      restart = false;
      // All entries of a key are in one bucket. If the bucket has changed, no entry was visited
      // yet, so a restart visits no entry twice.
      index.find_all(key, [&](NodeVersion version, std::span<Keyed* const> entries) {
        return visit_node(index, version, entries, &step, &restart, visit);
      });
    }
    return step == WalkStep::kAbort ? Status::kAbort : Status::kOk;
  }
};

}  // namespace logjam

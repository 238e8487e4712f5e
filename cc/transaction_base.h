// What OCC and 2PL have in common: writes are private until commit, and the transaction API in
// terms of five questions that each protocol answers in its own way.
//
// `Protocol` (the class deriving from TransactionBase<Protocol>: no virtual calls within) provides
//
//   Seen see(NodeSight)                 the transaction depends on the keys in this node
//   bool look(table, tuple, &row)       reads a tuple, own writes included; row null: absent
//   bool open(table, tuple, copy, &v)   reads a tuple it will change; `copy` (may be null) gets it
//   bool open_blind(tuple, &v)          the same without depending on what is there
//   void start(tuple)                   a new tuple, before anybody else can see it
//   void started(tuple)                 it is in the index
//   bool place(index, entry, &result)   inserts into an index, phantoms considered
//
// where false means abort, with the reason noted by fail().
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

namespace logjam {

enum class Seen : uint8_t {
  kYes,
  kMoved,  // the node is not as it was: look again
  kAbort,
};

template <class Protocol>
class TransactionBase : public ProtocolTransaction {
 public:
  explicit TransactionBase(WorkerContext& context) : context_(context), log_(context) {}

  AbortReason abort_reason() const final { return reason_; }
  Point point() const final { return point_; }
  bool holds_locks() const final { return holds_locks_; }

  Status read(Table& table, Key key, const std::byte** row) final {
    Tuple* tuple;
    if (!find(table, key, &tuple)) return Status::kAbort;
    if (tuple == nullptr) return Status::kNotFound;
    if (!self().look(table, *tuple, row)) return Status::kAbort;
    return *row == nullptr ? Status::kNotFound : Status::kOk;
  }

  Status update(Table& table, Key key, std::byte** row) final {
    Tuple* tuple;
    if (!find(table, key, &tuple)) return Status::kAbort;
    if (tuple == nullptr) return Status::kNotFound;
    if (const Write* own = writes_.find(tuple)) return change_own(*own, row);
    std::byte* copy = rows_.allocate(table.row_bytes());
    Version version;
    if (!self().open(table, *tuple, copy, &version)) return Status::kAbort;
    if (version.absent()) return Status::kNotFound;
    *row = writes_.add(table, tuple, copy, true).row;
    watch(table, *tuple, *row);
    return Status::kOk;
  }

  Status write(Table& table, Key key, std::byte** row) final {
    Tuple* tuple;
    if (!find(table, key, &tuple)) return Status::kAbort;
    if (tuple == nullptr) return Status::kNotFound;
    if (const Write* own = writes_.find(tuple)) return change_own(*own, row);
    Version version;
    if (!self().open_blind(*tuple, &version)) return Status::kAbort;
    // That there is nothing is something the transaction has read.
    if (version.absent() && !self().open(table, *tuple, nullptr, &version)) return Status::kAbort;
    if (version.absent()) return Status::kNotFound;
    *row = writes_.add(table, tuple, rows_.allocate(table.row_bytes()), true).row;
    watch(table, *tuple, nullptr);
    return Status::kOk;
  }

  Status erase(Table& table, Key key) final {
    table.rows_will_come_and_go();
    Tuple* tuple;
    if (!find(table, key, &tuple)) return Status::kAbort;
    if (tuple == nullptr) return Status::kNotFound;
    if (Write* own = writes_.find(tuple)) {
      if (own->row == nullptr) return Status::kNotFound;
      own->row = nullptr;
      return Status::kOk;
    }
    Version version;
    if (!self().open(table, *tuple, nullptr, &version)) return Status::kAbort;
    if (version.absent()) return Status::kNotFound;
    writes_.add(table, tuple, nullptr, true);
    return Status::kOk;
  }

  // The tuple enters the indexes now, absent, and becomes present at commit. After an abort it
  // stays there, absent; the next insert of that key takes it over.
  Status insert(Table& table, Key key, const std::byte* row) final {
    table.rows_will_come_and_go();
    Write* own = nullptr;
    auto* tuple = static_cast<Tuple*>(table.primary().find(key, nullptr));
    bool is_new = tuple == nullptr;
    if (is_new) {
      tuple = table.new_tuple(key, *context_.arena);
      self().start(*tuple);
      InsertResult placed;
      const bool may = self().place(table.primary(), tuple, &placed);
      if (placed.inserted) {
        self().started(*tuple);
        own = &writes_.add(table, tuple, nullptr, false);
      } else {
        table.take_back(tuple);
        tuple = Table::tuple_of(placed.entry);
      }
      if (!may) return Status::kAbort;
    }
    if (own == nullptr) own = writes_.find(tuple);
    if (own == nullptr) {
      Version version;
      if (!self().open(table, *tuple, nullptr, &version)) return Status::kAbort;
      if (!version.absent()) return Status::kExists;
      own = &writes_.add(table, tuple, nullptr, false);
    }
    if (own->row != nullptr) return Status::kExists;
    for (size_t which = 0; which < table.secondary_count(); ++which) {
      const Status status = add_posting(table, which, *tuple, row);
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
      if (!self().look(table, *tuple, &row)) return Step::kAbort;
      return row == nullptr || visit(tuple->key, row) ? Step::kOn : Step::kStop;
    });
  }

  Status scan_secondary(Table& table, size_t which, Key low, Key high, bool descending,
                        const RowVisitor& visit) final {
    if (!post_moved_keys()) return Status::kAbort;
    return walk(table.secondary(which), low, high, descending, [&](Keyed* entry) {
      return visit_posting(table, which, static_cast<Posting*>(entry), visit);
    });
  }

  Status read_secondary(Table& table, size_t which, Key key, const RowVisitor& visit) final {
    if (!post_moved_keys()) return Status::kAbort;
    return walk_one(table.secondary(which), key, [&](Keyed* entry) {
      return visit_posting(table, which, static_cast<Posting*>(entry), visit);
    });
  }

 protected:
  bool fail(AbortReason reason) {
    reason_ = reason;
    return false;
  }

  void note_read(Version version) {
    deps_.reads = true;
    deps_.max_read = std::max(deps_.max_read, version.sequence());
  }
  // At the serialization point. A write that did not look at the row has still learnt that there is
  // one. If that may be another transaction's doing, it has read from it. An insert may follow an
  // erase that nobody remembers but the table.
  void note_overwritten(const Write& write, Version version) {
    deps_.max_overwritten = std::max(deps_.max_overwritten, version.sequence());
    if (write.was_present && write.table->rows_come_and_go()) note_read(version);
    if (!write.was_present) {
      deps_.max_overwritten = std::max(deps_.max_overwritten, write.table->forgotten_up_to());
    }
  }

  // After the rows are installed: what was erased is the reclaimer's, some day.
  void report_erased(uint64_t sequence) {
    if (context_.reclaimer == nullptr) return;
    for (const Write& write : writes_.all()) {
      if (write.row != nullptr || !write.table->reclaims()) continue;
      if (write.was_present) {
        context_.reclaimer->erased({write.table, write.tuple->key, sequence});
      } else {
        context_.reclaimer->abandoned(*write.table, write.tuple->key);
      }
    }
  }
  // Of an abort: so are tuples that were to become rows.
  void report_abandoned() {
    if (context_.reclaimer == nullptr) return;
    for (const Write& write : writes_.all()) {
      if (!write.was_present && write.table->reclaims()) {
        context_.reclaimer->abandoned(*write.table, write.tuple->key);
      }
    }
  }

  // Rows changed so far are found by the secondary keys they have now. commit() begins with it:
  // under OCC, before the first write lock (see occ.cc); under 2PL, while the tuples are locked, so
  // that whoever finds a new posting waits for its row. A posting of a transaction that then aborts
  // is one more that is not about its row. False means abort.
  bool post_moved_keys() {
    for (Watched& watched : watched_) {
      const Write* own = writes_.find(watched.tuple);
      if (own == nullptr || own->row == nullptr) continue;
      const auto& schema = own->table->schema().secondaries[watched.which];
      const Key key = schema.key_of(watched.tuple->key, own->row);
      if (watched.posted && watched.key == key) continue;
      if (!place_posting(*own->table, watched.which, *watched.tuple, own->row)) return false;
      watched.key = key;
      watched.posted = true;
    }
    return true;
  }

  void forget() {
    watched_.clear();
    writes_.clear();
    rows_.clear();
    deps_ = {};
    point_ = {};
    holds_locks_ = false;
  }

  WorkerContext& context_;
  CommitLog log_;
  WriteSet writes_;
  RowMemory rows_;
  Dependencies deps_;
  AbortReason reason_ = AbortReason::kCount;
  Point point_;
  bool holds_locks_ = false;  // committed, and kept until durable

 private:
  enum class Step : uint8_t { kOn, kStop, kAbort };

  // `row`: as it was before the change, null if nobody looked.
  void watch(Table& table, Tuple& tuple, const std::byte* row) {
    if (!table.keys_move()) return;
    for (uint32_t which = 0; which < table.secondary_count(); ++which) {
      const SecondarySchema& schema = table.schema().secondaries[which];
      if (!schema.moves) continue;
      const Key key = row == nullptr ? 0 : schema.key_of(tuple.key, row);
      watched_.push_back({&tuple, which, row != nullptr, key});
    }
  }

  // A tuple handed out to be changed, whose key in secondary index `which` may move. Handed out
  // twice, it is here twice; then the first of them knows what is posted.
  struct Watched {
    Tuple* tuple;
    uint32_t which;
    bool posted;  // under `key`
    Key key;
  };

  Protocol& self() { return static_cast<Protocol&>(*this); }

  // Null if the key is in no index, which the transaction then depends on.
  bool find(Table& table, Key key, Tuple** tuple) {
    while (true) {
      NodeSight missed_in;
      Keyed* entry = table.primary().find(key, &missed_in);
      *tuple = static_cast<Tuple*>(entry);
      if (entry != nullptr) return true;
      const Seen seen = self().see(missed_in);
      if (seen != Seen::kMoved) return seen == Seen::kYes;
    }
  }

  Status change_own(const Write& own, std::byte** row) {
    if (own.row == nullptr) return Status::kNotFound;
    *row = own.row;
    watch(*own.table, *own.tuple, own.row);
    return Status::kOk;
  }

  // A posting outlives the row it was made for: the row may be gone, or be there again with
  // another secondary key.
  static bool is_about(const SecondarySchema& schema, const Posting& posting,
                       const std::byte* row) {
    return row != nullptr && schema.key_of(posting.primary, row) == posting.key;
  }

  Step visit_posting(Table& table, size_t which, Posting* posting, const RowVisitor& visit) {
    const std::byte* row;
    if (!self().look(table, *posting->tuple, &row)) return Step::kAbort;
    if (!is_about(table.schema().secondaries[which], *posting, row)) return Step::kOn;
    return visit(posting->primary, row) ? Step::kOn : Step::kStop;
  }

  // Makes sure that `row`, about to be inserted as `tuple`, is found by its secondary key.
  Status add_posting(Table& table, size_t which, Tuple& tuple, const std::byte* row) {
    Index& index = table.secondary(which);
    const SecondarySchema& schema = table.schema().secondaries[which];
    const Key key = schema.key_of(tuple.key, row);
    bool taken = false;
    if (schema.unique) {
      const Status status = walk_one(index, key, [&](Keyed* entry) {
        const auto& posting = *static_cast<Posting*>(entry);
        if (posting.tuple == &tuple) return Step::kOn;
        const std::byte* other;
        if (!self().look(table, *posting.tuple, &other)) return Step::kAbort;
        taken = taken || is_about(schema, posting, other);
        return Step::kOn;
      });
      if (status != Status::kOk) return status;
    }
    if (taken) return Status::kExists;
    return place_posting(table, which, tuple, row) ? Status::kOk : Status::kAbort;
  }

  // The tuple may have the posting already, for postings never leave.
  bool place_posting(Table& table, size_t which, Tuple& tuple, const std::byte* row) {
    Posting* posting = table.new_posting(which, tuple, row, *context_.arena);
    InsertResult placed;
    const bool may = self().place(table.secondary(which), posting, &placed);
    if (!placed.inserted) context_.arena->take_back(posting, sizeof(Posting));
    return may;
  }

  // Takes every entry of `index` in the range once, node by node, each node seen before its
  // entries. If a node has moved, the walk starts again behind the last entry taken.
  template <class Take>
  Status walk(Index& index, Key low, Key high, bool descending, const Take& take) {
    struct Place {
      Key key, primary;
      bool operator==(const Place&) const = default;
      auto operator<=>(const Place&) const = default;
    };
    const bool postings = !index.unique();
    Place last{};
    bool any = false;
    Step step = Step::kOn;
    bool again = true;
    while (again) {
      again = false;
      index.scan(low, high, descending, [&](NodeSight sight, std::span<Keyed* const> entries) {
        const Seen seen = self().see(sight);
        again = seen == Seen::kMoved;
        if (seen == Seen::kAbort) step = Step::kAbort;
        if (seen != Seen::kYes) return false;
        for (Keyed* entry : entries) {
          const Place here{entry->key, postings ? static_cast<Posting*>(entry)->primary : 0};
          if (any && (descending ? here >= last : here <= last)) continue;
          last = here;
          any = true;
          step = take(entry);
          if (step != Step::kOn) return false;
        }
        return true;
      });
      if (again && any) (descending ? high : low) = last.key;
    }
    return step == Step::kAbort ? Status::kAbort : Status::kOk;
  }

  // The same for all entries of one key, in any index.
  template <class Take>
  Status walk_one(Index& index, Key key, const Take& take) {
    if (index.ordered()) return walk(index, key, key, false, take);
    Step step = Step::kOn;
    bool again = true;
    while (again) {
      again = false;
      // One key is in one bucket: if that has moved, nothing was taken yet.
      index.find_all(key, [&](NodeSight sight, std::span<Keyed* const> entries) {
        const Seen seen = self().see(sight);
        again = seen == Seen::kMoved;
        if (seen == Seen::kAbort) step = Step::kAbort;
        if (seen != Seen::kYes) return false;
        for (Keyed* entry : entries) {
          step = take(entry);
          if (step != Step::kOn) return false;
        }
        return true;
      });
    }
    return step == Step::kAbort ? Status::kAbort : Status::kOk;
  }

  std::vector<Watched> watched_;
};

}  // namespace logjam

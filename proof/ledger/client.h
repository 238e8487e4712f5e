// One worker's stream of ledger transactions. The client chooses the input of each transaction at
// random once, and executes the transaction until it commits:
//
//   transfer  reads some keys and updates other keys
//   blind     overwrites cells without reading them, and inserts and erases rows of slots; half of
//             these transactions read nothing, and the others may also update a key or a cell
//   toggle    updates a key and inserts or erases its entry
//   audit     scans a range of entries, reads the same range of the ledger, and compares the two;
//             or does the same with slots and cells
//   lookup    reads a key, its entry, and an entry that does not exist; or a cell and its slot
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/storage/database.h"
#include "engine/workload.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/spin.h"
#include "proof/ledger/history.h"
#include "proof/ledger/rows.h"

namespace logjam::ledger {

// The last writer of each cell, in the memory of a running process. A transaction that overwrites a
// cell without reading the cell learns here which transaction's write it overwrites.
//
// Protocol. A worker calls overwrite() at the serialization point of its transaction, with the cell
// locked (CommitObserver). So the calls for a cell come in the order in which its writers overwrite
// each other, whatever the memory order of the exchange. Any thread may call the other functions at
// any time; their results are only hints.
class CellOrder {
 public:
  explicit CellOrder(uint64_t cells) : last_(cells), present_(cells) {
    for (uint64_t cell = 0; cell < cells; ++cell) set_present(cell, cell % 2 == 0);
  }

  uint64_t cells() const { return last_.size(); }
  // Sets the last writer of `cell` to `writer`, which recovery has found in the row of the cell.
  void resume(uint64_t cell, TransactionId writer, bool present) {
    LJ_ASSERT(cell < last_.size());
    last_[cell].store(writer, platform::memory_order_relaxed);
    set_present(cell, present);
  }

  // Records that `writer` overwrites `cell`, and whether the slot's row is present afterwards.
  // Returns the previous writer of the cell; 0: the initial load.
  TransactionId overwrite(uint64_t cell, TransactionId writer, bool present) {
    LJ_ASSERT(cell < last_.size() && writer != 0);
    set_present(cell, present);
    changes_.fetch_add(1, platform::memory_order_relaxed);
    return last_[cell].exchange(writer, platform::memory_order_acq_rel);
  }
  TransactionId last(uint64_t cell) const {
    return last_[cell].load(platform::memory_order_relaxed);
  }
  bool looks_present(uint64_t cell) const {
    return present_[cell].load(platform::memory_order_relaxed) != 0;
  }
  // Returns the hot slot's number plus a multiple of the count of slots. The result grows slowly,
  // so a slot's tuple is reclaimed before many workers use the slot at once.
  uint64_t hot() const {
    constexpr uint64_t kChanges = 16;
    return changes_.load(platform::memory_order_relaxed) / kChanges;
  }

 private:
  void set_present(uint64_t cell, bool present) {
    present_[cell].store(present ? 1 : 0, platform::memory_order_relaxed);
  }

  std::vector<platform::atomic<TransactionId>> last_;
  std::vector<platform::atomic<uint8_t>> present_;
  platform::atomic<uint64_t> changes_{0};
};

// The state with which clients resume: empty after a load; after a recovery, the counts and the
// generations that earlier lives left in the rows and in their history (history_files.h).
struct ResumeState {
  std::vector<uint64_t> attempts;     // by worker: the largest count of its ids
  std::vector<uint32_t> generations;  // by ledger key: the generation of its entry

  uint64_t attempts_of(uint32_t worker) const {
    return worker < attempts.size() ? attempts[worker] : 0;
  }
  // Makes the worker's ids continue after `count`.
  void raise(uint32_t worker, uint64_t count) {
    if (count == 0) return;
    if (attempts.size() <= worker) attempts.resize(worker + 1);
    attempts[worker] = std::max(attempts[worker], count);
  }
  void raise(TransactionId id) { raise(worker_of(id), count_of(id)); }
  // Raises each count to the count in `other`, if that is larger.
  void add(const ResumeState& other) {
    LJ_ASSERT(other.generations.empty());
    for (uint32_t worker = 0; worker < other.attempts.size(); ++worker) {
      raise(worker, other.attempts[worker]);
    }
  }
};

// Reads the state from the rows, and sets the last writer of each cell in `order`. Call it when no
// transaction runs.
ResumeState read_resume_state(Database& database, CellOrder* order);

// The newest transaction that each worker has acknowledged.
//
// Protocol. Each worker writes its own element, and all workers read all elements. All accesses are
// relaxed, because a value is only a hint: a stale value only delays or advances the kill.
class Acknowledged {
 public:
  explicit Acknowledged(uint32_t workers) : newest_(workers) {}
  // Counts the transactions of `resume_state`, which were recovered, as acknowledged.
  Acknowledged(uint32_t workers, const ResumeState& resume_state)
      : newest_(std::max<size_t>(workers, resume_state.attempts.size())) {
    for (uint32_t worker = 0; worker < resume_state.attempts.size(); ++worker) {
      note(make_id(worker, resume_state.attempts[worker]));
    }
  }

  void note(TransactionId id) {
    LJ_ASSERT(worker_of(id) < newest_.size());
    platform::atomic<TransactionId>& mine = newest_[worker_of(id)];
    if (mine.load(platform::memory_order_relaxed) < id) {
      mine.store(id, platform::memory_order_relaxed);
    }
  }
  // Returns whether the worker of `id` has acknowledged neither `id` nor a newer transaction.
  bool looks_pending(TransactionId id) const {
    return id != 0 && newest_[worker_of(id)].load(platform::memory_order_relaxed) < id;
  }

 private:
  std::vector<platform::atomic<TransactionId>> newest_;
};

// The moment at which one worker kills the process. Only this worker calls the functions.
//
// A kill from outside comes at any time, and almost always finds all acknowledged transactions
// durable. If transaction A depends on transaction B, a wrong acknowledgement of A loses A only if
// the kill comes while B is not durable yet. --test=ledger_die_early waits for such a moment. A
// client does not know whether B is durable, so it kills the process while B is not acknowledged.
class CrashPoint {
 public:
  // Kills the process right after the worker's acknowledgement number `after`, counted from 1, and
  // right after its early acknowledgement number `early`. A transaction's acknowledgement is early
  // if a transaction on which it depends is not acknowledged yet. A number of 0 causes no kill.
  CrashPoint(Acknowledged& acknowledged, uint64_t after, uint64_t early)
      : acknowledged_(acknowledged), after_(after), early_(early) {}

  void note_dependency(TransactionId id, TransactionId other) {
    if (early_ != 0 && worker_of(id) != worker_of(other)) depends_on_[id].push_back(other);
  }
  void on_refusal(TransactionId id) { depends_on_.erase(id); }

  void on_acknowledgement(TransactionId id) {
    if (++acknowledgements_ == after_) std::raise(SIGKILL);
    if (early_ == 0) return;
    acknowledged_.note(id);
    const auto found = depends_on_.find(id);
    if (found == depends_on_.end()) return;
    const bool early = std::ranges::any_of(
        found->second, [this](TransactionId other) { return acknowledged_.looks_pending(other); });
    depends_on_.erase(found);
    if (early && --early_ == 0) std::raise(SIGKILL);
  }

 private:
  Acknowledged& acknowledged_;
  uint64_t after_, early_;
  uint64_t acknowledgements_ = 0;
  std::unordered_map<TransactionId, std::vector<TransactionId>> depends_on_;
};

inline constexpr uint64_t kMostAccesses = 64;  // limit for the reads, and for the writes

// The ledger's scale and probabilities: --ledger=keys:1000,theta:0.9,... and values of --test.
struct Options {
  uint64_t keys = 1000;
  uint64_t cells = 64;  // rows that transactions overwrite without reading them
  uint64_t slots = 16;  // cells with a slot, whose row transactions erase and insert
  uint64_t reads = 2;   // rows that a transfer reads, at most
  uint64_t writes = 2;  // rows that a transfer updates, at most
  double theta = 0;     // zipfian skew of the keys; 0 is uniform

  // --test=ledger_readers: the number of workers that only read, so that their acknowledgements
  // wait only for the writes that they have read.
  uint64_t readers = 0;
  // --test=ledger_yield: a worker yields its core after this number of accesses, so that
  // transactions interleave on few cores. 0: never.
  uint64_t yield = 0;
  // --test=ledger_dawdle: how often LedgerClient::dawdle() yields at most.
  uint64_t dawdle = 0;
  // --test=ledger_die_after and ledger_die_early: see CrashPoint.
  uint64_t die_after = 0, die_early = 0;

  KeySpace key_space() const { return {.ledger = keys, .cells = cells, .slots = slots}; }
};

// Returns the options that the flags ask for. Any thread may call it.
Options options_from_flags();

// Returns why the flags cannot be used, in one sentence, or an empty string.
std::string check_flags();

inline constexpr uint64_t kLongestAudit = 16;  // ledger keys, or cells
inline constexpr uint64_t kMostCellWrites = 4;

enum Type : uint32_t { kTransfer, kToggle, kBlind, kAudit, kLookup };

// Chooses keys at random with probabilities proportional to 1 / rank^theta; key k has rank k + 1.
// Immutable, so all clients share one.
class KeyPicker {
 public:
  KeyPicker(uint64_t keys, double theta);
  Key operator()(std::mt19937_64& random) const;

 private:
  std::vector<double> cumulative_;
};

// A write to a cell, and to its slot if it has one.
struct CellWrite {
  Op op = Op::kBlind;
  uint64_t cell = 0;
};

// The input of a transaction: next() chooses it, and execute() uses it for each attempt.
struct Input {
  Type type = kTransfer;
  std::vector<Key> reads;   // rows of the ledger, and cells
  std::vector<Key> writes;  // rows of the ledger
  std::vector<CellWrite> cell_writes;
  bool dawdles = false;         // waits before its commit, so that other transactions overtake it
  bool of_cells = false;        // audit, lookup: of cells and slots; `low` and `high` are cells
  Key low = 0, high = 0;        // audit: the range, both included
  size_t scan_limit = 0;        // audit: the scan stops after this many entries
  bool descending = false;      // audit
  bool ledger_first = false;    // audit, lookup: read the ledger before the entries
  bool new_generation = false;  // toggle: an inserted entry gets a new key
};

// The worker's thread calls all functions except the constructor and the destructor. With a null
// `history` the client records nothing.
class LedgerClient final : public Client, private CommitObserver {
 public:
  LedgerClient(Database& database, uint32_t worker, uint32_t workers, uint64_t seed,
               const KeyPicker& pick, const ResumeState& resume_state, CellOrder& order,
               Acknowledged& acknowledged, HistoryWriter* history);

  uint32_t next() override;
  Status execute(Transaction& txn) override;

  std::span<const std::byte> command() override;
  bool take(uint32_t type, std::span<const std::byte> input) override;

  uint64_t committing() override {
    if (area_ == nullptr) return 0;
    LJ_ASSERT(!intended_);
    intend(*area_, attempt_);
    intended_ = true;
    return attempt_.id;
  }
  void acknowledged(uint64_t number) override;
  CommitObserver* commit_observer() override { return this; }
  bool exhausted() const override { return area_ != nullptr && is_full(*area_); }

  static bool is_full(const HistoryArea& area) {
    constexpr uint64_t kMost = 2 * kMostAccesses + 2 * kMostCellWrites;
    return full_for_accesses(area, std::max(kMost, kLongestAudit));
  }

 private:
  struct SeenEntry {
    Key key;
    EntryRow row;
  };

  uint64_t roll(uint64_t sides) {
    LJ_ASSERT_IN_TESTS(sides > 0);
    return random_() % sides;
  }
  void now_and_then_yield() {
    if (options_.yield != 0 && ++accesses_ % options_.yield == 0) platform::yield();
  }
  void draw_keys(size_t count, std::vector<Key>* keys);
  void draw_cell_writes(size_t count, bool write_only);

  void serialized() override;

  Status transfer(Transaction& txn);
  Status toggle(Transaction& txn);
  Status audit(Transaction& txn);
  Status lookup(Transaction& txn, Key key);

  Status read_cell(Transaction& txn, uint64_t cell, CellRow* row) {
    return read_row(txn, cells_, cell, keys_.ledger + cell, row);
  }
  Status write_cell(Transaction& txn, CellWrite write);
  Status change_slot(Transaction& txn, CellWrite write);
  void dawdle();
  void seal_cells();
  Status audit_slots(Transaction& txn);
  Status lookup_slot(Transaction& txn, uint64_t cell);

  // Copies row number `number` of the table to `*row`. In histories the row's key is `key`. Records
  // the row's writer as read, or a missing row as a mismatch. Returns kAbort or kOk.
  template <class Row>
  Status read_row(Transaction& txn, Table& table, Key number, Key key, Row* row);
  Status read_keys(Transaction& txn);
  Status read_ledger(Transaction& txn, Key key, LedgerRow* row);
  Status update_ledger(Transaction& txn, Key key, LedgerRow** row);
  Status scan_range(Transaction& txn, std::vector<SeenEntry>* seen, Key* low, Key* high);
  void compare(Key key, const LedgerRow& row, const std::vector<SeenEntry>& seen);
  void compare(Key key, bool present, const EntryRow* entry, bool foreign, Key number);
  // Calls both functions, `read` first if Input::ledger_first is set, and `find` first otherwise.
  // Returns kAbort if a function returns kAbort.
  template <class Read, class Find>
  Status in_order(const Read& read, const Find& find) {
    const Status first = input_.ledger_first ? read() : find();
    if (first == Status::kAbort) return first;
    return (input_.ledger_first ? find() : read()) == Status::kAbort ? Status::kAbort : Status::kOk;
  }

  Table& ledger_;
  Table& entries_;
  Table& cells_;
  Table& slots_;
  const Options options_ = options_from_flags();
  const KeySpace keys_ = options_.key_space();
  uint32_t worker_;
  bool reader_;  // this worker never writes (--test=ledger_readers)
  CrashPoint crash_point_;
  const KeyPicker& pick_;
  CellOrder& order_;
  HistoryWriter* history_;
  HistoryArea* area_;
  std::mt19937_64 random_;
  Input input_;
  Attempt attempt_;
  struct WrittenCell {
    uint64_t cell;
    CellRow* row;
    TransactionId last;  // the cell's last writer when the attempt wrote it (a hint)
  };
  std::vector<WrittenCell> written_cells_;  // of the attempt
  TransactionId replayed_ = 0;  // the attempt that take() decoded; 0: the client does not replay
  std::vector<uint64_t> command_;
  uint64_t attempts_;
  uint64_t accesses_ = 0;
  bool intended_ = false;                  // the last attempt reached its commit
  std::vector<uint32_t> last_generation_;  // by key: the generation that the client read last
};

}  // namespace logjam::ledger

// One worker's stream of ledger transactions. Each is drawn once, and executed until it commits:
//
//   transfer  reads some keys and updates others
//   toggle    updates a key and inserts or erases its entry
//   audit     scans a range of entries, reads the same range of the ledger, and compares the two
//   lookup    reads a key, its entry, and an entry that does not exist
#pragma once

#include <gflags/gflags.h>

#include <random>
#include <vector>

#include "engine/workload.h"
#include "platform/spin.h"
#include "workloads/ledger/history.h"
#include "workloads/ledger/rows.h"

DECLARE_uint64(ledger_die_after);
DECLARE_uint64(ledger_keys);
DECLARE_uint32(ledger_readers);
DECLARE_uint64(ledger_reads);
DECLARE_uint64(ledger_writes);
DECLARE_uint64(ledger_yield);

namespace logjam::ledger {

inline constexpr uint64_t kMostAccesses = 64;  // limit for the reads, and for the writes
inline constexpr uint64_t kLongestAudit = 16;  // ledger keys

enum Type : uint32_t { kTransfer, kToggle, kAudit, kLookup };

// Draws keys with probability proportional to 1 / rank^theta; key k has rank k + 1. Immutable, so
// all clients share one.
class KeyPicker {
 public:
  KeyPicker(uint64_t keys, double theta);
  Key operator()(std::mt19937_64& random) const;

 private:
  std::vector<double> cumulative_;
};

// The input of a transaction: next() draws it once, and execute() may use it several times.
struct Input {
  Type type = kTransfer;
  std::vector<Key> reads, writes;
  Key low = 0, high = 0;        // audit: the range, both included
  size_t scan_limit = 0;        // audit: the scan stops after so many entries
  bool descending = false;      // audit
  bool ledger_first = false;    // audit, lookup: read the ledger before the entries
  bool new_generation = false;  // toggle: an inserted entry gets a new key
};

// All calls but the constructor and the destructor come from the worker's thread. A null `history`
// records nothing.
class LedgerClient final : public Client {
 public:
  LedgerClient(Database& database, uint32_t worker, uint32_t workers, uint64_t seed,
               const KeyPicker& pick, HistoryWriter* history);

  uint32_t next() override;
  Status execute(Transaction& txn) override;

  std::span<const std::byte> command() override;
  bool take(uint32_t type, std::span<const std::byte> input) override;

  uint64_t committing() override {
    if (area_ == nullptr) return 0;
    area_->intend(attempt_);
    intended_ = true;
    return attempt_.id;
  }
  void acknowledged(uint64_t number) override;
  bool exhausted() const override {
    return area_ != nullptr && area_->full_for(std::max(2 * kMostAccesses, kLongestAudit));
  }

 private:
  struct SeenEntry {
    Key key;
    EntryRow row;
  };

  uint64_t roll(uint64_t sides) { return random_() % sides; }
  void now_and_then_yield() {
    if (FLAGS_ledger_yield != 0 && ++accesses_ % FLAGS_ledger_yield == 0) platform::yield();
  }
  void draw_keys(size_t count, std::vector<Key>* keys);

  Status transfer(Transaction& txn);
  Status toggle(Transaction& txn);
  Status audit(Transaction& txn);
  Status lookup(Transaction& txn, Key key);

  // Copies the row of `key` to `*row`, and records its writer as a read of the attempt. kAbort, or
  // kOk; a missing row is recorded as a mismatch.
  Status read_ledger(Transaction& txn, Key key, LedgerRow* row);
  // Fetches the row of `key` to be changed, names the attempt as its writer, and records the
  // overwritten writer. The caller seals the row. A missing row is recorded as a mismatch.
  Status update_ledger(Transaction& txn, Key key, LedgerRow** row);
  Status read_range(Transaction& txn, std::vector<LedgerRow>* rows);
  Status scan_range(Transaction& txn, std::vector<SeenEntry>* seen, Key* low, Key* high);
  void compare(Key key, const LedgerRow& row, const std::vector<SeenEntry>& seen);

  Table& ledger_;
  Table& entries_;
  uint32_t worker_;
  bool reader_;   // this worker never writes (--ledger_readers)
  bool may_die_;  // this worker kills the process (--ledger_die_after)
  const KeyPicker& pick_;
  HistoryWriter* history_;
  HistoryArea* area_;
  std::mt19937_64 random_;
  Input input_;
  Attempt attempt_;
  TransactionId replayed_ = 0;  // the attempt that take() decoded; 0: this client does not replay
  std::vector<uint64_t> command_;
  uint64_t attempts_ = 0;
  uint64_t accesses_ = 0;
  uint64_t acknowledgements_ = 0;
  bool intended_ = false;                  // the last attempt reached its commit
  std::vector<uint32_t> last_generation_;  // by key: the entry's generation, as last read here
};

}  // namespace logjam::ledger

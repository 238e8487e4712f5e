// The ledger: a workload made to be checked, not to be measured.
//
// Table `ledger` (hash index) holds a row for each key and is only updated; table `entries`
// (ordered index) holds an entry for a key exactly if its ledger row says so. Every row names the
// attempt that wrote it (rows.h), and with --history=FILE every attempt that reaches its commit
// records what it read and overwrote (history.h). checker.h says what then must hold.
#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "engine/workload.h"
#include "platform/fatal.h"
#include "platform/mutex.h"
#include "platform/spin.h"
#include "workloads/ledger/checker.h"
#include "workloads/ledger/history.h"
#include "workloads/ledger/rows.h"

DEFINE_uint64(ledger_keys, 1000, "ledger: rows");
DEFINE_uint64(ledger_reads, 2, "ledger: rows a transfer reads, at most");
DEFINE_uint64(ledger_writes, 2, "ledger: rows a transfer updates, at most");
DEFINE_double(ledger_theta, 0, "ledger: zipfian skew of the keys, 0 is uniform");
DEFINE_uint64(ledger_yield, 0,
              "ledger: give the core away at every so many accesses, so that few cores see many "
              "interleavings; 0: never");
DEFINE_string(history, "", "ledger: file that keeps what was read, written and acknowledged");
DEFINE_uint64(history_mb, 256, "ledger: size of that file; the run ends when it is full");

namespace logjam {
namespace {

using namespace ledger;

constexpr uint64_t kMostAccesses = 64;  // of one kind in a transfer
constexpr uint64_t kLongestAudit = 16;

enum Type : uint32_t { kTransfer, kToggle, kAudit, kLookup };

// Draws keys with probability proportional to 1 / rank^theta; rank is the key.
class KeyPicker {
 public:
  KeyPicker(uint64_t keys, double theta) {
    double sum = 0;
    for (uint64_t rank = 1; rank <= keys; ++rank) {
      cumulative_.push_back(sum += std::pow(static_cast<double>(rank), -theta));
    }
  }
  Key operator()(std::mt19937_64& random) const {
    const double at = static_cast<double>(random() >> 11) / 9007199254740992.0 * cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
    return static_cast<Key>(found - cumulative_.begin());
  }

 private:
  std::vector<double> cumulative_;
};

// What next() draws once, and execute() may need several times.
struct Input {
  Type type = kTransfer;
  std::vector<Key> reads, writes;
  Key low = 0, high = 0;        // audit
  size_t scan_limit = 0;        // audit: stop after so many entries
  bool descending = false;      // audit
  bool ledger_first = false;    // audit, lookup: read the ledger before the entries
  bool new_generation = false;  // toggle
};

class LedgerClient final : public Client {
 public:
  LedgerClient(Database& database, uint32_t worker, uint64_t seed, const KeyPicker& pick,
               HistoryWriter* history)
      : ledger_(database.table("ledger")),
        entries_(database.table("entries")),
        worker_(worker),
        pick_(pick),
        history_(history),
        area_(history == nullptr ? nullptr : &history->area(worker)),
        random_(mix(seed + 1) ^ mix(worker + 1)),
        last_generation_(FLAGS_ledger_keys) {}

  uint32_t next() override;
  Status execute(Transaction& txn) override;

  uint64_t committing() override {
    if (area_ == nullptr) return 0;
    area_->intend(attempt_);
    intended_ = true;
    return attempt_.id;
  }
  void acknowledged(uint64_t number) override {
    if (area_ != nullptr) area_->acknowledge(number);
  }
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

  // The row of `key`, noting whose write was seen.
  Status read_ledger(Transaction& txn, Key key, LedgerRow* row);
  // The row of `key`, named as this attempt's write; what it overwrote is noted.
  Status update_ledger(Transaction& txn, Key key, LedgerRow** row);
  Status read_range(Transaction& txn, std::vector<LedgerRow>* rows);
  Status scan_range(Transaction& txn, std::vector<SeenEntry>* seen, Key* low, Key* high);
  void compare(Key key, const LedgerRow& row, const std::vector<SeenEntry>& seen);

  Table& ledger_;
  Table& entries_;
  uint32_t worker_;
  const KeyPicker& pick_;
  HistoryWriter* history_;
  HistoryArea* area_;
  std::mt19937_64 random_;
  Input input_;
  Attempt attempt_;
  uint64_t attempts_ = 0;
  uint64_t accesses_ = 0;
  bool intended_ = false;                  // the last attempt reached its commit
  std::vector<uint32_t> last_generation_;  // of each key's entry, as last seen by this client
};

// Distinct ones, also from those already there: a key drawn twice makes room for its neighbour.
void LedgerClient::draw_keys(size_t count, std::vector<Key>* keys) {
  for (; count > 0; --count) {
    Key key = pick_(random_);
    while (std::find(keys->begin(), keys->end(), key) != keys->end()) {
      key = (key + 1) % FLAGS_ledger_keys;
    }
    keys->push_back(key);
  }
}

uint32_t LedgerClient::next() {
  intended_ = false;
  if (history_ != nullptr) history_->mark_started();
  const uint64_t percent = roll(100);
  input_.type = percent < 50 ? kTransfer : percent < 75 ? kToggle : percent < 87 ? kAudit : kLookup;
  std::vector<Key> keys;
  const size_t reads = input_.type == kLookup ? 1 : roll(FLAGS_ledger_reads + 1);
  const size_t writes = input_.type == kToggle ? 1 : 1 + roll(FLAGS_ledger_writes);
  draw_keys(reads + writes, &keys);
  const auto split = keys.begin() + static_cast<std::ptrdiff_t>(reads);
  input_.reads.assign(keys.begin(), split);
  input_.writes.assign(split, keys.end());
  // Now and then a key is read first and updated later: a lock to upgrade.
  if (reads > 0 && roll(4) == 0) input_.writes[0] = input_.reads[0];
  input_.low = pick_(random_);
  input_.high = std::min(input_.low + roll(kLongestAudit), FLAGS_ledger_keys - 1);
  input_.scan_limit = roll(4) == 0 ? 1 + roll(4) : ~size_t{0};
  input_.descending = roll(2) == 0;
  input_.ledger_first = roll(2) == 0;
  input_.new_generation = roll(2) == 0;
  return input_.type;
}

Status LedgerClient::execute(Transaction& txn) {
  if (intended_) area_->retract();
  intended_ = false;
  attempt_.clear(make_id(worker_, ++attempts_));
  switch (input_.type) {
    case kTransfer:
      return transfer(txn);
    case kToggle:
      return toggle(txn);
    case kAudit:
      return audit(txn);
    case kLookup:
      return lookup(txn, input_.reads[0]);
  }
  return Status::kRollback;
}

Status LedgerClient::read_ledger(Transaction& txn, Key key, LedgerRow* row) {
  const LedgerRow* seen = nullptr;
  const Status status = txn.read(ledger_, key, &seen);
  if (status == Status::kAbort) return status;
  if (status != Status::kOk) {
    attempt_.complain(Mismatch::kMissingRow, key);
    return Status::kOk;
  }
  *row = *seen;
  if (!row->intact(key)) attempt_.complain(Mismatch::kTornRow, key);
  attempt_.reads.push_back({key, row->writer});
  now_and_then_yield();
  last_generation_[key] = row->generation;
  return Status::kOk;
}

Status LedgerClient::update_ledger(Transaction& txn, Key key, LedgerRow** row) {
  const Status status = txn.update(ledger_, key, row);
  if (status != Status::kOk) {
    attempt_.complain(Mismatch::kMissingRow, key);
    return status;
  }
  if (!(*row)->intact(key)) attempt_.complain(Mismatch::kTornRow, key);
  attempt_.writes.push_back({key, (*row)->writer});
  (*row)->overwritten = (*row)->writer;
  (*row)->writer = attempt_.id;
  now_and_then_yield();
  return Status::kOk;
}

Status LedgerClient::transfer(Transaction& txn) {
  for (const Key key : input_.reads) {
    LedgerRow row;
    if (read_ledger(txn, key, &row) == Status::kAbort) return Status::kAbort;
  }
  for (const Key key : input_.writes) {
    LedgerRow* row = nullptr;
    const Status status = update_ledger(txn, key, &row);
    if (status == Status::kAbort) return status;
    if (status == Status::kOk) row->seal(key);
  }
  return Status::kOk;
}

Status LedgerClient::toggle(Transaction& txn) {
  for (const Key key : input_.reads) {
    LedgerRow row;
    if (read_ledger(txn, key, &row) == Status::kAbort) return Status::kAbort;
  }
  const Key key = input_.writes[0];
  LedgerRow* row = nullptr;
  Status status = update_ledger(txn, key, &row);
  if (status != Status::kOk) return status;
  row->toggler = attempt_.id;
  row->present ^= 1;
  if (row->present != 0 && input_.new_generation) {
    row->generation = (row->generation + 1) & ((1u << kGenerationBits) - 1);
  }
  row->seal(key);
  const Key at = entry_key(key, row->generation);
  if (row->present != 0) {
    EntryRow entry{attempt_.id, key, 0};
    entry.seal();
    status = txn.insert(entries_, at, entry);
    if (status == Status::kExists) attempt_.complain(Mismatch::kUnexpected, key);
  } else {
    status = txn.erase(entries_, at);
    if (status == Status::kNotFound) attempt_.complain(Mismatch::kMissingEntry, key);
  }
  return status == Status::kAbort ? status : Status::kOk;
}

// Whether the entries seen under `key` are what its ledger row says.
void LedgerClient::compare(Key key, const LedgerRow& row, const std::vector<SeenEntry>& seen) {
  const SeenEntry* found = nullptr;
  for (const SeenEntry& entry : seen) {
    if (ledger_key_of(entry.key) != key) continue;
    if (found != nullptr) attempt_.complain(Mismatch::kDuplicateEntry, key);
    found = &entry;
  }
  if (found == nullptr) {
    if (row.present != 0) attempt_.complain(Mismatch::kMissingEntry, key);
    return;
  }
  if (row.present == 0) attempt_.complain(Mismatch::kUnexpected, key);
  if (found->key != entry_key(key, row.generation) || found->row.writer != row.toggler) {
    attempt_.complain(Mismatch::kForeignEntry, key);
  }
  if (!found->row.intact() || found->row.key != key) attempt_.complain(Mismatch::kTornRow, key);
}

Status LedgerClient::read_range(Transaction& txn, std::vector<LedgerRow>* rows) {
  for (Key key = input_.low; key <= input_.high; ++key) {
    LedgerRow row;
    if (read_ledger(txn, key, &row) == Status::kAbort) return Status::kAbort;
    rows->push_back(row);
  }
  return Status::kOk;
}

// Also says which ledger keys the scan vouches for: those up to where it stopped.
Status LedgerClient::scan_range(Transaction& txn, std::vector<SeenEntry>* seen, Key* low,
                                Key* high) {
  *low = input_.low;
  *high = input_.high;
  const auto visit = [&](Key at, const std::byte* row) {
    SeenEntry entry{at, {}};
    std::memcpy(&entry.row, row, sizeof entry.row);
    seen->push_back(entry);
    if (seen->size() < input_.scan_limit) return true;
    (input_.descending ? *low : *high) = ledger_key_of(at);
    return false;
  };
  return txn.scan(entries_, entry_key(input_.low, 0), entry_key(input_.high + 1, 0) - 1,
                  input_.descending, visit);
}

Status LedgerClient::audit(Transaction& txn) {
  std::vector<LedgerRow> rows;
  std::vector<SeenEntry> seen;
  Key low = 0, high = 0;
  const auto read = [&] { return read_range(txn, &rows); };
  const auto scan = [&] { return scan_range(txn, &seen, &low, &high); };
  if ((input_.ledger_first ? read() : scan()) == Status::kAbort) return Status::kAbort;
  if ((input_.ledger_first ? scan() : read()) == Status::kAbort) return Status::kAbort;
  for (Key key = low; key <= high; ++key) compare(key, rows[key - input_.low], seen);
  return Status::kOk;
}

// The ledger row, this generation's entry and the next one's, which is not there. Read entries
// first, and the generation is a guess.
Status LedgerClient::lookup(Transaction& txn, Key key) {
  LedgerRow row;
  std::vector<SeenEntry> seen;
  const auto read = [&] { return read_ledger(txn, key, &row); };
  const auto find = [&] {
    for (const uint32_t ahead : {0, 1}) {
      const Key at = entry_key(key, last_generation_[key] + ahead);
      const EntryRow* entry = nullptr;
      const Status status = txn.read(entries_, at, &entry);
      if (status == Status::kAbort) return status;
      if (status == Status::kOk) seen.push_back({at, *entry});
    }
    return Status::kOk;
  };
  const uint32_t guess = last_generation_[key];
  if ((input_.ledger_first ? read() : find()) == Status::kAbort) return Status::kAbort;
  if ((input_.ledger_first ? find() : read()) == Status::kAbort) return Status::kAbort;
  const bool looked_at_it = input_.ledger_first || row.generation - guess <= 1;
  if (looked_at_it) {
    compare(key, row, seen);
  } else if (!seen.empty()) {
    attempt_.complain(Mismatch::kForeignEntry, key);
  }
  return Status::kOk;
}

// A flag of any room, or nothing if it does not exist.
std::string flag(const char* name) {
  std::string value;
  return gflags::GetCommandLineOption(name, &value) ? value : "";
}

HistoryParameters history_parameters() {
  HistoryParameters parameters;
  parameters.keys = FLAGS_ledger_keys;
  if (flag("commit") == "async") parameters.unsafe = "--commit=async";
  for (const char* name : {"log", "cc", "commit", "elr", "log_records", "device", "threads", "seed",
                           "ledger_reads", "ledger_writes", "ledger_theta"}) {
    parameters.run += std::string("--") + name + "=" + flag(name) + " ";
  }
  return parameters;
}

class Ledger final : public Workload {
 public:
  Ledger() : pick_(FLAGS_ledger_keys, FLAGS_ledger_theta) {}
  ~Ledger() override {
    if (history_ != nullptr) history_->mark_finished();
  }

  void create_tables(Database& database) override {
    database.create_table({"ledger", sizeof(LedgerRow), IndexKind::kHash, FLAGS_ledger_keys, {}});
    database.create_table(
        {"entries", sizeof(EntryRow), IndexKind::kOrdered, FLAGS_ledger_keys, {}});
  }

  // Every other key has an entry.
  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    Table& ledger = database.table("ledger");
    Table& entries = database.table("entries");
    for (Key key = part; key < FLAGS_ledger_keys; key += parts) {
      LedgerRow row;
      row.present = key % 2 == 0;
      row.seal(key);
      ledger.load(key, &row, arena);
      if (row.present == 0) continue;
      EntryRow entry{0, key, 0};
      entry.seal();
      entries.load(entry_key(key, 0), &entry, arena);
    }
  }

  std::vector<std::string_view> types() const override {
    return {"transfer", "toggle", "audit", "lookup"};
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    const platform::lock_guard<platform::mutex> guard(making_);
    if (!FLAGS_history.empty() && history_ == nullptr) {
      history_ = std::make_unique<HistoryWriter>(FLAGS_history, workers, FLAGS_history_mb << 20,
                                                 history_parameters());
    }
    return std::make_unique<LedgerClient>(database, worker, seed, pick_, history_.get());
  }

  std::vector<Check> verify(Database& database) override {
    const LedgerRows rows = read_rows(database);
    const std::string wrong = check_rows(rows, FLAGS_ledger_keys);
    std::vector<Check> checks{{"ledger rows", wrong.empty(),
                               wrong.empty()
                                   ? std::to_string(rows.ledger.size()) + " rows and " +
                                         std::to_string(rows.entries.size()) + " entries agree"
                                   : wrong}};
    if (history_ != nullptr) {  // the run that wrote it has just ended, and all is settled
      history_->mark_finished();
      checks.push_back(proof(check(rows, open_history(history_->path()))));
    }
    return checks;
  }

  std::vector<Check> verify_history(Database& database, const std::string& path) override {
    return {proof(check_history(database, path))};
  }

  std::string describe() const override {
    std::string line = "ledger: " + std::to_string(FLAGS_ledger_keys) + " keys, up to " +
                       std::to_string(FLAGS_ledger_reads) + " reads and " +
                       std::to_string(FLAGS_ledger_writes) + " writes a transfer";
    if (FLAGS_ledger_theta != 0) line += ", zipfian " + flag("ledger_theta");
    return line + (FLAGS_history.empty() ? "" : ", history in " + FLAGS_history);
  }

  uint64_t expected_bytes() const override {
    return FLAGS_ledger_keys * 2 * (sizeof(Tuple) + sizeof(LedgerRow));
  }

 private:
  static Check proof(const CheckResult& result) {
    return {"history", result.passed, result.summary()};
  }

  KeyPicker pick_;
  platform::mutex making_;
  std::unique_ptr<HistoryWriter> history_;
};

std::string check_flags() {
  if (FLAGS_ledger_reads > kMostAccesses) return "--ledger_reads is at most 64";
  if (FLAGS_ledger_writes < 1 || FLAGS_ledger_writes > kMostAccesses) {
    return "--ledger_writes is from 1 to 64";
  }
  const uint64_t fewest = FLAGS_ledger_reads + FLAGS_ledger_writes;
  if (FLAGS_ledger_keys < fewest || FLAGS_ledger_keys > 100'000'000) {
    return "--ledger_keys is from " + std::to_string(fewest) +
           " (the keys of a transfer) to 100000000";
  }
  if (!(FLAGS_ledger_theta >= 0 && FLAGS_ledger_theta <= 2)) return "--ledger_theta is from 0 to 2";
  if (FLAGS_history_mb < 1 || FLAGS_history_mb > 1 << 20) {
    return "--history_mb is from 1 to 1048576";
  }
  return "";
}

const WorkloadRegistration registration({
    "ledger",
    "reads, updates, inserts, deletes and scans whose results can be proved right afterwards",
    {"ledger_keys"},
    check_flags,
    [] { return std::make_unique<Ledger>(); },
});

}  // namespace
}  // namespace logjam

// The ledger: a workload made to be checked, not to be measured.
//
// Table `ledger` (hash index) holds one row for each key, and its rows are only updated. Table
// `entries` (ordered index) holds an entry for a key exactly if the key's ledger row says so. The
// rows of table `cells` (hash index) are mostly overwritten without being read. Table `slots`
// (ordered index) holds a row for a cell's number exactly if the cell says so. Every row names the
// attempt that wrote it (rows.h). With --history=FILE, every attempt that reaches its
// commit records what it read and overwrote (history.h). checker.h states what must hold then.
#include <gflags/gflags.h>

#include "platform/mutex.h"
#include "proof/history/history_files.h"
#include "proof/ledger/checker.h"
#include "proof/ledger/client.h"
#include "proof/ledger/history.h"
#include "proof/ledger/list_append.h"
#include "proof/ledger/resume_state.h"

DEFINE_uint64(ledger_keys, 1000, "ledger: rows");
DEFINE_uint64(ledger_cells, 64, "ledger: rows that are overwritten without being read");
DEFINE_uint64(
    ledger_slots, 16,
    "ledger: so many of the cells have a row that comes and goes, by erase and insert; few "
    "come and go often");
DEFINE_uint64(ledger_reads, 2, "ledger: rows a transfer reads, at most");
DEFINE_uint64(ledger_writes, 2, "ledger: rows a transfer updates, at most");
DEFINE_uint32(ledger_readers, 0,
              "ledger: number of workers that only read; an acknowledgement of theirs waits only "
              "for writes that the transaction has read");
DEFINE_double(ledger_theta, 0, "ledger: zipfian skew of the keys, 0 is uniform");
DEFINE_uint64(ledger_yield, 0,
              "ledger: number of accesses after which a worker yields its core, so that few cores "
              "see many interleavings; 0: never");
DEFINE_uint64(ledger_dawdle, 0,
              "ledger: how often, at most, a transaction that has inserted and read nothing yields "
              "its core before it commits, until others have inserted and erased the same row");
DEFINE_uint64(ledger_die_after, 0,
              "ledger: one worker kills the process (SIGKILL) right after this many "
              "acknowledgements of its own, so that a lost commit would be noticed; 0: none does");
DEFINE_uint64(
    ledger_die_early, 0,
    "ledger: a worker kills the process (SIGKILL) right after this many acknowledgements of "
    "its own that come early: of a blind insert, before that of the erase it follows; 0: "
    "none does");
DECLARE_string(history);
DECLARE_uint64(history_mb);

namespace logjam {
namespace {

using namespace ledger;

// Returns the value of a flag defined anywhere in the binary, or an empty string if it does not
// exist.
std::string flag(const char* name) {
  std::string value;
  return gflags::GetCommandLineOption(name, &value) ? value : "";
}

class Ledger final : public Workload {
 public:
  Ledger() : pick_(FLAGS_ledger_keys, FLAGS_ledger_theta), order_(FLAGS_ledger_cells) {}
  ~Ledger() override {
    if (history_ != nullptr) history_->record_end();
  }

  void create_tables(Database& database) override {
    database.create_table({"ledger",
                           sizeof(LedgerRow),
                           IndexKind::kHash,
                           FLAGS_ledger_keys,
                           {},
                           Columns()
                               .key("ledger_key", [](Key key) { return key; })
                               .field("writer", &LedgerRow::writer)
                               .field("overwritten", &LedgerRow::overwritten)
                               .field("toggler", &LedgerRow::toggler)
                               .field("generation", &LedgerRow::generation)
                               .field("present", &LedgerRow::present)});
    database.create_table({"entries",
                           sizeof(EntryRow),
                           IndexKind::kOrdered,
                           FLAGS_ledger_keys,
                           {},
                           Columns()
                               .key("entry_key", [](Key key) { return key; })
                               .field("writer", &EntryRow::writer)
                               .field("ledger_key", &EntryRow::key)});
    database.create_table({"cells",
                           sizeof(CellRow),
                           IndexKind::kHash,
                           FLAGS_ledger_cells,
                           {},
                           Columns()
                               .key("cell", [](Key key) { return key; })
                               .field("writer", &CellRow::writer)
                               .field("present", &CellRow::present)});
    database.create_table({"slots",
                           sizeof(EntryRow),
                           IndexKind::kOrdered,
                           FLAGS_ledger_slots,
                           {},
                           Columns()
                               .key("slot", [](Key key) { return key; })
                               .field("writer", &EntryRow::writer)
                               .field("cell", &EntryRow::key)});
  }

  // Loads all tables. Keys with even numbers get an entry, and slots with even numbers a row.
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
    const KeySpace keys = key_space();
    for (uint64_t cell = part; cell < keys.cells; cell += parts) {
      const Key key = keys.ledger + cell;
      CellRow row;
      row.present = keys.has_slot(key) && keys.slot_loaded(key) ? 1 : 0;
      row.seal(cell);
      database.table("cells").load(cell, &row, arena);
      if (row.present == 0) continue;
      EntryRow slot{0, cell, 0};
      slot.seal();
      database.table("slots").load(cell, &slot, arena);
    }
  }

  void resume(Database& database) override { resume_state_ = read_resume_state(database, &order_); }

  Specification spec() const override {
    return {.description = description(),
            .expected_bytes = FLAGS_ledger_keys * 2 * (sizeof(Tuple) + sizeof(LedgerRow)) +
                              FLAGS_ledger_cells * 2 * (sizeof(Tuple) + sizeof(CellRow)),
            .types = {{"transfer"}, {"toggle"}, {"blind"}, {"audit"}, {"lookup"}}};
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    const platform::lock_guard<platform::mutex> guard(making_);
    if (acknowledged_ == nullptr) {
      acknowledged_ = std::make_unique<Acknowledged>(workers, resume_state_);
    }
    return std::make_unique<LedgerClient>(database, worker, workers, seed, pick_, resume_state_,
                                          order_, *acknowledged_, history_.get());
  }

  void start_history(uint32_t workers, uint32_t ordinal, const std::string& unsafe) override {
    if (FLAGS_history.empty()) return;
    StartedHistory started =
        start_life(FLAGS_history, workers, history_parameters(key_space(), unsafe, ordinal));
    history_ = std::move(started.writer);
    for (uint32_t worker = 0; worker < started.counts.size(); ++worker) {
      resume_state_.raise(worker, started.counts[worker]);
    }
  }

  // Makes a client without a history: replay adds nothing to it, because it is the run's.
  std::unique_ptr<Client> make_replayer(Database& database) override {
    return std::make_unique<LedgerClient>(database, 0, 1, 0, pick_, resume_state_, order_, nobody_,
                                          nullptr);
  }

  std::vector<Check> verify(Database& database) override {
    const LedgerRows rows = read_rows(database);
    const std::string wrong = check_rows(rows, key_space());
    std::vector<Check> checks{{"ledger rows", wrong.empty(),
                               wrong.empty()
                                   ? std::to_string(rows.ledger.size()) + " rows and " +
                                         std::to_string(rows.entries.size()) + " entries, " +
                                         std::to_string(rows.cells.size()) + " cells and " +
                                         std::to_string(rows.slots.size()) + " slots agree"
                                   : wrong}};
    if (history_ != nullptr) {  // the run has ended: every committed transaction is acknowledged
      history_->record_end();
      checks.push_back(proof(check(rows, open_history(FLAGS_history))));
    }
    return checks;
  }

  std::vector<Check> verify_history(Database& database, const std::string& path) override {
    return {proof(check_history(database, path))};
  }

  std::string export_history(Database& database, const std::string& path,
                             const std::string& to) override {
    return export_list_append(read_rows(database), open_history(path), to);
  }

 private:
  std::string description() const {
    std::string line = "ledger: " + std::to_string(FLAGS_ledger_keys) + " keys, up to " +
                       std::to_string(FLAGS_ledger_reads) + " reads and " +
                       std::to_string(FLAGS_ledger_writes) + " writes a transfer, " +
                       std::to_string(FLAGS_ledger_cells) + " cells, " +
                       std::to_string(FLAGS_ledger_slots) + " with slots";
    if (FLAGS_ledger_theta != 0) line += ", zipfian " + flag("ledger_theta");
    return line + (FLAGS_history.empty() ? "" : ", history in " + FLAGS_history);
  }

  static Check proof(const CheckResult& result) {
    return {"history", result.passed, result.summary()};
  }

  KeyPicker pick_;
  ResumeState resume_state_;
  CellOrder order_;
  platform::mutex making_;
  std::unique_ptr<Acknowledged> acknowledged_;
  Acknowledged nobody_{1};  // of replayers: recovery acknowledges nothing
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
  if (FLAGS_ledger_cells < 1 || FLAGS_ledger_cells > 1'000'000) {
    return "--ledger_cells is from 1 to 1000000";
  }
  if (FLAGS_ledger_slots > FLAGS_ledger_cells) {
    return "--ledger_slots is at most --ledger_cells: a slot is there if its cell says so";
  }
  if (!(FLAGS_ledger_theta >= 0 && FLAGS_ledger_theta <= 2)) return "--ledger_theta is from 0 to 2";
  if (FLAGS_ledger_die_early != 0 && FLAGS_history.empty()) {
    return "--ledger_die_early needs a --history, which numbers the transactions";
  }
  if (FLAGS_history_mb < 1 || FLAGS_history_mb > 1 << 20) {
    return "--history_mb is from 1 to 1048576";
  }
  return "";
}

const WorkloadRegistration registration({
    .name = "ledger",
    .what =
        "reads, updates, blind writes, inserts, deletes and scans, to be proved right afterwards",
    .memory = "0.24 kB a key",
    .load_flags = {"ledger_keys", "ledger_cells", "ledger_slots"},
    .check_flags = check_flags,
    .make = [] { return std::make_unique<Ledger>(); },
    .keeps_history = true,
    .has_commands = true,
});

}  // namespace
}  // namespace logjam

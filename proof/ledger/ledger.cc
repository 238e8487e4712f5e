// The ledger: a workload made to be checked, not to be measured.
//
// Table `ledger` (hash index) has one row for each key, which transactions only update. Table
// `entries` (ordered index) has an entry for a key exactly if the key's ledger row says so.
// Transactions overwrite most rows of table `cells` (hash index) without reading them. Table
// `slots` (ordered index) has a row for a cell's number exactly if the cell says so. Every row
// names the attempt that wrote it (rows.h). With --history=FILE, every attempt that reaches its
// commit records what it read and overwrote (history.h). checker.h states the rules that a database
// must keep.
#include <gflags/gflags.h>

#include <algorithm>

#include "platform/flag_list.h"
#include "platform/mutex.h"
#include "platform/test_value.h"
#include "platform/text.h"
#include "proof/history/history_files.h"
#include "proof/ledger/checker.h"
#include "proof/ledger/client.h"
#include "proof/ledger/history.h"
#include "workloads/parallel_check.h"

DEFINE_string(ledger, "",
              "the ledger's scale and draws: keys:1000 (rows), cells:64 (rows overwritten unread), "
              "slots:16 (cells whose row comes and goes), reads:2 and writes:2 (of a transfer, at "
              "most), theta:0 (zipfian skew of the keys)");
DECLARE_string(history);
DECLARE_uint64(history_mb);

namespace logjam {
namespace ledger {
namespace {

using platform::TestValue;

const TestValue readers("ledger_readers"), yield("ledger_yield"), dawdle("ledger_dawdle"),
    die_after("ledger_die_after"), die_early("ledger_die_early");

// Calls note(key, row, &counts) for each row, on all cores. Adds all `counts` to `*resume_state`.
template <class Row, class Note>
void read(Table& table, ResumeState* resume_state, const Note& note) {
  const auto read_part = [&](uint32_t part, uint32_t parts, ResumeState* writers) {
    table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
      note(key, *reinterpret_cast<const Row*>(row), writers);
    });
  };
  resume_state->add(sum_of_parts(ResumeState{}, read_part));
}

}  // namespace

ResumeState read_resume_state(Database& database, CellOrder* order) {
  ResumeState resume_state;
  Table& ledger = database.table("ledger");
  std::vector<uint32_t> generations(ledger.schema().expected_rows);
  read<LedgerRow>(ledger, &resume_state, [&](Key key, const LedgerRow& row, ResumeState* writers) {
    for (const TransactionId id : {row.writer, row.overwritten, row.toggler}) writers->raise(id);
    if (key < generations.size()) generations[key] = row.generation;
  });
  resume_state.generations = std::move(generations);
  const auto note_entry = [](Key, const EntryRow& row, ResumeState* writers) {
    writers->raise(row.writer);
  };
  read<EntryRow>(database.table("entries"), &resume_state, note_entry);
  read<EntryRow>(database.table("slots"), &resume_state, note_entry);
  read<CellRow>(database.table("cells"), &resume_state,
                [&](Key cell, const CellRow& row, ResumeState* writers) {
                  writers->raise(row.writer);
                  if (cell < order->cells()) order->resume(cell, row.writer, row.present != 0);
                });
  return resume_state;
}

Options options_from_flags() {
  Options options;
  const auto set = [](uint64_t* option, const char* key) {
    *option =
        static_cast<uint64_t>(platform::listed(FLAGS_ledger, key, static_cast<double>(*option)));
  };
  set(&options.keys, "keys");
  set(&options.cells, "cells");
  set(&options.slots, "slots");
  set(&options.reads, "reads");
  set(&options.writes, "writes");
  options.theta = platform::listed(FLAGS_ledger, "theta");
  options.readers = readers.get();
  options.yield = yield.get();
  options.dawdle = dawdle.get();
  options.die_after = die_after.get();
  options.die_early = die_early.get();
  return options;
}

std::string check_flags() {
  constexpr double kMostKeys = 100'000'000, kMostCells = 1'000'000, kMostTheta = 2;
  constexpr auto kMost = static_cast<double>(kMostAccesses);
  const platform::ListKey keys[] = {{"keys", 1, kMostKeys},   {"cells", 1, kMostCells},
                                    {"slots", 0, kMostCells}, {"reads", 0, kMost},
                                    {"writes", 1, kMost},     {"theta", 0, kMostTheta, false}};
  if (std::string why = platform::check_list("ledger", FLAGS_ledger, keys); !why.empty()) {
    return why;
  }
  const Options options = options_from_flags();
  // A lookup reads one key, even if transfers read no key.
  const uint64_t needed = std::max<uint64_t>(options.reads, 1) + options.writes;
  if (options.keys < needed) {
    return "--ledger needs at least as many keys as a transfer reads and writes: " +
           std::to_string(needed);
  }
  if (options.slots > options.cells) return "--ledger needs a cell for each of its slots";
  if (options.die_early != 0 && FLAGS_history.empty()) {
    return "--test=ledger_die_early needs a --history, which numbers the transactions";
  }
  constexpr uint64_t kMostHistoryMb = 1 << 20;
  if (FLAGS_history_mb < 1 || FLAGS_history_mb > kMostHistoryMb) {
    return "--history_mb is from 1 to " + std::to_string(kMostHistoryMb);
  }
  return "";
}

}  // namespace ledger

namespace {

using namespace ledger;

class Ledger final : public Workload {
 public:
  Ledger() : pick_(options_.keys, options_.theta), order_(options_.cells) {}
  ~Ledger() override {
    if (history_ != nullptr) history_->record_end();
  }

  void create_tables(Database& database) override {
    const auto itself = [](Key key) { return key; };
    const auto add = [&](const char* name, uint32_t row_bytes, IndexKind kind, uint64_t rows,
                         Columns columns) {
      database.create_table({name, row_bytes, kind, rows, {}, std::move(columns)});
    };
    add("ledger", sizeof(LedgerRow), IndexKind::kHash, options_.keys,
        Columns()
            .key("ledger_key", itself)
            .field("writer", &LedgerRow::writer)
            .field("overwritten", &LedgerRow::overwritten)
            .field("toggler", &LedgerRow::toggler)
            .field("generation", &LedgerRow::generation)
            .field("present", &LedgerRow::present));
    add("entries", sizeof(EntryRow), IndexKind::kOrdered, options_.keys,
        Columns()
            .key("entry_key", itself)
            .field("writer", &EntryRow::writer)
            .field("ledger_key", &EntryRow::key));
    add("cells", sizeof(CellRow), IndexKind::kHash, options_.cells,
        Columns()
            .key("cell", itself)
            .field("writer", &CellRow::writer)
            .field("present", &CellRow::present));
    add("slots", sizeof(EntryRow), IndexKind::kOrdered, options_.slots,
        Columns()
            .key("slot", itself)
            .field("writer", &EntryRow::writer)
            .field("cell", &EntryRow::key));
  }

  // Loads all tables. Keys with even numbers get an entry, and slots with even numbers a row.
  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    Table& ledger = database.table("ledger");
    Table& entries = database.table("entries");
    for (Key key = part; key < options_.keys; key += parts) {
      LedgerRow row;
      row.present = key % 2 == 0;
      row.seal(key);
      ledger.load(key, &row, arena);
      if (row.present == 0) continue;
      const EntryRow entry = EntryRow::sealed(0, key);
      entries.load(entry_key(key, 0), &entry, arena);
    }
    const KeySpace keys = options_.key_space();
    for (uint64_t cell = part; cell < keys.cells; cell += parts) {
      const Key key = keys.ledger + cell;
      CellRow row;
      row.present = keys.has_slot(key) && keys.slot_loaded(key) ? 1 : 0;
      row.seal(cell);
      database.table("cells").load(cell, &row, arena);
      if (row.present == 0) continue;
      const EntryRow slot = EntryRow::sealed(0, cell);
      database.table("slots").load(cell, &slot, arena);
    }
  }

  void resume(Database& database) override { resume_state_ = read_resume_state(database, &order_); }

  Specification spec() const override {
    return {.description = description(),
            .expected_bytes = options_.keys * 2 * (sizeof(Tuple) + sizeof(LedgerRow)) +
                              options_.cells * 2 * (sizeof(Tuple) + sizeof(CellRow)),
            .types = {{"transfer"}, {"toggle"}, {"blind"}, {"audit"}, {"lookup"}},
            .caution = [this](double) {
              return history_ ? history_->note_if_full(LedgerClient::is_full) : "";
            }};
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

  void start_history(uint32_t workers, const HistoryOrigin& origin) override {
    if (FLAGS_history.empty()) return;
    parameters_ = history_parameters(options_.key_space(), origin);
    StartedHistory started = start_life(FLAGS_history, workers, parameters_);
    history_ = std::move(started.writer);
    for (uint32_t worker = 0; worker < started.counts.size(); ++worker) {
      resume_state_.raise(worker, started.counts[worker]);
    }
  }

  void keep_history() override {
    if (history_ != nullptr) keep_life(FLAGS_history, parameters_, *history_);
  }

  // Makes a client that records nothing, because replays are not part of the run.
  std::unique_ptr<Client> make_replayer(Database& database) override {
    return std::make_unique<LedgerClient>(database, 0, 1, 0, pick_, resume_state_, order_, nobody_,
                                          nullptr);
  }

  std::vector<Check> verify(Database& database) override {
    const LedgerRows rows = read_rows(database);
    const std::string wrong = check_rows(rows, options_.key_space());
    std::vector<Check> checks{{"ledger rows", wrong.empty(),
                               wrong.empty()
                                   ? std::to_string(rows.ledger.size()) + " rows and " +
                                         std::to_string(rows.entries.size()) + " entries, " +
                                         std::to_string(rows.cells.size()) + " cells and " +
                                         std::to_string(rows.slots.size()) + " slots agree"
                                   : wrong}};
    if (history_ != nullptr) {  // the run has ended
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
    std::string line = "ledger: " + std::to_string(options_.keys) + " keys, up to " +
                       std::to_string(options_.reads) + " reads and " +
                       std::to_string(options_.writes) + " writes a transfer, " +
                       std::to_string(options_.cells) + " cells, " +
                       std::to_string(options_.slots) + " with slots";
    if (options_.theta != 0) line += ", zipfian " + platform::shortest(options_.theta);
    return line + (FLAGS_history.empty() ? "" : ", history in " + FLAGS_history);
  }

  static Check proof(const CheckResult& result) {
    return {"history", result.passed, result.summary()};
  }

  const Options options_ = options_from_flags();
  KeyPicker pick_;
  ResumeState resume_state_;
  CellOrder order_;
  platform::mutex making_;
  std::unique_ptr<Acknowledged> acknowledged_ LJ_GUARDED_BY(making_);
  Acknowledged nobody_{1};  // of replayers: recovery acknowledges nothing
  HistoryFileParameters parameters_;
  std::unique_ptr<HistoryWriter> history_;
};

const WorkloadRegistration registration({
    .name = "ledger",
    .what =
        "reads, updates, blind writes, inserts, deletes and scans, to be proved right afterwards",
    .memory = "0.24 kB a key",
    .load_flags = {"ledger"},
    .check_flags = check_flags,
    .make = [] { return std::make_unique<Ledger>(); },
    .keeps_history = true,
    .has_commands = true,
});

}  // namespace
}  // namespace logjam

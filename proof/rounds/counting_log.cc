#include "proof/rounds/counting_log.h"

#include <algorithm>
#include <cstring>

#include "engine/checkpoint/checkpointer.h"
#include "engine/run/run.h"
#include "logging/log.h"
#include "platform/clock.h"

namespace logjam {
namespace {

constexpr Key kKeys = 5;
constexpr uint64_t kBetweenNs = 100'000;  // from one transaction to the next

struct CountedRow {
  uint64_t number = 0;
  uint64_t same[4] = {1, 2, 3, 4};  // so that a range is shorter than the row
  bool operator==(const CountedRow&) const = default;
};
// The rows by key. Transaction n writes n into row n % kKeys.
using Rows = std::vector<CountedRow>;

Rows rows_after(uint64_t transactions) {
  Rows rows(kKeys);
  for (uint64_t n = 1; n <= transactions; ++n) rows[n % kKeys].number = n;
  return rows;
}

// Runs `transactions` transactions, which continue the count in the database.
class Counting final : public Workload {
 public:
  explicit Counting(uint64_t transactions) : transactions_(transactions) {}

  std::function<void(uint64_t)> acknowledged = [](uint64_t) {};
  std::function<bool()> ends = [] { return false; };  // asked before each transaction

  void create_tables(Database& database) override {
    database.create_table(
        {.name = "rows", .row_bytes = sizeof(CountedRow), .expected_rows = kKeys});
  }
  void load(Database& database, uint32_t part, uint32_t, Arena& arena) override {
    const CountedRow zero;
    for (Key key = 0; part == 0 && key < kKeys; ++key) {
      database.table("rows").load(key, &zero, arena);
    }
  }
  void resume(Database& database) override { done_ = counted(database).value(); }
  Specification spec() const override { return {.description = "counting", .types = {{"count"}}}; }
  std::unique_ptr<Client> make_client(Database& database, uint32_t, uint32_t, uint64_t) override {
    return std::make_unique<Counter>(*this, database);
  }
  std::vector<Check> verify(Database&) override { return {}; }

 private:
  struct Counter final : Client {
    Counter(Counting& workload, Database& database)
        : counting(workload), table(database.table("rows")), number(workload.done_) {}
    uint32_t next() override {
      ++number;
      return 0;
    }
    Status execute(Transaction& txn) override {
      CountedRow* row;
      const Status status = txn.update(table, number % kKeys, &row);
      if (status == Status::kOk) row->number = number;
      return status;
    }
    uint64_t committing() override { return number; }
    void acknowledged(uint64_t n) override { counting.acknowledged(n); }
    bool exhausted() const override {
      return number >= counting.done_ + counting.transactions_ || counting.ends();
    }

    Counting& counting;
    Table& table;
    uint64_t number;
  };

  const uint64_t transactions_;
  uint64_t done_ = 0;
};

LogOptions log_options(const CountingLife& life, const CountingLog& log) {
  LogOptions options;
  options.scheme = find_scheme(life.scheme);
  options.directories = log.directories;
  if (life.reversed) std::ranges::reverse(options.directories);
  options.overwrite = life.begin == CountingLife::Begin::kOverwrites;
  options.device = "sync";
  options.config.workers = 1;
  options.config.buffer_bytes = 65536;
  options.config.stripe_bytes = 4096;
  options.preallocate_bytes = 2 * log.segment_bytes;
  options.segment_bytes = log.segment_bytes;
  options.header.workers = 1;
  options.header.log_records = "txn";
  options.header.flags["workload"] = "counting";
  return options;
}

uint64_t last_complete_checkpoint(const LogManifest& log) {
  uint64_t number = 0;
  for (const Checkpoint& one : log.current().checkpoints) {
    if (one.complete) number = one.number;
  }
  return number;
}

}  // namespace

std::optional<uint64_t> counted(Database& database) {
  Rows rows(kKeys);
  database.table("rows").for_each_row(
      [&](Key key, const std::byte* row) { std::memcpy(&rows[key], row, sizeof rows[key]); });
  const uint64_t last = std::ranges::max_element(rows, {}, &CountedRow::number)->number;
  if (rows != rows_after(last)) return std::nullopt;
  return last;
}

std::string CountingLog::recover(LogChain* chain, RecoveredChain* recovered, bool goes_on) const {
  *chain = find_log_chain(directories);
  if (!chain->error.empty()) return chain->error;
  ChainOptions options;
  options.goes_on = goes_on;
  options.make_workload = [] { return std::make_unique<Counting>(0); };
  *recovered = recover_chain(*chain, options);
  return recovered->error.empty() ? recovered->damage : recovered->error;
}

std::string CountingLog::live(const CountingLife& life,
                              const std::function<void(uint64_t)>& acknowledged) const {
  auto workload = std::make_unique<Counting>(life.transactions);
  workload->acknowledged = acknowledged;
  LogOptions options = log_options(life, *this);
  std::unique_ptr<Database> database = std::make_unique<Database>();
  LogChain chain;
  RecoveredChain recovered;
  std::optional<LogManifest> manifest;
  ContinuedLog continued;
  if (life.begin == CountingLife::Begin::kContinued) {
    std::string wrong = recover(&chain, &recovered, true);
    const bool accepted = !life.damaged.empty() && chain.error.empty() && recovered.error.empty();
    if (!wrong.empty() && !accepted) return wrong;
    manifest.emplace(chain.directories, chain.manifest);
    continued = {&*manifest, [&](Manifest& found) { settle(recovered, &found); }};
    options.continued = &continued;
    options.directories = chain.directories;
    database = std::move(recovered.database);
    workload->resume(*database);
  } else {
    load(*workload, *database, 1);
  }
  Log log(options);
  CheckpointOptions checkpoints;
  checkpoints.manifest = log.manifest();
  checkpoints.about.ordinal = log.header().ordinal;
  checkpoints.about.flags = log.header().flags;
  checkpoints.release_log = [&log](const auto& positions) { log.release(positions); };
  checkpoints.every_bytes = 512;
  RunOptions run_options{
      .threads = 1, .seconds = 3600, .commit = CommitPolicy::kSync, .pin = false};
  run_options.log_ranges = life.ranges;
  if (life.checkpoints) run_options.checkpoints = &checkpoints;
  const uint64_t earlier = last_complete_checkpoint(*log.manifest());
  workload->ends = [&] {
    if (life.checkpoints) platform::sleep_ns(kBetweenNs);  // leaves the checkpoints time
    return last_complete_checkpoint(*log.manifest()) - earlier >= life.most_checkpoints;
  };
  log.start();
  run(*workload, *database, *find_protocol("occ"), log.scheme(), run_options);
  log.drain();
  log.stop();
  return "";
}

std::string CountingLog::checkpoint() const {
  LogChain chain;
  RecoveredChain recovered;
  if (std::string wrong = recover(&chain, &recovered, true); !wrong.empty()) return wrong;
  LogManifest log(chain.directories, chain.manifest);
  log.change([&recovered](Manifest& manifest) { settle(recovered, &manifest); });
  CheckpointOptions options;
  options.manifest = &log;
  options.about.ordinal = chain.ordinal;
  options.about.flags = chain.flags;
  std::string wrong;
  checkpoint_at_end(*recovered.database, options, &wrong);
  return wrong;
}

}  // namespace logjam

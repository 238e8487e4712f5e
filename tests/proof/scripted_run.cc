#include "tests/proof/scripted_run.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <random>

#include "platform/clock.h"
#include "platform/spin.h"
#include "tests/logging/log_fixture.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 4;
constexpr uint32_t kStreams = 3;  // the maximum, if the user may choose the number of streams
constexpr uint64_t kTransactions = 50;

using Row = ScriptedRun::Row;

// A worker of the script.
struct Actor {
  Actor(uint32_t id, Database& database, Log& log, const ScriptOptions& options,
        platform::atomic<uint64_t>& ages) {
    context.id = id;
    context.database = &database;
    context.log = &log.scheme();
    run_options.log_records = options.records;
    run_options.log_ranges = options.ranges;
    context.arena = &arena;
    context.breakdown = &breakdown;
    context.ages = &ages;
    txn = find_protocol("occ")->make(context);
  }

  Arena arena;
  Breakdown breakdown;
  RunOptions run_options;
  WorkerContext context{.options = run_options};
  std::unique_ptr<ProtocolTransaction> txn;
};

class Script {
 public:
  explicit Script(const ScriptOptions& options)
      : options_(options), random_(options.seed * 2654435761 + 17) {
    flags_.set("silo_epoch_ms", "0.1");
    flags_.set("test", "aether_force:3");
    table_ = &database_.create_table({.name = "rows", .row_bytes = sizeof(Row)});
    run_.transactions.emplace_back();
    run_.writers.resize(ScriptedRun::kKeys);
    for (Key key = 0; key < ScriptedRun::kKeys; ++key) {
      const Row row = ScriptedRun::row(0, key);
      table_->load(key, &row, arena_);
      run_.writers[key].push_back(0);
    }
  }

  ScriptedRun play() {
    const SchemeInfo& scheme = *options_.scheme;
    LogOptions log_options = log_options_of_many(scheme, directory_, "sim:0", kWorkers, kStreams);
    log_options.config.buffer_bytes = uint64_t{1} << 18;
    log_options.config.stripe_bytes = 4096;
    if (options_.striped && !scheme.traits.in_place && log_options.directories.size() == 1 &&
        scheme.stream_count(kStreams, log_options.config) == 1) {
      log_options.directories = {directory_.path() + "/a", directory_.path() + "/b"};
    }
    {
      Log log(log_options);
      platform::atomic<uint64_t> ages{0};
      for (uint32_t id = 0; id < kWorkers; ++id) {
        actors_.push_back(std::make_unique<Actor>(id, database_, log, options_, ages));
      }
      for (uint64_t i = 0; i < kTransactions; ++i) {
        Actor& actor = *actors_[random_() % kWorkers];
        commit_one(actor);
        // Polls at random, so records wait for the device while the script makes later records.
        while (random_() % 2 == 0) look_after(log, random_() % kWorkers);
      }
      if (options_.finished) {
        log.start();
        log.drain();
      }
      for (uint64_t t = 1; t < run_.transactions.size(); ++t) {
        run_.transactions[t].acknowledged = log.scheme().is_durable(points_[t - 1]);
      }
      if (!options_.finished) take_files(log_options);
      actors_.clear();
    }
    if (options_.finished) take_files(log_options);
    return std::move(run_);
  }

 private:
  void commit_one(Actor& actor) {
    const uint64_t number = run_.transactions.size();
    ScriptedRun::Transaction& me = run_.transactions.emplace_back();
    ProtocolTransaction& txn = *actor.txn;
    actor.context.command_input = {reinterpret_cast<const std::byte*>(&number), sizeof number};
    txn.begin(false);
    const bool blind = random_() % 3 == 0;
    for (uint64_t reads = blind ? 0 : random_() % 3; reads > 0; --reads) {
      const Row* row = nullptr;
      EXPECT_EQ(txn.read(*table_, random_() % ScriptedRun::kKeys, &row), Status::kOk);
      if (row->transaction != number) me.read_from.push_back(row->transaction);
    }
    std::vector<bool> written(ScriptedRun::kKeys);
    for (uint64_t writes = 1 + random_() % 3; writes > 0; --writes) {
      const Key key = random_() % ScriptedRun::kKeys;
      if (written[key]) continue;
      written[key] = true;
      std::byte* bytes = nullptr;
      EXPECT_EQ(blind ? txn.write(*table_, key, &bytes) : txn.update(*table_, key, &bytes),
                Status::kOk);
      Row* row = reinterpret_cast<Row*>(bytes);
      if (!blind) me.read_from.push_back(row->transaction);
      *row = ScriptedRun::row(number, key);
      me.writes.push_back(key);
    }
    EXPECT_EQ(txn.commit(), Status::kOk);
    for (const Key key : me.writes) run_.writers[key].push_back(number);
    points_.push_back(txn.commit_point());
  }

  // Polls the streams of `worker`. A poll starts a write, or notices that a write has finished.
  // Lets time pass first, because a stream ignores a poll that follows another poll too soon.
  void look_after(Log& log, uint64_t worker) {
    const uint64_t until = platform::now_ns() + 4'000;
    while (platform::now_ns() < until) platform::pause();
    log.scheme().poll(static_cast<uint32_t>(worker));
    // If a scheme with several streams has one flusher more than streams, this flusher ends epochs.
    if (log.streams() > 1 && log.scheme().flushers() > log.streams() && random_() % 4 == 0) {
      log.scheme().flush(log.streams(), true);
    }
  }

  void take_files(const LogOptions& log_options) {
    const LogFiles files = find_log_files(log_options.directories);
    EXPECT_EQ(files.error, "");
    run_.stripe_bytes = files.header.stripe_bytes;
    for (const auto& paths : files.paths) {
      LogReader reader(paths);
      for (RecordBatch batch; reader.next(&batch);) {
      }
      auto& images = run_.files.emplace_back();
      for (const std::string& path : paths) {
        std::ifstream in(path, std::ios::binary);
        images.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        // The file has the log's bytes, and zeros after them.
        const uint64_t end =
            paths.size() == 1 ? kLogHeaderBytes + reader.tail().bytes + 1024 : images.back().size();
        images.back().resize(end);
      }
    }
  }

  const ScriptOptions options_;
  std::mt19937_64 random_;
  ScopedFlags flags_;
  LogDirectory directory_;
  Arena arena_;
  Database database_;
  Table* table_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<CommitPoint> points_;  // points_[i] is the commit point of transaction i + 1
  ScriptedRun run_;
};

}  // namespace

ScriptedRun run_script(const ScriptOptions& options) { return Script(options).play(); }

}  // namespace logjam

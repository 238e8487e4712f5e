// A recovery that begins at StreamStarts must find the same cut as a recovery of the whole log. The
// two recoveries must use the same records after the starts.
#include <random>
#include <thread>

#include "tests/logging/scripted_log.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

using Starts = std::vector<StreamStart>;

// The result of a recovery from the log's present files.
struct Found {
  struct Record {
    uint32_t stream;
    uint64_t position, sequence;
    bool operator==(const Record&) const = default;
  };
  StreamTails tails;
  Cut cut;
  std::vector<Record> surviving;

  std::vector<Record> after(const Starts& starts) const {
    std::vector<Record> records = surviving;
    std::erase_if(records, [&](const Record& record) {
      return record.position < starts[record.stream].position;
    });
    return records;
  }
};

Found find(const LogOptions& options, const Starts& starts = {}) {
  LogFiles files = find_log_files(options.directories);
  files.starts = starts;
  Found found;
  std::vector<std::vector<std::pair<uint64_t, const RecordHeader*>>> records(files.paths.size());
  std::vector<LogMemory> memory;  // holds the memory of the records
  for (size_t s = 0; s < files.paths.size(); ++s) {
    LogReader reader(files.paths[s], files.start(s));
    EXPECT_EQ(reader.error(), "");
    for (RecordBatch batch; reader.next(&batch);) {
      memory.push_back(batch.memory);
      for (size_t i = 0; i < batch.records.size(); ++i) {
        records[s].emplace_back(batch.positions[i], batch.records[i]);
      }
    }
    found.tails.push_back(reader.tail());
  }
  const RecoveryRule& rule = options.scheme->recovery;
  found.cut = rule.cut(found.tails);
  for (uint32_t s = 0; s < records.size(); ++s) {
    for (const auto& [position, header] : records[s]) {
      if (position + header->bytes <= found.cut.bytes[s] && rule.survives(*header, found.cut)) {
        found.surviving.push_back({s, position, header->sequence});
      }
    }
  }
  return found;
}

void expect_same(const LogOptions& options, const Starts& starts) {
  const Found all = find(options), rest = find(options, starts);
  EXPECT_EQ(rest.cut.sequence, all.cut.sequence) << rest.cut.why << " / " << all.cut.why;
  EXPECT_EQ(rest.cut.bytes, all.cut.bytes);
  EXPECT_EQ(rest.surviving, all.after(starts));
  EXPECT_EQ(find_damage(rest.tails), "");
  for (size_t s = 0; s < starts.size(); ++s) {
    EXPECT_EQ(rest.tails[s].bytes, all.tails[s].bytes) << "stream " << s;
    EXPECT_GE(rest.tails[s].bytes, starts[s].durable) << "stream " << s;
  }
}

bool reached(const std::vector<uint64_t>& durable, const std::vector<uint64_t>& positions) {
  for (size_t s = 0; s < positions.size(); ++s) {
    if (durable[s] < positions[s]) return false;
  }
  return true;
}

std::vector<const SchemeInfo*> value_schemes() {
  std::vector<const SchemeInfo*> schemes = logging_schemes();
  std::erase_if(schemes, [](const SchemeInfo* one) { return one->traits.commands; });
  return schemes;
}

constexpr uint32_t kWorkers = 4, kStreams = 3;

class StartsTest : public ScriptedLog {
 protected:
  void open_log(const SchemeInfo& scheme) {
    options_ = log_options_of_many(scheme, directory_, "sync", kWorkers, kStreams);
    options_.config.safety_timeout_ns = 50'000;  // sleep of an idle flusher
    open();
  }
  // Publishes a transaction of `worker`, which may have read from any earlier transaction.
  void publish_one(uint32_t worker) {
    const uint64_t read = random_() % 2 == 0 ? 0 : random_() % (last_ + 1);
    last_ = std::max(last_, publish(worker, {.max_read = read, .reads = read != 0}).sequence);
  }
  // Publishes transactions of workers below `workers`. Sometimes a flusher takes a step.
  void run(uint32_t workers, int transactions) {
    for (int i = 0; i < transactions; ++i) {
      publish_one(static_cast<uint32_t>(random_() % workers));
      if (random_() % 3 == 0) step();
    }
  }
  void step() {
    if (!scheme().idle()) scheme().flush(random_() % scheme().flushers(), true);
  }
  // Waits until the log is durable up to `positions`, and until every transaction is durable that a
  // checkpoint's walk may have read.
  void wait(const std::vector<uint64_t>& positions) {
    const CommitPoint seen = scheme().commit_read_only(0, {.max_read = last_, .reads = true});
    const Watchdog watchdog("what was published does not become durable");
    while (!durable(seen) || !reached(scheme().durable_positions(), positions)) step();
  }
  // Takes starts as a checkpoint does, while workers with numbers below `workers` publish.
  Starts take(uint32_t workers, int transactions) {
    const auto positions = scheme().published_positions();
    run(workers, transactions);
    wait(positions);
    const auto sequences = scheme().durable_sequences();
    const auto ends = scheme().published_positions();
    EXPECT_EQ(positions.size(), streams());
    EXPECT_EQ(sequences.size(), streams());
    wait(ends);
    Starts starts;
    for (uint32_t s = 0; s < streams(); ++s) {
      starts.push_back({positions[s], sequences[s], ends[s]});
    }
    return starts;
  }
  uint64_t bytes_after(const Starts& starts) {
    uint64_t bytes = 0;
    const Found found = find(options_, starts);
    for (size_t s = 0; s < starts.size(); ++s) {
      bytes += found.tails[s].bytes - starts[s].position;
    }
    return bytes;
  }

  std::mt19937_64 random_{17};
  uint64_t last_ = 0;
};

class StreamStarts : public StartsTest, public testing::WithParamInterface<const SchemeInfo*> {};

TEST_P(StreamStarts, ARecoveryFromThemUsesWhatOneFromTheBeginningUses) {
  for (const bool one_stays_idle : {false, true}) {
    SCOPED_TRACE(one_stays_idle);
    open_log(*GetParam());
    last_ = 0;
    run(kWorkers, 40);
    scheme().published_positions();
    const LogReservation in_flight = scheme().reserve(0, {}, 64);
    const auto with_hole = scheme().published_positions();
    EXPECT_LE(with_hole[in_flight.stream], in_flight.position);
    fill(0, in_flight);
    last_ = std::max(last_, in_flight.sequence);
    const uint32_t workers = one_stays_idle ? 1 : kWorkers;
    const Starts starts = take(workers, 10);
    EXPECT_NE(starts[0].position, 0u);
    expect_same(options_, starts);
    // A crash may come after any step, so the cut is checked after each one.
    for (int i = 0; i < 25; ++i) {
      run(workers, 1);
      step();
      expect_same(options_, starts);
    }
    EXPECT_GT(bytes_after(starts), 0u);
    log_->drain();
    expect_same(options_, starts);
    log_->stop();
    expect_same(options_, starts);
    EXPECT_FALSE(find(options_, starts).surviving.empty());
  }
}

TEST_P(StreamStarts, AStreamMayHaveNothingAfterIts) {
  open_log(*GetParam());
  run(kWorkers, 40);
  log_->drain();
  take(kWorkers, 0);  // may append watermark records
  const Starts starts = take(kWorkers, 0);
  EXPECT_EQ(bytes_after(starts), 0u);
  const Found none = find(options_, starts);
  EXPECT_TRUE(none.surviving.empty());
  expect_same(options_, starts);
  // From now on only worker 0 writes. Other streams may still get watermarks.
  for (int i = 0; i < 20; ++i) {
    publish_one(0);
    step();
    expect_same(options_, starts);
  }
  log_->drain();
  expect_same(options_, starts);
  log_->stop();
  expect_same(options_, starts);
}

TEST_P(StreamStarts, AStreamThatEndsBeforeWhatTheyVouchForIsDamaged) {
  open_log(*GetParam());
  run(kWorkers, 40);
  log_->drain();
  Starts starts = take(kWorkers, 20);
  log_->drain();
  log_->stop();
  const Found whole = find(options_, starts);
  EXPECT_EQ(find_damage(whole.tails), "");
  uint32_t cut_ones = 0;
  for (uint32_t s = 0; s < starts.size(); ++s) {
    if (starts[s].durable == starts[s].position) continue;
    ++cut_ones;
    std::vector<std::string> paths = find_log_files(options_.directories).paths[s];
    if (paths.size() != 1) continue;
    const auto bytes = std::filesystem::file_size(paths[0]);
    std::filesystem::resize_file(paths[0], kLogHeaderBytes + starts[s].durable - 8);
    const Found found = find(options_, starts);
    EXPECT_NE(find_damage(found.tails)
                  .find("was once durable up to byte " + std::to_string(starts[s].durable) +
                        ", says the checkpoint"),
              std::string::npos)
        << find_damage(found.tails);
    // If a stream has lost durable bytes, it is not complete up to the number of its start.
    EXPECT_LE(found.tails[s].complete_from_start(), found.tails[s].last_sequence);
    std::filesystem::resize_file(paths[0], kLogHeaderBytes + starts[s].position / 2);
    EXPECT_NE(find_damage(find(options_, starts).tails).find(paths[0] + " is too short"),
              std::string::npos);
    std::filesystem::resize_file(paths[0], bytes);
  }
  EXPECT_GT(cut_ones, 0u);
}

// Each of published_positions() is the end of a record, even while other threads publish.
TEST_P(StreamStarts, AreTakenWhileWorkersPublish) {
  for (const FlushWay& way : kFlushWays) {
    SCOPED_TRACE(way.name);
    const Watchdog watchdog("a log from which starts are taken hangs");
    options_ = log_options_of_many(*GetParam(), directory_, "sync", kWorkers, kStreams);
    options_.config.buffer_bytes = 65536;
    way.apply(&options_);
    open();
    log_->start();
    std::atomic<uint32_t> running{kWorkers};
    std::vector<std::thread> workers;
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      workers.emplace_back([&, worker] {
        std::mt19937_64 random(worker);
        Published last{};
        for (uint32_t i = 0; i < 600; ++i) {
          last = publish_record(*log_, worker, uint64_t{worker} << 48 | i,
                                static_cast<uint32_t>(48 + random() % 200 / 8 * 8), {},
                                random() % 16 != 0);
          scheme().poll(worker);
        }
        scheme().wait_durable(worker, last.point);
        --running;
      });
    }
    std::vector<std::vector<uint64_t>> taken;
    std::vector<Starts> all_starts;
    do {
      taken.push_back(scheme().published_positions());
      while (!reached(scheme().durable_positions(), taken.back())) std::this_thread::yield();
      const auto sequences = scheme().durable_sequences();
      Starts& starts = all_starts.emplace_back();
      for (uint32_t s = 0; s < streams(); ++s) starts.push_back({taken.back()[s], sequences[s]});
      std::this_thread::yield();
    } while (running != 0);
    for (std::thread& worker : workers) worker.join();
    log_->drain();
    const auto last = scheme().published_positions(), durable = scheme().durable_positions();
    EXPECT_EQ(last, durable);
    log_->stop();
    const Found all = find(options_);
    for (uint32_t s = 0; s < streams(); ++s) {
      std::vector<uint64_t> ends = {0};
      LogReader reader(find_log_files(options_.directories).paths[s]);
      RecordBatch batch;
      while (reader.next(&batch)) {
        for (size_t i = 0; i < batch.records.size(); ++i) {
          ends.push_back(batch.positions[i] + batch.records[i]->bytes);
        }
      }
      uint64_t before = 0;
      for (const std::vector<uint64_t>& positions : taken) {
        EXPECT_TRUE(std::ranges::binary_search(ends, positions[s])) << positions[s];
        EXPECT_GE(positions[s], before);
        before = positions[s];
      }
    }
    for (size_t i = 0; i < all_starts.size(); i += 1 + all_starts.size() / 8) {
      expect_same(options_, all_starts[i]);
    }
    expect_same(options_, all_starts.back());
  }
}

INSTANTIATE_TEST_SUITE_P(All, StreamStarts, testing::ValuesIn(value_schemes()), scheme_test_name);

// With --ack=unsafe, recovery uses every stream up to its end.
TEST_F(StartsTest, AreRightWithTheUnsafeCutOfPwal) {
  flags_.set("ack", "unsafe");
  open_log(*find_scheme("pwal"));
  run(kWorkers, 40);
  const Starts starts = take(2, 10);
  for (int i = 0; i < 20; ++i) {
    run(2, 1);
    step();
    expect_same(options_, starts);
  }
  EXPECT_FALSE(find(options_, starts).surviving.empty());
}

}  // namespace
}  // namespace logjam

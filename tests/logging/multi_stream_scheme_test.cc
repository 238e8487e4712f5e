// In all schemes with several streams, idle streams delay no acknowledgement, and recovery finds
// all acknowledged transactions (R5). The safety time-out is an hour, so it does not hide a lost
// wake-up.

#include "platform/spin.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 4;
constexpr uint32_t kDevices = 3;

std::vector<const SchemeInfo*> schemes_of_many_streams() {
  std::vector<const SchemeInfo*> schemes;
  for (const SchemeInfo* scheme : logging_schemes()) {
    LogConfig config;
    config.workers = kWorkers;
    config.sockets = kDevices;
    if (scheme->stream_count(kDevices, config) > 1) schemes.push_back(scheme);
  }
  return schemes;
}

class MultiStreamSchemeTest : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  LogOptions options(const std::string& device, uint32_t workers, bool help) {
    LogOptions endless = log_options_of_many(*GetParam(), directory_, device, workers, kDevices);
    endless.config.flush_help = help;
    endless.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
    return endless;
  }

  // Expects recovery to keep all records in `acknowledged`.
  static void expect_survival(const LogOptions& options, uint32_t streams,
                              const std::vector<Published>& acknowledged) {
    const RecoveryRule& rule = options.scheme->recovery;
    std::vector<ReadLog> logs;
    std::vector<StreamTail> tails;
    for (uint32_t s = 0; s < streams; ++s) {
      logs.push_back(read_log(stream_file(options, s)));
      tails.push_back(logs.back().tail);
    }
    const Cut cut = rule.cut(tails);
    for (const Published& one : acknowledged) {
      RecordHeader header{};
      header.sequence = one.sequence;
      header.flags = one.flags;
      const auto at = logs[one.stream].find(one);
      ASSERT_NE(at, logs[one.stream].records.end());
      EXPECT_TRUE(at->first + one.bytes <= cut.bytes[one.stream] && rule.survives(header, cut))
          << one.sequence << " was acknowledged and would be cut: " << cut.why;
    }
  }

  template <class Body>
  void on_all_devices(uint32_t workers, const Body& body) {
    for (const char* device : {"sync", "file", "sim:30"}) {
      for (const bool help : {true, false}) {
        SCOPED_TRACE(std::string(device) + (help ? ", helped" : ", daemon alone"));
        const Watchdog watchdog("a commit waits for a stream that has nothing to write");
        const LogOptions with = options(device, workers, help);
        Log log(with);
        log.start();
        const std::vector<Published> acknowledged = body(log);
        expect_survival(with, log.streams(), acknowledged);
      }
    }
  }

  LogDirectory directory_;
};

constexpr Dependencies kReads{.max_read = 0, .max_overwritten = 0, .reads = true};

// If there is only one worker, no worker writes to some of the devices.
TEST_P(MultiStreamSchemeTest, OneWorkerIsAcknowledgedWhileAllOthersAreIdle) {
  for (const uint32_t workers : {kWorkers, 1u}) {
    on_all_devices(workers, [=](Log& log) {
      std::vector<Published> acknowledged;
      for (uint64_t i = 0; i < 20; ++i) {
        acknowledged.push_back(publish_record(log, workers / 2, i, 64, kReads));
        log.scheme().wait_durable(workers / 2, acknowledged.back().point);
        EXPECT_TRUE(log.scheme().is_durable(acknowledged.back().point));
      }
      return acknowledged;
    });
  }
}

// A pipelining worker calls poll() and never waits for a commit.
TEST_P(MultiStreamSchemeTest, APollingWorkerIsAcknowledged) {
  on_all_devices(kWorkers, [](Log& log) {
    std::vector<Published> acknowledged;
    for (uint64_t i = 0; i < 5; ++i) {
      acknowledged.push_back(publish_record(log, 1, i, 64, kReads));
      platform::SpinWait wait;
      while (!log.scheme().is_durable(acknowledged.back().point)) {
        log.scheme().poll(1);
        wait.once();
      }
    }
    return acknowledged;
  });
}

// Worker 1 publishes once and then makes no calls. Later transactions read worker 1's row.
TEST_P(MultiStreamSchemeTest, ABlockedWorkerDoesNotHoldUpItsReaders) {
  on_all_devices(kWorkers, [](Log& log) {
    std::vector<Published> acknowledged;
    const Published left_behind = publish_record(log, 1, 1000, 64, kReads);
    for (uint64_t i = 0; i < 20; ++i) {
      const Dependencies deps = reads(log.scheme(), 0, left_behind.sequence + i);
      acknowledged.push_back(publish_record(log, 0, i, 64, i == 0 ? deps : kReads));
      log.scheme().wait_durable(0, acknowledged.back().point);
    }
    const CommitPoint read =
        log.scheme().commit_read_only(3, reads(log.scheme(), 3, left_behind.sequence));
    log.scheme().wait_durable(3, read);
    acknowledged.push_back(left_behind);
    return acknowledged;
  });
}

// Each transaction reads from the latest transaction, which is usually in another stream. The
// worker then waits until its own transaction is durable.
TEST_P(MultiStreamSchemeTest, ReadersAcrossStreamsAreAcknowledgedAndSurvive) {
  on_all_devices(kWorkers, [](Log& log) {
    std::vector<Published> acknowledged;
    std::atomic<uint64_t> last{0};
    std::vector<std::thread> threads;
    std::vector<std::vector<Published>> published(kWorkers);
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      threads.emplace_back([&, worker] {
        for (uint64_t i = 0; i < 40; ++i) {
          const Dependencies deps = reads(log.scheme(), worker, last.load());
          if (worker == 3) {
            log.scheme().wait_durable(worker, log.scheme().commit_read_only(worker, deps));
            continue;
          }
          const Published one = publish_record(log, worker, i, 64, deps);
          EXPECT_GT(one.sequence, deps.max_read);
          last.store(one.sequence);
          log.scheme().wait_durable(worker, one.point);
          published[worker].push_back(one);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& one : published)
      acknowledged.insert(acknowledged.end(), one.begin(), one.end());
    return acknowledged;
  });
}

INSTANTIATE_TEST_SUITE_P(All, MultiStreamSchemeTest, testing::ValuesIn(schemes_of_many_streams()),
                         scheme_test_name);

}  // namespace
}  // namespace logjam

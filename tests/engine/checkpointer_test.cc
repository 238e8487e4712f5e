// The steps of a checkpoint that is taken while transactions run. The checkpointer must note the
// log's positions before it reads rows. It must wait until the log is durable before it marks the
// checkpoint as complete.
#include "engine/checkpoint/checkpointer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "platform/clock.h"
#include "tests/forwarding_scheme.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

// A log whose positions and durability the test sets.
class SetLog final : public ForwardingScheme {
 public:
  SetLog() : ForwardingScheme(1) {}

  std::vector<uint64_t> published_positions() override { return {published.load(), 40}; }
  std::vector<uint64_t> durable_positions() const override {
    ++asked_positions;
    return {durable.load(), 64};
  }
  // During the call, another record may become durable. The result may include this record.
  std::vector<uint64_t> durable_sequences() const override {
    if (published_meanwhile != 0) published.store(published_meanwhile);
    return {sequence.load(), 6};
  }
  bool is_durable(const CommitPoint& point) const override {
    EXPECT_EQ(point.sequence, 900u) << "the largest number of any tuple, which is a tombstone's";
    ++asked_safe;
    return safe.load();
  }
  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    EXPECT_TRUE(deps.reads);
    return CommitPoint::in_every_stream(deps.max_read);
  }

  mutable platform::atomic<uint64_t> published{1000};
  platform::atomic<uint64_t> durable{0}, sequence{1};
  platform::atomic<bool> safe{false};
  mutable platform::atomic<uint64_t> asked_positions{0}, asked_safe{0};
  uint64_t published_meanwhile = 0;  // end of a record that durable_sequences() publishes; 0: none
};

class CheckpointerTest : public testing::Test {
 protected:
  CheckpointerTest() {
    std::filesystem::create_directory(directory_.path_of("log"));
    options_.manifest = &manifest_;
    options_.every_seconds = 0.001;
    options_.after_step = [this](const char* step) {
      if (std::string(step) == "RSN taken") log_.published.store(5000);
      if (std::string(step) == "the log released") released_.fetch_add(1);
    };
    options_.release_log = [this](const std::vector<uint64_t>& positions) {
      EXPECT_EQ(find_manifest(manifest_.directories()).manifest.runs.at(0).released, positions)
          << "the log is released before the manifest says so";
      if (released_.load() > 0) return;
      EXPECT_EQ(positions, (std::vector<uint64_t>{1000, 40}));
    };
    Table& table = database_.create_table({.name = "t", .row_bytes = 8});
    const uint64_t row = 1;
    const auto* bytes = reinterpret_cast<const std::byte*>(&row);
    table.restore(1, Version(300, false), bytes, arena_);
    table.restore(2, Version(900, true), nullptr, arena_);
  }

  template <class Condition>
  static void await(const Condition& condition) {
    while (!condition()) platform::sleep_ns(100'000);
  }
  // Returns the checkpoint, or nothing if the manifest does not call it complete.
  std::optional<Checkpoint> found(uint64_t number) const {
    const FoundManifest found = find_manifest(manifest_.directories());
    for (const Checkpoint& one : found.manifest.checkpoints) {
      if (one.number == number && one.complete) return one;
    }
    return std::nullopt;
  }
  bool counts(uint64_t number) const { return found(number).has_value(); }
  // Returns the manifest of a log with one run of two streams.
  static Manifest one_run() {
    Manifest manifest;
    manifest.log = 5;
    manifest.last_ordinal = 1;
    ManifestRun& run = manifest.runs.emplace_back();
    run.header.streams = 2;
    run.begun = true;
    return manifest;
  }
  // Answers the checkpointer as a worker does between two transactions.
  void work() {
    epochs_.note_quiescent(0);
    question_.answer_if_asked(
        [this](const Dependencies& deps) { return log_.commit_read_only(0, deps); });
  }

  // Runs a checkpointer and a worker until the condition holds. Returns the checkpointer's counts.
  template <class Condition>
  CheckpointStats run_until(const Condition& condition) {
    Checkpointer checkpointer(options_, database_, log_, epochs_, question_, [] { return 0; });
    checkpointer.start();
    await([&] {
      work();
      return condition();
    });
    epochs_.leave(0);
    checkpointer.stop();
    return checkpointer.stats();
  }

  const TemporaryDirectory directory_;
  LogManifest manifest_{{directory_.path_of("log")}, one_run()};
  CheckpointOptions options_;
  SetLog log_;
  Database database_;
  Arena arena_;
  Epochs epochs_{1};
  CommitPointRequest question_;
  platform::atomic<int> released_{0};
};

TEST_F(CheckpointerTest, CountsOnlyWhenAllThatWasReadIsSafeAndTheStreamsAreDurableUpToTheRsn) {
  // The event for which the checkpointer waits. Each step of the test causes this event.
  enum { kSafe, kRsn, kNumber, kComplete } waits = kSafe;
  uint64_t asked = 0;
  run_until([&] {
    const uint64_t positions = log_.asked_positions.load();
    if (waits == kComplete) return counts(1);
    const bool goes_on = waits == kSafe ? log_.asked_safe.load() >= 3 || positions >= 20
                                        : positions >= asked + 5 || counts(1);
    if (!goes_on) return false;
    EXPECT_GE(log_.asked_safe.load(), 3u)
        << "nobody asked whether the rows that were read are safe";
    EXPECT_FALSE(counts(1)) << "it counts before wait " << waits << " has ended";
    asked = positions;
    if (waits == kSafe) {
      waits = kRsn;
      log_.safe.store(true);
    } else if (waits == kRsn) {
      waits = kNumber;
      log_.sequence.store(77);
      log_.durable.store(1000);
    } else {
      waits = kComplete;
      log_.durable.store(5000);
    }
    return false;
  });
  const Checkpoint taken = found(1).value();
  EXPECT_EQ(taken.sequence, 900u);
  ASSERT_EQ(taken.rsn.size(), 2u);
  EXPECT_EQ(taken.rsn[0].position, 1000u) << "taken before the first tuple was read";
  EXPECT_EQ(taken.rsn[0].sequence, 77u) << "taken when the checkpoint was complete";
  EXPECT_EQ(taken.rsn[0].durable, 5000u) << "published by then, and durable";
  EXPECT_EQ(taken.rsn[1].sequence, 6u);
  EXPECT_FALSE(epochs_.removals_paused());
}

// Recovery detects a lost record only before the end that the checkpoint names (R6). So every
// record up to the checkpoint's number must lie before this end.
TEST_F(CheckpointerTest, NoRecordUpToTheNumberLiesAfterTheEnd) {
  log_.safe.store(true);
  log_.durable.store(100'000);
  log_.published_meanwhile = 7000;
  run_until([&] { return counts(1); });
  EXPECT_EQ(found(1).value().rsn[0].durable, 7000u)
      << "the positions were taken before the numbers";
}

TEST_F(CheckpointerTest, ReleasesTheLogUpToTheCheckpointBeforeTheLatest) {
  log_.safe.store(true);
  log_.durable.store(100'000);
  options_.after_step = [this](const char* step) {
    if (std::string(step) == "the log released") released_.fetch_add(1);
    if (std::string(step) == "complete") log_.published.store(2000);
  };
  const CheckpointStats stats = run_until([&] {
    EXPECT_TRUE(released_.load() == 0 || counts(2)) << "one checkpoint releases nothing";
    return released_.load() >= 1;
  });
  EXPECT_GE(stats.completed, 2u);
  EXPECT_GE(stats.seconds, stats.longest_seconds);
  EXPECT_GT(stats.longest_seconds, 0);
}

TEST_F(CheckpointerTest, NothingLeavesAnIndexWhileTuplesAreRead) {
  options_.after_step = [this](const char* step) {
    EXPECT_EQ(epochs_.removals_paused(), std::string(step) == "RSN taken") << step;
  };
  log_.safe.store(true);
  log_.durable.store(100'000);
  options_.release_log = nullptr;
  run_until([&] { return counts(2); });
}

TEST_F(CheckpointerTest, OneThatIsNotCompleteIsAbandonedAtTheEnd) {
  const CheckpointStats stats = run_until([&] { return log_.asked_safe.load() >= 1; });
  EXPECT_TRUE(manifest_.current().checkpoints.empty());
  EXPECT_TRUE(manifest_.current().removable.empty());
  EXPECT_FALSE(std::filesystem::exists(checkpoint_directory(manifest_.directories()[0], 1)));
  EXPECT_EQ(stats.completed, 0u);
}

}  // namespace
}  // namespace logjam

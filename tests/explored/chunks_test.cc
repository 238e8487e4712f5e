// Buffer chunks and their watermarks, with the rules of `tide` and of its ablations, in all
// schedules with few preemptions.
#include <gtest/gtest.h>

#include <array>

#include "logging/device/device_registry.h"
#include "logging/schemes/common/buffer_chunks.h"
#include "logging/schemes/tide/announced_numbers.h"
#include "logging/schemes/tide/ended_epochs.h"
#include "logging/schemes/tide/ring_order.h"
#include "logging/schemes/tide/scanned_numbers.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

using platform::memory_order_acquire, platform::memory_order_relaxed,
    platform::memory_order_release;
using Word = platform::atomic<uint64_t>;

constexpr uint32_t kStreams = 2;  // worker w writes to stream w
constexpr uint64_t kRingBytes = 4096, kRecord = 64, kRun = 7;

// All schedules share the streams, of which chunks use only the ring, and a durable position of 0.
class Streams : public StreamOwner, public Durability {
 public:
  Streams() {
    config_.buffer_bytes = kRingBytes;
    config_.pinned_workers = false;
    for (auto& device : devices_) {
      device = open_device("null", {"", 0, 1});
      config_.devices.push_back(device.get());
    }
    for (uint32_t s = 0; s < kStreams; ++s) {
      streams_[s] = std::make_unique<Stream>(config_, s, waiters_, *this);
    }
  }
  Stream& operator[](uint32_t s) { return *streams_[s]; }

 private:
  uint64_t filled(uint32_t) override { return 0; }
  bool is_durable(const CommitPoint&) const override { return false; }

  LogConfig config_;
  std::array<std::unique_ptr<Device>, kStreams> devices_;
  DurabilityWaiters waiters_{1, *this};
  std::array<std::unique_ptr<Stream>, kStreams> streams_;
};
Stream& stream(uint32_t s) {
  static auto& made = *new Streams;
  return made[s];
}

enum class Unlock : uint8_t { kBeforeTheNumber, kBeforeTheCopy };

// Worker 0 changes a row: it draws a number, unlocks the row, and then fills its record. Worker 1
// reads the row, which may be changed already, and writes a record to the other stream. A third
// thread puts a watermark into each stream and passes the chunks. Checked: a record with a number
// up to a passed watermark lies before this watermark, and is filled. If worker 1 has read the
// change, and its own number is at most both passed watermarks, so is the number that it has read.
template <class Rule, Unlock unlock = Unlock::kBeforeTheCopy>
class RowBetweenStreams {
 public:
  // With late stores, a search would take minutes.
  static constexpr bool kStoresLandAtOnce = true;
  std::vector<Body> threads() {
    return {[this] { change(); }, [this] { read(); }, [this] { put_watermarks(); }};
  }
  std::string wrong() {
    judge();
    put_watermarks();
    for (const Record& record : records_) {
      if (record.begin >= passed_[&record - records_.data()].begin) wrong_ = "a record is lost";
    }
    return wrong_;
  }

 private:
  struct StreamLog {
    explicit StreamLog(uint32_t s) : chunks(stream(s), kRun, 1) {}
    BufferChunks chunks;
    ChunkOwner owner;
    Word filled{0};
  };
  struct Shared {
    std::array<StreamLog, kStreams> logs{StreamLog(0), StreamLog(1)};
    Rule rule{kStreams, {{0}, {1}}};
    Word row{0}, version{0};
  };
  struct Record {
    uint64_t begin = ~uint64_t{0}, number = 0;
  };

  template <class AfterDraw>
  void write(uint32_t s, uint64_t above, const AfterDraw& after_draw) {
    StreamLog& log = shared_->logs[s];
    const auto [number, place] = shared_->rule.reserve(
        s, s, above, [&] { return log.chunks.reserve(log.owner, 0, kRecord); });
    records_[s] = {place.begin, number};
    after_draw(number);
    log.filled.store(1, memory_order_relaxed);
    log.chunks.publish(log.owner, kRecord, number);
    shared_->rule.publish(s, number);
  }
  void change() {
    if (unlock == Unlock::kBeforeTheNumber) shared_->row.store(1, memory_order_release);
    write(0, 0, [this](uint64_t number) {
      shared_->version.store(number, memory_order_relaxed);
      shared_->row.store(1, memory_order_release);
    });
  }
  void read() {
    const bool changed = shared_->row.load(memory_order_acquire) != 0;
    const uint64_t version = shared_->version.load(memory_order_relaxed);
    write(1, version, [&](uint64_t) { has_read_ = changed; });
  }
  void put_watermarks() {
    for (uint32_t s = 0; s < kStreams; ++s) {
      StreamLog& log = shared_->logs[s];
      log.chunks.passing().lock();
      const uint64_t goal = shared_->rule.begin_watermark(s, last_[s]);
      const uint64_t number = shared_->rule.complete(s, goal);
      if (number > last_[s] && log.chunks.append_watermark(number)) {
        last_[s] = number;
      } else {
        log.chunks.close();
      }
      log.chunks.pass(
          0, [&](uint32_t) -> ChunkOwner& { return log.owner; },
          [&](const BufferChunk& chunk) { pass(s, chunk); });
      log.chunks.passing().unlock();
    }
  }
  void pass(uint32_t s, const BufferChunk& chunk) {
    if (chunk.watermark) {
      passed_[s] = {chunk.begin, chunk.sequence};
      judge();
    } else if (shared_->logs[s].filled.load(memory_order_relaxed) == 0) {
      wrong_ = "a record is passed before it is filled";
    }
  }
  void judge() {
    for (uint32_t s = 0; s < kStreams; ++s) {
      const auto& [begin, number] = records_[s];
      if (number != 0 && number <= passed_[s].number && begin > passed_[s].begin) {
        wrong_ = "a record lies after a watermark of a larger number";
      }
    }
    const uint64_t safe = std::min(passed_[0].number, passed_[1].number);
    if (has_read_ && records_[1].number <= safe && records_[0].begin >= passed_[0].begin) {
      wrong_ = "a transaction is safe, and has read from one that is not";
    }
  }

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  std::array<Record, kStreams> records_, passed_{{{0, 0}, {0, 0}}};
  std::array<uint64_t, kStreams> last_{0, 0};  // the numbers of the streams' last watermarks
  bool has_read_ = false;
  const char* wrong_ = "";
};

TEST(BufferChunksSteps, ASafeTransactionHasReadOnlyFromSafeOnes) {
  search_all<RowBetweenStreams<RingOrder>>(1);
  search_all<RowBetweenStreams<AnnouncedNumbers>>(1);
  search_all<RowBetweenStreams<ScannedNumbers>>(1);
  search_all<RowBetweenStreams<EndedEpochs>>(1);
}

template <class Rule>
void expect_unsafe() {
  const std::string found = first_wrong<RowBetweenStreams<Rule, Unlock::kBeforeTheNumber>>(1);
  EXPECT_EQ(found.substr(0, found.find(" in")),
            "a transaction is safe, and has read from one that is not")
      << found;
}

TEST(BufferChunksSteps, ARowThatIsUnlockedBeforeItsNumberIsDrawnIsNotSafe) {
  expect_unsafe<RingOrder>();
  expect_unsafe<AnnouncedNumbers>();
  expect_unsafe<ScannedNumbers>();
  expect_unsafe<EndedEpochs>();
}

}  // namespace
}  // namespace logjam::sim

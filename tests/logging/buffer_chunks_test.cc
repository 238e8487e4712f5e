// A flushing thread takes chunks from their owners, in the order of the chunks' positions. Each
// chunk that it takes is full of records.
#include "logging/schemes/common/buffer_chunks.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/logging/held_device.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

class BufferChunksTest : public testing::Test, public StreamOwner, public Durability {
 public:
  uint64_t filled(uint32_t) override { return chunks_->filled(); }
  bool is_durable(const CommitPoint&) const override { return true; }

 protected:
  static constexpr uint32_t kOwners = 2, kRecordBytes = 64;
  static constexpr uint64_t kRun = 7;

  BufferChunksTest() {
    config_.workers = kOwners;
    config_.buffer_bytes = uint64_t{1} << 20;
    config_.devices = {device_.get()};
    stream_ = std::make_unique<Stream>(config_, 0, waiters_, *this);
    chunks_ = std::make_unique<BufferChunks>(*stream_, kRun, kOwners);
  }

  void publish(uint32_t worker) { publish_at(reserve(worker), worker); }
  // Reserves space for a record. Returns the record's stream position.
  uint64_t reserve(uint32_t worker, uint32_t bytes = kRecordBytes) {
    return chunks_->reserve(owners_[worker], worker, bytes).begin;
  }
  // Fills and publishes the record at the position that reserve() has returned.
  void publish_at(uint64_t begin, uint32_t worker, uint32_t bytes = kRecordBytes) {
    fill_record(
        {.sequence = 1, .position = begin, .hole = stream_->at(begin, bytes), .bytes = bytes}, kRun,
        1);
    chunks_->publish(owners_[worker], bytes, 1);
  }
  uint64_t padding_bytes() const {
    return owners_[0].padding_bytes.value() + owners_[1].padding_bytes.value();
  }
  void pass() {
    const std::lock_guard hold(chunks_->passing());
    pass_under_lock();
  }
  void pass_under_lock(uint64_t patience_ticks = 0) {
    chunks_->pass(
        patience_ticks, [this](uint32_t worker) -> ChunkOwner& { return owners_[worker]; },
        [this](const BufferChunk& chunk) {
          EXPECT_EQ(chunk.begin, passed_);
          passed_ = chunk.end;
          ++(chunk.watermark ? watermarks_ : buffers_);
          expect_records(chunk);
        });
  }
  // Expects a passed chunk to be full of records of this lap, including padding records.
  void expect_records(const BufferChunk& chunk) {
    for (uint64_t at = chunk.begin; at < chunk.end;) {
      const auto& header =
          *reinterpret_cast<const RecordHeader*>(stream_->at(at, sizeof(RecordHeader)));
      ASSERT_GE(header.bytes, sizeof(RecordHeader)) << "at " << at;
      ASSERT_LE(header.bytes, chunk.end - at) << "at " << at;
      ASSERT_EQ(header.checksum, record_checksum(header, kRun, at)) << "at " << at;
      at += header.bytes;
    }
  }

  LogDirectory directory_;
  LogConfig config_;
  std::unique_ptr<Device> device_ = open_device("sync", {directory_.file(), 0, 1});
  DurabilityWaiters waiters_{kOwners, *this};
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<BufferChunks> chunks_;
  ChunkOwner owners_[kOwners];
  uint64_t passed_ = 0, watermarks_ = 0, buffers_ = 0;
};

TEST_F(BufferChunksTest, WorkersTakeChunksWhileAnotherThreadPasses) {
  const Watchdog watchdog("a worker waits for the thread that passes chunks");
  publish(1);
  {
    const std::lock_guard passing(chunks_->passing());
    publish(0);
    for (const uint64_t dealt = chunks_->dealt(); chunks_->dealt() == dealt;) publish(0);
    EXPECT_EQ(chunks_->filled(), 0);
  }
  const uint64_t end = chunks_->reserve(owners_[1], 1, kRecordBytes).begin;
  chunks_->publish(owners_[1], kRecordBytes, 1);
  pass();
  EXPECT_EQ(chunks_->filled(), 0) << "the first chunk, of worker 1, is open";
  EXPECT_EQ(end, kRecordBytes);
}

// Commits that depend on other streams become durable only with a watermark. So the flushing thread
// waits until the records before the watermark are filled.
TEST_F(BufferChunksTest, APassWaitsForRecordsThatAreBeingFilled) {
  const Watchdog watchdog("a pass waits for ever");
  const uint64_t patience_ticks = platform::ns_to_ticks(3600e9);
  std::atomic<int> filling{0};
  std::atomic<bool> passes{false};
  std::vector<std::jthread> workers;
  for (uint32_t worker = 0; worker < kOwners; ++worker) {
    workers.emplace_back([&, worker] {
      const uint64_t begin = reserve(worker);
      ++filling;
      while (!passes) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * (worker + 1)));
      publish_at(begin, worker);
    });
  }
  while (filling != kOwners) std::this_thread::yield();
  const std::lock_guard hold(chunks_->passing());
  ASSERT_TRUE(chunks_->append_watermark(2));
  const uint64_t begin = platform::ticks();
  pass_under_lock(platform::ns_to_ticks(1e5));
  EXPECT_GE(platform::ticks() - begin, platform::ns_to_ticks(1e5));
  EXPECT_EQ(watermarks_, 0) << "its patience is over before a record is filled";
  passes = true;
  pass_under_lock(patience_ticks);
  EXPECT_EQ(watermarks_, 1);
  EXPECT_EQ(chunks_->filled(), chunks_->dealt());
}

// In every lap, the ring's space and chunks are used again. Workers wait while the ring is full.
TEST_F(BufferChunksTest, ChunksArePassedInOrderLapAfterLap) {
  constexpr uint64_t kLaps = 5;
  const Watchdog watchdog("workers wait for room, and nothing makes any");
  const uint64_t records = kLaps * config_.buffer_bytes / kRecordBytes;
  std::atomic<uint32_t> at_work{kOwners};
  std::vector<std::jthread> workers;
  for (uint32_t worker = 0; worker < kOwners; ++worker) {
    workers.emplace_back([&, worker] {
      for (uint64_t i = 0; i < records; ++i) publish(worker);
      --at_work;
    });
  }
  uint64_t appended = 0;
  for (uint64_t look = 1; at_work != 0 || chunks_->filled() < chunks_->dealt(); ++look) {
    {
      const std::lock_guard hold(chunks_->passing());
      const bool room = look % 4 != 0 || chunks_->append_watermark(appended + 1);
      if (look % 4 == 0 && room) ++appended;
      if (!room || at_work == 0) chunks_->close();
      pass_under_lock();
    }
    stream_->flush(Flush::kNow);
  }
  workers.clear();
  EXPECT_EQ(chunks_->filled(), passed_);
  EXPECT_EQ(watermarks_, appended);
  EXPECT_EQ(passed_,
            kOwners * records * kRecordBytes + padding_bytes() + appended * sizeof(RecordHeader));
  EXPECT_GT(buffers_, kLaps * 32) << "chunks are of 32 KiB";
}

// A pass is due if the next chunk is full, or if workers have already taken many later chunks.
TEST_F(BufferChunksTest, AFullBufferIsDueAndAnOpenOneIsWhenManyWaitForIt) {
  const auto fill_one = [&] {
    for (const uint64_t dealt = chunks_->dealt(); chunks_->dealt() == dealt;) publish(0);
  };
  publish(0);
  EXPECT_FALSE(chunks_->pass_due());
  fill_one();
  EXPECT_TRUE(chunks_->pass_due());
  pass();
  EXPECT_FALSE(chunks_->pass_due()) << "only open chunks are left";
  fill_one();
  pass();
  publish(1);
  fill_one();
  pass();
  const uint64_t before_open = chunks_->filled();
  uint32_t filled = 0;
  for (; filled < 20 && !chunks_->pass_due(); ++filled) fill_one();
  EXPECT_GE(filled, 8);
  EXPECT_LT(filled, 20);
  EXPECT_EQ(padding_bytes(), 0);
  pass();
  EXPECT_GT(chunks_->filled(), before_open);
  EXPECT_GT(padding_bytes(), 0);
}

// Workers that wait for space have positions beyond the ring's end. The watermark's position is
// after the positions of these workers. So if the watermark waited for space, it would wait until
// all these workers have ended.
TEST_F(BufferChunksTest, AWatermarkTakesItsPlaceInAFullRing) {
  while (stream_->ring().fits(chunks_->dealt() + 1)) publish(0);
  ASSERT_EQ(chunks_->dealt(), config_.buffer_bytes);
  while (owners_[0].chunk != nullptr) publish(0);
  {
    const std::lock_guard hold(chunks_->passing());
    EXPECT_TRUE(chunks_->append_watermark(1));
    EXPECT_TRUE(chunks_->append_watermark(2));
    pass_under_lock();
  }
  EXPECT_EQ(passed_, config_.buffer_bytes);
  EXPECT_EQ(watermarks_, 0);
  stream_->flush(Flush::kNow);
  pass();
  EXPECT_EQ(watermarks_, 2);
  EXPECT_EQ(chunks_->filled(), config_.buffer_bytes + 2 * sizeof(RecordHeader));
}

TEST_F(BufferChunksTest, APassHasNoPatienceForAWorkerThatWaitsForRoom) {
  const Watchdog watchdog("a pass waits for a worker that waits for this pass");
  while (stream_->ring().fits(chunks_->dealt() + 1)) publish(0);
  while (owners_[0].chunk != nullptr) publish(0);
  std::jthread worker([this] { publish(1); });
  while (chunks_->dealt() == config_.buffer_bytes) std::this_thread::yield();
  {
    const std::lock_guard hold(chunks_->passing());
    ASSERT_TRUE(chunks_->append_watermark(1));
    pass_under_lock(platform::ns_to_ticks(3600e9));
  }
  EXPECT_EQ(passed_, config_.buffer_bytes);
  stream_->flush(Flush::kNow);
  worker.join();
  pass();
  EXPECT_EQ(watermarks_, 1);
}

// While bytes wait for the device, a flushing thread must not pad open chunks. Otherwise the device
// would write padding just when it is the bottleneck.
TEST_F(BufferChunksTest, WhoWaitsForRoomTakesNoOpenBufferWhileOtherBytesCanBeFlushed) {
  while (chunks_->pass_due() == false) publish(0);
  publish(1);
  const platform::EventCount::Waiter waiting(stream_->ring().space());
  pass();
  const uint64_t handed_over = chunks_->filled();
  EXPECT_GT(handed_over, 0);
  EXPECT_EQ(padding_bytes(), 0);

  stream_->flush(Flush::kNow);
  ASSERT_EQ(stream_->durable(), handed_over);
  pass();
  EXPECT_GT(chunks_->filled(), handed_over) << "nothing but the open buffer can make room now";
  EXPECT_GT(padding_bytes(), 0);
}

// With several writes under way a long write ends at a block's end (StreamState::ends_at_block).
// The records have all lengths, so the watermark begins anywhere in a block.
TEST_F(BufferChunksTest, ALongWriteIncludesTheWatermarkAtItsEnd) {
  constexpr uint32_t kBlock = 512, kRecords = 80;
  HeldDevice device(4);
  config_.devices = {&device};
  stream_ = std::make_unique<Stream>(config_, 0, waiters_, *this);
  chunks_ = std::make_unique<BufferChunks>(*stream_, kRun, 1, ChunkLength::Rule::kAdaptive);
  for (uint32_t bytes = kBlock; bytes <= 2 * kBlock; bytes += 8) {
    for (uint32_t i = 0; i < kRecords; ++i) publish_at(reserve(0, bytes), 0, bytes);
    {
      const std::lock_guard hold(chunks_->passing());
      ASSERT_TRUE(chunks_->append_watermark(2));
      pass_under_lock();
    }
    const uint64_t end = chunks_->filled();
    ASSERT_EQ(end, chunks_->dealt());
    EXPECT_EQ(end % kBlock, 0u);
    for (stream_->poll(); stream_->durable() < end && device.any_under_way();) {
      device.complete_all();
      std::this_thread::sleep_for(std::chrono::microseconds(3));  // poll() looks once in 2 us
      stream_->poll();
    }
    ASSERT_EQ(stream_->durable(), end);
    ASSERT_EQ(stream_->counters().value("flushes"), watermarks_)
        << "records of " << bytes << " bytes: a write leaves the watermark to another write";
  }
  EXPECT_LT(chunks_->padding_bytes(), watermarks_ * 2 * kBlock);
  const uint64_t before = chunks_->padding_bytes();
  publish_at(reserve(0, kBlock), 0, kBlock);
  const std::lock_guard hold(chunks_->passing());
  ASSERT_TRUE(chunks_->append_watermark(2));
  pass_under_lock();
  EXPECT_EQ(chunks_->padding_bytes(), before) << "a short write ends anywhere";
}

using BufferChunksDeathTest = BufferChunksTest;

TEST_F(BufferChunksDeathTest, TheProcessEndsBeforePositionsHaveNoBitsLeft) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  constexpr uint64_t kAlmost = uint64_t{511} << 40;
  chunks_ = std::make_unique<BufferChunks>(*stream_, kRun, kOwners, ChunkLength::Rule::kFixed,
                                           kAlmost - kRecordBytes);
  EXPECT_EXIT(reserve(0), testing::ExitedWithCode(3), "has had all its 511 TiB");
}

}  // namespace
}  // namespace logjam

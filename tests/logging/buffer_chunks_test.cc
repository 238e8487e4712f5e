// Which buffers a flushing thread takes from their owners. One thread decides the interleaving.
#include "logging/buffer/buffer_chunks.h"

#include <mutex>

#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

class BufferChunksTest : public testing::Test {
 protected:
  static constexpr uint32_t kOwners = 2, kRecordBytes = 64;

  BufferChunksTest() {
    config_.workers = kOwners;
    config_.buffer_bytes = uint64_t{1} << 20;
    config_.devices = {device_.get()};
    stream_ = std::make_unique<Stream>(config_, 0, waiters_, [this] { return chunks_->filled(); });
    chunks_ = std::make_unique<BufferChunks>(*stream_, 7, kOwners);
  }

  void publish(uint32_t worker) {
    const uint64_t begin = chunks_->reserve(owners_[worker], worker, kRecordBytes);
    fill_record(
        {.sequence = 1, .position = begin, .hole = stream_->at(begin), .bytes = kRecordBytes}, 7,
        1);
    chunks_->publish(owners_[worker], kRecordBytes);
  }
  void pass() {
    const std::lock_guard hold(chunks_->passing());
    chunks_->pass(
        false, [this](uint32_t worker) -> ChunkOwner& { return owners_[worker]; },
        [](const BufferChunk&) {});
  }

  LogDirectory directory_;
  LogConfig config_;
  std::unique_ptr<Device> device_ = open_device("sync", {directory_.file(), 0, 1});
  DurabilityWaiters waiters_{kOwners, [](const CommitPoint&) { return true; }};
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<BufferChunks> chunks_;
  ChunkOwner owners_[kOwners];
};

// Else each worker that needs a chunk would wait for a thread that looks through all of them.
TEST_F(BufferChunksTest, WorkersTakeChunksWhileAnotherThreadPasses) {
  const Watchdog watchdog("a worker waits for the thread that passes chunks");
  publish(1);
  {
    const std::lock_guard passing(chunks_->passing());
    while (!chunks_->pass_due()) publish(0);
    EXPECT_EQ(chunks_->filled(), 0);
  }
  const uint64_t end = chunks_->reserve(owners_[1], 1, kRecordBytes);
  chunks_->publish(owners_[1], kRecordBytes);
  pass();
  EXPECT_EQ(chunks_->filled(), 0) << "the first chunk, of worker 1, is open";
  EXPECT_EQ(end, kRecordBytes);
}

// To pad the buffers in use would fill the device with padding while it is the bottleneck.
TEST_F(BufferChunksTest, WhoWaitsForRoomTakesNoOpenBufferWhileOtherBytesCanBeFlushed) {
  while (chunks_->pass_due() == false) publish(0);
  publish(1);
  const platform::EventCount::Waiter waiting(stream_->ring().space());
  pass();
  const uint64_t handed_over = chunks_->filled();
  EXPECT_GT(handed_over, 0);
  EXPECT_EQ(chunks_->padding_bytes(), 0);

  stream_->flush(true);
  ASSERT_EQ(stream_->durable(), handed_over);
  pass();
  EXPECT_GT(chunks_->filled(), handed_over) << "nothing but the open buffer can make room now";
  EXPECT_GT(chunks_->padding_bytes(), 0);
}

}  // namespace
}  // namespace logjam

// Tests the storing of SDL on the device (logging/stream/stream_state.h).

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/logging/held_device.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

// ELEDA, section 4.3: "Once SDL is advanced, the flusher thread stores SDL to stable storage".
class SdlStoreTest : public ScriptedLog {
 protected:
  void open(const char* scheme, bool stores = true) {
    flags_.set("eleda_store_sdl", stores);
    options_ = log_options(*find_scheme(scheme), directory_, "sync", 1);
    options_.config.flush_help = false;
    ScriptedLog::open();
  }
  // Publishes and flushes `count` records of 64 bytes.
  void flush_records(int count) {
    for (int i = 0; i < count; ++i) publish(0);
    while (!scheme().idle()) flush_all_threads();
  }
  void flush_all_threads() {
    scheme().flush(0, true);
    scheme().flush(1, true);
  }
  uint64_t on_device() {
    std::vector<std::byte> block(kLogHeaderBytes);
    std::ifstream(stream_file(options_, 0), std::ios::binary)
        .read(reinterpret_cast<char*>(block.data()), kLogHeaderBytes);
    return stored_sdl(block, log_->run());
  }
  // A log of ELEDA on a device whose writes finish when the test says so.
  struct Held {
    explicit Held(uint32_t depth) : device(depth) {}
    void publish() {
      const LogReservation hole = scheme->reserve(0, {}, 64);
      fill_record(hole, 7, ++txn);
      scheme->publish(0, hole, RecordRole::kCommit);
      scheme->flush(0, true);
    }
    uint64_t on_platter() const {
      return stored_sdl(std::span(device.platter).first(kLogHeaderBytes), 7);
    }
    uint64_t in_block() const { return stored_sdl(block, 7); }

    HeldDevice device;
    std::vector<std::byte> block = std::vector<std::byte>(kLogHeaderBytes);
    std::unique_ptr<LogScheme> scheme = find_scheme("eleda")->make({.run = 7,
                                                                    .buffer_bytes = 1 << 20,
                                                                    .io_bytes = 4096,
                                                                    .flush_help = false,
                                                                    .devices = {&device},
                                                                    .header_block = block});
    uint64_t txn = 0;
  };
  void overwrite(uint64_t at, uint64_t bytes) {
    std::fstream file(stream_file(options_, 0), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << std::string(bytes, '\0');
  }
};

TEST_F(SdlStoreTest, StoresSdlAfterEachFlush) {
  for (const char* scheme : {"eleda", "eleda-crawl", "eleda-bitmap"}) {
    open(scheme);
    EXPECT_EQ(on_device(), 0u);
    flush_records(3);
    EXPECT_EQ(on_device(), 192u) << scheme;
    flush_records(2);
    EXPECT_EQ(on_device(), 320u) << scheme;
    open(scheme, false);
    flush_records(3);
    EXPECT_EQ(on_device(), 0u) << scheme;
  }
}

TEST_F(SdlStoreTest, StoresSdlAndNotSbl) {
  constexpr uint64_t kWrite = 4096;
  flags_.set("eleda_store_sdl", true);
  options_ = log_options(*find_scheme("eleda"), directory_, "sync", 1);
  options_.config.flush_help = false;
  options_.config.io_bytes = kWrite;
  ScriptedLog::open();
  for (uint64_t at = 0; at < 4 * kWrite; at += 64) publish(0);
  while (counter("sbl_bytes") < 4 * kWrite) scheme().flush(0, false);
  for (uint64_t sdl = kWrite; sdl <= 4 * kWrite; sdl += kWrite) {
    scheme().flush(1, true);
    EXPECT_EQ(on_device(), sdl);
  }
}

TEST_F(SdlStoreTest, TheLossOfTheEndIsReported) {
  open("eleda");
  flush_records(3);
  EXPECT_EQ(find_damage(tails()), "");
  overwrite(kLogHeaderBytes + 64, 128);
  EXPECT_EQ(find_damage(tails()),
            "stream 0 ends at byte 64 and was once durable up to byte 192, says the SDL in its "
            "header");
  overwrite(kLogHeaderBytes - kStoredSdlBytes, 1);
  EXPECT_EQ(find_damage(tails()), "") << "a torn SDL vouches for nothing";
}

// With one write at a time, a flush, the store of its SDL, and the next flush take turns.
TEST_F(SdlStoreTest, AStoreFollowsItsFlushAndHoldsNoCommitUp) {
  flags_.set("eleda_store_sdl", true);
  Held log(1);
  const auto is_durable = [&](uint64_t lsn) {
    return log.scheme->is_durable(CommitPoint::in_stream(0, lsn));
  };
  log.publish();
  log.scheme->flush(1, true);
  EXPECT_EQ(log.device.offset(), kLogHeaderBytes);
  EXPECT_EQ(log.in_block(), 0u);
  log.publish();
  log.device.complete();
  log.scheme->flush(1, true);
  EXPECT_TRUE(is_durable(64)) << "no commit waits for the store";
  EXPECT_EQ(log.device.offset(), 0u);
  EXPECT_EQ(log.device.under_way(), kLogHeaderBytes);
  log.scheme->flush(1, true);
  EXPECT_EQ(log.device.offset(), 0u) << "a flush beside the store";
  log.device.complete();
  EXPECT_EQ(log.on_platter(), 64u);
  log.scheme->flush(1, true);
  EXPECT_EQ(log.device.offset(), kLogHeaderBytes);
  EXPECT_FALSE(is_durable(128));
  log.device.complete();
  log.scheme->flush(1, true);
  EXPECT_TRUE(is_durable(128));
  EXPECT_FALSE(log.scheme->idle()) << "the store is under way";
}

// With more slots, a flush does not wait for a store. A block does not change during its write.
TEST_F(SdlStoreTest, AStoreTakesASlotOfItsOwnIfThereIsOne) {
  flags_.set("eleda_store_sdl", true);
  Held log(2);
  for (int i = 0; i < 1024; ++i) log.publish();
  while (log.device.under_way(0) == 0 || log.device.under_way(1) == 0) log.scheme->flush(1, true);
  log.device.complete(0);
  log.scheme->flush(1, true);
  ASSERT_EQ(log.in_block(), 4096u);
  const uint32_t store = log.device.offset(0) == 0 ? 0 : 1;
  log.device.complete(1 - store);
  log.scheme->flush(1, true);
  EXPECT_EQ(log.in_block(), 4096u) << "the block has changed under the store";
  EXPECT_NE(log.device.under_way(1 - store), 0u) << "no flush beside the store";
  log.device.complete(store);
  log.scheme->flush(1, true);
  EXPECT_EQ(log.on_platter(), 4096u);
  EXPECT_EQ(log.in_block(), 8192u);
}

// A write that ended inside a block is under way, and a store that began after it has finished.
TEST_F(SdlStoreTest, AFinishedStoreHidesNoWriteInsideABlock) {
  flags_.set("eleda_store_sdl", true);
  Held log(3);
  for (int i = 0; i < 65; ++i) log.publish();
  while (log.device.under_way(0) == 0 || log.device.under_way(1) == 0) log.scheme->flush(1, true);
  ASSERT_EQ(log.device.under_way(1), 512u);
  log.device.complete(0);
  log.scheme->flush(1, true);
  ASSERT_EQ(log.in_block(), 4096u);
  const uint32_t store = log.device.under_way(0) != 0 ? 0 : 2;
  log.device.complete(store);
  log.publish();
  log.scheme->flush(1, true);
  EXPECT_EQ(log.device.under_way(0) + log.device.under_way(2), 0u) << "two writes of one block";
  log.device.complete(1);
  log.scheme->flush(1, true);
  EXPECT_EQ(log.device.under_way(0) + log.device.under_way(1) + log.device.under_way(2),
            512u + kLogHeaderBytes);
}

}  // namespace
}  // namespace logjam

// One stream over several devices. Every byte must go to its stripe. No watermark may pass a stripe
// that is not durable. A log that has lost a stripe ends at this stripe.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "logging/format/log_file.h"
#include "tests/logging/held_device.h"
#include "tests/logging/log_fixture.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

constexpr uint64_t kStripe = 4096;

TEST(Stripes, PositionsAndFileOffsetsMatch) {
  for (const uint32_t devices : {1u, 2u, 3u, 5u}) {
    const Stripes stripes{devices, kStripe};
    std::vector<uint64_t> file_end(devices, kLogHeaderBytes);
    for (uint64_t position = 0; position < 40 * kStripe; position += 1024) {
      const uint32_t device = stripes.device(position);
      EXPECT_EQ(stripes.file_offset(position), file_end[device]);
      file_end[device] += 1024;
      EXPECT_EQ(stripes.stream_end(device, file_end[device]), position + 1024);
      if (devices > 1) {
        EXPECT_EQ(stripes.stripe_end(position), position / kStripe * kStripe + kStripe);
      }
      EXPECT_EQ(stripes.device(stripes.next(position + 1024)), device);
    }
    for (uint32_t device = 0; device < devices; ++device) {
      EXPECT_EQ(stripes.file_offset(stripes.first(device)), kLogHeaderBytes);
    }
  }
}

// A scheme on mock devices. The scheme advances when the test calls step().
class Held {
 public:
  Held(uint32_t count, uint64_t buffer_bytes) : devices(count), stripes{count, kStripe} {
    LogConfig config;
    config.workers = 1;
    config.buffer_bytes = buffer_bytes;
    config.stripes = count;
    config.stripe_bytes = kStripe;
    for (HeldDevice& device : devices) config.devices.push_back(&device);
    scheme = find_scheme("centr")->make(config);
  }

  void publish(uint32_t bytes) {
    const LogReservation reservation = scheme->reserve(0, {}, bytes);
    for (uint32_t i = 0; i < bytes; ++i) {
      reservation.hole[i] = static_cast<std::byte>((reservation.position + i) * 2654435761 >> 13);
    }
    written.insert(written.end(), reservation.hole, reservation.hole + bytes);
    points.push_back(scheme->publish(0, reservation, RecordRole::kCommit));
  }
  void step() {
    // poll() asks the devices at most once in this time.
    std::this_thread::sleep_for(std::chrono::microseconds(3));
    scheme->poll(0);
  }
  // Returns the number of bytes that are durable according to the commit points.
  uint64_t acknowledged() const {
    uint64_t most = 0;
    for (const CommitPoint& point : points) {
      if (scheme->is_durable(point)) most = std::max(most, point.sequence);
    }
    return most;
  }
  // Returns the position up to which the platters hold the written bytes. The caller knows that the
  // platters hold the bytes before `from`.
  uint64_t on_platters(uint64_t from = 0) const {
    for (uint64_t at = from; at < written.size(); ++at) {
      const auto& platter = devices[stripes.device(at)].platter;
      const uint64_t offset = stripes.file_offset(at);
      if (offset >= platter.size() || platter[offset] != written[at]) return at;
    }
    return written.size();
  }

  std::vector<HeldDevice> devices;
  const Stripes stripes;
  std::unique_ptr<LogScheme> scheme;
  std::vector<std::byte> written;
  std::vector<CommitPoint> points;
};

TEST(Striping, TheWatermarkWaitsForEarlierStripes) {
  Held log(2, 65536);
  for (int i = 0; i < 20; ++i) log.publish(1000);  // stripes 0 to 3, and a part of stripe 4
  log.step();
  EXPECT_EQ(log.devices[0].under_way(), kStripe);
  EXPECT_EQ(log.devices[1].under_way(), kStripe);
  for (const uint64_t stripe : {1, 3}) {  // device 1 is faster than device 0
    log.devices[1].complete();
    log.step();
    EXPECT_EQ(log.acknowledged(), 0u) << "stripe " << stripe << " is durable, stripe 0 is not";
  }
  EXPECT_EQ(log.devices[1].under_way(), 0u);  // device 1 has nothing left to write
  EXPECT_EQ(log.devices[0].under_way(), kStripe);
  log.devices[0].complete();
  log.step();
  EXPECT_EQ(log.acknowledged(), 8000u);
  log.devices[0].complete();
  log.step();
  EXPECT_EQ(log.acknowledged(), 16000u);
  log.devices[0].complete();
  log.step();
  EXPECT_EQ(log.acknowledged(), 20000u);
  EXPECT_EQ(log.on_platters(), 20000u);
  EXPECT_TRUE(log.scheme->idle());
}

TEST(Striping, InAnyOrderOfWritesOnlyBytesOnThePlattersAreAcknowledged) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    Held log(static_cast<uint32_t>(2 + seed % 3), 32768);
    uint64_t seen = 0;  // the end of the bytes that were checked
    for (int event = 0; event < 250; ++event) {
      const bool room = log.written.size() + 3000 < log.acknowledged() + 28000;
      if (room && random() % 2 == 0) log.publish(static_cast<uint32_t>(8 + random() % 300 * 8));
      HeldDevice& device = log.devices[random() % log.devices.size()];
      if (device.under_way() != 0 && random() % 2 == 0) device.complete();
      log.step();
      const uint64_t there = log.on_platters(seen);
      ASSERT_LE(log.acknowledged(), there) << "seed " << seed << ", event " << event;
      seen = there / kStripe * kStripe;
    }
    while (!log.scheme->idle()) {
      for (HeldDevice& device : log.devices) device.complete();
      log.step();
    }
    EXPECT_EQ(log.acknowledged(), log.written.size());
    EXPECT_EQ(log.on_platters(), log.written.size());
  }
}

class StripingTest : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  LogOptions options(const std::string& device, uint32_t devices, uint64_t stripe_bytes,
                     uint32_t workers = 4) {
    LogOptions options = log_options(*GetParam(), directory_, device, workers);
    options.directories.clear();
    for (uint32_t device = 0; device < devices; ++device) {
      options.directories.push_back(directory_.path() + "/" + std::to_string(device));
    }
    options.config.stripe_bytes = stripe_bytes;
    flags_.set("eleda_hop_bytes", 4096);
    options.config.io_bytes = 4096;
    return options;
  }

  // Publishes from four threads. Expects every record in the log.
  static void publish_and_find(const LogOptions& options, uint32_t each, uint32_t max_bytes) {
    Log log(options);
    log.start();
    const auto published = publish_from_threads(log, 4, {.each = each, .max_bytes = max_bytes});
    log.drain();
    log.stop();
    expect_on_device(published, options);
  }

  LogDirectory directory_;
  ScopedFlags flags_;
};

TEST_P(StripingTest, EveryByteArrivesThroughATinyBuffer) {
  int combination = 0;
  for (const char* device : {"file", "sync", "sim:20", "faulty:sim:20"}) {
    for (const uint32_t devices : {2u, 3u}) {  // SchemeTest tests one device
      const bool help = ++combination / 2 % 2 == 0;
      SCOPED_TRACE(std::string(device) + ", devices " + std::to_string(devices) +
                   (help ? ", helped" : ", daemon alone"));
      LogOptions tiny = options(device, devices, kStripe);
      tiny.config.buffer_bytes = 16384;
      tiny.config.flush_help = help;
      publish_and_find(tiny, 15, 3000);
    }
  }
}

TEST_P(StripingTest, EveryByteArrivesInLargeStripesUnderFlushPolicies) {
  for (const uint64_t flush_us : {0, 300}) {
    LogOptions whole = options("file", 2, kStripeBytes);
    whole.preallocate_bytes = uint64_t{2} << 20;
    whole.config.buffer_bytes = uint64_t{2} << 20;
    whole.config.io_bytes = 65536;
    whole.config.flush_us = flush_us;
    whole.config.flush_bytes = flush_us == 0 ? 0 : 200'000;
    publish_and_find(whole, 30, 60'000);
  }
}

std::vector<const SchemeInfo*> striped_schemes() {
  auto schemes = logging_schemes();
  LogConfig config;
  config.workers = 4;
  std::erase_if(schemes, [&](const SchemeInfo* info) {
    return info->traits.in_place || info->stream_count(2, config) != 1;
  });
  return schemes;
}

INSTANTIATE_TEST_SUITE_P(All, StripingTest, testing::ValuesIn(striped_schemes()), scheme_test_name);

// A log in two directories, whose files the tests damage.
class StripedFiles : public testing::Test {
 protected:
  void write_log(uint32_t count, uint32_t bytes = 400) {
    LogOptions options = log_options(*find_scheme("centr"), directory_, "sync", 1);
    options.directories = directories_;
    options.config.stripe_bytes = kStripe;
    options.config.buffer_bytes = uint64_t{16} << 20;
    Log log(options);
    log.start();
    published_.clear();
    for (uint32_t i = 0; i < count; ++i) published_.push_back(publish_record(log, 0, i, bytes));
    log.drain();
  }
  // Returns the number of records that end before `position`.
  uint64_t before(uint64_t position) const {
    return static_cast<uint64_t>(std::ranges::count_if(
        published_, [&](const Published& one) { return one.position + one.bytes <= position; }));
  }
  ReadLog read() const { return read_log(find_log_files(directories_).paths[0]); }
  std::string file(uint32_t device) const { return log_file_path(directories_[device], 0); }

  LogDirectory directory_;
  std::vector<std::string> directories_{directory_.path() + "/a", directory_.path() + "/b"};
  std::vector<Published> published_;
};

TEST_F(StripedFiles, TheLogEndsAtALostStripe) {
  const Stripes stripes{2, kStripe};
  for (const bool truncated : {false, true}) {
    for (const uint64_t stripe : {0, 1, 2, 9, 16, 17}) {
      write_log(200);  // 19.5 stripes
      const std::string path = file(stripes.device(stripe * kStripe));
      const auto offset = static_cast<off_t>(stripes.file_offset(stripe * kStripe));
      const int fd = open(path.c_str(), O_WRONLY);
      const std::vector<char> zeros(kStripe);
      if (truncated) {
        ASSERT_EQ(ftruncate(fd, offset), 0);
      } else {
        ASSERT_EQ(pwrite(fd, zeros.data(), zeros.size(), offset), ssize_t{kStripe});
      }
      close(fd);
      const ReadLog log = read();
      EXPECT_TRUE(log.filled_rightly);
      EXPECT_EQ(log.records.size(), before(stripe * kStripe)) << "stripe " << stripe;
      EXPECT_NE(log.tail.why.find("are not used"), std::string::npos) << log.tail.why;
    }
  }
}

TEST_F(StripedFiles, StripesOfAnEarlierRunAreNotRead) {
  for (const uint32_t count : {300u, 41u, 200u, 10u, 0u}) {
    write_log(count);
    const ReadLog log = read();
    EXPECT_EQ(log.records.size(), count);
    EXPECT_EQ(log.tail.why, "end of log");
  }
  // Records of these sizes end just before, at or just after the end of a stripe.
  for (const uint32_t bytes : {48, 64, 72, 128, 1360}) {
    write_log(300, 400);
    write_log(static_cast<uint32_t>(2 * kStripe) / bytes, bytes);
    EXPECT_EQ(read().tail.why, "end of log") << bytes;
  }
}

TEST_F(StripedFiles, AreFoundInAnyOrderAndReportedIfMissing) {
  write_log(200);
  EXPECT_EQ(read().records.size(), 200u);
  const LogFiles files = find_log_files({directories_[1], directories_[0]});
  EXPECT_EQ(files.paths, find_log_files(directories_).paths);
  EXPECT_EQ(files.header.stripes, 2u);

  EXPECT_EQ(find_log_files({directories_[0]}).error,
            "the log whose manifest is in " + directories_[0] + " has 2 directories, not 1");
  EXPECT_EQ(find_log_files({directories_[1]}).error,
            "the log of which " + directories_[1] + " is a directory has 2 directories, not 1");

  // A run in one directory leaves the old log's stripe in the other directory.
  const auto both = directories_;
  directories_ = {both[0]};
  write_log(10);
  EXPECT_EQ(read().records.size(), 10u);
  EXPECT_EQ(find_log_files(both).error,
            "the log whose manifest is in " + both[0] + " has 1 directory, not 2");
  directories_ = both;
  write_log(10);
  EXPECT_EQ(read().records.size(), 10u);
  EXPECT_NE(read_log(std::vector{file(1), file(0)}).error, "");
}

}  // namespace
}  // namespace logjam

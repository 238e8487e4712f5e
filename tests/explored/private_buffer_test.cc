// P-WAL's buffers in all schedules with few preemptions.
#include "logging/schemes/pwal/private_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr uint64_t kRecord = 64, kWatermark = 32;

// A worker publishes records of 64 bytes. Another thread reads the place, or appends a watermark of
// 32 bytes if the worker is idle.
class WorkerAndOther {
 protected:
  void publish_next() {
    const uint64_t sequence = shared_->buffer.open();
    const PrivateBuffer::Place before = shared_->buffer.place();
    if (before.sequence >= sequence) wrong_ = "a watermark has the number of a later record";
    fill(before.end, kRecord);
    shared_->buffer.publish({before.end + kRecord, sequence});
    bytes_ += kRecord;
  }
  void append_watermark() {
    const bool appended =
        shared_->buffer.append_if_idle([this](const auto& place, uint64_t counter) {
          if (place.sequence >= counter) return place;
          fill(place.end, kWatermark);
          return PrivateBuffer::Place{place.end + kWatermark, counter};
        });
    if (appended) bytes_ += kWatermark;
  }
  void cancel_next() {
    shared_->buffer.open();
    shared_->buffer.cancel();
  }
  PrivateBuffer::Place place() const { return shared_->buffer.place(); }
  void draw_elsewhere() { shared_->counter.fetch_add(1); }
  std::string wrong_at_end() const {
    if (wrong_ != nullptr) return wrong_;
    return place().end == bytes_ ? "" : "the place does not have all bytes";
  }

 private:
  struct Shared {
    platform::atomic<uint64_t> counter{0};
    PrivateBuffer buffer{counter};
    std::array<platform::atomic<uint64_t>, 16> words;  // one for each 32 bytes
  };

  void fill(uint64_t begin, uint64_t bytes) {
    for (uint64_t at = begin; at < begin + bytes; at += kWatermark) {
      if (shared_->words[at / kWatermark].exchange(1) != 0)
        wrong_ = "two threads fill the same bytes";
    }
  }

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  uint64_t bytes_ = 0;  // two threads add to it, but not between two steps
  const char* wrong_ = nullptr;
};

// Checked: the place that is read was the place at some time. Record n ends at 64 n.
class PublishBesideLook : WorkerAndOther {
 public:
  std::vector<Body> threads() {
    const Body worker = [this] {
      for (int i = 0; i < 3; ++i) publish_next();
    };
    return {[this] { seen_ = place(); }, worker};
  }
  std::string wrong() const {
    return seen_.end == seen_.sequence * kRecord ? wrong_at_end() : "a place is torn";
  }

 private:
  PrivateBuffer::Place seen_;
};

TEST(PrivateBufferSteps, APlaceIsReadAsItWasStored) { search_all<PublishBesideLook>(3); }

// Checked: no byte is filled twice, and the numbers grow along the buffer.
class PublishBesideWatermark : WorkerAndOther {
 public:
  PublishBesideWatermark() { draw_elsewhere(); }
  std::vector<Body> threads() {
    const Body worker = [this] {
      publish_next();
      publish_next();
    };
    const Body appends = [this] {
      append_watermark();
      draw_elsewhere();
      append_watermark();
    };
    return {worker, appends};
  }
  std::string wrong() const { return wrong_at_end(); }
};

TEST(PrivateBufferSteps, AWatermarkAndARecordNeverShareBytes) {
  search_all<PublishBesideWatermark>(3);
}

// The worker cancels a record before it publishes one, and two threads append watermarks. Checked:
// the same.
class CancelBesideWatermarks : WorkerAndOther {
 public:
  CancelBesideWatermarks() { draw_elsewhere(); }
  std::vector<Body> threads() {
    const Body worker = [this] {
      cancel_next();
      publish_next();
    };
    return {worker, [this] { append_watermark(); }, [this] { append_watermark(); }};
  }
  std::string wrong() const { return wrong_at_end(); }
};

TEST(PrivateBufferSteps, TwoWatermarksNeverShareBytes) { search_all<CancelBesideWatermarks>(2); }

}  // namespace
}  // namespace logjam::sim

// A log scheme for tests of concurrency control. Numbers come from a counter. Records stay in
// memory and are durable at once. A mutex protects all state, so workers may run in several
// threads. Tests may read the public members only while no call runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "logging/format/record.h"
#include "logging/read_stamps.h"
#include "logging/row_vectors.h"
#include "platform/mutex.h"
#include "tests/forwarding_scheme.h"

namespace logjam {

class FakeLog final : public ForwardingScheme, private EarlyNumbers {
 public:
  struct Options {
    NumberDrawn number_drawn = NumberDrawn::kAfterValidation;
    bool logs = true;
    bool fills_after_unlock = false;
    bool stamps = false;                     // the scheme has read stamps
    bool vectors = false;                    // the scheme has row vectors
    bool keep = true;                        // whether `entries` keeps records
    std::function<void()> before_draw = {};  // called before a number is drawn
    std::function<void()> at_publish = {};   // called when a record is published
    uint64_t waited_ticks = 0;               // wait for space that each reservation reports
  };
  static constexpr uint64_t kRun = 7;
  struct Entry {
    uint32_t worker = 0;
    Dependencies deps;
    LogReservation reservation;
    std::unique_ptr<std::byte[]> hole;
    bool published = false;
    RecordRole role = RecordRole::kPart;

    const RecordHeader& header() const {
      return *reinterpret_cast<const RecordHeader*>(hole.get());
    }
    std::vector<LoggedWrite> writes() const {
      std::vector<LoggedWrite> all;
      RecordBody body(header());
      for (LoggedWrite write; body.next(&write);) all.push_back(write);
      EXPECT_TRUE(body.well_formed());
      return all;
    }
  };

  FakeLog(uint32_t workers, Options options)
      : ForwardingScheme(workers,
                         {.number_drawn = options.number_drawn,
                          .fills_after_unlock = options.fills_after_unlock,
                          .logs = options.logs},
                         kRun),
        options_(options),
        drawn_(workers),
        open_(workers) {}

  CommitParts parts() override {
    const bool early = options_.number_drawn == NumberDrawn::kBeforeWithoutHole;
    return {.early_numbers = early ? this : nullptr,
            .read_stamps = options_.stamps ? &stamps_ : nullptr,
            .row_vectors = options_.vectors ? &vectors_ : nullptr};
  }

  void draw_number(uint32_t worker, const Dependencies&) override {
    if (options_.before_draw) options_.before_draw();
    const platform::lock_guard<platform::mutex> guard(mutex_);
    EXPECT_EQ(options_.number_drawn, NumberDrawn::kBeforeWithoutHole);
    EXPECT_EQ(drawn_[worker], 0u);
    drawn_[worker] = ++sequence_;
  }
  void abandon(uint32_t worker) override {
    const platform::lock_guard<platform::mutex> guard(mutex_);
    EXPECT_NE(drawn_[worker], 0u);
    EXPECT_EQ(open_[worker], nullptr);
    drawn_[worker] = 0;
    ++abandoned;
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    if (options_.before_draw && drawn_[worker] == 0) options_.before_draw();
    const platform::lock_guard<platform::mutex> guard(mutex_);
    EXPECT_EQ(open_[worker], nullptr) << "a worker may hold one reservation";
    EXPECT_LE(std::max(deps.max_read, deps.max_overwritten), sequence_);
    EXPECT_EQ(bytes % 8, 0u);
    last_deps = deps;
    last_vector.clear();
    if (deps.vector != nullptr) last_vector.assign(deps.vector, deps.vector + 2);
    if (deps.vector != nullptr && deps.commits) deps.vector[worker % 2] = position_ + bytes;
    auto entry = std::make_unique<Entry>();
    entry->worker = worker;
    entry->deps = deps;
    const uint64_t sequence = drawn_[worker] != 0 ? drawn_[worker] : ++sequence_;
    entry->reservation = {.sequence = sequence,
                          .position = position_,
                          .bytes = bytes,
                          .waited_ticks = options_.waited_ticks};
    position_ += bytes;
    if (options_.logs) {
      entry->hole = std::make_unique<std::byte[]>(bytes);
      entry->reservation.hole = entry->hole.get();
    }
    open_[worker] = std::move(entry);
    return open_[worker]->reservation;
  }

  CommitPoint publish(uint32_t worker, const LogReservation& reservation,
                      RecordRole role) override {
    if (options_.at_publish) options_.at_publish();
    const platform::lock_guard<platform::mutex> guard(mutex_);
    EXPECT_NE(open_[worker], nullptr);
    EXPECT_EQ(open_[worker]->reservation.sequence, reservation.sequence);
    open_[worker]->published = true;
    open_[worker]->role = role;
    if (options_.keep) entries.push_back(std::move(*open_[worker]));
    open_[worker] = nullptr;
    if (commits(role)) drawn_[worker] = 0;
    return CommitPoint::in_stream(0, reservation.sequence);
  }

  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    const platform::lock_guard<platform::mutex> guard(mutex_);
    if (deps.vector != nullptr) last_vector.assign(deps.vector, deps.vector + 2);
    ++observed;
    return CommitPoint::in_stream(0, deps.max_read);
  }

  uint64_t max_record_bytes() const override { return 1 << 20; }

  std::vector<Entry> entries;  // in the order of publication
  Dependencies last_deps;
  std::vector<uint64_t> last_vector;  // passed to the last reserve() or commit_read_only()
  uint64_t observed = 0, abandoned = 0;

 private:
  Options options_;
  ReadStamps stamps_;
  RowVectors vectors_{2};
  platform::mutex mutex_;
  std::vector<uint64_t> drawn_;
  std::vector<std::unique_ptr<Entry>> open_;
  uint64_t sequence_ = 0;
  uint64_t position_ = 0;
};

}  // namespace logjam

// A log scheme for tests of concurrency control: a counter, and holes kept in memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "logging/log_scheme.h"
#include "logging/read_stamps.h"
#include "logging/record.h"
#include "platform/mutex.h"

namespace logjam {

class FakeLog final : public LogScheme {
 public:
  struct Options {
    bool before_validation = false;
    bool logs = true;
    bool stamps = false;                     // reads are stamped
    bool keep = true;                        // what was logged, for the test to look at
    std::function<void()> before_draw = {};  // at the serialization point, before the number
  };
  struct Entry {
    uint32_t worker = 0;
    Dependencies deps;
    Ticket ticket;
    std::unique_ptr<std::byte[]> hole;
    bool published = false, ok = false, commits = false;

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
      : LogScheme(workers), options_(options), open_(workers) {}

  Traits traits() const override {
    Traits traits;
    traits.sequence_before_validation = options_.before_validation;
    traits.logs = options_.logs;
    return traits;
  }

  ReadStamps* read_stamps() override { return options_.stamps ? &stamps_ : nullptr; }

  Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    if (options_.before_draw) options_.before_draw();
    const platform::lock_guard<platform::mutex> guard(mutex_);
    EXPECT_EQ(open_[worker], nullptr) << "a worker may hold one ticket";
    EXPECT_LE(std::max(deps.max_read, deps.max_overwritten), sequence_);
    EXPECT_EQ(bytes % 8, 0u);
    last_deps = deps;
    auto entry = std::make_unique<Entry>();
    entry->worker = worker;
    entry->deps = deps;
    entry->ticket = {.sequence = ++sequence_, .position = position_, .bytes = bytes};
    position_ += bytes;
    if (options_.logs) {
      entry->hole = std::make_unique<std::byte[]>(bytes);
      entry->ticket.hole = entry->hole.get();
    }
    open_[worker] = std::move(entry);
    return open_[worker]->ticket;
  }

  Point publish(uint32_t worker, const Ticket& ticket, bool ok, bool commits) override {
    const platform::lock_guard<platform::mutex> guard(mutex_);
    EXPECT_NE(open_[worker], nullptr);
    EXPECT_EQ(open_[worker]->ticket.sequence, ticket.sequence);
    open_[worker]->published = true;
    open_[worker]->ok = ok;
    open_[worker]->commits = commits;
    if (options_.keep) entries.push_back(std::move(*open_[worker]));
    open_[worker] = nullptr;
    return {.sequence = ticket.sequence, .stream = 0};
  }

  Point observe(uint32_t, const Dependencies& deps) override {
    const platform::lock_guard<platform::mutex> guard(mutex_);
    ++observed;
    return {.sequence = deps.max_read, .stream = 0};
  }

  bool is_durable(const Point&) const override { return true; }
  void tick(uint32_t) override {}
  void flush(uint32_t, bool) override {}
  bool idle() const override { return true; }
  uint64_t max_record_bytes() const override { return 1 << 20; }
  Cut cut(const std::vector<StreamTail>&) const override { return {}; }
  bool survives(const RecordHeader&, uint32_t, const Cut&) const override { return true; }

  std::vector<Entry> entries;  // as published
  Dependencies last_deps;
  uint64_t observed = 0;

 private:
  Options options_;
  ReadStamps stamps_;
  platform::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> open_;
  uint64_t sequence_ = 0;
  uint64_t position_ = 0;
};

}  // namespace logjam

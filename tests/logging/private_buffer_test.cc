// P-WAL's buffer. Threads append as often as they can, and the test checks the result.
#include "logging/schemes/pwal/private_buffer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

// A cell plays a byte of the buffer, and holds the number of its record or watermark. Cells are
// plain words, so ThreadSanitizer reports two threads that use the same cell.
TEST(PrivateBuffer, NumbersGrowInTheBufferWithEveryAppender) {
  constexpr uint64_t kRecords = 4'000;
  const Watchdog watchdog("a worker waits for a claim that nobody holds");
  platform::atomic<uint64_t> counter{0};
  PrivateBuffer buffer(counter);
  std::vector<uint64_t> cells(1 << 20);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> watermarks{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        const bool room = buffer.place().end + kRecords < cells.size();
        counter.fetch_add(1);  // another worker draws a number
        watermarks += room && buffer.append_if_idle([&](const auto& place, uint64_t number) {
          if (place.sequence >= number) return place;
          std::this_thread::yield();  // gives another thread the time to write here
          cells[place.end] = number;
          return PrivateBuffer::Place{place.end + 1, number};
        });
      }
    });
  }
  std::vector<PrivateBuffer::Place> published;
  uint64_t last = 0;
  for (uint64_t i = 0; i < kRecords || watermarks.load() < 100; ++i) {
    const uint64_t number = buffer.open();
    EXPECT_GT(number, last);
    last = number;
    const uint64_t begin = buffer.place().end;
    if (i % 16 == 0 || begin + 4 >= cells.size()) {
      buffer.cancel();
      std::this_thread::yield();
      if (begin + 4 >= cells.size()) break;
      continue;
    }
    cells[begin] = number;
    buffer.publish({begin + 1, number});
    published.push_back({begin, number});
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  const PrivateBuffer::Place end = buffer.place();
  EXPECT_EQ(cells[end.end - 1], end.sequence);
  for (const auto& [begin, number] : published) {
    ASSERT_EQ(cells[begin], number) << "the record in cell " << begin << " is overwritten";
  }
  for (uint64_t i = 1; i < end.end; ++i) {
    ASSERT_GT(cells[i], cells[i - 1]) << "at cell " << i << " of " << end.end;
  }
}

}  // namespace
}  // namespace logjam

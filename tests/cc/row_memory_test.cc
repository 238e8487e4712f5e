#include "cc/row_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <random>

#include "platform/atomic.h"

namespace logjam {
namespace {

// A row at any offset in a line, of any length, of which any bytes change. The neighbouring bytes
// stay the same.
TEST(StoreRow, StoresAllBytesThatChange) {
  constexpr size_t kBytes = 512;
  std::mt19937_64 random(1);
  alignas(platform::kCacheLine) std::array<std::byte, kBytes> there{}, expected{};
  alignas(platform::kCacheLine) std::array<std::byte, kBytes> row{};
  for (int round = 0; round < 20'000; ++round) {
    const auto bytes = static_cast<uint32_t>(8 * (1 + random() % 48));
    const size_t at = 8 * (random() % ((kBytes - bytes) / 8));
    std::copy_n(there.begin() + static_cast<ptrdiff_t>(at), bytes, row.begin());
    for (uint64_t changes = random() % 4; changes > 0; --changes) {
      row[random() % bytes] = static_cast<std::byte>(random());
    }
    std::copy_n(row.begin(), bytes, expected.begin() + static_cast<ptrdiff_t>(at));
    store_row(there.data() + at, row.data(), bytes);
    ASSERT_EQ(there, expected) << bytes << " bytes at " << at;
  }
}

}  // namespace
}  // namespace logjam

// Memory from the kernel.
#include "platform/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace logjam {
namespace {

// Sizes with and without huge pages.
TEST(MirroredMemory, TheSecondHalfIsTheFirst) {
  for (const size_t size : {size_t{4} << 10, size_t{2} << 20, size_t{3} << 20, size_t{4} << 20}) {
    const platform::MirroredMemory memory(size);
    ASSERT_EQ(memory.size(), size);
    for (size_t at = 0; at < size; at += 4096) {
      const uint64_t below = at + 1, above = ~at;
      std::memcpy(memory.data() + at, &below, sizeof below);
      ASSERT_EQ(std::memcmp(memory.data() + size + at, &below, sizeof below), 0)
          << size << ' ' << at;
      std::memcpy(memory.data() + size + at, &above, sizeof above);
      ASSERT_EQ(std::memcmp(memory.data() + at, &above, sizeof above), 0) << size << ' ' << at;
    }
  }
}

}  // namespace
}  // namespace logjam

// A range image, as the writer makes it of two rows, and as a log may have it.
#include "logging/format/range_image.h"

#include <cstring>

#include "tests/fuzz/target.h"

namespace logjam::fuzz {
namespace {

constexpr uint32_t kMostRowBytes = 400;

// input := the length of the row (2 bytes), the row, an image
void change_row(Input input) {
  Parts parts(input);
  const auto bytes = static_cast<uint32_t>(parts.number(2) % kMostRowBytes) + 1;
  const Input taken = parts.take(bytes);
  std::vector<std::byte> row(taken.begin(), taken.end());
  row.resize(bytes);
  if (parts.rest().size() < sizeof(uint64_t)) return;
  const std::vector<std::byte> image(parts.rest().begin(), parts.rest().end());
  const std::vector<std::byte> before = row;
  apply_ranges(RangeImage(image), row.data(), bytes);

  std::vector<std::byte> encoded(bytes);
  const uint32_t length =
      encode_ranges(RangeImage(image).version(), before.data(), row.data(), bytes, encoded.data());
  if (length == 0) return;
  std::vector<std::byte> again = before;
  encoded.resize(length);
  require(apply_ranges(RangeImage(encoded), again.data(), bytes),
          "an encoded image is well formed");
  require(again == row, "an encoded image makes the row that it was made of");
}

const FuzzRegistration registration({.name = "ranges", .most_bytes = 600, .run = change_row});

}  // namespace
}  // namespace logjam::fuzz

#include "sim/explore/store_buffer.h"

#include <gtest/gtest.h>

#include <array>

namespace logjam::sim {
namespace {

TEST(StoreBuffer, StoresThatAreTakenBackLandLaterAndOverWhatIsThere) {
  uint64_t word = 1, other = 5;
  StoreBuffer buffer;
  buffer.note(&word, sizeof word), word = 2;
  buffer.note(&word, sizeof word), word = 3;
  buffer.note(&other, sizeof other), other = 6;
  buffer.commit(1);
  buffer.take_back();
  EXPECT_EQ(word, 2u);
  EXPECT_EQ(other, 5u);
  word = 10;  // a store of another thread
  buffer.drain_one();
  EXPECT_EQ(word, 3u);
  word = 20;
  buffer.put_back();
  EXPECT_EQ(word, 20u);
  EXPECT_EQ(other, 6u);
  buffer.take_back();
  EXPECT_EQ(other, 5u);
}

TEST(StoreBuffer, TheOldestStoreLandsWhenItIsFull) {
  std::array<uint64_t, StoreBuffer::kMost + 1> words{};
  StoreBuffer buffer;
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(buffer.note(&words[i], sizeof words[i]), i == StoreBuffer::kMost);
    words[i] = 1;
  }
  EXPECT_EQ(buffer.size(), StoreBuffer::kMost);
  buffer.take_back();
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 0u);
}

TEST(StoreBuffer, PartsOfAWordOverlap) {
  std::array<uint8_t, 12> bytes{};
  StoreBuffer buffer;
  buffer.note(bytes.data(), bytes.size()), bytes.fill(1);
  buffer.note(bytes.data() + 3, 2), bytes[3] = bytes[4] = 2;
  buffer.take_back();
  EXPECT_EQ(bytes, (std::array<uint8_t, 12>{}));
  buffer.put_back();
  EXPECT_EQ(bytes, (std::array<uint8_t, 12>{1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace logjam::sim

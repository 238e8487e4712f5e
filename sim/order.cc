#include "sim/order.h"

#include <algorithm>
#include <vector>

namespace logjam::sim {
namespace {

using platform::SplitMix64;

class RandomOrder final : public Order {
 public:
  explicit RandomOrder(SplitMix64& random) : random_(random) {
    constexpr uint64_t kLongestLog2 = 12;
    mean_ = uint64_t{1} << random_.next() % (kLongestLog2 + 1);
  }

  std::string name() const override { return "random, " + std::to_string(mean_) + " steps"; }
  // Draws a number up to twice the mean. That is cheaper than a geometric distribution.
  uint64_t turn_end(uint32_t, uint64_t step) override {
    return step + 1 + random_.next() % (2 * mean_);
  }
  size_t choose(std::span<const uint32_t> enabled, uint32_t, uint64_t) override {
    return random_.next() % enabled.size();
  }

 private:
  SplitMix64& random_;
  uint64_t mean_;
};

class PctOrder final : public Order {
 public:
  explicit PctOrder(SplitMix64& random) : random_(random) {
    constexpr uint64_t kMostChanges = 6, kShortestLog2 = 9, kLengths = 9;
    const uint64_t changes = random_.next() % (kMostChanges + 1);
    // No order knows how long its schedule will be.
    length_ = uint64_t{1} << (kShortestLog2 + random_.next() % kLengths);
    for (uint64_t i = 0; i < changes; ++i) changes_.push_back(1 + random_.next() % length_);
    std::ranges::sort(changes_);
  }

  std::string name() const override {
    return "pct, " + std::to_string(changes_.size()) + " changes in " + std::to_string(length_) +
           " steps";
  }
  uint64_t turn_end(uint32_t, uint64_t step) override {
    turn_began_ = step;
    return next_ < changes_.size() ? std::min(changes_[next_], step + kLongest) : step + kLongest;
  }
  size_t choose(std::span<const uint32_t> enabled, uint32_t current, uint64_t step) override {
    // A fiber that goes on for very long waits for another one without saying so.
    if (step >= turn_began_ + kLongest) gives_way(current);
    for (; next_ < changes_.size() && changes_[next_] <= step; ++next_) gives_way(current);
    return static_cast<size_t>(
        std::ranges::max_element(enabled, {}, [this](uint32_t fiber) { return priority(fiber); }) -
        enabled.begin());
  }
  void gives_way(uint32_t fiber) override {
    priority(fiber);
    priorities_[fiber] = --lowest_;
  }

 private:
  static constexpr uint64_t kLongest = 20'000;

  int64_t priority(uint32_t fiber) {
    while (priorities_.size() <= fiber) {
      priorities_.push_back(static_cast<int64_t>(random_.next() >> 2));
    }
    return priorities_[fiber];
  }

  SplitMix64& random_;
  uint64_t length_ = 0, turn_began_ = 0;
  std::vector<uint64_t> changes_;  // steps at which the running fiber falls, ascending
  size_t next_ = 0;
  std::vector<int64_t> priorities_;  // by fiber
  int64_t lowest_ = 0;
};

class TurnsOrder final : public Order {
 public:
  explicit TurnsOrder(SplitMix64& random) {
    constexpr uint64_t kLongestLog2 = 10;
    turn_ = uint64_t{1} << random.next() % (kLongestLog2 + 1);
  }

  std::string name() const override { return "turns of " + std::to_string(turn_) + " steps"; }
  uint64_t turn_end(uint32_t, uint64_t step) override { return step + turn_; }
  size_t choose(std::span<const uint32_t> enabled, uint32_t current, uint64_t) override {
    const auto next = std::ranges::upper_bound(enabled, current);
    return next == enabled.end() ? 0 : static_cast<size_t>(next - enabled.begin());
  }

 private:
  uint64_t turn_;
};

}  // namespace

std::unique_ptr<Order> make_order(const std::string& kind, SplitMix64& random) {
  constexpr uint64_t kDraws = 8;
  const uint64_t drawn = random.next() % kDraws;
  if (kind == "random" || (kind.empty() && drawn < 4)) return std::make_unique<RandomOrder>(random);
  if (kind == "pct" || (kind.empty() && drawn < 7)) return std::make_unique<PctOrder>(random);
  if (kind == "turns" || kind.empty()) return std::make_unique<TurnsOrder>(random);
  return nullptr;
}

}  // namespace logjam::sim

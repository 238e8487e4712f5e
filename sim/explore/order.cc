#include "sim/explore/order.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

namespace logjam::sim {
namespace {

using platform::SplitMix64;

// The longest turn, in steps. In a longer turn the fiber probably spins without a pause.
constexpr uint64_t kLongest = 20'000;

class DrawnOrder : public Order {
 public:
  explicit DrawnOrder(SplitMix64& random) : random_(random) {}

  uint64_t visible(uint64_t stores) final {
    constexpr uint64_t kKinds = 4;
    const uint64_t drawn = random_.next(), kind = drawn % kKinds;
    if (kind == 0) return stores;
    return kind == 1 ? 0 : drawn / kKinds % (stores + 1);
  }
  bool ends_a_timer() final {
    constexpr uint64_t kTimes = 64;
    return random_.next() % kTimes == 0;
  }

 protected:
  SplitMix64& random_;
};

class RandomOrder final : public DrawnOrder {
 public:
  explicit RandomOrder(SplitMix64& random) : DrawnOrder(random) {
    constexpr uint64_t kLongestLog2 = 12;
    mean_ = uint64_t{1} << random_.next() % (kLongestLog2 + 1);
  }

  std::string name() const override { return "random, " + std::to_string(mean_) + " steps"; }
  // Chooses a length up to twice the mean, which is cheaper than a geometric distribution.
  uint64_t turn_end(uint32_t, uint64_t step) override {
    return step + 1 + random_.next() % (2 * mean_);
  }
  size_t choose(std::span<const uint32_t> enabled, uint32_t, uint64_t) override {
    return random_.next() % enabled.size();
  }

 private:
  uint64_t mean_;
};

class PctOrder final : public DrawnOrder {
 public:
  explicit PctOrder(SplitMix64& random) : DrawnOrder(random) {
    constexpr uint64_t kMostChanges = 6, kShortestLog2 = 9, kLengths = 9;
    const uint64_t changes = random_.next() % (kMostChanges + 1);
    // Guesses the schedule's length at random, because no order knows the length beforehand.
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
  int64_t priority(uint32_t fiber) {
    while (priorities_.size() <= fiber) {
      priorities_.push_back(static_cast<int64_t>(random_.next() >> 2));
    }
    return priorities_[fiber];
  }

  uint64_t length_ = 0, turn_began_ = 0;
  std::vector<uint64_t> changes_;  // steps at which the running fiber's priority falls, ascending
  size_t next_ = 0;
  std::vector<int64_t> priorities_;  // by fiber
  int64_t lowest_ = 0;
};

// Returns the index in `enabled` of the fiber that follows `current` in the circle of all fibers.
size_t next_in_turn(std::span<const uint32_t> enabled, uint32_t current) {
  const auto next = std::ranges::upper_bound(enabled, current);
  return next == enabled.end() ? 0 : static_cast<size_t>(next - enabled.begin());
}

class TurnsOrder final : public DrawnOrder {
 public:
  explicit TurnsOrder(SplitMix64& random) : DrawnOrder(random) {
    constexpr uint64_t kLongestLog2 = 10;
    turn_ = uint64_t{1} << random.next() % (kLongestLog2 + 1);
  }

  std::string name() const override { return "turns of " + std::to_string(turn_) + " steps"; }
  uint64_t turn_end(uint32_t, uint64_t step) override { return step + turn_; }
  size_t choose(std::span<const uint32_t> enabled, uint32_t current, uint64_t) override {
    return next_in_turn(enabled, current);
  }

 private:
  uint64_t turn_;
};

class RecordedOrder final : public Order {
 public:
  explicit RecordedOrder(const std::vector<platform::Turn>& turns) {
    for (const platform::Turn& turn : turns) fiber(turn.thread).turns.push_back(turn);
  }

  std::string name() const override { return "recorded"; }
  uint64_t turn_end(uint32_t id, uint64_t step) override {
    const Fiber& now = fiber(id);
    began_ = step;
    for (const platform::Turn& turn : now.turns) {
      if (!turn.waits && turn.steps > now.steps)
        return step + std::min(turn.steps - now.steps, kLongest);
    }
    return step + kLongest;
  }
  void turn_over(uint32_t id, uint64_t step, bool waits, bool) override {
    Fiber& over = fiber(id);
    over.steps += step - began_;
    long_ = step - began_ >= kLongest;
    began_ = step;
    const auto is_past = [&](const platform::Turn& turn) {
      return turn.steps < over.steps || (turn.steps == over.steps && waits && !turn.waits);
    };
    while (!over.turns.empty() && is_past(over.turns.front())) over.turns.pop_front();
    known_.reset();
    if (over.turns.empty()) return;
    const platform::Turn& first = over.turns.front();
    if (first.steps != over.steps || first.waits != waits) return;
    known_ = first;
    over.turns.pop_front();
  }
  uint64_t visible(uint64_t stores) override {
    return known_ ? stores - std::min<uint64_t>(known_->late, stores) : stores;
  }
  bool follows_record() const override { return known_.has_value(); }
  bool ends_a_timer() override { return known_ && known_->timers > 0 && known_->timers-- > 0; }
  size_t choose(std::span<const uint32_t> enabled, uint32_t current, uint64_t) override {
    auto wanted = known_ ? std::ranges::find(enabled, known_->next) : enabled.end();
    if (wanted == enabled.end() && !long_) wanted = std::ranges::find(enabled, current);
    if (wanted == enabled.end()) return next_in_turn(enabled, current);
    return static_cast<size_t>(wanted - enabled.begin());
  }

 private:
  struct Fiber {
    uint64_t steps = 0;                // the fiber's steps in its ended turns
    std::deque<platform::Turn> turns;  // the fiber's next turns that end as recorded
  };
  Fiber& fiber(uint32_t id) {
    if (fibers_.size() <= id) fibers_.resize(id + 1);
    return fibers_[id];
  }

  std::vector<Fiber> fibers_;
  uint64_t began_ = 0;  // the step at which the turn began
  bool long_ = false;   // the turn that is over was too long
  std::optional<platform::Turn> known_;
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

std::unique_ptr<Order> make_recorded_order(const std::vector<platform::Turn>& turns) {
  return std::make_unique<RecordedOrder>(turns);
}

}  // namespace logjam::sim

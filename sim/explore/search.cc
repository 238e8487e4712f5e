#include "sim/explore/search.h"

#include <algorithm>
#include <limits>

#include "platform/assert.h"

namespace logjam::sim {

class Search::SearchedOrder final : public Order {
 public:
  explicit SearchedOrder(Search& search) : search_(search), left_(search.preemptions_) {}

  std::string name() const override { return "searched"; }
  // Returns the fiber's next step if the schedule may have a further preemption. Otherwise the turn
  // ends only where the fiber waits.
  uint64_t turn_end(uint32_t, uint64_t step) override {
    return left_ == 0 ? std::numeric_limits<uint64_t>::max() : step + 1;
  }
  void turn_over(uint32_t, uint64_t, bool waits, bool others) override {
    waits_ = waits;
    stays_ = !waits && (left_ == 0 || !others);
  }
  // Decides whether the fiber's turn continues. If the turn ends, also decides how many of the
  // fiber's stores are late. If the turn continues, all these stores may still become late.
  uint64_t visible(uint64_t stores) override {
    if (stays_) return 0;
    uint64_t chosen = search_.decide(stores + (waits_ ? 1 : 2));
    if (!waits_) {
      stays_ = chosen == 0;
      if (stays_) return 0;
      --chosen;
      --left_;
    }
    LJ_ASSERT(chosen <= stores);
    return stores - chosen;
  }
  bool ends_a_timer() override { return false; }
  size_t choose(std::span<const uint32_t> enabled, uint32_t current, uint64_t) override {
    LJ_ASSERT(!enabled.empty());
    if (waits_) return search_.decide(enabled.size());
    const auto own = static_cast<size_t>(std::ranges::find(enabled, current) - enabled.begin());
    LJ_ASSERT(own < enabled.size());
    if (stays_ || enabled.size() == 1) return own;
    const size_t chosen = search_.decide(enabled.size() - 1);
    return chosen >= own ? chosen + 1 : chosen;
  }

 private:
  Search& search_;
  uint32_t left_;  // the preemptions that are left
  bool waits_ = false, stays_ = false;
};

std::unique_ptr<Order> Search::order() {
  made_ = 0;
  return std::make_unique<SearchedOrder>(*this);
}

bool Search::next() {
  ++schedules_;
  LJ_ASSERT(made_ <= decisions_.size());
  decisions_.resize(made_);
  while (!decisions_.empty() && decisions_.back().chosen + 1 == decisions_.back().options) {
    decisions_.pop_back();
  }
  if (decisions_.empty()) return false;
  ++decisions_.back().chosen;
  return true;
}

uint64_t Search::decide(uint64_t options) {
  LJ_ASSERT(options >= 1);
  if (made_ == decisions_.size()) decisions_.push_back({0, options});
  // The schedule has made the same decisions as the earlier one, so it has the same options here.
  LJ_ASSERT(decisions_[made_].options == options);
  return decisions_[made_++].chosen;
}

}  // namespace logjam::sim

#include "logging/stream/poller.h"

#include <algorithm>

#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kDiscardNapNs = 20'000;
constexpr double kLookEveryNs = 2'000;

}  // namespace

Poller::Poller(const LogConfig& config, StreamState& state, FlushDaemon& daemon,
               DurabilityWaiters& waiters)
    : polls_(workers_poll(config, state)),
      shared_(state.home().writers > 1),
      look_ticks_(platform::ns_to_ticks(kLookEveryNs)),
      safety_timeout_ns_(config.safety_timeout_ns),
      state_(state),
      daemon_(daemon),
      waiters_(waiters) {}

void Poller::poll(Flush flush) {
  if (!polls_) return;
  const bool under_way = state_.under_way() != 0;
  if (under_way) {
    const uint64_t now = platform::ticks();
    if (now - std::max(looked_.load(platform::memory_order_relaxed), state_.started()) <
        look_ticks_) {
      return;
    }
    looked_.store(now, platform::memory_order_relaxed);
  } else if (flush == Flush::kNow) {
    if (state_.idle()) return;
  } else if (!state_.worth_a_look() || (!shared_ && state_.due(state_.look()) == Due::kNo)) {
    return;
  }
  if (!state_.latch().try_lock()) return;
  const uint64_t begin = platform::ticks();
  const StreamState::Step step = state_.step(flush, false);
  state_.note_poll(platform::ticks() - begin, step.started);
  if (step.started || under_way) state_.count_help(step.started ? 1 : 0);
  state_.latch().unlock();
  if (step.advanced) waiters_.wake_durable();
}

uint64_t Poller::sleep_for_space(uint64_t end) {
  const uint64_t begin = platform::ticks();
  platform::EventCount::Waiter waiter(state_.ring().space());
  while (true) {
    const uint32_t seen = waiter.prepare();
    if (state_.ring().fits(end)) break;
    if (help_to_make_space() && state_.ring().fits(end)) break;
    daemon_.wake();
    waiter.sleep(seen, state_.discards() ? kDiscardNapNs : safety_timeout_ns_);
  }
  return platform::ticks() - begin;
}

// Takes a step, if workers may and the latch is free. Returns whether it took one.
bool Poller::help_to_make_space() {
  if (!polls_ || !state_.latch().try_lock()) return false;
  bool advanced = state_.step(Flush::kByPolicy, false).advanced;
  if (state_.discards()) advanced |= state_.finish();
  state_.latch().unlock();
  if (advanced) waiters_.wake_durable();
  return true;
}

}  // namespace logjam

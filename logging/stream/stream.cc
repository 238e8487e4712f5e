#include "logging/stream/stream.h"

#include <algorithm>

#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kDiscardNapNs = 20'000;
constexpr double kLookEveryNs = 2'000;

}  // namespace

Stream::Stream(const LogConfig& config, uint32_t index, DurabilityWaiters& waiters,
               StreamOwner& owner, Writers writers)
    : state_(config, index, owner, writers),
      lead_(index, waiters),
      daemon_(config, state_, lead_, waiters),
      waiters_(waiters),
      help_(config.flush_help),
      polls_(workers_poll(config, state_)),
      shared_(state_.home().writers > 1),
      look_ticks_(platform::ns_to_ticks(kLookEveryNs)),
      safety_timeout_ns_(config.safety_timeout_ns) {}

void Stream::on_publish(bool commits) {
  state_.count_publish(commits);
  if (state_.discards()) return;
  state_.note_publish();
  tell();
}

void Stream::on_wanted(Flush flush) {
  platform::full_fence();
  if (state_.discards()) return;
  const bool now = flush == Flush::kNow && !state_.policy().immediate();
  state_.note_wanted(now);
  tell(now);
}

void Stream::tell(bool now) {
  lead_.offer([this] { return !state_.idle(); });
  daemon_.on_publish([&] { return now || state_.due(state_.look()) == Due::kByAmount; });
}

void Stream::wait(uint32_t worker, const CommitPoint& point, Flush flush) {
  // With a flush policy no waiter leads: the daemon decides when enough commits have gathered.
  const bool may_lead = help_ && (state_.policy().immediate() || flush == Flush::kNow);
  bool slept = false;
  while (!waiters_.is_durable(point)) {
    if (!may_lead) {
      waiters_.park(worker, point, safety_timeout_ns_);
      continue;
    }
    if (lead_.take()) {
      lead(point);
      // Gives up the lead before all else: the device is idle until the next leader comes.
      daemon_.give_up_lead();
      waiters_.wake_durable();
      if (waiters_.is_durable(point)) break;
    }
    slept = true;
    lead_.park(worker, point, safety_timeout_ns_);
  }
  // This worker may have been woken to lead, while a poll made its commit durable. Then another
  // waiter must take the lead.
  if (slept) lead_.pass_on([this] { return !state_.idle(); });
}

void Stream::lead(const CommitPoint& point) {
  const platform::lock_guard hold(state_.latch());
  bool advanced = false;
  uint64_t flushes = 0;
  while (!waiters_.is_durable(point) && !state_.idle()) {
    if (advanced) waiters_.wake_durable();
    if (state_.start(Flush::kNow, true)) {
      ++flushes;
    } else if (state_.under_way() != 0) {
      state_.wait_for_device(FlushDaemon::kMostSleepNs);
    }
    advanced = state_.finish();
  }
  state_.count_help(flushes);
}

// Takes the latch before it looks how far the ring is filled, if several workers fill the ring. If
// it looked first, all workers would load cache lines that other workers write, and most workers
// would then find the latch taken. (TPC-C with `centr-faa` on 64 simulated cores: 13 M
// transactions/s if the latch comes first, 8 M if the look comes first.)
void Stream::poll(Flush flush) {
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

uint64_t Stream::sleep_for_space(uint64_t end) {
  const uint64_t begin = platform::ticks();
  platform::EventCount::Waiter waiter(ring().space());
  while (true) {
    const uint32_t seen = waiter.prepare();
    if (ring().fits(end)) break;
    if (help_to_make_space() && ring().fits(end)) break;
    daemon_.wake();
    waiter.sleep(seen, state_.discards() ? kDiscardNapNs : safety_timeout_ns_);
  }
  return platform::ticks() - begin;
}

bool Stream::help_to_make_space() {
  if (!polls_ || !state_.latch().try_lock()) return false;
  bool advanced = state_.step(Flush::kByPolicy, false).advanced;
  if (state_.discards()) advanced |= state_.finish();
  state_.latch().unlock();
  if (advanced) waiters_.wake_durable();
  return true;
}

Counters Stream::counters() const {
  Counters counters = state_.counters();
  counters.add({{"lead_handovers", static_cast<double>(lead_.handed_over())}});
  return counters;
}

}  // namespace logjam

#include "logging/stream/stream.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>

#include "logging/format/log_file.h"
#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kDeviceLookNs = 1'000'000;
constexpr uint64_t kLatchBusyNs = 100'000;
constexpr uint64_t kDiscardNapNs = 20'000;
constexpr uint64_t kLogEndBytes = 64;
constexpr double kLookEveryNs = 2'000;
// The length of the longest write where several writes may be under way: SDL advances while a long
// flush continues.
constexpr uint64_t kMostAtDepth = uint64_t{512} << 10;
// There, a write of at least this length ends at the end of a block (see goal_of()).
constexpr uint64_t kLeastToEndAtBlock = uint64_t{16} << 10;

uint64_t longest_write(uint64_t wanted, uint32_t depth, uint64_t block) {
  return std::max(depth == 1 ? wanted : std::min(wanted, kMostAtDepth), block);
}

}  // namespace

Stream::Stream(const LogConfig& config, uint32_t index, DurabilityWaiters& waiters,
               StreamOwner& owner, Writers writers)
    : index_(index),
      devices_(config, index),
      waiters_(waiters),
      owner_(owner),
      home_(home_of(config, index, writers)),
      shared_(home_.writers > 1),
      ring_(config.buffer_bytes, devices_.block_bytes(), home_.node),
      memory_(config.traits.fills_device_memory ? config.devices[index]->memory() : nullptr),
      policy_(FlushPolicy::of(config)),
      discards_(devices_.traits().discards),
      at_once_(devices_.traits().at_once),
      help_(config.flush_help),
      pollable_(config.flush_help && !config.preemptible_workers && !devices_.start_blocks()),
      look_ticks_(platform::ns_to_ticks(kLookEveryNs)),
      safety_timeout_ns_(config.safety_timeout_ns),
      max_write_bytes_(longest_write(config.io_bytes, devices_.depth(), ring_.block())),
      lead_(index, waiters),
      daemon_(config),
      sdl_store_(config),
      gap_(config) {}

bool Stream::idle() const {
  return devices_.under_way() == 0 && durable() == owner_.filled(index_);
}

bool Stream::work_pending() const {
  return devices_.under_way() != 0 ||
         owner_.filled(index_) != durable_.load(platform::memory_order_relaxed);
}

bool Stream::enough(const Progress& filled) const {
  const uint64_t goal = goal_.load(platform::memory_order_relaxed);
  const uint64_t flushed = commits_flushed_.load(platform::memory_order_relaxed);
  return policy_.enough(filled, {flushed, goal});
}

bool Stream::asked_for(const Progress& filled) const { return asked_by_time() || enough(filled); }

uint64_t Stream::policy_clock() const {
  return (policy_.immediate() ? started_ : oldest_).load(platform::memory_order_relaxed);
}

bool Stream::asked_by_time() const {
  if (ring_.waited_for() || (policy_.immediate() && daemon_.relied_on())) return true;
  return policy_now().asked_by_time(policy_clock(), platform::ticks());
}

// Returns whether due() may be true, without a look at filled(): other workers write to its cache
// lines.
bool Stream::may_be_due() const {
  return policy_.txns != 0 || policy_.bytes != 0 || asked_by_time() ||
         durable_.load(platform::memory_order_relaxed) < goal_.load(platform::memory_order_relaxed);
}

bool Stream::due(const Progress& filled) const {
  const uint64_t durable = durable_.load(platform::memory_order_relaxed);
  return filled.position != durable &&
         (durable < goal_.load(platform::memory_order_relaxed) || asked_for(filled));
}

// Publishers ---------------------------------------------------------------------------------

void Stream::published(bool commits) {
  if (policy_.txns != 0 && commits) commits_.fetch_add(1, platform::memory_order_release);
  platform::full_fence();  // of others too: Release::after_published()
  if (discards_) return;
  if (oldest_.load(platform::memory_order_relaxed) == 0) {
    oldest_.store(platform::ticks(), platform::memory_order_relaxed);
  }
  tell();
}

void Stream::wanted_by_others(Flush flush) {
  platform::full_fence();
  if (discards_) return;
  const bool now = flush == Flush::kNow && !policy_.immediate();
  if (now || oldest_.load(platform::memory_order_relaxed) == 0) {
    oldest_.store(FlushPolicy::kLongAgo, platform::memory_order_relaxed);
  }
  tell(now);
}

void Stream::tell(bool now) {
  lead_.offer([this] { return work_pending(); });
  daemon_.published([&] { return now || enough(look()); });
}

uint64_t Stream::sleep_for_space(uint64_t end) {
  const uint64_t begin = platform::ticks();
  sleep_until_it_fits(end);
  return platform::ticks() - begin;
}

void Stream::sleep_until_it_fits(uint64_t end) {
  platform::EventCount::Waiter waiter(ring_.space());
  while (true) {
    const uint32_t seen = waiter.prepare();
    if (ring_.fits(end)) return;
    if (pollable_ && latch_.try_lock()) {
      bool advanced = step(Flush::kByPolicy, false);
      if (discards_) advanced |= finish();
      latch_.unlock();
      if (advanced) waiters_.wake_durable();
      if (ring_.fits(end)) return;
    }
    daemon_.wake();
    waiter.sleep(seen, discards_ ? kDiscardNapNs : safety_timeout_ns_);
  }
}

void Stream::poll(Flush flush) {
  if (!pollable_) return;
  const bool under_way = devices_.under_way() != 0;
  if (under_way) {
    const uint64_t now = platform::ticks();
    if (now - looked_.load(platform::memory_order_relaxed) < look_ticks_) return;
    looked_.store(now, platform::memory_order_relaxed);
  } else if (flush == Flush::kNow ? !work_pending() : !may_be_due() || (!shared_ && !due(look()))) {
    return;
  }
  if (!latch_.try_lock()) return;
  const uint64_t flushes = flushes_.value(), begin = platform::ticks();
  const bool advanced = step(flush, false);
  const bool starts = flushes_.value() != flushes;
  const uint64_t took = platform::ticks() - begin;
  gap_.helped(took);
  if (starts) helped_flushes_.add();
  if (starts && pace_ != 0) keep_pace(took);
  if (starts || under_way) helped_.add();
  latch_.unlock();
  if (advanced) waiters_.wake_durable();
}

// Steps, under the latch ---------------------------------------------------------------------

// Returns whether `durable` advanced: the caller then wakes the waiters, after the next write has
// been started and the latch released.
bool Stream::step(Flush flush, bool may_block) {
  bool advanced = devices_.under_way() != 0 && finish();
  if (devices_.all_busy()) return advanced;
  if (write(look_to_write(), flush, may_block) && (may_block || at_once_)) advanced |= finish();
  return advanced;
}

// Looks how far the ring is filled, unless the next write will be as large as a write may be
// without a look. A look may take long: ELEDA crawls over the bytes that were filled. With a gap it
// always looks, because what this flush does not see waits for the gap.
const Progress& Stream::look_to_write() {
  const StripedDevices::Member* next = devices_.ready(seen_.position);
  const bool enough_seen = next != nullptr && seen_.position - next->next >= max_write_bytes_;
  if (!enough_seen || gap_.ticks() != 0) seen_ = look();
  return seen_;
}

bool Stream::finish() {
  if (!devices_.finish()) return false;
  const uint64_t now = platform::ticks();
  if (devices_.under_way() == 0) write_ticks_ = now - started_.load(platform::memory_order_relaxed);
  const uint64_t durable = devices_.durable();
  const bool advanced = durable != durable_.load(platform::memory_order_relaxed);
  if (advanced) {
    durable_.store(durable, platform::memory_order_release);
    gap_.durable(now, durable);
    ring_.release(durable);
  }
  if (!discards_) sdl_store_.start(devices_, durable);
  return advanced;
}

// Starts a write on each idle device that has bytes before the goal. Returns whether it started
// any.
bool Stream::write(const Progress& filled, Flush flush, bool may_block) {
  StripedDevices::Member* member = devices_.ready(filled.position);
  if (member == nullptr) return false;
  const bool due = flush == Flush::kNow || asked_for(filled);
  // The commits of `filled` were counted before the position that filled_to_write() returns.
  uint64_t goal = goal_.load(platform::memory_order_relaxed);
  if (due) goal = std::max(goal, goal_of(filled, *member, flush));
  member = devices_.ready(goal);
  if (member == nullptr) return false;
  const uint64_t now = platform::ticks();
  if (due) {
    raise_goal({filled.commits, goal}, member->idle_since);
    gap_.flushes(now, goal);
  }
  started_.store(now, platform::memory_order_relaxed);
  if (!may_block) looked_.store(now, platform::memory_order_relaxed);
  while (member != nullptr) {
    const uint64_t begin = ring_.block_down(member->next);
    const uint64_t end =
        std::min({goal, begin + max_write_bytes_, devices_.stripe_end(member->next)});
    const std::span<const std::byte> bytes(at(begin, ring_.block_up(end) - begin),
                                           ring_.block_up(end) - begin);
    flushes_.add();
    gap_ticks_.add(gap_.ticks());
    VLOG(2) << "flush: stream " << index_ << ", bytes " << begin << " to " << end
            << (flush == Flush::kNow ? ", forced" : "");
    flushed_bytes_.add(bytes.size());
    if (begin != member->next) rewrites_.add();

    const uint32_t slot = devices_.takes(*member, end);
    StripedDevices::Member* following = devices_.ready(goal);
    const uint64_t offset = devices_.file_offset(begin);
    if (may_block && following == nullptr && devices_.under_way() == 1) {
      member->device->start_and_wait(offset, bytes, Sync::kData, FlushDaemon::kMostSleepNs);
    } else {
      member->device->start(offset, bytes, Sync::kData, slot);
    }
    member = following;
  }
  return true;
}

// Returns the goal of a write that begins on `member`. The next write on a device waits for one
// that ends inside a block (StripedDevices). So where several writes may be under way, and this one
// is large, the last block waits for the next write.
uint64_t Stream::goal_of(const Progress& filled, const StripedDevices::Member& member,
                         Flush flush) {
  const uint64_t begin = pace_ == 0 ? 0 : platform::ticks();
  if (pace_ != 0 && !round_is_new()) round_->store(begin, platform::memory_order_relaxed);
  const uint64_t goal = owner_.filled_to_write(index_, filled.position);
  if (pace_ != 0) keep_pace(platform::ticks() - begin);
  const bool much = goal > member.next && goal - member.next >= kLeastToEndAtBlock;
  const bool ends_at_block =
      devices_.depth() > 1 && much && policy_.immediate() && flush == Flush::kByPolicy;
  return ends_at_block ? ring_.block_down(goal) : goal;
}

void Stream::keep_pace(uint64_t took_ticks) {
  const uint64_t least = pace_ * took_ticks;
  gap_.at_least(least - std::min(least, write_ticks_));
}

void Stream::raise_goal(const Progress& filled, uint64_t idle_since) {
  const uint64_t now = platform::ticks();
  const uint64_t oldest = oldest_.load(platform::memory_order_relaxed);
  if (oldest > FlushPolicy::kLongAgo && !enough(filled)) {
    late_ticks_.add(policy_.ticks_late(oldest, idle_since, now));
    late_count_.add();
  }
  commits_flushed_.store(filled.commits, platform::memory_order_relaxed);
  goal_.store(filled.position, platform::memory_order_relaxed);
  oldest_.store(0, platform::memory_order_relaxed);
  if (policy_.immediate()) return;  // there is no T
  platform::full_fence();
  if (owner_.filled(index_) != filled.position) oldest_.store(now, platform::memory_order_relaxed);
}

// Writes zeros after the last record, so that the reader finds a clean end and not the bytes of an
// earlier run or lap. The ring is not changed: if the log continues, the block is written again.
// The zeros may reach into the next stripe, of which nothing else has been written yet.
void Stream::write_log_end() {
  const uint64_t durable = durable_.load(platform::memory_order_relaxed);
  if (durable == log_end_at_) return;
  log_end_at_ = durable;
  const uint64_t begin = ring_.block_down(durable);
  const uint64_t end = ring_.block_up(durable + kLogEndBytes);
  log_end_ =
      std::make_unique<platform::MirroredMemory>(end - begin);  // zeros, aligned for direct I/O
  std::memcpy(log_end_->data(), this->at(begin, durable - begin), durable - begin);
  for (uint64_t at = begin, chunk_end; at < end; at = chunk_end) {
    chunk_end = std::min(end, devices_.stripe_end(at));
    StripedDevices::Member& member = devices_.device_of(at);
    devices_.repeats(member);  // in slot 0: the stream is idle
    member.device->start_and_wait(devices_.file_offset(at),
                                  {log_end_->data() + (at - begin), chunk_end - at}, Sync::kData,
                                  FlushDaemon::kMostSleepNs);
  }
  finish();
}

// Workers that wait --------------------------------------------------------------------------

void Stream::wait(uint32_t worker, const CommitPoint& point, Flush flush) {
  // With a flush policy a commit waits until enough others have come, and the daemon decides when
  // that is.
  const bool may_lead = help_ && (policy_.immediate() || flush == Flush::kNow);
  bool slept = false;
  while (!waiters_.is_durable(point)) {
    if (!may_lead) {
      waiters_.park(worker, point, safety_timeout_ns_);
      continue;
    }
    if (lead_.take()) {
      lead(point);
      give_up_lead();
      waiters_.wake_durable();
      // Flushing this stream may not have made `point` durable: a hole is before it, or it waits
      // for another stream.
      if (waiters_.is_durable(point)) break;
    }
    slept = true;
    lead_.park(worker, point, safety_timeout_ns_);
  }
  // Perhaps this worker was woken to take the lead, and a poll made its point durable first. Then
  // another waiter must take the lead.
  if (slept) lead_.pass_on([this] { return work_pending(); });
}

void Stream::lead(const CommitPoint& point) {
  latch_.lock();
  bool advanced = false;
  while (!waiters_.is_durable(point) && work_pending()) {
    if (advanced) waiters_.wake_durable();
    if (!devices_.all_busy() && write(look_to_write(), Flush::kNow, true)) {
      helped_flushes_.add();
    } else if (devices_.under_way() != 0) {
      devices_.wait(FlushDaemon::kMostSleepNs);
    }
    advanced = finish();
  }
  helped_.add();
  latch_.unlock();
}

// Gives the lead up. Its caller wakes the workers whose points are durable after that, because the
// device waits for the next leader.
void Stream::give_up_lead() {
  const bool left_alone = !lead_.give_up([this] { return work_pending(); });
  if (left_alone && !pollable_) daemon_.wake();
}

// The daemon ---------------------------------------------------------------------------------

// Returns for how long the daemon sleeps on the device at most, before it looks whether it can
// start another write. A publisher does not wake it meanwhile.
uint64_t Stream::next_start_ns() const {
  const FlushPolicy policy = policy_now();
  if (!policy.immediate() || policy.gap_ticks == 0) return FlushDaemon::kMostSleepNs;
  const uint64_t left = policy.ticks_until_asked(policy_clock(), platform::ticks());
  return static_cast<uint64_t>(platform::ticks_to_ns(left == 0 ? policy.gap_ticks : left));
}

void Stream::flush(Flush flush) {
  if (daemon_.nap_if_workers_flush(helped_.value(), lead_.held(), ring_, flush)) return;
  bool advanced = false;
  if (!take_turn(flush, &advanced)) return platform::sleep_ns(kLatchBusyNs);
  // The scheme may have to tell other streams of it before the daemon sleeps.
  if (advanced) return;
  if (devices_.under_way() != 0) {
    if (pollable_) devices_.wait(kDeviceLookNs);
    return;
  }
  const Progress filled = look();
  if (due(filled)) return;
  if (filled.position == durable()) {
    uint64_t seen = FlushPolicy::kLongAgo;
    oldest_.compare_exchange_strong(seen, 0, platform::memory_order_relaxed);
    return daemon_.sleep_until_published(ring_, flush, [this] { return work_pending(); });
  }
  if (oldest_.load(platform::memory_order_relaxed) == 0) {
    // filled() advanced after a step had cleared its publisher's time stamp.
    oldest_.store(platform::ticks(), platform::memory_order_relaxed);
  }
  const uint64_t left = policy_now().ticks_until_asked(policy_clock(), platform::ticks());
  daemon_.sleep_until_asked(static_cast<uint64_t>(platform::ticks_to_ns(left)),
                            [this] { return due(look()); });
}

// Returns whether the daemon would start no other write before the one that it starts now is
// finished, as the last one was before its gap was over. Then it may sleep in the write.
bool Stream::one_at_a_time() const {
  if (devices_.depth() == 1) return true;
  return policy_.immediate() && write_ticks_ < gap_.ticks() && !ring_.waited_for() &&
         !daemon_.relied_on();
}

// Takes the daemon's step, unless a worker leads or takes a step. Returns whether it took it, and
// sets `advanced` to whether more is durable then. If
// workers may not poll, the daemon leads: it sleeps on the device under the latch. If they may
// poll, the daemon sleeps without the latch, so that they can take it.
bool Stream::take_turn(Flush flush, bool* advanced) {
  const bool leads = !pollable_;
  if (leads ? !lead_.take() : !latch_.try_lock()) return false;
  if (leads) latch_.lock();
  const bool may_block = leads && one_at_a_time();
  *advanced = step(flush, may_block);
  if (leads && !*advanced && devices_.under_way() != 0) {
    devices_.wait(devices_.all_busy() ? FlushDaemon::kMostSleepNs : next_start_ns());
    *advanced = step(flush, may_block);
  }
  if (flush == Flush::kNow && idle()) write_log_end();
  latch_.unlock();
  if (leads) give_up_lead();
  if (*advanced) waiters_.wake_durable();
  return true;
}

Counters Stream::counters() const {
  const auto value = [](const platform::Counter& counter) {
    return static_cast<double>(counter.value());
  };
  const double us = platform::ns_per_tick() / 1e3;
  return {{"flushes", value(flushes_)},
          {"flush_bytes_mean", value(flushed_bytes_), value(flushes_)},
          {"flush_rewrites", value(rewrites_)},
          {"gap_us_mean", us * value(gap_ticks_), value(flushes_)},
          {"flush_late_us_mean", us * value(late_ticks_), value(late_count_)},
          {"helped_flushes", value(helped_flushes_)},
          {"lead_handovers", static_cast<double>(lead_.handed_over())}};
}

}  // namespace logjam

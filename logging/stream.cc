#include "logging/stream.h"

#include <algorithm>
#include <cstring>

#include "logging/log_file.h"
#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kDaemonTimeoutNs = 20'000'000;  // of a step (LogScheme::flush)
constexpr uint64_t kNapNs = 1'000'000;
constexpr uint64_t kLatchBusyNs = 100'000;
// After so many naps in which nothing happened the daemon sleeps until a publisher wakes it.
constexpr uint32_t kNapsBeforeIdle = 20;
constexpr uint64_t kEndMarkBytes = 64;
constexpr double kLookEveryNs = 2'000;
// --flush_txns or --flush_bytes without --flush_us: a group that never fills up is flushed anyway.
constexpr uint64_t kDefaultWaitUs = 10'000;

uint64_t wait_us(const LogConfig& config) {
  const bool others = config.flush_txns != 0 || config.flush_bytes != 0;
  return config.flush_us == 0 && others ? kDefaultWaitUs : config.flush_us;
}

void add(platform::atomic<uint64_t>& counter, uint64_t amount) {
  counter.store(counter.load(platform::memory_order_relaxed) + amount,
                platform::memory_order_relaxed);
}

}  // namespace

Stream::Stream(const LogConfig& config, uint32_t index, LogScheme& scheme,
               std::function<uint64_t()> filled, uint64_t max_write_bytes)
    : index_(index),
      lanes_(config, index),
      scheme_(scheme),
      filled_(std::move(filled)),
      ring_(config.buffer_bytes, lanes_.block_bytes()),
      txns_(config.flush_txns),
      bytes_(config.flush_bytes),
      wait_ticks_(platform::ns_to_ticks(static_cast<double>(wait_us(config)) * 1e3)),
      help_(config.flush_help),
      tickable_(config.flush_help && !lanes_.start_blocks()),
      look_ticks_(platform::ns_to_ticks(kLookEveryNs)),
      safety_timeout_ns_(config.safety_timeout_ns),
      max_write_bytes_(std::max(max_write_bytes, ring_.block())) {}

bool Stream::idle() const { return lanes_.under_way() == 0 && durable() == filled_(); }

bool Stream::work_pending() const {
  return lanes_.under_way() != 0 || filled_() != durable_.load(platform::memory_order_relaxed);
}

bool Stream::enough(uint64_t filled) const {
  const uint64_t goal = goal_.load(platform::memory_order_relaxed);
  return (bytes_ != 0 && filled > goal && filled - goal >= bytes_) ||
         (txns_ != 0 && commits_.load(platform::memory_order_relaxed) -
                                commits_flushed_.load(platform::memory_order_relaxed) >=
                            txns_);
}

bool Stream::asked_for(uint64_t filled) const {
  if (immediate() || ring_.waited_for() || enough(filled)) return true;
  const uint64_t oldest = oldest_.load(platform::memory_order_relaxed);
  return oldest != 0 && platform::ticks() >= oldest + wait_ticks_;
}

bool Stream::due(uint64_t filled) const {
  const uint64_t durable = durable_.load(platform::memory_order_relaxed);
  return filled != durable &&
         (durable < goal_.load(platform::memory_order_relaxed) || asked_for(filled));
}

// Publishers ---------------------------------------------------------------------------------

void Stream::published(bool commits) {
  if (txns_ != 0 && commits) commits_.fetch_add(1, platform::memory_order_relaxed);
  platform::full_fence();
  if (oldest_.load(platform::memory_order_relaxed) == 0) {
    oldest_.store(platform::ticks(), platform::memory_order_relaxed);
  }
  const uint32_t daemon = daemon_.load(platform::memory_order_relaxed);
  if (daemon == kIdle || (daemon == kTimed && enough(filled_()))) wake_daemon();
}

void Stream::sleep_for_space(uint64_t end) {
  Ring::Wait wait(ring_);
  while (true) {
    const uint32_t seen = wait.event();
    platform::full_fence();
    if (ring_.fits(end)) return;
    if (tickable_ && latch_.try_lock()) {
      const bool advanced = step(false, false);
      latch_.unlock();
      if (advanced) scheme_.wake_waiters();
      if (ring_.fits(end)) return;
    }
    wake_daemon();
    wait.sleep(seen, safety_timeout_ns_);
  }
}

void Stream::tick(bool urgent) {
  if (!tickable_) return;
  if (lanes_.under_way() == 0) {
    if (urgent ? !work_pending() : !due(filled_())) return;
  } else {
    const uint64_t now = platform::ticks();
    if (now - looked_.load(platform::memory_order_relaxed) < look_ticks_) return;
    looked_.store(now, platform::memory_order_relaxed);
  }
  if (!latch_.try_lock()) return;
  const uint64_t flushes = flushes_.load(platform::memory_order_relaxed);
  const bool advanced = step(urgent, false);
  if (flushes_.load(platform::memory_order_relaxed) != flushes) add(helped_flushes_, 1);
  add(helped_, 1);
  latch_.unlock();
  if (advanced) scheme_.wake_waiters();
}

// Steps, under the latch ---------------------------------------------------------------------

// Returns whether `durable` advanced: the caller then wakes the waiters, after the next write has
// been started and the latch released.
bool Stream::step(bool force, bool may_block) {
  bool advanced = lanes_.under_way() != 0 && finish();
  if (lanes_.all_busy()) return advanced;
  if (write(filled_(), force, may_block) && may_block) advanced |= finish();
  return advanced;
}

bool Stream::finish() {
  if (!lanes_.finish()) return false;
  const uint64_t durable = lanes_.durable();
  if (durable == durable_.load(platform::memory_order_relaxed)) return false;
  durable_.store(durable, platform::memory_order_release);
  ring_.release(durable);
  return true;
}

// Starts the writes there are to start; whether there were any.
bool Stream::write(uint64_t filled, bool force, bool may_block) {
  Lanes::Lane* lane = lanes_.ready(filled);
  if (lane == nullptr) return false;
  uint64_t goal = filled;
  if (force || asked_for(filled)) {
    raise_goal(filled, lane->idle_since);
  } else {
    goal = goal_.load(platform::memory_order_relaxed);
    lane = lanes_.ready(goal);
    if (lane == nullptr) return false;
  }
  if (!may_block) looked_.store(platform::ticks(), platform::memory_order_relaxed);
  while (lane != nullptr) {
    const uint64_t begin = ring_.block_down(lane->position);
    const uint64_t end =
        std::min({goal, begin + max_write_bytes_, lanes_.stripe_end(lane->position)});
    const std::span<const std::byte> bytes(ring_.at(begin), ring_.block_up(end) - begin);
    add(flushes_, 1);
    add(flushed_bytes_, bytes.size());
    if (begin != lane->position) add(rewrites_, 1);

    lanes_.takes(*lane, end);
    Lanes::Lane* following = lanes_.all_busy() ? nullptr : lanes_.ready(goal);
    const uint64_t offset = lanes_.file_offset(begin);
    if (may_block && following == nullptr && lanes_.under_way() == 1) {
      lane->device->start_and_wait(offset, bytes, Sync::kData, kDaemonTimeoutNs);
    } else {
      lane->device->start(offset, bytes, Sync::kData);
    }
    lane = following;
  }
  return true;
}

void Stream::raise_goal(uint64_t filled, uint64_t idle_since) {
  const uint64_t now = platform::ticks();
  const uint64_t oldest = oldest_.load(platform::memory_order_relaxed);
  if (oldest != 0 && !enough(filled)) {
    const uint64_t wanted = std::max(oldest + wait_ticks_, idle_since);
    add(late_ticks_, now > wanted ? now - wanted : 0);
    add(late_count_, 1);
  }
  commits_flushed_.store(commits_.load(platform::memory_order_relaxed),
                         platform::memory_order_relaxed);
  goal_.store(filled, platform::memory_order_relaxed);
  oldest_.store(0, platform::memory_order_relaxed);
  platform::full_fence();
  if (filled_() != filled) oldest_.store(now, platform::memory_order_relaxed);
}

// Zeros behind the last record, so that the reader finds a clean end and not an earlier run's or
// lap's bytes. The ring is left alone: should the log go on, the block is written again. They may
// reach into the next stripe, of which nothing else has been written yet.
void Stream::mark_end() {
  const uint64_t durable = durable_.load(platform::memory_order_relaxed);
  if (durable == marked_end_) return;
  marked_end_ = durable;
  const uint64_t begin = ring_.block_down(durable);
  const uint64_t end = ring_.block_up(durable + kEndMarkBytes);
  end_mark_ =
      std::make_unique<platform::MirroredMemory>(end - begin);  // zeros, aligned for direct I/O
  std::memcpy(end_mark_->data(), ring_.at(begin), durable - begin);
  for (uint64_t at = begin, piece_end; at < end; at = piece_end) {
    piece_end = std::min(end, lanes_.stripe_end(at));
    Lanes::Lane& lane = lanes_.lane_of(at);
    lanes_.repeats(lane);
    lane.device->start_and_wait(lanes_.file_offset(at),
                                {end_mark_->data() + (at - begin), piece_end - at}, Sync::kData,
                                kDaemonTimeoutNs);
  }
  finish();
}

// Workers that wait --------------------------------------------------------------------------

void Stream::wait(uint32_t worker, const Point& point, bool urgent) {
  // A flush policy is about waiting for company, which is the daemon's business.
  const bool may_lead = help_ && (immediate() || urgent);
  bool parked = false;
  while (!scheme_.is_durable(point)) {
    if (!may_lead) {
      scheme_.park_waiter(worker, point, safety_timeout_ns_);
    } else if (!leading_.load(platform::memory_order_relaxed) &&
               !leading_.exchange(true, platform::memory_order_acquire)) {
      lead(point);
      give_up_lead();
      scheme_.wake_waiters();
      // What it waits for is not in this stream's hands: a hole before it, or another stream.
      if (!scheme_.is_durable(point)) scheme_.park_waiter(worker, point, safety_timeout_ns_);
    } else {
      parked = true;
      scheme_.park_waiter(worker, point, safety_timeout_ns_, &leading_);
    }
  }
  if (!parked) return;
  // Perhaps it was woken to take the lead, and a tick made its point durable first: pass it on.
  platform::full_fence();
  if (!leading_.load(platform::memory_order_relaxed)) scheme_.wake_one_waiter(index_);
}

void Stream::lead(const Point& point) {
  latch_.lock();
  bool advanced = false;
  while (!scheme_.is_durable(point) && work_pending()) {
    if (advanced) scheme_.wake_waiters();
    if (!lanes_.all_busy() && write(filled_(), true, true)) {
      add(helped_flushes_, 1);
    } else if (lanes_.under_way() != 0) {
      lanes_.wait(kDaemonTimeoutNs);
    }
    advanced = finish();
  }
  add(helped_, 1);
  latch_.unlock();
}

// The next leader is woken before those that are done: the device waits for it.
void Stream::give_up_lead() {
  leading_.store(false, platform::memory_order_release);
  if (!scheme_.wake_one_waiter(index_) && !tickable_ && work_pending()) wake_daemon();
}

// The daemon ---------------------------------------------------------------------------------

void Stream::wake_daemon() {
  if (daemon_.exchange(kAwake) != kAwake) daemon_bed_.unpark();
}

void Stream::park_daemon(DaemonState state, uint64_t timeout_ns) {
  daemon_.store(state);
  platform::full_fence();
  const bool wanted = ring_.waited_for() || (state == kIdle && work_pending()) ||
                      (state == kTimed && due(filled_()));
  if (!wanted) daemon_bed_.park(timeout_ns);
  daemon_.store(kAwake);
}

void Stream::flush(bool stopping) {
  const uint64_t helped = helped_.load(platform::memory_order_relaxed);
  const bool led = leading_.load(platform::memory_order_relaxed);
  const bool workers_do_it = (led || helped != helped_seen_) && !stopping && !ring_.waited_for();
  helped_seen_ = helped;
  if (workers_do_it) {
    idle_naps_ = 0;
    return park_daemon(kNapping, kNapNs);
  }

  // When nobody may look in, the daemon leads: it sleeps on the device under the latch. Otherwise
  // it leaves the latch to those that look in while it sleeps.
  const bool leads = !tickable_;
  if (leads && leading_.exchange(true, platform::memory_order_acquire)) {
    return park_daemon(kNapping, kNapNs);
  }
  if (leads) {
    latch_.lock();
  } else if (!latch_.try_lock()) {
    return platform::sleep_ns(kLatchBusyNs);  // somebody is at it
  }
  bool advanced = step(stopping, leads);
  if (leads && !advanced && lanes_.under_way() != 0) {
    lanes_.wait(kDaemonTimeoutNs);
    advanced = step(stopping, leads);
  }
  if (stopping && idle()) mark_end();
  latch_.unlock();
  if (leads) {
    leading_.store(false, platform::memory_order_release);
    scheme_.wake_one_waiter(index_);
  }
  if (advanced) scheme_.wake_waiters();

  if (lanes_.under_way() != 0) {
    if (tickable_) lanes_.wait(kNapNs);
    return;
  }
  const uint64_t filled = filled_();
  if (due(filled)) return;
  if (filled != durable()) {
    const uint64_t now = platform::ticks();
    uint64_t oldest = oldest_.load(platform::memory_order_relaxed);
    if (oldest == 0) {  // filled() moved on after its publisher's mark was taken by a write
      oldest = now;
      oldest_.store(now, platform::memory_order_relaxed);
    }
    const uint64_t until = oldest + wait_ticks_;
    const double ns = until > now ? platform::ticks_to_ns(until - now) : 0;
    park_daemon(kTimed, std::min(kDaemonTimeoutNs, static_cast<uint64_t>(ns)));
  } else if (help_ && !stopping && ++idle_naps_ <= kNapsBeforeIdle) {
    park_daemon(kNapping, kNapNs);
  } else {
    park_daemon(kIdle, kDaemonTimeoutNs);
  }
}

Counters Stream::counters() const {
  const auto value = [](const platform::atomic<uint64_t>& counter) {
    return static_cast<double>(counter.load(platform::memory_order_relaxed));
  };
  const double us = platform::ns_per_tick() / 1e3;
  return {{"flushes", value(flushes_)},
          {"flush_bytes_mean", value(flushed_bytes_), value(flushes_)},
          {"flush_rewrites", value(rewrites_)},
          {"flush_late_us_mean", us * value(late_ticks_), value(late_count_)},
          {"helped_flushes", value(helped_flushes_)}};
}

}  // namespace logjam

#include "logging/stream/stream.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>

#include "logging/format/log_file.h"
#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kDaemonTimeoutNs = 20'000'000;  // the longest step (LogScheme::flush)
constexpr uint64_t kDeviceLookNs = 1'000'000;
constexpr uint64_t kLatchBusyNs = 100'000;
constexpr uint64_t kDiscardNapNs = 20'000;
// After so many naps without any work the daemon sleeps until a publisher wakes it.
constexpr uint32_t kNapsBeforeIdle = 20;
constexpr uint64_t kLogEndBytes = 64;
constexpr double kLookEveryNs = 2'000;
// Where several writes may be under way, none is longer than this, so that SDL advances while a
// long flush goes on, and one with at least this much to write ends at a block (see write()).
constexpr uint64_t kMostAtDepth = uint64_t{512} << 10;
constexpr uint64_t kLeastToEndAtBlock = uint64_t{16} << 10;
// The T of --flush_txns or --flush_bytes without --flush_us: a group that never gets large enough
// is flushed after that time.
constexpr uint64_t kDefaultWaitUs = 10'000;

uint64_t longest_write(uint64_t wanted, uint32_t depth, uint64_t block) {
  return std::max(depth == 1 ? wanted : std::min(wanted, kMostAtDepth), block);
}

uint64_t us_to_ticks(uint64_t us) { return platform::ns_to_ticks(static_cast<double>(us) * 1e3); }

uint64_t wait_us(const LogConfig& config) {
  const bool others = config.flush_txns != 0 || config.flush_bytes != 0;
  return config.flush_us == 0 && others ? kDefaultWaitUs : config.flush_us;
}

}  // namespace

Stream::Stream(const LogConfig& config, uint32_t index, DurabilityWaiters& waiters,
               std::function<uint64_t()> filled, uint64_t max_write_bytes,
               std::function<uint64_t()> filled_to_write, Writers writers)
    : index_(index),
      devices_(config, index),
      waiters_(waiters),
      filled_(std::move(filled)),
      filled_to_write_(std::move(filled_to_write)),
      home_(home_of(config, index, writers)),
      shared_(home_.writers > 1),
      ring_(config.buffer_bytes, devices_.block_bytes(), home_.node),
      txns_(config.flush_txns),
      bytes_(config.flush_bytes),
      wait_ticks_(us_to_ticks(wait_us(config))),
      gap_ticks_(us_to_ticks(config.flush_gap_us)),
      discards_(devices_.discards()),
      help_(config.flush_help),
      preemptible_(config.preemptible_workers),
      pollable_(config.flush_help && !config.preemptible_workers && !devices_.start_blocks()),
      look_ticks_(platform::ns_to_ticks(kLookEveryNs)),
      safety_timeout_ns_(config.safety_timeout_ns),
      nap_ns_(config.nap_ns),
      max_write_bytes_(longest_write(max_write_bytes, devices_.depth(), ring_.block())),
      lead_(index, waiters) {}

bool Stream::idle() const { return devices_.under_way() == 0 && durable() == filled_(); }

bool Stream::work_pending() const {
  return devices_.under_way() != 0 || filled_() != durable_.load(platform::memory_order_relaxed);
}

bool Stream::enough(const Filled& filled) const {
  const uint64_t goal = goal_.load(platform::memory_order_relaxed);
  const uint64_t flushed = commits_flushed_.load(platform::memory_order_relaxed);
  return (bytes_ != 0 && filled.position > goal && filled.position - goal >= bytes_) ||
         (txns_ != 0 && filled.commits > flushed && filled.commits - flushed >= txns_);
}

bool Stream::asked_for(const Filled& filled) const { return asked_by_time() || enough(filled); }

bool Stream::asked_by_time() const {
  if (ring_.waited_for()) return true;
  if (immediate()) return relying_.load() != 0 || ticks_until_asked() == 0;
  return oldest_.load(platform::memory_order_relaxed) != 0 && ticks_until_asked() == 0;
}

// What due() may say, without a look at filled(): other workers write to its cache lines.
bool Stream::may_be_due() const {
  return txns_ != 0 || bytes_ != 0 || asked_by_time() ||
         durable_.load(platform::memory_order_relaxed) < goal_.load(platform::memory_order_relaxed);
}

// When something is filled: the time until the gap or T is over.
uint64_t Stream::ticks_until_asked() const {
  const auto& since = immediate() ? started_ : oldest_;
  const uint64_t begin = since.load(platform::memory_order_relaxed);
  if (begin == 0) return 0;  // no write was started yet
  const uint64_t until = begin + (immediate() ? gap_ticks_ : wait_ticks_);
  const uint64_t now = platform::ticks();
  return until > now ? until - now : 0;
}

bool Stream::due(const Filled& filled) const {
  const uint64_t durable = durable_.load(platform::memory_order_relaxed);
  return filled.position != durable &&
         (durable < goal_.load(platform::memory_order_relaxed) || asked_for(filled));
}

// Publishers ---------------------------------------------------------------------------------

void Stream::published(bool commits) {
  if (txns_ != 0 && commits) commits_.fetch_add(1, platform::memory_order_release);
  platform::full_fence();  // of others too: Release::after_published()
  if (discards_) return;
  if (oldest_.load(platform::memory_order_relaxed) == 0) {
    oldest_.store(platform::ticks(), platform::memory_order_relaxed);
  }
  lead_.offer([this] { return work_pending(); });
  const uint32_t daemon = daemon_.load(platform::memory_order_relaxed);
  if (daemon == kIdle || (daemon == kTimed && enough(look()))) wake_daemon();
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
      bool advanced = step(false, false);
      if (discards_) advanced |= finish();
      latch_.unlock();
      if (advanced) waiters_.wake_durable();
      if (ring_.fits(end)) return;
    }
    wake_daemon();
    waiter.sleep(seen, discards_ ? kDiscardNapNs : safety_timeout_ns_);
  }
}

void Stream::poll(bool urgent) {
  if (!pollable_) return;
  const bool under_way = devices_.under_way() != 0;
  if (under_way) {
    const uint64_t now = platform::ticks();
    if (now - looked_.load(platform::memory_order_relaxed) < look_ticks_) return;
    looked_.store(now, platform::memory_order_relaxed);
  } else if (urgent ? !work_pending() : !may_be_due() || (!shared_ && !due(look()))) {
    return;
  }
  if (!latch_.try_lock()) return;
  const uint64_t flushes = flushes_.value();
  const bool advanced = step(urgent, false);
  const bool starts = flushes_.value() != flushes;
  if (starts) helped_flushes_.add();
  if (starts || under_way) helped_.add();
  latch_.unlock();
  if (advanced) waiters_.wake_durable();
}

// Steps, under the latch ---------------------------------------------------------------------

// Returns whether `durable` advanced: the caller then wakes the waiters, after the next write has
// been started and the latch released.
bool Stream::step(bool force, bool may_block) {
  bool advanced = devices_.under_way() != 0 && finish();
  if (devices_.all_busy()) return advanced;
  if (write(look_to_write(), force, may_block) && may_block) advanced |= finish();
  return advanced;
}

// A look may take long: ELEDA's crawls over what was filled. It is left out if the next write is as
// large as a write may be without it.
const Stream::Filled& Stream::look_to_write() {
  const StripedDevices::Member* next = devices_.ready(seen_.position);
  if (next == nullptr || seen_.position - next->next < max_write_bytes_) seen_ = look();
  return seen_;
}

bool Stream::finish() {
  if (!devices_.finish()) return false;
  const uint64_t durable = devices_.durable();
  if (durable == durable_.load(platform::memory_order_relaxed)) return false;
  durable_.store(durable, platform::memory_order_release);
  ring_.release(durable);
  return true;
}

// Starts a write on each idle device that has bytes before the goal. Returns whether it started
// any.
bool Stream::write(const Filled& filled, bool force, bool may_block) {
  StripedDevices::Member* member = devices_.ready(filled.position);
  if (member == nullptr) return false;
  const bool due = force || asked_for(filled);
  // The commits of `filled` were counted before the position that filled_to_write_() returns.
  uint64_t goal = goal_.load(platform::memory_order_relaxed);
  if (due) goal = std::max(goal, goal_of(filled, *member, force));
  member = devices_.ready(goal);
  if (member == nullptr) return false;
  if (due) raise_goal({filled.commits, goal}, member->idle_since);
  const uint64_t now = platform::ticks();
  started_.store(now, platform::memory_order_relaxed);
  if (!may_block) looked_.store(now, platform::memory_order_relaxed);
  while (member != nullptr) {
    const uint64_t begin = ring_.block_down(member->next);
    const uint64_t end =
        std::min({goal, begin + max_write_bytes_, devices_.stripe_end(member->next)});
    const std::span<const std::byte> bytes(ring_.at(begin), ring_.block_up(end) - begin);
    flushes_.add();
    VLOG(2) << "flush: stream " << index_ << ", bytes " << begin << " to " << end
            << (force ? ", forced" : "");
    flushed_bytes_.add(bytes.size());
    if (begin != member->next) rewrites_.add();

    const uint32_t slot = devices_.takes(*member, end);
    StripedDevices::Member* following = devices_.ready(goal);
    const uint64_t offset = devices_.file_offset(begin);
    if (may_block && following == nullptr && devices_.under_way() == 1) {
      member->device->start_and_wait(offset, bytes, Sync::kData, kDaemonTimeoutNs);
    } else {
      member->device->start(offset, bytes, Sync::kData, slot);
    }
    member = following;
  }
  return true;
}

// The next write on a device waits for one that ends inside a block (StripedDevices). So where more
// writes may be under way, and there is much to write, the last block waits for the next write.
uint64_t Stream::goal_of(const Filled& filled, const StripedDevices::Member& member, bool force) {
  const uint64_t goal = filled_to_write_ ? filled_to_write_() : filled.position;
  const bool much = goal > member.next && goal - member.next >= kLeastToEndAtBlock;
  const bool ends_at_block = devices_.depth() > 1 && much && immediate() && !force;
  return ends_at_block ? ring_.block_down(goal) : goal;
}

void Stream::raise_goal(const Filled& filled, uint64_t idle_since) {
  const uint64_t now = platform::ticks();
  const uint64_t oldest = oldest_.load(platform::memory_order_relaxed);
  if (oldest != 0 && !enough(filled)) {
    const uint64_t wanted = std::max(oldest + wait_ticks_, idle_since);
    late_ticks_.add(now > wanted ? now - wanted : 0);
    late_count_.add();
  }
  commits_flushed_.store(filled.commits, platform::memory_order_relaxed);
  goal_.store(filled.position, platform::memory_order_relaxed);
  oldest_.store(0, platform::memory_order_relaxed);
  if (immediate()) return;  // there is no T
  platform::full_fence();
  if (filled_() != filled.position) oldest_.store(now, platform::memory_order_relaxed);
}

// Writes zeros behind the last record, so that the reader finds a clean end and not the bytes of an
// earlier run or lap. The ring is not changed: if the log goes on, the block is written again. The
// zeros may reach into the next stripe, of which nothing else has been written yet.
void Stream::write_log_end() {
  const uint64_t durable = durable_.load(platform::memory_order_relaxed);
  if (durable == log_end_at_) return;
  log_end_at_ = durable;
  const uint64_t begin = ring_.block_down(durable);
  const uint64_t end = ring_.block_up(durable + kLogEndBytes);
  log_end_ =
      std::make_unique<platform::MirroredMemory>(end - begin);  // zeros, aligned for direct I/O
  std::memcpy(log_end_->data(), ring_.at(begin), durable - begin);
  for (uint64_t at = begin, chunk_end; at < end; at = chunk_end) {
    chunk_end = std::min(end, devices_.stripe_end(at));
    StripedDevices::Member& member = devices_.device_of(at);
    devices_.repeats(member);  // in slot 0: the stream is idle
    member.device->start_and_wait(devices_.file_offset(at),
                                  {log_end_->data() + (at - begin), chunk_end - at}, Sync::kData,
                                  kDaemonTimeoutNs);
  }
  finish();
}

// Workers that wait --------------------------------------------------------------------------

void Stream::wait(uint32_t worker, const CommitPoint& point, bool urgent) {
  // With a flush policy a commit waits until enough others have come, and the daemon decides when
  // that is.
  const bool may_lead = help_ && (immediate() || urgent);
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
    if (!devices_.all_busy() && write(look_to_write(), true, true)) {
      helped_flushes_.add();
    } else if (devices_.under_way() != 0) {
      devices_.wait(kDaemonTimeoutNs);
    }
    advanced = finish();
  }
  helped_.add();
  latch_.unlock();
}

// The next leader is woken before the workers whose points are durable: the device waits for the
// leader.
void Stream::give_up_lead() {
  const bool left_alone = !lead_.give_up([this] { return work_pending(); });
  if (left_alone && !pollable_) wake_daemon();
}

// The daemon ---------------------------------------------------------------------------------

void Stream::wake_daemon() {
  if (daemon_.exchange(kAwake) != kAwake) daemon_parker_.unpark();
}

void Stream::rely_on_daemon(bool begins) {
  if (!begins) {
    relying_.fetch_sub(1, platform::memory_order_relaxed);
    return;
  }
  relying_.fetch_add(1, platform::memory_order_relaxed);
  platform::full_fence();
  const uint32_t daemon = daemon_.load(platform::memory_order_relaxed);
  if (daemon == kNapping || (daemon == kTimed && immediate())) wake_daemon();
}

// An idle daemon sleeps even if a publisher waits for space: if nothing can be flushed, there is no
// room to be made until a hole is filled, and the publisher that fills it wakes the daemon.
void Stream::park_daemon(DaemonState state, uint64_t timeout_ns) {
  daemon_.store(state);
  platform::full_fence();
  const bool wanted = state == kNapping ? !may_nap()
                      : state == kIdle  ? work_pending()
                                        : due(look());
  if (!wanted) daemon_parker_.park(timeout_ns);
  daemon_.store(kAwake);
}

// For how long the daemon sleeps on the device at most, before it looks whether it can start
// another write. A publisher does not wake it meanwhile.
uint64_t Stream::next_start_ns() const {
  if (!immediate() || gap_ticks_ == 0) return kDaemonTimeoutNs;
  const uint64_t left = ticks_until_asked();
  return static_cast<uint64_t>(platform::ticks_to_ns(left == 0 ? gap_ticks_ : left));
}

void Stream::flush(bool stopping) {
  // If busy workers do not look in, a worker that led a moment ago leaves the next flush to the
  // daemon.
  const uint64_t helped = helped_.value();
  const bool helping = lead_.held() || (helped != helped_seen_ && !preemptible_);
  const bool workers_do_it = helping && may_nap() && !stopping;
  helped_seen_ = helped;
  if (workers_do_it) {
    idle_naps_ = 0;
    return park_daemon(kNapping, nap_ns_);
  }

  // If workers may not look in, the daemon leads: it sleeps on the device under the latch. If they
  // may, the daemon sleeps without the latch, so that they can take it.
  const bool leads = !pollable_;
  if (leads ? !lead_.take() : !latch_.try_lock()) {
    return platform::sleep_ns(kLatchBusyNs);  // a worker leads, or takes a step
  }
  if (leads) latch_.lock();
  const bool may_block = leads && devices_.depth() == 1;
  bool advanced = step(stopping, may_block);
  if (leads && !advanced && devices_.under_way() != 0) {
    devices_.wait(devices_.all_busy() ? kDaemonTimeoutNs : next_start_ns());
    advanced = step(stopping, may_block);
  }
  if (stopping && idle()) write_log_end();
  latch_.unlock();
  if (leads) give_up_lead();
  if (advanced) waiters_.wake_durable();

  if (devices_.under_way() != 0) {
    if (pollable_) devices_.wait(kDeviceLookNs);
    return;
  }
  const Filled filled = look();
  if (due(filled)) return;
  if (filled.position != durable()) {
    if (oldest_.load(platform::memory_order_relaxed) == 0) {
      // filled() advanced after a step had cleared its publisher's time stamp.
      oldest_.store(platform::ticks(), platform::memory_order_relaxed);
    }
    const auto ns = static_cast<uint64_t>(platform::ticks_to_ns(ticks_until_asked()));
    park_daemon(kTimed, std::min(kDaemonTimeoutNs, ns));
  } else if (help_ && !preemptible_ && may_nap() && !stopping && ++idle_naps_ <= kNapsBeforeIdle) {
    park_daemon(kNapping, nap_ns_);
  } else {
    park_daemon(kIdle, kDaemonTimeoutNs);
  }
}

Counters Stream::counters() const {
  const auto value = [](const platform::Counter& counter) {
    return static_cast<double>(counter.value());
  };
  const double us = platform::ns_per_tick() / 1e3;
  return {{"flushes", value(flushes_)},
          {"flush_bytes_mean", value(flushed_bytes_), value(flushes_)},
          {"flush_rewrites", value(rewrites_)},
          {"flush_late_us_mean", us * value(late_ticks_), value(late_count_)},
          {"helped_flushes", value(helped_flushes_)},
          {"lead_handovers", static_cast<double>(lead_.handed_over())}};
}

}  // namespace logjam

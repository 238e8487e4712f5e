#include "logging/stream/stream_state.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>

#include "logging/format/log_file.h"
#include "platform/assert.h"
#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kLogEndBytes = 64;
constexpr uint64_t kMostBlockNs = 20'000'000;  // for a write that blocks: LogScheme::flush
// The longest write if several writes may be under way. So SDL advances during a long flush.
constexpr uint64_t kMostAtDepth = uint64_t{512} << 10;
// If several writes may be under way, a write of at least this length ends at a block's end.
constexpr uint64_t kLeastToEndAtBlock = uint64_t{16} << 10;

uint64_t longest_write(uint64_t wanted, uint32_t depth, uint64_t block) {
  return std::max(depth == 1 ? wanted : std::min(wanted, kMostAtDepth), block);
}

}  // namespace

StreamState::StreamState(const LogConfig& config, uint32_t index, StreamOwner& owner,
                         Writers writers)
    : index_(index),
      devices_(config, index),
      owner_(owner),
      home_(home_of(config, index, writers)),
      ring_(config.buffer_bytes, devices_.block_bytes(), home_.node),
      memory_(config.traits.fills_device_memory ? config.devices[index]->memory() : nullptr),
      policy_(FlushPolicy::of(config)),
      discards_(devices_.traits().discards),
      at_once_(devices_.traits().at_once),
      max_write_bytes_(longest_write(config.io_bytes, devices_.depth(), ring_.block())),
      pacer_(config.pacer),
      stores_sdl_(config.store_sdl),
      header_block_(config.header_block),
      run_(config.run),
      gap_(config) {}

Due StreamState::due(const Progress& filled) const {
  const uint64_t durable = durable_.load(platform::memory_order_relaxed);
  if (filled.position == durable) return Due::kNo;
  const uint64_t goal = goal_.load(platform::memory_order_relaxed);
  const uint64_t flushed = commits_flushed_.load(platform::memory_order_relaxed);
  if (policy_.enough(filled, {flushed, goal})) return Due::kByAmount;
  if (time_asks()) return Due::kByTime;
  return durable < goal ? Due::kGoalOpen : Due::kNo;
}

bool StreamState::time_asks() const {
  if (ring_.waited_for() || (policy_.immediate() && relied_on())) return true;
  return policy_now().asked_by_time(policy_clock(), platform::ticks());
}

uint64_t StreamState::ns_until_due() const {
  const uint64_t left = policy_now().ticks_until_asked(policy_clock(), platform::ticks());
  return static_cast<uint64_t>(platform::ticks_to_ns(left));
}

uint64_t StreamState::gap_ns() const {
  return static_cast<uint64_t>(platform::ticks_to_ns(gap_now()));
}

void StreamState::note_publish() {
  if (oldest_.load(platform::memory_order_relaxed) == 0) {
    oldest_.store(platform::ticks(), platform::memory_order_relaxed);
  }
}

StreamState::Step StreamState::step(Flush flush, bool may_block) {
  Step step = {.advanced = devices_.under_way() != 0 && finish()};
  step.started = start(flush, may_block);
  if (step.started && (may_block || at_once_)) step.advanced |= finish();
  return step;
}

bool StreamState::finish() {
  if (!devices_.finish()) return false;
  const uint64_t now = platform::ticks();
  if (devices_.under_way() == 0) {
    write_ticks_ = now - started();
    gap_.note_write(write_ticks_);
  }
  const uint64_t durable = devices_.durable(),
                 before = durable_.load(platform::memory_order_relaxed);
  LJ_ASSERT(durable >= before);
  if (durable != before) {
    durable_.store(durable, platform::memory_order_release);
    ring_.release(durable);
  }
  if (stores_sdl_ && !discards_) store_sdl(durable);
  return durable != before;
}

// Begins to store `sdl`, unless it is stored already, a store is under way, or the device has no
// free slot. No commit needs the stored SDL, so a store may be left out. With one slot the next
// flush waits for the store. SDL comes from finished writes alone, so it is never ahead of the log.
void StreamState::store_sdl(uint64_t sdl) {
  StripedDevices::Member& member = devices_.device_of(0);
  if (sdl == sdl_ || member.free_slots == 0 || !devices_.finished(member, sdl_order_)) return;
  sdl_ = sdl;
  put_stored_sdl(header_block_, run_, sdl);
  const StripedDevices::Flight flight = devices_.begin_rewrite(member);
  sdl_order_ = flight.order;
  member.device->start(0, header_block_, Sync::kData, flight.slot);
}

// Looks how far the ring is filled, unless the next write already has the greatest length: a look
// may take long, because ELEDA crawls over the filled bytes. With a gap, always looks, because
// bytes that this flush misses wait for a whole gap.
const Progress& StreamState::look_to_write() {
  const StripedDevices::Member* next = devices_.ready(seen_.position);
  const bool enough_seen = next != nullptr && seen_.position - next->next >= max_write_bytes_;
  if (!enough_seen || gap_.ticks() != 0) seen_ = look();
  return seen_;
}

bool StreamState::start(Flush flush, bool may_block) {
  if (devices_.all_busy()) return false;
  const Progress& filled = look_to_write();
  StripedDevices::Member* member = devices_.ready(filled.position);
  if (member == nullptr) return false;
  const Due why = due(filled);
  const bool raises = flush == Flush::kNow || why == Due::kByTime || why == Due::kByAmount;
  // The commits of `filled` were counted before filled_to_write(), so they lie before the goal.
  uint64_t goal = goal_.load(platform::memory_order_relaxed);
  if (raises) goal = std::max(goal, goal_of(filled, *member, flush));
  member = devices_.ready(goal);
  if (member == nullptr) return false;
  const uint64_t now = platform::ticks();
  if (raises) raise_goal({filled.commits, goal}, member->idle_since, why);
  started_.store(now, platform::memory_order_relaxed);
  for (; member != nullptr; member = devices_.ready(goal)) start_on(*member, goal, may_block);
  return true;
}

void StreamState::start_on(StripedDevices::Member& member, uint64_t goal, bool may_block) {
  const uint64_t begin = ring_.block_down(member.next);
  const uint64_t end = std::min({goal, begin + max_write_bytes_, devices_.stripe_end(member.next)});
  LJ_ASSERT(member.next < end && end - durable() <= ring_.capacity());
  const std::span<const std::byte> bytes(at(begin, ring_.block_up(end) - begin),
                                         ring_.block_up(end) - begin);
  flushes_.add();
  gap_ticks_.add(gap_.ticks());
  flushed_bytes_.add(bytes.size());
  if (begin != member.next) rewrites_.add();
  VLOG(2) << "flush: stream " << index_ << ", bytes " << begin << " to " << end;

  const uint32_t slot = devices_.begin_write(member, end);
  const uint64_t offset = devices_.file_offset(begin);
  if (may_block && devices_.under_way() == 1 && devices_.ready(goal) == nullptr) {
    member.device->start_and_wait(offset, bytes, Sync::kData, kMostBlockNs);
  } else {
    member.device->start(offset, bytes, Sync::kData, slot);
  }
}

// Returns true for long writes if several writes may be under way: the next write on a device waits
// for a write that ends inside a block (StripedDevices). The next write then gets the last, partly
// filled block.
bool StreamState::ends_at_block(uint64_t from, uint64_t to) const {
  return devices_.depth() > 1 && policy_.immediate() && to >= from + kLeastToEndAtBlock;
}

// Returns the goal of a write that begins on `member`.
uint64_t StreamState::goal_of(const Progress& filled, const StripedDevices::Member& member,
                              Flush flush) {
  const uint64_t begin = pacer_ == nullptr ? 0 : platform::ticks();
  if (pacer_ != nullptr) pacer_->note_write(begin, started());
  const uint64_t goal = owner_.filled_to_write(index_, filled.position);
  if (pacer_ != nullptr) keep_pace(platform::ticks() - begin);
  const bool ends = flush == Flush::kByPolicy && ends_at_block(member.next, goal);
  return ends ? ring_.block_down(goal) : goal;
}

void StreamState::raise_goal(const Progress& filled, uint64_t idle_since, Due due) {
  LJ_ASSERT(filled.position >= goal_.load(platform::memory_order_relaxed));
  const uint64_t now = platform::ticks();
  const uint64_t oldest = oldest_.load(platform::memory_order_relaxed);
  if (oldest > FlushPolicy::kLongAgo && due != Due::kByAmount) {
    late_ticks_.add(policy_.ticks_late(oldest, idle_since, now));
    late_count_.add();
  }
  commits_flushed_.store(filled.commits, platform::memory_order_relaxed);
  goal_.store(filled.position, platform::memory_order_relaxed);
  oldest_.store(0, platform::memory_order_relaxed);
  if (policy_.immediate()) return;  // there is no flush timeout
  platform::full_fence();
  if (owner_.filled(index_) != filled.position) oldest_.store(now, platform::memory_order_relaxed);
}

// Writes zeros over the bytes of an earlier run or lap, so that a recovery finds a clean end. The
// ring does not change: if the log continues, the block is written again. The zeros may reach into
// the next stripe, which has no bytes of this log yet.
void StreamState::write_log_end() {
  LJ_ASSERT(devices_.under_way() == 0);
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
    devices_.begin_rewrite(member);  // in slot 0: the stream is idle
    member.device->start_and_wait(devices_.file_offset(at),
                                  {log_end_->data() + (at - begin), chunk_end - at}, Sync::kData,
                                  kMostBlockNs);
  }
  finish();
}

Counters StreamState::counters() const {
  const auto value = [](const platform::Counter& counter) {
    return static_cast<double>(counter.value());
  };
  const double us = platform::ns_per_tick() / 1e3;
  return {{"flushes", value(flushes_)},
          {"flush_bytes_mean", value(flushed_bytes_), value(flushes_)},
          {"flush_rewrites", value(rewrites_)},
          {"gap_us_mean", us * value(gap_ticks_), value(flushes_)},
          {"flush_late_us_mean", us * value(late_ticks_), value(late_count_)},
          {"helped_flushes", value(helped_flushes_)}};
}

}  // namespace logjam

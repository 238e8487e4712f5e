#include "logging/schemes/nvm/per_worker_scheme.h"

#include "platform/assert.h"

namespace logjam {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

PerWorkerScheme::PerWorkerScheme(const LogConfig& config)
    : MultiStreamScheme(config),
      logs_(config.workers),
      wanted_(config.workers),
      positions_(config.workers + 1),
      workers_poll_(config.flush_help) {}

CommitPoint PerWorkerScheme::fill_done(uint32_t worker, const LogReservation& reservation,
                                       RecordRole role) {
  if (commits(role)) wanted_.raise(worker, reservation.sequence);
  const uint64_t end = reservation.position + reservation.bytes;
  LJ_ASSERT_IN_TESTS(end == logs_[worker].end && end > logs_[worker].log.filled());
  record_durable_sequence(worker, end, reservation.sequence);
  logs_[worker].log.note_fill(end);
  return CommitPoint::in_every_stream(reservation.sequence);
}

void PerWorkerScheme::poll(uint32_t worker) {
  MultiStreamScheme::poll(worker);
  stream(watermark_stream()).poll();
}

void PerWorkerScheme::flush(uint32_t flusher, bool stopping) {
  MultiStreamScheme::flush(flusher, stopping);
  // The next watermark may have waited for this flush.
  if (flusher != watermark_stream() && watermark_wanted()) notify_flusher(watermark_stream());
}

void PerWorkerScheme::wait_durable(uint32_t worker, const CommitPoint& point) {
  for (uint32_t i = 0; i < workers() && !is_durable(point); ++i) {
    const uint32_t index = (worker + i) % workers();
    stream(index).wait(worker, CommitPoint::in_stream(index, point.sequence));
  }
  stream(watermark_stream())
      .wait(worker, CommitPoint::in_stream(watermark_stream(), point.sequence));
}

bool PerWorkerScheme::idle() const { return !watermark_wanted() && MultiStreamScheme::idle(); }

uint64_t PerWorkerScheme::persisted_up_to(uint32_t worker, uint64_t* position) const {
  const auto [place, filled] = logs_[worker].log.look();
  if (stream(worker).durable() < filled) {
    const uint64_t sequence = durable_sequence(worker);
    if (position != nullptr) *position = durable_sequence_end(worker);
    return sequence;
  }
  if (position != nullptr) *position = filled;
  return place == WorkerLog::kNone ? place : place - 1;
}

void PerWorkerScheme::wake_others() {
  waiters().wake_durable();
  if (watermark_wanted()) notify_flusher(watermark_stream());
}

uint64_t PerWorkerScheme::filled(uint32_t index) {
  if (index != watermark_stream()) return logs_[index].log.filled();
  if (watermark_wanted() && take_look()) {
    advance_watermark();
    advancing_.unlock();
  }
  return watermark_end_.load(memory_order_acquire);
}

bool PerWorkerScheme::take_look() {
  if (workers_poll_) return advancing_.try_lock();
  advancing_.lock();
  return true;
}

void PerWorkerScheme::advance_watermark() {
  const uint32_t index = watermark_stream();
  const uint64_t begin = watermark_end_.load(memory_order_relaxed),
                 end = begin + watermark_body_bytes();
  // One watermark record is written at a time. The next one vouches for later commits.
  if (begin != stream(index).durable() || !fits(index, end)) return;
  uint64_t least = std::max(floor(), wanted_.wanted());
  floor_.store(least, memory_order_relaxed);
  platform::full_fence();
  for (uint32_t worker = 0; worker < workers(); ++worker) {
    least = std::min(least, persisted_up_to(worker, &positions_[worker]));
  }
  if (least <= watermark_.load(memory_order_relaxed)) return;
  positions_[index] = begin;
  write_watermark_body(index, begin, least, positions_);
  count_watermark();
  record_durable_sequence(index, end, least);
  watermark_.store(least, memory_order_release);
  watermark_end_.store(end, memory_order_release);
}

}  // namespace logjam

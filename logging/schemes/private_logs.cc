#include "logging/schemes/private_logs.h"

namespace logjam {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

PrivateLogs::PrivateLogs(const LogConfig& config) : ManyStreams(config), logs_(config.workers) {}

Point PrivateLogs::publish(uint32_t worker, const Ticket& ticket, bool, bool commits) {
  Private& log = logs_[worker];
  if (commits) log.wanted.store(ticket.sequence, memory_order_release);
  const uint64_t end = ticket.position + ticket.bytes;
  covers(worker, end, ticket.sequence);
  log.filled.store(end, memory_order_release);
  log.place.store(kNone, memory_order_release);
  stream(worker).published(commits);
  return {ticket.sequence, kEveryStream};
}

void PrivateLogs::tick(uint32_t worker) {
  ManyStreams::tick(worker);
  stream(marks()).tick();
}

void PrivateLogs::flush(uint32_t flusher, bool stopping) {
  ManyStreams::flush(flusher, stopping);
  // Perhaps that was what the next mark waited for.
  if (flusher != marks() && mark_wanted()) poke(marks());
}

void PrivateLogs::wait_durable(uint32_t worker, const Point& point) {
  for (uint32_t i = 0; i < workers() && !is_durable(point); ++i) {
    const uint32_t index = (worker + i) % workers();
    stream(index).wait(worker, {point.sequence, index});
  }
  stream(marks()).wait(worker, {point.sequence, marks()});
}

bool PrivateLogs::idle() const { return !mark_wanted() && ManyStreams::idle(); }

uint64_t PrivateLogs::undone(uint32_t worker) const {
  const Private& log = logs_[worker];
  const uint64_t place = log.place.load(memory_order_acquire);
  const uint64_t filled = log.filled.load(memory_order_acquire);
  if (stream(worker).durable() < filled) return durable_sequence(worker);
  return place == kNone ? kNone : place - 1;
}

uint64_t PrivateLogs::wanted() const {
  uint64_t most = 0;
  for (const Private& log : logs_) most = std::max(most, log.wanted.load(memory_order_acquire));
  return most;
}

uint64_t PrivateLogs::filled(uint32_t index) {
  if (index != marks()) return logs_[index].filled.load(memory_order_acquire);
  if (mark_wanted() && marking_.try_lock()) {
    mark();
    marking_.unlock();
  }
  return mark_end_.load(memory_order_acquire);
}

void PrivateLogs::mark() {
  const uint64_t begin = mark_end_.load(memory_order_relaxed), end = begin + kMarkBytes;
  // One at a time: what is committed meanwhile, the next one vouches for.
  if (begin != stream(marks()).durable() || !stream(marks()).ring().fits(end)) return;
  uint64_t least = std::max(floor(), wanted());
  floor_.store(least, memory_order_relaxed);
  platform::full_fence();
  for (uint32_t worker = 0; worker < workers(); ++worker) least = std::min(least, undone(worker));
  if (least <= marked_.load(memory_order_relaxed)) return;
  write_mark(marks(), begin, least);
  covers(marks(), end, least);
  marked_.store(least, memory_order_release);
  mark_end_.store(end, memory_order_release);
}

Cut PrivateLogs::cut(const std::vector<StreamTail>& tails) const {
  Cut cut;
  cut.sequence = tails.back().last_mark;
  for (const StreamTail& tail : tails) cut.bytes.push_back(tail.bytes);
  cut.why = "number " + std::to_string(cut.sequence) + ", the last mark of the group commit over " +
            std::to_string(tails.size() - 1) + " worker(s)";
  return cut;
}

}  // namespace logjam

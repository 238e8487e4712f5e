#include "logging/schemes/many_streams.h"

namespace logjam {

ManyStreams::ManyStreams(const LogConfig& config, bool urgent)
    : LogScheme(config.workers), run_(config.run), urgent_(urgent), turns_(config.workers) {
  for (uint32_t index = 0; index < config.devices.size() / config.stripes; ++index) {
    streams_.push_back(std::make_unique<Entry>(config, index, *this));
  }
}

void ManyStreams::tick(uint32_t worker) {
  const uint32_t own = home(worker);
  stream(own).tick();
  if (streams() == 1) return;
  uint32_t& turn = *turns_[worker];
  turn = turn + 1 < streams() ? turn + 1 : 0;
  if (turn != own) stream(turn).tick();
}

void ManyStreams::wait_durable(uint32_t worker, const Point& point) {
  if (point.stream != kEveryStream) return stream(point.stream).wait(worker, point, urgent_);
  while (!is_durable(point)) {
    wait_for_each(worker, [&](uint32_t index) { return Point{point.sequence, index}; });
  }
}

bool ManyStreams::idle() const {
  return std::ranges::all_of(streams_, [](const auto& entry) { return entry->stream.idle(); });
}

uint64_t ManyStreams::minimum() const {
  uint64_t least = ~uint64_t{0};
  for (uint32_t index = 0; index < streams(); ++index) {
    least = std::min(least, durable_sequence(index));
  }
  uint64_t known = minimum_.load(platform::memory_order_relaxed);
  while (known < least &&
         !minimum_.compare_exchange_weak(known, least, platform::memory_order_release,
                                         platform::memory_order_relaxed)) {
  }
  return least;
}

void ManyStreams::write_mark(uint32_t index, uint64_t begin, uint64_t sequence) {
  RecordWriter(stream(index).at(begin), kMarkBytes, RecordKind::kMark, sequence, 0)
      .seal(run_, begin);
  mark_count_.fetch_add(1, platform::memory_order_relaxed);
}

void ManyStreams::write_padding(uint32_t index, uint64_t begin, uint64_t bytes) {
  RecordWriter(stream(index).at(begin), static_cast<uint32_t>(bytes), RecordKind::kPadding, 0, 0)
      .seal(run_, begin);
}

void ManyStreams::lock_with_space(uint32_t index, platform::SpinLock& latch, const uint64_t& offset,
                                  uint64_t bytes) {
  latch.lock();
  while (!stream(index).ring().fits(offset + bytes)) {
    const uint64_t end = offset + bytes;
    latch.unlock();
    stream(index).wait_for_space(end);
    latch.lock();
  }
}

Counters ManyStreams::counters() const {
  Counters all;
  for (const auto& entry : streams_) all.add(entry->stream.counters());
  all.add({{"marks", static_cast<double>(mark_count_.load(platform::memory_order_relaxed))}});
  return all;
}

}  // namespace logjam

#include "logging/schemes/common/multi_stream_scheme.h"

#include "logging/format/durable_lag.h"
#include "logging/format/record_writer.h"

namespace logjam {

MultiStreamScheme::MultiStreamScheme(const LogConfig& config, Flush of_waiters, Writers writers)
    : LogScheme(config), of_waiters_(of_waiters), turns_(config.workers) {
  LJ_ASSERT(!config.devices.empty() && config.devices.size() % config.stripes == 0);
  for (uint32_t index = 0; index < config.devices.size() / config.stripes; ++index) {
    streams_.push_back(std::make_unique<Entry>(config, index, writers, *this));
  }
  homes_ = streams_of_workers(config, streams());
}

std::vector<uint32_t> MultiStreamScheme::workers_of(uint32_t index) const {
  std::vector<uint32_t> workers;
  for (uint32_t worker = 0; worker < homes_.size(); ++worker) {
    if (homes_[worker] == index) workers.push_back(worker);
  }
  return workers;
}

void MultiStreamScheme::poll(uint32_t worker) {
  const uint32_t own = home(worker);
  stream(own).poll();
  if (streams() == 1) return;
  uint32_t& turn = turns_[worker];
  turn = turn + 1 < streams() ? turn + 1 : 0;
  if (turn != own) stream(turn).poll();
}

void MultiStreamScheme::wait_durable(uint32_t worker, const CommitPoint& point) {
  if (point.scope == CommitPoint::Scope::kStream) {
    return stream(point.index).wait(worker, point, of_waiters_);
  }
  while (!is_durable(point)) {
    wait_for_each(worker,
                  [&](uint32_t index) { return CommitPoint::in_stream(index, point.sequence); });
  }
}

bool MultiStreamScheme::idle() const {
  return std::ranges::all_of(streams_, [](const auto& entry) { return entry->stream.idle(); });
}

uint64_t MultiStreamScheme::global_durable_sequence() const {
  uint64_t least = ~uint64_t{0};
  for (uint32_t index = 0; index < streams(); ++index) {
    least = std::min(least, durable_sequence(index));
  }
  platform::atomic_max(global_durable_sequence_, least, platform::memory_order_release);
  return least;
}

void MultiStreamScheme::write_watermark(uint32_t index, uint64_t begin, uint64_t sequence) {
  write_watermark_body(index, begin, sequence, {});
  count_watermark();
}

void MultiStreamScheme::write_watermark_body(uint32_t index, uint64_t begin, uint64_t sequence,
                                             std::span<const uint64_t> positions) {
  LJ_ASSERT(positions.empty() || positions.size() == streams());
  const uint32_t bytes = positions.empty() ? kWatermarkBytes : watermark_body_bytes();
  const LogReservation hole = reservation(index, begin, bytes, sequence);
  RecordWriter record(hole, RecordKind::kWatermark, 0);
  for (uint32_t s = 0; s < positions.size(); ++s) {
    record.add(WatermarkWord::encode(positions[s], stream(s).durable()));
  }
  record.seal(run(), begin);
}

std::vector<uint64_t> MultiStreamScheme::durable_positions() const {
  std::vector<uint64_t> positions;
  for (const auto& entry : streams_) positions.push_back(entry->stream.durable());
  return positions;
}

// Asks filled_to_write(): the position that filled() returns may count a hole in the group of
// records that is still open.
std::vector<uint64_t> MultiStreamScheme::published_positions() {
  std::vector<uint64_t> positions;
  for (uint32_t index = 0; index < streams(); ++index) {
    positions.push_back(filled_to_write(index, filled(index)));
    // The look may have appended a watermark record, of which no flusher knows.
    if (positions.back() != stream(index).durable()) {
      stream(index).on_wanted(Flush::kByPolicy);
    }
  }
  return positions;
}

std::vector<uint64_t> MultiStreamScheme::durable_sequences() const {
  std::vector<uint64_t> sequences;
  for (uint32_t index = 0; index < streams(); ++index) sequences.push_back(durable_sequence(index));
  return sequences;
}

Counters MultiStreamScheme::counters() const {
  Counters all;
  for (const auto& entry : streams_) all.add(entry->stream.counters());
  all.add({{"watermark_records",
            static_cast<double>(watermark_count_.load(platform::memory_order_relaxed))}});
  return all;
}

}  // namespace logjam

// Aether's log: one stream, and one of its buffers (logging/schemes/aether_buffer.h).
#pragma once

#include <optional>

#include "logging/schemes/aether_buffer.h"
#include "logging/schemes/single_stream.h"

namespace logjam {

template <class Release>
class Aether final : public SingleStream {
 public:
  Aether(const LogConfig& config, Consolidate consolidate) : SingleStream(config) {
    if (!config.devices.empty()) buffer_.emplace(config, consolidate, stream());
  }

  Ticket reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    return ticket(buffer_->reserve(worker, bytes), bytes);
  }
  Point publish(uint32_t worker, const Ticket& ticket, bool, bool commits) override {
    buffer_->publish(worker, ticket.bytes, commits);
    return {.sequence = ticket.sequence, .stream = 0};
  }

  Counters counters() const override {
    auto all = SingleStream::counters();
    all.add(buffer_->counters());
    return all;
  }

 private:
  uint64_t filled() const override { return buffer_->filled(); }

  std::optional<AetherBuffer<Release>> buffer_;  // none when recovering
};

}  // namespace logjam

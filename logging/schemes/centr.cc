// `centr`: one mutex around acquire, fill and release. The baseline of the papers: Aether, Alg. 1;
// P-WAL, Alg. 1. (P-WAL's also flushes under the mutex; here a flush excludes nobody, as in
// Aether.)
//
// Protocol: `filled_` is stored (release) under the mutex, and loaded (acquire) by flushers.
#include "logging/schemes/single_stream.h"
#include "platform/mutex.h"

namespace logjam {
namespace {

class Centr final : public SingleStream {
 public:
  explicit Centr(const LogConfig& config) : SingleStream(config) {}

  Ticket reserve(uint32_t, const Dependencies&, uint32_t bytes) override {
    mutex_.lock();
    const uint64_t begin = filled_.load(platform::memory_order_relaxed);
    stream().wait_for_space(begin + bytes);
    return ticket(begin, bytes);
  }

  Point publish(uint32_t, const Ticket& ticket, bool, bool commits) override {
    filled_.store(ticket.sequence, platform::memory_order_release);
    mutex_.unlock();
    stream().published(commits);
    return {.sequence = ticket.sequence, .stream = 0};
  }

 private:
  uint64_t filled() const override { return filled_.load(platform::memory_order_acquire); }

  alignas(platform::kCacheLine) platform::mutex mutex_;
  platform::atomic<uint64_t> filled_{0};
};

const SchemeRegistration registration({
    .name = "centr",
    .streams = "1",
    .buffer = "one mutex around acquire, fill, release",
    .sequence = "byte offset (LSN)",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= durable",
    .cut = "first gap",
    .source = "Aether Alg. 1, P-WAL Alg. 1",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make = [](const LogConfig& config) { return std::make_unique<Centr>(config); },
});

}  // namespace
}  // namespace logjam

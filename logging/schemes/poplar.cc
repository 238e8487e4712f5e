// `poplar`: a log buffer, a segment index and a logger for each device, and a number that grows
// along what must be ordered and no further (Zhou et al., section 4). Workers are dealt to buffers
// in turn.
//
// Sequence number (Algorithm 1). SSN = max(what is read, what is overwritten, the buffer's) + 1,
// drawn with the offset under the buffer's latch. So it grows along read-from and overwrites in all
// buffers, and with the offset in each; not along write-after-read, and two buffers may use a
// number twice. Under OCC it is drawn after validation: what was read, and what is overwritten, had
// its version, hence its number, before; nothing else has to be ordered.
//
// Safe when. DSN of a buffer: the SSN up to which it is durable; CSN: the least DSN (Algorithm 2).
//   Qwr   a transaction that read: its SSN <= CSN. All it depends on has smaller SSNs, in whatever
//         buffer, and that is durable.
//   Qww   one that only wrote: its SSN <= its own buffer's DSN. It has read from nobody.
//   One that wrote nothing waits for the CSN to reach the largest SSN it read.
//
// Cut. RSNe is the least of the streams' last SSNs. Up to it nothing is missing in any stream, so
// the set is closed (R4). Beyond it only write-only transactions (kWriteOnly) are kept: they
// depend on nothing that could be missing, and whoever read from them beyond RSNe is dropped.
// Last writer wins by SSN, which overwrites follow (R3).
//
// Idle buffers (R5). If a buffer is behind the largest SSN of a transaction that read, its flusher
// raises it with a mark of that SSN: at once if the buffer is quiet, else at the end of the segment
// it is about to close. Marks are drawn under the latch like records, so later ones are larger.
//
// A descheduled worker blocks, between reserve and publish, its buffer's DSN and with it the CSN;
// under the latch (a few instructions) the workers of its buffer.
//
// Protocol. `ssn` and `offset` are stored under `latch`; `ssn` may be loaded at any time: it only
// grows. `wanted` is raised with it, or by readers (compare-and-swap). `filled` is stored (release)
// under `advancing`, after its sequence number was noted (ManyStreams::covers). Members are their
// worker's. A publisher fills its segment, then fences and looks for a sleeping daemon
// (Stream::published); the daemon says that it sleeps, fences, and asks filled().
#include <algorithm>

#include "logging/buffer/segment_index.h"
#include "logging/schemes/many_streams.h"
#include "platform/spin.h"

namespace logjam {
namespace {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

enum Queue : uint32_t { kQwr, kQww };

class Poplar final : public ManyStreams {
 public:
  explicit Poplar(const LogConfig& config)
      : ManyStreams(config), io_unit_bytes_(config.io_unit_bytes), members_(config.workers) {
    for (uint32_t s = 0; s < streams(); ++s) {
      const uint64_t units = stream(s).ring().capacity() / io_unit_bytes_;
      buffers_.push_back(std::make_unique<Buffer>(units));
    }
  }

  Traits traits() const override {
    return {.streams = streams(), .flushers = streams(), .serial_order = false, .unsafe = ""};
  }

  Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    const uint32_t home_stream = home(worker);
    Buffer& buffer = *buffers_[home_stream];
    lock_with_space(home_stream, buffer.latch, buffer.offset, bytes);
    const uint64_t begin = buffer.offset;
    const uint64_t ssn =
        std::max({deps.max_read, deps.max_overwritten, buffer.ssn.load(memory_order_relaxed)}) + 1;
    const uint32_t segment = take(buffer, bytes, ssn);
    if (buffer.segments.open_bytes() >= io_unit_bytes_ && !buffer.segments.full()) {
      buffer.segments.close(buffer.offset, ssn);
    }
    buffer.latch.unlock();
    *members_[worker] = {segment, deps.reads};
    return ticket(home_stream, begin, bytes, ssn);
  }

  Point publish(uint32_t worker, const Ticket& ticket, bool, bool commits) override {
    const Member& me = *members_[worker];
    Buffer& buffer = *buffers_[ticket.stream];
    if (commits && me.reads) want(buffer, ticket.sequence);
    buffer.segments.filled(me.segment, ticket.bytes);
    stream(ticket.stream).published(commits);
    if (me.reads) return {ticket.sequence, kEveryStream, kQwr};
    return {ticket.sequence, ticket.stream, kQww};
  }

  Point observe(uint32_t worker, const Dependencies& deps) override {
    const Point point{deps.max_read, kEveryStream, kQwr};
    if (!is_durable(point) && want(*buffers_[home(worker)], deps.max_read)) poke_behind();
    return point;
  }

  Cut cut(const std::vector<StreamTail>& tails) const override {
    Cut cut;
    for (const StreamTail& tail : tails) {
      cut.bytes.push_back(tail.bytes);
      cut.sequence = std::min(cut.sequence, tail.last_sequence);
    }
    cut.why = "RSNe " + std::to_string(cut.sequence) + ", the least last SSN of " +
              std::to_string(tails.size()) + " stream(s); write-only transactions beyond it kept";
    return cut;
  }
  bool survives(const RecordHeader& header, uint32_t, const Cut& cut) const override {
    return header.sequence <= cut.sequence || (header.flags & kWriteOnly) != 0;
  }

 private:
  struct Member {
    uint32_t segment = 0;  // between reserve and publish
    bool reads = false;
  };
  struct alignas(platform::kCacheLine) Buffer {
    explicit Buffer(uint64_t units) : segments(units) {}

    platform::SpinLock latch;
    platform::atomic<uint64_t> ssn{0};
    uint64_t offset = 0;
    SegmentIndex segments;

    alignas(platform::kCacheLine) platform::SpinLock advancing;
    platform::atomic<uint64_t> filled{0};
    alignas(platform::kCacheLine) platform::atomic<uint64_t> wanted{0};
  };

  // Under the latch. Returns the segment.
  static uint32_t take(Buffer& buffer, uint64_t bytes, uint64_t ssn) {
    buffer.ssn.store(ssn, memory_order_relaxed);
    buffer.offset += bytes;
    return buffer.segments.allocate(bytes);
  }

  // Whether that is news.
  static bool want(Buffer& buffer, uint64_t ssn) {
    uint64_t wanted = buffer.wanted.load(memory_order_relaxed);
    while (wanted < ssn) {
      if (buffer.wanted.compare_exchange_weak(wanted, ssn)) return true;
    }
    return false;
  }
  // The largest SSN that the CSN has to reach.
  uint64_t wanted() const {
    uint64_t most = 0;
    for (const auto& buffer : buffers_) most = std::max(most, buffer->wanted.load());
    return most;
  }

  void poke_behind() {
    const uint64_t ssn = wanted();
    for (uint32_t s = 0; s < streams(); ++s) {
      if (buffers_[s]->ssn.load(memory_order_relaxed) < ssn) poke(s);
    }
  }

  uint64_t filled(uint32_t index) override {
    Buffer& buffer = *buffers_[index];
    if (!buffer.segments.pending()) close_segment(index, buffer);
    if (buffer.segments.pending()) {
      bool passed = false;
      buffer.advancing.lock();
      buffer.segments.advance([&](uint64_t end, uint64_t ssn) {
        covers(index, end, ssn);
        buffer.filled.store(end, memory_order_release);
        passed = true;
      });
      buffer.advancing.unlock();
      // Only now: what these segments' publishers want, they said before they filled them.
      if (passed) poke_behind();
    }
    return buffer.filled.load(memory_order_acquire);
  }

  // The flusher's way to establish a segment: there is nothing else to flush.
  void close_segment(uint32_t index, Buffer& buffer) {
    const uint64_t raise = wanted();
    const auto behind = [&] { return buffer.ssn.load(memory_order_relaxed) < raise; };
    const bool quiet = buffer.filled.load(memory_order_relaxed) == stream(index).durable();
    const bool open = buffer.segments.open_bytes() != 0;
    if (!open && !(quiet && behind())) return;

    buffer.latch.lock();
    if (behind() && stream(index).ring().fits(buffer.offset + kMarkBytes)) {
      const uint64_t begin = buffer.offset;
      const uint32_t segment = take(buffer, kMarkBytes, raise);
      write_mark(index, begin, raise);
      buffer.segments.filled(segment, kMarkBytes);
    }
    if (buffer.segments.open_bytes() != 0 && !buffer.segments.full()) {
      buffer.segments.close(buffer.offset, buffer.ssn.load(memory_order_relaxed));
    }
    buffer.latch.unlock();
  }

  const uint64_t io_unit_bytes_;
  std::vector<platform::Padded<Member>> members_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

const SchemeRegistration registration({
    .name = "poplar",
    .streams = "1 per device",
    .buffer = "latched offset, segment index",
    .sequence = "SSN: over reads, overwrites, buffer",
    .flushed_by = "logger each, leader",
    .safe_when = "write-only: SSN <= own DSN; else SSN <= CSN",
    .cut = "RSNe; write-only beyond it kept",
    .source = "Poplar Alg. 1, 2; sections 4, 5",
    .stream_count = [](uint32_t directories, const LogConfig&) { return directories; },
    .make = [](const LogConfig& config) { return std::make_unique<Poplar>(config); },
});

}  // namespace
}  // namespace logjam

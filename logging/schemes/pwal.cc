// `pwal`: a log buffer and a log file for each worker, which no other worker writes to, and one
// counter for them all (Kamiya et al., P-WAL, Algorithm 2).
//
// LSN: 1, 2, 3, ... by fetch-and-add, one for each record. It is larger than that of anything the
// transaction depends on, whose LSNs were drawn before it came to draw, and it grows in each file.
//
// Flushing. A worker flushes its own buffer, and waits for that, every --pwal_ngroup commits; also
// when its buffer is full, and when it has to wait anyway. A thread for each buffer bounds the
// delay (1 ms, or --flush_us) of what a worker that went idle or got stuck has left behind; others
// that wait for it flush it too. With --flush_help=false these threads make all flushes, and the
// workers wait for them.
//
// Safe when (--pwal_ack=safe): all files hold on disk whatever they have, or will ever have, of
// LSNs up to its own. Its own record is among these, and, having smaller LSNs, all that it has read
// from or overwritten, transitively (R1).
//
// The paper acknowledges after the worker's own flush (--pwal_ack=unsafe). That is enough if locks
// are kept until then (--elr=false); under early lock release a transaction is acknowledged, and
// recovered, whose predecessor is lost: R1 and R4 break. Every row says `unsafe`, whatever the
// locks.
//
// Cut. The least of the files' last LSNs: none up to it is missing in any file, so the set is
// closed (R4); it has a transaction's last record only with all others, which are before it in the
// same file (R2); the last writer has the largest LSN (R3). It is what acknowledging went by, read
// from the disk. Unsafe: all there is, as in the paper, where an idle worker's file ends anywhere.
//
// Idle workers (R5). Who flushes, or waits for, an idle worker's file finds it behind the counter
// and writes a mark of the counter's value into it, so that acknowledgements and the cut can pass.
// With one busy worker of N every acknowledgement costs N writes: the price of R1 here. (NV-Logging
// pays one more file instead, of marks for all: logging/schemes/private_logs.h.)
//
// A worker that stops between reserve and publish stalls the acknowledgement of what is numbered
// behind its file's last record or mark, until it publishes; nobody's reserving, filling or
// flushing. Stopped elsewhere it stalls nothing.
//
// Protocol. Buffer::latch guards all but the atomics. The paper's buffer has none: here it keeps
// the owner's next record and a mark apart, is held for some instructions, and is the owner's alone
// as long as the owner is busy. `open` is stored (release) without it, when the record is filled.
// Marks: the counter is loaded under the latch, and the owner draws under the latch, so whatever it
// draws afterwards is larger. `filled` is stored (release) after its LSN was noted. `commits` and
// `committed` are the owner's own.
#include <algorithm>

#include "logging/schemes/many_streams.h"
#include "platform/spin.h"

namespace logjam {
namespace {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

constexpr uint64_t kIdleDelayUs = 1000;

LogConfig grouped(LogConfig config) {
  if (config.flush_txns == 0 && config.flush_bytes == 0) config.flush_txns = config.pwal_group;
  if (config.flush_us == 0) config.flush_us = kIdleDelayUs;
  return config;
}

class Pwal final : public ManyStreams {
 public:
  explicit Pwal(const LogConfig& config)
      : ManyStreams(grouped(config), true), unsafe_(config.pwal_unsafe), group_(config.pwal_group) {
    for (uint32_t s = 0; s < streams(); ++s) buffers_.push_back(std::make_unique<Buffer>());
  }

  Traits traits() const override {
    return {.streams = streams(),
            .flushers = streams(),
            .serial_order = false,
            .unsafe = unsafe_ ? "--pwal_ack=unsafe" : ""};
  }

  Ticket reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    Buffer& buffer = *buffers_[worker];
    lock_with_space(worker, buffer.latch, buffer.offset, bytes);
    const uint64_t lsn = counter_.fetch_add(1, memory_order_relaxed) + 1;
    const uint64_t begin = buffer.offset;
    buffer.before = {begin, buffer.last_lsn()};
    buffer.last.store(lsn, memory_order_relaxed);
    buffer.offset += bytes;
    buffer.open.store(true, memory_order_relaxed);
    buffer.latch.unlock();
    return ticket(worker, begin, bytes, lsn);
  }

  Point publish(uint32_t worker, const Ticket& ticket, bool, bool commits) override {
    Buffer& buffer = *buffers_[worker];
    buffer.open.store(false, memory_order_release);
    if (commits) {
      ++buffer.commits;
      buffer.committed = ticket.sequence;
    }
    stream(worker).published(commits);
    return {ticket.sequence, unsafe_ ? worker : kEveryStream};
  }

  // The paper's rule knows of no wait for what was only read.
  Point observe(uint32_t, const Dependencies& deps) override {
    return unsafe_ ? Point{} : Point{deps.max_read, kEveryStream};
  }

  // Algorithm 2, line 4.
  void tick(uint32_t worker) override {
    Buffer& buffer = *buffers_[worker];
    if (buffer.commits >= group_) {
      buffer.commits = 0;
      stream(worker).wait(worker, {buffer.committed, worker}, true);
    }
    ManyStreams::tick(worker);
  }

  void flush(uint32_t flusher, bool stopping) override {
    poke_behind(flusher);
    ManyStreams::flush(flusher, stopping);
  }

  Cut cut(const std::vector<StreamTail>& tails) const override {
    Cut cut;
    for (const StreamTail& tail : tails) {
      cut.bytes.push_back(tail.bytes);
      if (!unsafe_) cut.sequence = std::min(cut.sequence, tail.last_sequence);
    }
    cut.why = unsafe_ ? "none (--pwal_ack=unsafe): all of every stream"
                      : "LSN " + std::to_string(cut.sequence) + ", the least last one of " +
                            std::to_string(tails.size()) + " stream(s)";
    return cut;
  }
  bool survives(const RecordHeader& header, uint32_t, const Cut& cut) const override {
    return header.sequence <= cut.sequence;
  }

 private:
  struct alignas(platform::kCacheLine) Buffer {
    struct Place {
      uint64_t end = 0, lsn = 0;
    };

    platform::SpinLock latch;
    platform::atomic<bool> open{false};  // its owner holds a ticket
    uint64_t offset = 0;
    platform::atomic<uint64_t> last{0};  // the LSN of what ends there
    Place before;                        // where the open ticket begins
    platform::atomic<uint64_t> filled{0};
    uint64_t commits = 0;    // since the owner last flushed
    uint64_t committed = 0;  // the LSN of the last

    uint64_t last_lsn() const { return last.load(memory_order_relaxed); }
  };

  uint64_t filled(uint32_t index) override {
    Buffer& buffer = *buffers_[index];
    bool marked = false;
    buffer.latch.lock();
    const bool open = buffer.open.load(memory_order_acquire);
    const uint64_t counter = counter_.load(memory_order_relaxed);
    const bool quiet = !open && buffer.offset == stream(index).durable();
    if (quiet && !unsafe_ && buffer.last_lsn() < counter &&
        stream(index).ring().fits(buffer.offset + kMarkBytes)) {
      write_mark(index, buffer.offset, counter);
      buffer.offset += kMarkBytes;
      buffer.last.store(counter, memory_order_relaxed);
      marked = true;
    }
    const auto [end, lsn] =
        open ? buffer.before : typename Buffer::Place{buffer.offset, buffer.last_lsn()};
    if (end > buffer.filled.load(memory_order_relaxed)) {
      covers(index, end, lsn);
      buffer.filled.store(end, memory_order_release);
    }
    buffer.latch.unlock();
    if (marked) poke(index);  // so that the mark's delay is bounded
    return buffer.filled.load(memory_order_acquire);
  }

  // A daemon that has something to flush tells those that do not know it of the numbers drawn.
  void poke_behind(uint32_t flusher) {
    if (unsafe_) return;
    const uint64_t own = buffers_[flusher]->last_lsn();
    for (uint32_t s = 0; s < streams(); ++s) {
      if (buffers_[s]->last_lsn() < own) poke(s);
    }
  }

  const bool unsafe_;
  const uint64_t group_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> counter_{0};
};

const SchemeRegistration registration({
    .name = "pwal",
    .streams = "1 per worker",
    .buffer = "private",
    .sequence = "global fetch-add (LSN)",
    .flushed_by = "worker, every --pwal_ngroup",
    .safe_when = "every stream durable up to its LSN",
    .cut = "least last LSN",
    .source = "P-WAL Alg. 2, 3",
    .stream_count = [](uint32_t, const LogConfig& config) { return config.workers; },
    .make = [](const LogConfig& config) { return std::make_unique<Pwal>(config); },
    .cut_flags = {"pwal_ack"},
});

}  // namespace
}  // namespace logjam

// `pwal`: a log buffer and a log file for each worker, which no other worker writes to, and one
// counter for all workers (Kamiya et al., P-WAL, Algorithm 2).
//
// LSN: 1, 2, 3, ... by fetch-and-add, one for each record. It is larger than the LSN of anything
// that the transaction depends on, because those LSNs were drawn before. It grows in each file.
//
// Flushing. A worker flushes its buffer, and waits for that flush, every --pwal_ngroup commits, and
// also when its buffer is full or when it has to wait anyway. If a worker goes idle or gets stuck,
// a thread for each buffer flushes what the worker has left behind, and so bounds the delay (1 ms,
// or --flush_us). Other workers that wait for the buffer flush it too. With --flush_help=false
// these threads make all flushes, and the workers wait for them.
//
// Safe when (--pwal_ack=safe) every file has on disk all records that it has, or will ever have, of
// LSNs up to the transaction's. Among these are the transaction's record and, because their LSNs
// are smaller, the records of all that it has read from or overwritten, transitively (R1).
//
// The paper acknowledges after the worker's flush of its buffer (--pwal_ack=unsafe). That is enough
// if locks are kept until then (--elr=false). Under early lock release, a transaction can be
// acknowledged and recovered although its predecessor is lost: R1 and R4 break. Every output row
// says `unsafe`, whatever the locks.
//
// Cut. The least of the files' last LSNs. No record with an LSN up to the cut is missing in any
// file, so the set is closed (R4). If the set has the last record of a transaction, it has all the
// others, which are before the last one in the same file (R2). The last writer has the largest LSN
// (R3). The cut is the number by which transactions were acknowledged, read from the disk. In
// unsafe mode all records are used, as in the paper, because an idle worker's file ends anywhere.
//
// Idle workers (R5). A thread that flushes, or waits for, an idle worker's file finds the file
// behind the counter, and writes a watermark of the counter's value into it, so that
// acknowledgements and the cut can pass. With one busy worker of N every acknowledgement costs N
// writes: the price of R1 here. (NV-Logging pays with one more file instead, which has watermarks
// for all logs: logging/scheme_bases/per_worker_scheme.h.)
//
// A worker that stops between reserve and publish stalls, until it publishes, the acknowledgement
// of all numbers behind the last record or watermark of its file. It stalls no worker that
// reserves, fills or flushes. A worker that stops elsewhere stalls nothing.
//
// Protocol. Buffer::latch guards all fields but the atomics. The paper's buffer has no latch. Here
// the latch keeps apart the owner's next record and a watermark. It is held for some instructions,
// and only the owner takes it as long as the owner is busy. `open` is stored (release) without the
// latch, when the record is filled. Watermarks: a thread loads the counter under the latch, and the
// owner draws its LSN under the latch, so all LSNs that the owner draws afterwards are larger.
// `filled` is stored (release) after its LSN was recorded. Only the owner uses `commits` and
// `committed`.
#include <gflags/gflags.h>

#include <algorithm>

#include "logging/scheme_bases/multi_stream_scheme.h"
#include "logging/scheme_registry.h"
#include "platform/spin.h"

DEFINE_uint64(pwal_ngroup, 16, "pwal: commits that a worker flushes together");
DEFINE_string(pwal_ack, "safe",
              "pwal: acknowledge when all that a transaction may have read from is durable (safe), "
              "or after its worker's own flush, as in the paper (unsafe)");

namespace logjam {
namespace {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

constexpr uint64_t kIdleDelayUs = 1000;

bool unsafe() { return FLAGS_pwal_ack == "unsafe"; }

LogConfig grouped(LogConfig config) {
  if (config.flush_txns == 0 && config.flush_bytes == 0) config.flush_txns = FLAGS_pwal_ngroup;
  if (config.flush_us == 0) config.flush_us = kIdleDelayUs;
  return config;
}

class Pwal final : public MultiStreamScheme {
 public:
  explicit Pwal(const LogConfig& config)
      : MultiStreamScheme(grouped(config), true), unsafe_(unsafe()), group_(FLAGS_pwal_ngroup) {
    for (uint32_t s = 0; s < streams(); ++s) buffers_.push_back(std::make_unique<Buffer>());
  }

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    Buffer& buffer = *buffers_[worker];
    stream(worker).lock_with_space(buffer.latch, buffer.offset, bytes);
    const uint64_t lsn = counter_.fetch_add(1, memory_order_relaxed) + 1;
    const uint64_t begin = buffer.offset;
    buffer.before = {begin, buffer.last_lsn()};
    buffer.last.store(lsn, memory_order_relaxed);
    buffer.offset += bytes;
    buffer.open.store(true, memory_order_relaxed);
    buffer.latch.unlock();
    return reservation(worker, begin, bytes, lsn);
  }

  CommitPoint publish(uint32_t worker, const LogReservation& reservation, bool,
                      bool commits) override {
    Buffer& buffer = *buffers_[worker];
    buffer.open.store(false, memory_order_release);
    if (commits) {
      ++buffer.commits;
      buffer.committed = reservation.sequence;
    }
    stream(worker).published(commits);
    return unsafe_ ? CommitPoint::in_stream(worker, reservation.sequence)
                   : CommitPoint::in_every_stream(reservation.sequence);
  }

  // In the paper a transaction that only read does not wait.
  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return unsafe_ ? CommitPoint{} : CommitPoint::in_every_stream(deps.max_read);
  }

  // Algorithm 2, line 4.
  void poll(uint32_t worker) override {
    Buffer& buffer = *buffers_[worker];
    if (buffer.commits >= group_) {
      buffer.commits = 0;
      stream(worker).wait(worker, CommitPoint::in_stream(worker, buffer.committed), true);
    }
    MultiStreamScheme::poll(worker);
  }

  void flush(uint32_t flusher, bool stopping) override {
    // A daemon that has something to flush notifies the flushers of the streams whose last LSN is
    // smaller.
    if (!unsafe_) {
      notify_flushers_behind(buffers_[flusher]->last_lsn(),
                             [&](uint32_t s) { return buffers_[s]->last_lsn(); });
    }
    MultiStreamScheme::flush(flusher, stopping);
  }

 private:
  struct alignas(platform::kCacheLine) Buffer {
    struct Place {
      uint64_t end = 0, lsn = 0;
    };

    platform::SpinLock latch;
    platform::atomic<bool> open{false};  // its owner holds a reservation
    uint64_t offset = 0;
    platform::atomic<uint64_t> last{0};  // the LSN of the record that ends at `offset`
    Place before;                        // where the open reservation begins
    platform::atomic<uint64_t> filled{0};
    uint64_t commits = 0;    // since the owner last flushed
    uint64_t committed = 0;  // the LSN of the last commit

    uint64_t last_lsn() const { return last.load(memory_order_relaxed); }
  };

  uint64_t filled(uint32_t index) override {
    Buffer& buffer = *buffers_[index];
    bool watermarked = false;
    buffer.latch.lock();
    const bool open = buffer.open.load(memory_order_acquire);
    const uint64_t counter = counter_.load(memory_order_relaxed);
    const bool quiet = !open && buffer.offset == stream(index).durable();
    if (quiet && !unsafe_ && buffer.last_lsn() < counter &&
        fits(index, buffer.offset + kWatermarkBytes)) {
      write_watermark(index, buffer.offset, counter);
      buffer.offset += kWatermarkBytes;
      buffer.last.store(counter, memory_order_relaxed);
      watermarked = true;
    }
    const auto [end, lsn] =
        open ? buffer.before : typename Buffer::Place{buffer.offset, buffer.last_lsn()};
    if (end > buffer.filled.load(memory_order_relaxed)) {
      record_durable_sequence(index, end, lsn);
      buffer.filled.store(end, memory_order_release);
    }
    buffer.latch.unlock();
    if (watermarked) notify_flusher(index);  // so that the watermark's delay is bounded
    return buffer.filled.load(memory_order_acquire);
  }

  const bool unsafe_;
  const uint64_t group_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> counter_{0};
};

// With --pwal_ack=unsafe, all of every stream is used, as in the paper.
RecoveryRule recovery() {
  RecoveryRule rule = min_cut(&StreamTail::last_sequence, "LSN");
  rule.cut = [safe = rule.cut](const StreamTails& tails) {
    Cut cut = safe(tails);
    if (unsafe()) {
      cut.sequence = ~uint64_t{0};
      cut.why = "none (--pwal_ack=unsafe): all of every stream";
    }
    return cut;
  };
  return rule;
}

std::string check_flags() {
  if (FLAGS_pwal_ngroup == 0) return "--pwal_ngroup must be at least 1";
  if (FLAGS_pwal_ack == "safe" || FLAGS_pwal_ack == "unsafe") return "";
  return "--pwal_ack=" + FLAGS_pwal_ack + " is not a rule; safe and unsafe are";
}

const SchemeRegistration registration({
    .name = "pwal",
    .streams = "1 per worker",
    .buffer = "private",
    .sequence = "global fetch-add (LSN)",
    .flushed_by = "worker, every --pwal_ngroup",
    .safe_when = "every stream durable up to its LSN",
    .cut = "least last LSN",
    .source = "P-WAL Alg. 2, 3",
    .recovery = recovery(),
    .stream_count = stream_per_worker,
    .construct = construct<Pwal>,
    .check_flags = check_flags,
    .unsafe = [] { return std::string(unsafe() ? "--pwal_ack=unsafe" : ""); },
    .recovery_flags = {"pwal_ack"},
});

}  // namespace
}  // namespace logjam

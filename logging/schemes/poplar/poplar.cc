// `poplar`: a log buffer, a segment index and a logger for each device, and a number that grows
// only along the dependencies that must be ordered (Zhou et al., section 4).
// common/segmented_scheme.h explains the buffers, the segments and idle buffers (R5).
//
// Sequence number (Algorithm 1). SSN = max(the SSNs read, the SSNs overwritten, the buffer's last
// SSN) + 1, drawn with the offset under the buffer's latch. So the SSN grows along reads and
// overwrites in all buffers, and with the offset in each buffer. It does not grow along
// write-after-read, and two buffers may have equal SSNs. OCC may draw the SSN after validation.
//
// Safe when. The DSN of a buffer is the SSN up to which the buffer is durable (durable_sequence).
// The CSN is the least DSN (global_durable_sequence; Algorithm 2).
//   Qwr   a transaction that read is safe when its SSN <= CSN. All records that it depends on have
//         smaller SSNs, in all buffers (R1).
//   Qww   a transaction that only wrote depends on no other transaction, and is safe when its SSN
//         <= the DSN of its buffer.
// A transaction that wrote nothing waits for the CSN to reach the largest SSN that it read.
//
// Cut. RSNe is the least of the streams' last SSNs (R4: min_cut()). Beyond RSNe only write-only
// transactions (kWriteOnly) are kept, because they depend on no other record. The last writer wins
// by SSN, because SSNs grow along overwrites (R3).
#include "logging/schemes/common/segmented_scheme.h"

namespace logjam {
namespace {

RecoveryRule up_to_rsne_and_write_only() {
  RecoveryRule rule = min_cut(&StreamTail::last_sequence, "RSNe");
  rule.survives = [](const RecordHeader& header, const Cut& cut) {
    return header.sequence <= cut.sequence || (header.flags & kWriteOnly) != 0;
  };
  return rule;
}

class Poplar final : public SegmentedScheme {
 public:
  explicit Poplar(const LogConfig& config) : SegmentedScheme(config), reads_(config.workers) {}

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    reads_[worker] = deps.reads;
    return take_hole(worker, deps.max_number(), bytes);
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override {
    return hand_over(worker, reservation, role, reads_[worker]);
  }

  CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) override {
    return read_only_point(worker, deps.max_read);
  }

 private:
  WorkerStates<bool> reads_;
};

const SchemeRegistration registration(device_scheme({
    .name = "poplar",
    .differs = "a buffer that lags gets watermark records",
    .buffer = "latched offset, segment index",
    .sequence = "SSN: over reads, overwrites, buffer",
    .safe_when = "write-only: SSN <= own DSN; else SSN <= CSN",
    .cut = "RSNe; write-only beyond it kept",
    .source = "Poplar Alg. 1, 2; sections 4, 5",
    .recovery = up_to_rsne_and_write_only(),
    .construct = construct<Poplar>,
    .check_flags = check_segment_flag,
    .flags = {"poplar_segment_bytes"},
}));

}  // namespace
}  // namespace logjam

// `rfa`: remote flush avoidance, as in LeanStore (Haubenschild et al., SIGMOD 2020): a transaction
// waits for other logs only if it depends on a record that may not be durable there. The paper has
// a log for each worker. Here each device has a log, so that a disk is written at few positions.
// The buffers are Poplar's (common/segmented_scheme.h).
//
// Sequence number (GSN). It is larger than the numbers of the versions that the transaction reads
// and overwrites, and than the log's last number. Its low bits are the number of the log. So a
// version's number tells whether the version's record is in the worker's own log
// (Dependencies::max_foreign).
//
// The floor of a log is a number up to which all logs were durable when the log's last watermark
// record was appended. A transaction is *closed* if it has read nothing, or if
//   1 the numbers that it read from remote logs are at most the floor of its log, and
//   2 all transactions of its log that are not closed have numbers up to the floor.
//
// Safe when. A closed transaction is safe when its GSN <= the DSN of its log. Each version that it
// read is durable everywhere (by 1, or by 2 if the version's writer is not closed), or its writer
// is a closed transaction. The record of such a writer lies earlier in the same log. A transaction
// that is not closed is safe when its GSN <= the CSN, the least DSN of all logs.
//
// The paper lacks rule 2. Let T1 read from a remote transaction that is not durable, and T2 read
// from T1, in T1's log. Then T1 waits for the remote log, and T2 is acknowledged first. After a
// crash that loses the remote record, T1 must not survive (R4). So either T2 is lost too, or T2
// survives and has read a version that does not exist. --ack=unsafe is the rule as published.
//
// Cut. A closed transaction carries kClosed. Its record survives anywhere in the valid bytes of its
// log, if all watermark records before it are met. Other records survive up to the least of the
// logs' last numbers (R4: min_cut_or_closed()). The last writer wins by GSN, because numbers grow
// along overwrites (R3). With one log all transactions are closed. Idle logs are as in Poplar (R5).
//
// Protocol.
//   floor  of a log. Raised (acq_rel) after the watermark record has its position, taken under the
//          buffer's latch. A worker loads the floor (acquire) before it takes a hole under this
//          latch. So the watermark record lies before the worker's record.
//   open   of a log: the largest number of a transaction that is not closed. Raised before the
//          record is published. A worker that reads a version of the transaction acquires the
//          version later, so it sees this number or a larger number.
#include "logging/schemes/common/segmented_scheme.h"

namespace logjam {
namespace {

constexpr uint32_t kStreamBits = 10;

class Rfa final : public SegmentedScheme {
 public:
  explicit Rfa(const LogConfig& config)
      : SegmentedScheme(config, kStreamBits),
        transitive_(!acknowledges_unsafely()),
        workers_(config.workers) {
    for (uint32_t s = 0; s < streams(); ++s) logs_.push_back(std::make_unique<StreamLog>());
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    WorkerState& me = workers_[worker];
    StreamLog& log = *logs_[home(worker)];
    // All records of a transaction carry the same flag.
    if (!me.decided)
      me.closed = is_closed(deps, log, log.floor.load(platform::memory_order_acquire));
    me.decided = !deps.commits;
    LogReservation hole = take_hole(worker, deps.max_number(), bytes);
    if (me.closed) {
      hole.flags = kClosed;
    } else if (deps.commits) {
      platform::atomic_max(log.open, hole.sequence);
      me.remote_waits.add();
      if (is_safe(deps.max_foreign)) me.false_waits.add();
    }
    return hole;
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override {
    return hand_over(worker, reservation, role, !workers_[worker].closed);
  }

  CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) override {
    if (is_safe(deps.max_read)) return {};
    const StreamLog& log = *logs_[home(worker)];
    const bool own = is_safe(deps.max_foreign) &&
                     (!transitive_ || is_safe(log.open.load(platform::memory_order_relaxed)));
    return own ? CommitPoint::in_stream(home(worker), deps.max_read, kOwnStreamQueue)
               : read_only_point(worker, deps.max_read);
  }

  Counters counters() const override {
    return SegmentedScheme::counters().add(
        {{"remote_waits", workers_.total(&WorkerState::remote_waits)},
         {"false_waits", workers_.total(&WorkerState::false_waits)}});
  }

 private:
  struct StreamLog {
    platform::atomic<uint64_t> floor{0};
    alignas(platform::kCacheLine) platform::atomic<uint64_t> open{0};
  };
  struct WorkerState {
    bool decided = false;  // `closed` is set, and the commit record is not reserved yet
    bool closed = false;
    // `remote_waits` counts the commits that wait for all logs. `false_waits` counts the ones among
    // them that read only durable rows from remote logs.
    platform::Counter remote_waits, false_waits;
  };

  bool is_closed(const Dependencies& deps, const StreamLog& log, uint64_t floor) const {
    if (!deps.reads || streams() == 1 || deps.max_read <= floor) return true;
    if (deps.max_foreign > floor) return false;
    return !transitive_ || log.open.load(platform::memory_order_relaxed) <= floor;
  }
  bool is_safe(uint64_t sequence) const {
    return is_durable(CommitPoint::in_every_stream(sequence));
  }

  // Appends a watermark record if the log lags. If `closes`, also appends one if the record can
  // raise the log's floor.
  void append_watermark(uint32_t index, bool closes) override {
    if (streams() == 1) return;
    StreamLog& log = *logs_[index];
    const bool raises = closes && global_durable_sequence() > log.floor.load();
    if (!raises && buffer(index).sequence() >= wanted()) return;
    uint64_t floor = ~uint64_t{0};
    std::vector<uint64_t> positions(streams());
    for (uint32_t s = 0; s < streams(); ++s) {
      floor = std::min(floor, durable_sequence(s));
      positions[s] = durable_sequence_end(s);
    }
    buffer(index).append(wanted(), watermark_body_bytes(), [&](uint64_t begin, uint64_t sequence) {
      positions[index] = begin;
      write_watermark_body(index, begin, sequence, positions);
      count_watermark();
      platform::atomic_max(log.floor, floor);
    });
  }

  const bool transitive_;
  WorkerStates<WorkerState> workers_;
  std::vector<std::unique_ptr<StreamLog>> logs_;
};

const SchemeRegistration registration(device_scheme({
    .name = "rfa",
    .differs = "without --ack=unsafe, a read from the own log counts as local only if it needs no "
               "other log, and a log says on its device how far the others were durable; a log for "
               "each device with Poplar's latched buffer, where LeanStore has a private log for "
               "each worker and one thread that writes all of them to one file; dependencies by "
               "row, not by page",
    .buffer = "Poplar's",
    .sequence = "GSN: over reads, overwrites, log; names the log",
    .safe_when = "closed: GSN <= own DSN; else GSN <= CSN",
    .cut = "least last GSN; closed beyond it kept",
    .source = "Haubenschild et al. 2020; LeanStore",
    .traits = {.stream_bits = kStreamBits},
    .recovery = min_cut_or_closed("GSN"),
    .construct = construct<Rfa>,
    .check_flags =
        [] {
          const std::string wrong = check_ack_flag();
          return wrong.empty() ? check_segment_flag() : wrong;
        },
    .unsafe = unsafe_ack_flag,
    .flags = {"ack", "poplar_segment_bytes"},
}));

}  // namespace
}  // namespace logjam

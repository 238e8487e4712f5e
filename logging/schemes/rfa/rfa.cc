// `rfa`: remote flush avoidance, as in LeanStore (Haubenschild et al., SIGMOD 2020): each worker
// has a private log, and a transaction waits for the logs of other workers only if it depends on a
// record that may not be durable there. LeanStore's group committer writes the logs of all workers
// to one file, a piece of each log in turn. Here a worker's log consists of its chunks of a
// stream's ring (common/buffer_chunks.h), and the thread that writes the stream is the committer.
//
// Sequence number (GSN). It is larger than the numbers of the versions that the transaction reads
// and overwrites, than the worker's last number, and than the floor of the stream. Its low bits are
// the number of the worker. So a version's number tells whether the version's record is in the
// worker's own log (Dependencies::max_foreign).
//
// Watermarks. Each write of a stream raises the stream's floor, and ends with a watermark record of
// this floor (LeanStore's global_sync_to_this_gsn). A worker takes a place in the ring (acquire)
// before it loads the floor, and the writing thread raises the floor before it takes the place of
// the watermark (release). So a record after the watermark has a number above the floor. The CSN is
// the least durable watermark of all streams: all records with numbers up to it are durable.
//
// The *base* of a worker's log is a CSN that the worker has noted in a record of its log. A
// transaction is *closed* if it has read nothing, or if
//   1 the numbers that it read from other workers' logs are at most the base of its log, and
//   2 all transactions of its log that are not closed have numbers up to the base, or so have all
//     versions that it has read.
// A worker notes a larger CSN if this makes its next transaction closed.
//
// Safe when. A closed transaction is safe when its own log is durable up to the end of its record.
// Each version that it read is durable everywhere (by 1 or 2), or its writer is a closed
// transaction. The record of such a writer lies earlier in the worker's own log. A transaction that
// is not closed is safe when its GSN <= the CSN.
//
// The paper lacks rule 2. Let T1 read from a remote transaction that is not durable, and T2 read
// from T1, in T1's log. Then T1 waits for the remote log, and T2 is acknowledged first. After a
// crash that loses the remote record, T1 must not survive (R4). So either T2 is lost too, or T2
// survives and has read a version that does not exist. --ack=unsafe is the rule as published.
//
// Cut. A closed transaction carries kClosed. Its record survives anywhere in the valid bytes of its
// stream, if all noted bases before it are met. Other records survive up to the least of the
// streams' last watermarks (R4: min_cut_or_closed()). The records of a transaction lie in one
// stream in their order, and its last record has the largest number (R2). The last writer wins by
// GSN, because numbers grow along overwrites (R3). If a transaction that is not closed has the
// number N, the writing thread notifies the streams whose watermark is below N (R5).
//
// Protocol. floors.h, chunk_scheme.h and buffer_chunks.h have theirs. The places in the ring order
// the accesses of the floors, see above.
//   open   of a worker: the largest number of its transactions that are not closed. The worker
//          stores it (relaxed) before it publishes the record. A thread that passes the record's
//          chunk has acquired the chunk, so it sees this number or a larger number.
//   All else in WorkerLog belongs to the worker.
#include "logging/schemes/common/chunk_scheme.h"
#include "logging/schemes/common/floors.h"
#include "logging/schemes/common/scheme_flags.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkerBits = 10;

class Rfa final : public MarkedWrites {
 public:
  explicit Rfa(const LogConfig& config)
      : MarkedWrites(config),
        transitive_(!acknowledges_unsafely()),
        workers_(config.workers),
        floors_(streams(), kNumber << 12) {}

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    WorkerLog& me = workers_[worker];
    // All records of a transaction carry the same flag.
    if (!me.decided) me.closed = !deps.reads || rests_on_base(worker, relies_on(me, deps));
    me.decided = !deps.commits;
    const uint32_t index = home(worker);
    const auto [begin, waited] = take_place(worker, bytes);
    const uint64_t number =
        number_above(std::max({deps.max_number(), last_number(worker), floors_.of(index)}), worker);
    LogReservation hole = reservation(index, begin, bytes, number, waited);
    if (me.closed) {
      hole.flags = kClosed;
    } else if (deps.commits) {
      me.open.store(hole.sequence, platform::memory_order_relaxed);
      me.remote_waits.add();
      if (is_safe(deps.max_foreign)) me.false_waits.add();
    }
    return hole;
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    WorkerLog& me = workers_[worker];
    hand_over(worker, reservation.bytes, reservation.sequence);
    me.end = reservation.position + reservation.bytes;
    return me.closed ? end_of_log(worker)
                     : CommitPoint::in_every_stream(reservation.sequence, kEveryLogQueue);
  }

  CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) override {
    if (is_safe(deps.max_read)) return {};
    if (is_safe(relies_on(workers_[worker], deps))) return end_of_log(worker);
    if (raise_wanted(home(worker), deps.max_read)) notify_lagging(deps.max_read);
    return CommitPoint::in_every_stream(deps.max_read, kEveryLogQueue);
  }

  bool is_durable(const CommitPoint& point) const override {
    return is_in_log(point) ? point.sequence <= stream_of(point).durable()
                            : MultiStreamScheme::is_durable(point);
  }
  void wait_durable(uint32_t worker, const CommitPoint& point) override {
    if (is_in_log(point)) return stream_of(point).wait(worker, point);
    MultiStreamScheme::wait_durable(worker, point);
  }

  Counters counters() const override {
    return ChunkScheme::counters().add({{"remote_waits", workers_.total(&WorkerLog::remote_waits)},
                                        {"false_waits", workers_.total(&WorkerLog::false_waits)}});
  }

 private:
  enum Queue : uint8_t { kEveryLogQueue, kOwnLogQueue };

  // The low bits of a number are its worker's number, so numbers grow by steps of kNumber.
  static constexpr uint64_t kNumber = 1 << kWorkerBits;

  struct WorkerLog {
    bool decided = false;  // `closed` is set, and the commit record is not reserved yet
    bool closed = false;
    uint64_t base = 0, end = 0;  // `end` is the end of the last record, in the stream
    platform::atomic<uint64_t> open{0};
    // `remote_waits` counts the commits that wait for all logs. `false_waits` counts the ones among
    // them that read only durable rows from remote logs.
    platform::Counter remote_waits, false_waits;
  };

  static uint64_t number_above(uint64_t above, uint32_t worker) {
    return (above | (kNumber - 1)) + 1 + worker;
  }
  bool is_safe(uint64_t number) const { return is_durable(CommitPoint::in_every_stream(number)); }

  // Returns the point at which the worker's log is durable up to its end. Such a point has an index
  // after those of the streams.
  CommitPoint end_of_log(uint32_t worker) const {
    return CommitPoint::in_stream(streams() + worker, workers_[worker].end, kOwnLogQueue);
  }
  bool is_in_log(const CommitPoint& point) const {
    return point.scope == CommitPoint::Scope::kStream && point.index >= streams();
  }
  Stream& stream_of(const CommitPoint& point) const {
    return stream(home(point.index - streams()));
  }

  // Returns a number. If all records with numbers up to it are durable, the transaction needs only
  // its own log.
  uint64_t relies_on(const WorkerLog& me, const Dependencies& deps) const {
    if (!transitive_) return deps.max_foreign;
    const uint64_t open = me.open.load(platform::memory_order_relaxed);
    return std::min(deps.max_read, std::max(deps.max_foreign, open));
  }
  // Returns whether the base of the worker's log is at least `number`. May note a larger base.
  bool rests_on_base(uint32_t worker, uint64_t number) {
    if (number > workers_[worker].base && is_safe(number)) note_base(worker);
    return number <= workers_[worker].base;
  }
  // Notes a larger base. Loads the positions after all durable numbers. So if a stream has a noted
  // base before the position that another base has for it, the other base has larger positions.
  void note_base(uint32_t worker) {
    const uint32_t index = home(worker);
    workers_[worker].base = global_durable_sequence();
    if (streams() == 1) return;
    std::vector<uint64_t> positions(streams());
    for (uint32_t s = 0; s < streams(); ++s) positions[s] = durable_sequence_end(s);
    positions[index] = take_place(worker, watermark_body_bytes()).begin;
    write_watermark_body(index, positions[index], 0, positions);
    hand_over(worker, watermark_body_bytes(), last_number(worker));
    count_watermark();
  }

  // Returns a number of the chunk's worker. Closed transactions wait for no watermark.
  uint64_t number_awaited(const BufferChunk& chunk) const override {
    return workers_[chunk.owner].open.load(platform::memory_order_relaxed);
  }
  uint64_t advance_watermark(uint32_t index, BufferChunks& chunks, uint64_t patience) override
      LJ_REQUIRES(chunks.passing()) {
    const uint64_t floor = floors_.raise(index);
    if (chunks.append_watermark(floor)) {
      raise_watermark(index, floor);
    } else {
      chunks.close();
    }
    return patience;
  }

  const bool transitive_;
  WorkerStates<WorkerLog> workers_;
  Floors floors_;
};

const SchemeRegistration registration(device_scheme({
    .name = "rfa",
    .differs = "without --ack=unsafe, a read from the own log counts as local only if it needs no "
               "other log, and a log says on its device how far the others were durable; a group "
               "committer for each device, where LeanStore has one that writes all logs to one "
               "file; a log is acknowledged when the committer has written it, not when it has "
               "written all; dependencies by row, not by page",
    .buffer = "private, handed to its device's committer",
    .sequence = "GSN: over reads, overwrites, floor; names the worker",
    .safe_when = "closed: own log durable; else GSN <= CSN",
    .cut = "least last watermark; closed beyond it kept",
    .source = "Haubenschild et al. 2020; LeanStore",
    .traits = {.worker_bits = kWorkerBits},
    .may_have = kEveryPart,
    .recovery = min_cut_or_closed("GSN"),
    .construct = construct<Rfa>,
    .check_flags = check_ack_flag,
    .unsafe = unsafe_ack_flag,
    .flags = {"ack"},
}));

}  // namespace
}  // namespace logjam

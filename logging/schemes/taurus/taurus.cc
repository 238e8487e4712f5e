// `taurus`: several logs, and an LSN vector for each transaction, which says how far each log must
// be durable before the transaction is safe (Xia et al., Taurus, VLDB 2020). A transaction waits
// for the records that it depends on, and not for all records with smaller numbers. There is a log
// for each device, with an equal share of the workers.
//
// Buffer. A worker draws its place by a fetch-and-add. Before the draw it stores a bound for its
// place (its allocated LSN), and after the copy it says that the place is filled (its filled LSN).
// A log is filled up to the least place of a worker that has not filled it (DBx1000_logging,
// storage/log.cpp, tryFlush). nvm/open_holes.h has both words in one, and the proof.
//
// Sequence number (GSN). It is larger than the numbers that the transaction reads and overwrites,
// and than all earlier GSNs of its log. The paper has no GSN, and replays in an order that the
// vectors allow. Here the last writer wins by GSN, because numbers grow along overwrites (R3).
//
// Vector. V(T) has the end of a record in each log. In T's own log this is the end of T's record.
// In another log it is the largest position in the vectors of the rows that T reads and overwrites
// (logging/row_vectors.h). The rows that T changes get V(T). So V(T) is at least V(D) if T depends
// on D, and by induction V(T) covers all records that T depends on indirectly.
//
// Log. T's record carries V(T) without the positions that its place in the log implies:
//   * the position in T's own log: it is the end of T's record;
//   * positions up to those of an *anchor* that lies before T's record in T's log. An anchor is a
//     watermark record with, for each other log, a record's end up to which that log was durable.
// This is the paper's compression. A worker that commits appends an anchor before its record, in
// the same hole, when its log has grown enough (anchors.h).
//
// Safe when every log is durable up to V(T). Then T's record and all that V(T) covers are durable
// (R1). If the positions in other logs are durable when T publishes, T waits for its own log alone.
// Other transactions wait in their worker's dependency queue, in the order of their commits, for
// the largest vector so far, as in the paper. A transaction that wrote nothing follows the same
// rules, without a record. A checkpoint, which has no vector, takes the ends of all logs.
//
// Cut. A record is used if its vector is met, and all anchors before it are (met_vectors() has the
// proof of R4). The positions of an acknowledged transaction were durable, so its vector is met
// after a crash (R1). Its records are in one log, and count with its commit record, which has the
// vector (R2). With one log all vectors are empty.
//
// Idle logs stall no other log (R5): a vector has no position beyond a log's last record. The last
// record is flushed by its log's flusher, or by a worker that waits for it.
//
// Protocol. A position in a vector is visible with the version of the row (row_vectors.h). The end
// of a log is loaded (acquire) after the versions that it must cover. A worker takes its vector and
// looks at its log's anchors before it takes its position in the log.
#include "logging/row_vectors.h"
#include "logging/schemes/aether/dependency_scheme.h"
#include "logging/schemes/aether/gsn_clock.h"
#include "logging/schemes/nvm/open_holes.h"
#include "logging/schemes/taurus/anchors.h"

namespace logjam {
namespace {

using Vector = std::vector<uint64_t>;  // a position for each log

class Taurus final : public DependencyScheme {
 public:
  explicit Taurus(const LogConfig& config)
      : DependencyScheme(config), vectors_(streams()), workers_(config.workers) {
    for (uint32_t s = 0; s < streams(); ++s) {
      const std::vector<uint32_t> workers = workers_of(s);
      const auto count = static_cast<uint32_t>(workers.size());
      logs_.push_back(std::make_unique<StreamLog>(count, *this, s));
      for (uint32_t i = 0; i < count; ++i) workers_[workers[i]].nth = i;
    }
    for (uint32_t worker = 0; worker < config.workers; ++worker) {
      workers_[worker].vector.resize(streams());
      workers_[worker].goal.resize(streams());
    }
  }

  CommitParts parts() override { return {.row_vectors = &vectors_}; }

  uint64_t max_record_bytes() const override {
    return MultiStreamScheme::max_record_bytes() - watermark_body_bytes() -
           streams() * sizeof(uint64_t);
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps,
                         uint32_t bytes) override LJ_NOT_ANALYSED {  // keeps an anchor's lock
    WorkerState& me = workers_[worker];
    const uint32_t own = home(worker);
    StreamLog& log = *logs_[own];
    me.words.clear();
    bool anchors = false;
    if (deps.commits) {
      take_vector(me, deps);
      encode_vector(me, own);
      anchors = log.anchors.begin([&](uint32_t s) { return end_of(s); },
                                  [&](uint32_t s) { return stream(s).durable(); });
    }
    const uint32_t before = anchors ? watermark_body_bytes() : 0;
    bytes += static_cast<uint32_t>(me.words.size() * sizeof(uint64_t));
    me.bytes = before + bytes;
    const uint64_t begin = log.holes.reserve(me.nth, me.bytes).number;
    const uint64_t waited = stream(own).wait_for_space(begin + me.bytes);
    const uint64_t gsn = log.clock.next(deps.max_number());
    if (anchors) {
      log.anchors.finish(begin, [&, at = begin](const Vector& positions) {
        write_watermark_body(own, at, gsn, positions);
        count_watermark();
      });
    }
    me.vector[own] = begin + me.bytes;
    if (deps.commits && deps.vector != nullptr) deps.vector[own] = me.vector[own];
    LogReservation hole = reservation(own, begin + before, bytes, gsn, waited);
    hole.vector = me.words;
    return hole;
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override {
    WorkerState& me = workers_[worker];
    const CommitPoint point =
        commits(role)
            ? point_of(worker)
            : CommitPoint::in_stream(reservation.stream, me.vector[reservation.stream], kOwnLog);
    logs_[reservation.stream]->holes.filled(me.nth);
    return point;
  }

  CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) override {
    take_vector(workers_[worker], deps);
    return point_of(worker);
  }

  Counters counters() const override {
    Counters all = MultiStreamScheme::counters();
    all.add({{"remote_waits", workers_.total(&WorkerState::remote_waits)},
             {"vector_bytes", workers_.total(&WorkerState::entries) * sizeof(uint64_t),
              workers_.total(&WorkerState::commits)}});
    return all;
  }

 private:
  static constexpr uint8_t kOwnLog = 1;  // the other queue is DependencyQueue's

  struct StreamLog {
    StreamLog(uint32_t workers, const Taurus& all, uint32_t index)
        : holes(workers), anchors(index, all.streams(), all.watermark_body_bytes()) {}

    OpenHoles holes;
    alignas(platform::kCacheLine) platform::atomic<uint64_t> filled{0};
    GsnClock clock;
    Anchors anchors;
  };
  struct WorkerState {
    uint32_t nth = 0;  // the worker's number among the workers of its log
    // Valid between reserve() and publish():
    Vector vector, words;  // words: the entries of the vector that the record carries
    uint32_t bytes = 0;

    Vector goal;  // the largest vector that was pushed
    platform::Counter commits, entries, remote_waits;
  };

  uint64_t filled(uint32_t index) override {
    StreamLog& log = *logs_[index];
    platform::atomic_max(log.filled, log.holes.look());  // others may have looked later
    return log.filled.load(platform::memory_order_acquire);
  }
  uint64_t end_of(uint32_t s) const { return logs_[s]->holes.reserved(); }

  void take_vector(WorkerState& me, const Dependencies& deps) const {
    const bool depends = deps.max_number() != 0;
    for (uint32_t s = 0; s < streams(); ++s) {
      me.vector[s] = deps.vector != nullptr ? deps.vector[s] : depends ? end_of(s) : 0;
    }
  }
  void encode_vector(WorkerState& me, uint32_t own) const {
    me.commits.add();
    for (uint32_t s = 0; s < streams(); ++s) {
      if (s == own || me.vector[s] <= logs_[own]->anchors.position(s)) continue;
      me.words.push_back(VectorWord::encode(s, me.vector[s], !me.words.empty()));
      me.entries.add();
    }
  }
  CommitPoint point_of(uint32_t worker) {
    WorkerState& me = workers_[worker];
    const uint32_t own = home(worker);
    bool remote = false;
    for (uint32_t s = 0; s < streams(); ++s) {
      remote = remote || (s != own && me.vector[s] > stream(s).durable());
    }
    if (!remote) return CommitPoint::in_stream(own, me.vector[own], kOwnLog);
    me.remote_waits.add();
    for (uint32_t s = 0; s < streams(); ++s) me.goal[s] = std::max(me.goal[s], me.vector[s]);
    return CommitPoint::in_dependency_queue(worker, queue(worker).push(me.goal, 0));
  }

  RowVectors vectors_;
  std::vector<std::unique_ptr<StreamLog>> logs_;
  WorkerStates<WorkerState> workers_;
};

const SchemeRegistration registration(device_scheme({
    .name = "taurus",
    .differs = "values alone; a number orders writes, and replay follows it; a worker's allocated "
               "and filled LSN are one word; a worker waits for room, where Taurus' aborts; "
               "vectors of rows lie in a table at a hash, without an eviction; readers leave no "
               "vector, which values do not need",
    .buffer = "fetch-add in each; an allocated and a filled LSN per worker",
    .sequence = "GSN: over reads, overwrites, log",
    .flushed_by = "leader or daemon each",
    .safe_when = "every log durable up to its LSN vector",
    .cut = "by record: its LSN vector is met",
    .source = "Xia et al. 2020",
    .recovery = met_vectors(),
    .construct = construct<Taurus>,
}));

}  // namespace
}  // namespace logjam

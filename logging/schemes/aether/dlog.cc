// `dlog-s`, `dlog-r`: a log for each socket, with Aether's CD buffer in each (Aether, sections 7.2
// to 7.4). A transaction writes to one log. In `dlog-s` this is the log of the worker's socket. In
// `dlog-r` it is a log chosen at random for each transaction.
//
// Sequence number. Each log has a Lamport clock, which gives the transaction its GSN. The GSN is
// larger than the numbers of the rows that the transaction reads and overwrites, and larger than
// all earlier GSNs of its log. A commit raises the clocks of the other logs too (7.3.3). A row's
// writers have growing GSNs, so the last writer wins by GSN (R3). Within a log, GSNs need not grow
// with positions.
//
// Tails. When a commit record has its position, the worker loads the *tails*: the positions up to
// which the logs are reserved. It writes the tails into a *sync record* (a watermark record whose
// body is the tails) after the commit record, in the same hole. The paper records time stamps in
// place of positions, and makes the logs durable up to the transaction's own stamp. This stamp may
// be smaller than the recorded stamps, so recovery would need records for which no commit waited.
//
//   (1) Let T depend on D. D was reserved, and D's tails were read, before D's versions could be
//       seen, so before T reserves. Hence D lies below T's tails, and D's tails are no larger than
//       T's. The same holds for every record that D depends on in turn.
//   (2) Let T be reserved later than T' in the same log, whether T depends on T' or not. Then (1)
//       also holds for T and each D on which T' depends: D's tails were read before T' reserved.
//
// Safe when every log is durable up to the transaction's tails. Then its sync record is durable,
// and so are the records that it depends on (R1). A transaction that wrote nothing waits for the
// tails of the moment when it commits. But it need not wait if its reads have numbers up to a
// *bound* whose tails are durable. A worker loads the bound, which is the least of the clocks,
// before it loads the tails (load_tails()). So when the tails are durable, all versions with
// numbers up to the bound are safe.
//
// Cut. A sync record is *met* if its tails lie within the valid bytes of all logs. Recovery uses
// each log up to its last sync record that is met. All records of acknowledged transactions are
// before this sync record. By (1) and (2), a record before this sync record depends only on records
// whose tails are no larger. Hence these records are before a met sync record of their log (R4).
// The records of a transaction are in one log, and count with its commit record (R2). With one log
// there are no sync records.
//
// Idle logs stall no other log (R5), because their tails are durable. Records in an idle log are
// flushed by its flusher, or by a waiting worker.
//
// Protocol. A worker draws a GSN after it has read the tails, which come from AetherBuffer. So it
// reads the tails before its versions, which have this GSN, can be seen, as (1) requires.
#include "logging/schemes/aether/aether_buffer.h"
#include "logging/schemes/aether/dependency_scheme.h"
#include "logging/schemes/aether/gsn_clock.h"

namespace logjam {
namespace {

enum class Placement : uint8_t { kSocket, kRandom };

template <Placement placement>
class Dlog final : public DependencyScheme {
 public:
  explicit Dlog(const LogConfig& config)
      : DependencyScheme(config, kWriters), workers_(config.workers) {
    if (streams() > 1) sync_bytes_ = watermark_body_bytes();
    for (uint32_t s = 0; s < streams(); ++s) {
      logs_.push_back(std::make_unique<StreamLog>(config, stream(s)));
    }
    for (uint32_t worker = 0; worker < config.workers; ++worker) {
      WorkerState& me = workers_[worker];
      me.random = platform::Lcg(worker + 1);
      me.home = placement == Placement::kSocket ? config.socket_of(worker) : pick_log(me);
      me.tails.resize(streams());
      me.goal.resize(streams());
    }
  }

  uint64_t max_record_bytes() const override {
    return MultiStreamScheme::max_record_bytes() - sync_bytes_;
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    WorkerState& me = workers_[worker];
    me.commits = deps.commits;
    me.bytes = bytes + (deps.commits ? sync_bytes_ : 0);
    const auto [begin, waited] = logs_[me.home]->buffer.reserve(worker, me.bytes);
    if (deps.commits) me.bound = load_tails(logs_, me.tails);
    me.tails[me.home] = begin + me.bytes;
    const uint64_t gsn = logs_[me.home]->clock.next(deps.max_number());
    if (deps.commits && sync_bytes_ != 0) {
      for (const auto& log : logs_) log->clock.raise(gsn);
      write_watermark_body(me.home, begin + bytes, gsn, me.tails);
      me.syncs.add();
    }
    return reservation(me.home, begin, bytes, gsn, waited);
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override {
    WorkerState& me = workers_[worker];
    const CommitPoint point = commits(role) ? CommitPoint::in_dependency_queue(
                                                  worker, queue(worker).push(me.tails, me.bound))
                                            : CommitPoint::in_stream(me.home, me.tails[me.home]);
    logs_[reservation.stream]->buffer.fill_done(worker, me.bytes);
    return point;
  }
  void after_publish(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    logs_[reservation.stream]->buffer.after_publish();
    WorkerState& me = workers_[worker];
    if (me.commits && placement == Placement::kRandom) me.home = pick_log(me);
  }

  CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) override {
    WorkerState& me = workers_[worker];
    if (deps.max_read <= queue(worker).bound()) return {};
    const uint64_t bound = load_tails(logs_, me.goal);
    return CommitPoint::in_dependency_queue(worker, queue(worker).push(me.goal, bound));
  }

  uint32_t home(uint32_t worker) const override { return workers_[worker].home; }

  Counters counters() const override {
    Counters all = MultiStreamScheme::counters();
    for (const auto& log : logs_) all.add(log->buffer.counters());
    const double syncs = workers_.total(&WorkerState::syncs);
    all.add({{"sync_records", syncs}, {"sync_record_bytes", syncs * sync_bytes_}});
    return all;
  }

 private:
  static constexpr Writers kWriters =
      placement == Placement::kSocket ? Writers::kOfSocket : Writers::kAll;

  struct StreamLog {
    StreamLog(const LogConfig& config, Stream& stream)
        : buffer(config, Consolidate::kTogether, stream) {}

    AetherBuffer<ReleaseInOrder> buffer;
    GsnClock clock;
  };
  struct WorkerState {
    uint32_t home = 0;  // the log of the current transaction
    platform::Lcg random;
    // Valid between reserve() and publish():
    bool commits = false;
    uint32_t bytes = 0;
    std::vector<uint64_t> tails;
    uint64_t bound = 0;

    std::vector<uint64_t> goal;  // the tails of a transaction that wrote nothing
    platform::Counter syncs;     // sync records written
  };

  uint64_t filled(uint32_t index) override { return logs_[index]->buffer.filled(); }
  uint32_t pick_log(WorkerState& me) const {
    return static_cast<uint32_t>(me.random.next() % streams());
  }

  uint32_t sync_bytes_ = 0;
  std::vector<std::unique_ptr<StreamLog>> logs_;
  WorkerStates<WorkerState> workers_;
};

template <Placement placement>
SchemeInfo info(std::string_view name, std::string_view streams) {
  return {
      .name = name,
      .differs =
          "a commit writes a record of its own with the tails of all logs, which are positions and "
          "not time stamps",
      .oversubscribed = ReleaseInOrder::kOversubscribed,
      .streams = streams,
      .buffer = "aether-cd's in each",
      .sequence = "GSN: over reads, overwrites, log (Lamport)",
      .flushed_by = "leader or daemon each",
      .safe_when = "every log durable up to the tails in its sync record",
      .cut = "last sync record whose tails are there",
      .source = "Aether 7.2-7.4",
      .may_have = {.unlock = true, .pace = kEveryPart.pace, .rounds = true},
      .recovery = last_met_cut("sync record"),
      .stream_count = [](uint32_t, const LogConfig& config) { return config.sockets; },
      .construct = construct<Dlog<placement>>,
      .check_flags = check_aether_flags,
      .flags = {"aether_slots"},
  };
}

const SchemeRegistration by_socket(info<Placement::kSocket>("dlog-s", "1 per socket"));
const SchemeRegistration at_random(info<Placement::kRandom>("dlog-r", "1 per socket, at random"));

}  // namespace
}  // namespace logjam

// `autonomous`: Autonomous Commit (Nguyen et al., SIGMOD 2025; LeanStore's branch `latency`):
// workers write the log themselves. Up to eight workers are a *stealing group*, with a log of its
// own. The number of bytes in a worker's private buffer decides which thread moves them to the log:
//
//   16 KiB and more   the worker moves its own records
//   4 to 16 KiB       the worker *steals*: it moves the records of all workers of its group, its
//                     own first, so that one write commits for many workers
//   less              the records wait for the next write of the group, which --flush asks for
//
// A worker that has moved records starts the write at once, and does not wait for it. A write takes
// the remaining records of its own group (group_log.h), and no thread takes those of all workers.
//
// --test=autonomous_steal_bytes:N replaces 4 KiB by N bytes, and 16 KiB by 4 N bytes.
//
// In LeanStore's code (log_worker.cc, SubmitActiveLogEntry) the two cases are exchanged: the answer
// TO_STEAL makes WorkerStealsLog() write only the worker's own log. Here they are as in the names
// of the answers and in the comments of that code.
//
// Sequence number (GSN). It is larger than the numbers of the rows that the transaction reads and
// overwrites, than the worker's last number, and than the stream's floor. Numbers do not grow along
// the stream.
//
// Safe when. In the paper each worker publishes its state, and the least of these states decides.
// Here a group has one state for all its workers, a watermark record at the end of each write. A
// watermark of number C states that all records of the stream with numbers up to C lie before the
// watermark record, and that later records have larger numbers. A transaction is safe when the last
// durable watermark of every stream is at least its GSN. All records that the transaction depends
// on have smaller numbers, in whatever stream (R1).
//
// The thread that appends a watermark
//   1 raises the stream's floor to C, the largest number that a commit waits for;
//   2 for each worker of the stream, looks at the number of the worker's open record (or a bound),
//     and then moves to the log all records that the worker has handed over;
//   3 appends the watermark of the smaller of two numbers: C, and the number before the least open
//     number. If the ring has no room for all records, the thread appends no watermark.
// A record may be handed over after step 2 has looked at its worker. If the record was open then,
// its number is at least the number that the thread saw. If not, its number was drawn after the
// floor was raised, and exceeds C. In both cases the watermark is smaller than the number.
//
// Cut: the smallest of the streams' last watermarks (R4: min_cut()). A transaction's records lie in
// one stream in their order, and the last record has the largest number (R2). The last writer wins
// by GSN, because numbers grow along overwrites (R3).
//
// Idle streams. A stream may have nothing to write, and a watermark that is smaller than a number
// that a commit waits for. Then it writes only a watermark record (R5). A worker without an open
// record delays no stream.
//
// Protocol.
//   floor      A thread stores the floor under `advancing`, fences, and looks at the workers. A
//              worker announces its bound, fences, and loads the floor. So the thread sees the
//              bound, or the worker draws a number above the floor.
//   wanted()   raised to a record's number before the record is handed over, so that a thread that
//              finds the record also finds its number in wanted().
#include "logging/schemes/autonomous/group_log.h"
#include "logging/schemes/common/watermark_scheme.h"
#include "platform/test_value.h"

namespace logjam {
namespace {

using platform::memory_order_relaxed;

constexpr uint64_t kStealBytes = uint64_t{4} << 10;
// Makes steals frequent in tests with few records.
const platform::TestValue given_steal_bytes("autonomous_steal_bytes");

class Autonomous final : public WatermarkScheme {
 public:
  explicit Autonomous(const LogConfig& config)
      : WatermarkScheme(config, config.workers), states_(config.workers) {
    const uint64_t given = given_steal_bytes.get(), steal_bytes = given == 0 ? kStealBytes : given;
    for (uint32_t s = 0; s < streams(); ++s) {
      const std::vector<uint32_t> workers = workers_of(s);
      const auto count = static_cast<uint32_t>(workers.size());
      logs_.push_back(std::make_unique<StreamLog>(stream(s), run(), count, steal_bytes));
      for (uint32_t i = 0; i < count; ++i) states_[workers[i]].nth = i;
    }
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    StreamLog& log = *logs_[home(worker)];
    WorkerState& me = states_[worker];
    const uint64_t least = std::max(deps.max_number(), me.last) + 1;
    const auto opened = log.group.open(me.nth, bytes, least, [&] {
      return me.last = std::max(least, log.floor.load(memory_order_relaxed) + 1);
    });
    return {.sequence = me.last,
            .position = kPlacedLater,
            .hole = opened.memory,
            .bytes = bytes,
            .stream = home(worker),
            .waited_ticks = opened.waited_ticks};
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override {
    if (commits(role)) raise_wanted(worker, reservation.sequence);
    WorkerState& me = states_[worker];
    me.writes = logs_[reservation.stream]->group.publish(me.nth, reservation.bytes);
    return CommitPoint::in_every_stream(reservation.sequence);
  }
  void after_publish(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    if (states_[worker].writes) stream(reservation.stream).poll(Flush::kNow);
  }

  Counters counters() const override {
    Counters all = MultiStreamScheme::counters();
    for (const auto& log : logs_) all.add(log->group.counters());
    return all;
  }

 private:
  struct StreamLog {
    StreamLog(Stream& stream, uint64_t run, uint32_t workers, uint64_t steal_bytes)
        : group(stream, run, workers, steal_bytes) {}

    GroupLog group;
    alignas(platform::kCacheLine) platform::atomic<uint64_t> floor{0};
    alignas(platform::kCacheLine) platform::SpinLock advancing;
  };

  struct WorkerState {
    uint32_t nth = 0;     // the worker's number in its group
    uint64_t last = 0;    // the worker's last GSN
    bool writes = false;  // the worker has moved records with its last publish
  };

  // Counts also the records that workers have handed over and that are not in the log yet, because
  // a write moves these records first.
  uint64_t filled(uint32_t index) override {
    StreamLog& log = *logs_[index];
    const uint64_t unwritten = log.group.unwritten(), filled = log.group.filled();
    const bool quiet = unwritten == 0 && filled == stream(index).durable();
    if (!quiet || !lags(index) || !log.advancing.try_lock()) return filled + unwritten;
    advance(index, log);
    log.advancing.unlock();
    return log.group.filled();
  }
  uint64_t filled_to_write(uint32_t index, uint64_t) override {
    StreamLog& log = *logs_[index];
    log.advancing.lock();
    const uint64_t most = advance(index, log);
    log.advancing.unlock();
    // Commits up to `most` have already waited for this stream's timer (--flush=us:T). So they must
    // not also wait for the timers of other streams.
    notify_lagging_flushers(
        most, [&](uint32_t s) { return s == index ? most : watermark(s); }, Flush::kNow);
    return log.group.filled();
  }

  // Moves all records to the log, and appends a watermark. Returns the number that the watermark
  // should reach.
  uint64_t advance(uint32_t index, StreamLog& log) LJ_REQUIRES(log.advancing) {
    const uint64_t most = std::max(log.floor.load(memory_order_relaxed), wanted());
    log.floor.store(most, memory_order_relaxed);
    platform::full_fence();
    const uint64_t below = std::min(log.group.take_all(), most + 1);
    if (below <= watermark(index) + 1) return most;
    log.group.append(kWatermarkBytes, [&](uint64_t begin) {
      write_watermark_body(index, begin, below - 1, {});
      record_durable_sequence(index, begin + kWatermarkBytes, below - 1);
      raise_watermark(index, below - 1);
    });
    return most;
  }

  WorkerStates<WorkerState> states_;
  std::vector<std::unique_ptr<StreamLog>> logs_;
};

const SchemeRegistration registration({
    .name = "autonomous",
    .differs =
        "a stealing group has a file, a ring and a flush lead, where each of LeanStore's "
        "workers writes its own buffer to a place in one file, and waits for this write; a "
        "write takes the rest of its group; a thief passes over buffers that another copies; "
        "the state of a group is a watermark record in its log; records below 4 KiB are "
        "written as --flush says; numbers in place of a clock; no remote flush avoidance",
    .streams = "1 per 8 workers",
    .buffer = "private; moved by its worker, or stolen",
    .sequence = "GSN: over reads, overwrites, worker",
    .flushed_by = "workers, each for 8; leader, daemon",
    .safe_when = "GSN <= every stream's watermark",
    .cut = "least last watermark",
    .source = "Nguyen et al. 2025; LeanStore",
    .may_have = {.unlock = true, .pace = kEveryPart.pace, .rounds = true},
    .recovery = min_cut(&StreamTail::last_watermark, "GSN"),
    .stream_count =
        [](uint32_t, const LogConfig& config) {
          return (config.workers + GroupLog::kMembers - 1) / GroupLog::kMembers;
        },
    .construct = construct<Autonomous>,
});

}  // namespace
}  // namespace logjam

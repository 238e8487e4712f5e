// `dlog-s`, `dlog-r`: a log for each socket, with Aether's CD buffer in each (Aether, sections 7.2
// to 7.4). A transaction writes to one log: its socket's, or one drawn at random for each.
// --sockets=N pretends.
//
// Sequence number. GSN, a Lamport clock: larger than what is read, what is overwritten, and the
// log's own last, to which the log's clock is then raised; a commit raises the other logs' clocks
// too (7.3.3). Overwriting follows it, so the last writer wins by GSN (R3). In a log the numbers of
// records that were reserved at once need not follow their positions.
//
// Tails. When a transaction's commit record has its place, the worker looks how far all logs are
// reserved, and says so in a *sync record* behind it, in the same hole. The paper records time
// stamps, and makes the logs durable up to the transaction's own, which may be smaller than those:
// recovery would then miss what nobody waited for. Positions are what both can compare.
//
//   (1) What a transaction depends on was reserved, and its tails were read, before its versions
//       could be seen, so before this one reserves. Hence it lies below this one's tails, and its
//       tails are no larger, and so for all that it depends on in turn.
//   (2) The same holds for a transaction that is reserved later in the same log, dependent or not:
//       what an earlier one depends on had its tails before.
//
// Safe when every log is durable up to the transaction's tails: its own sync record is, and what it
// depends on, with sync records that are met (R1). One that wrote nothing takes the tails of when
// it commits, unless a bound tells that it need not wait: before the worker looks at the tails it
// looks at the clocks, and whatever has a GSN up to the least of these had its tails before. So
// when they are durable, all versions up to that number are safe.
//
// Cut. Each log is used up to the last sync record whose tails are within what is valid of all
// logs. All that was acknowledged is before it. What is before it may depend only on what has no
// larger tails than it, by (1) and (2), so is before a sync record that is met, in whatever log
// (R4). The records of a transaction are in one log, and count with its commit record (R2).
//
// With one log nothing needs to be synchronised: no sync records, all up to the first gap.
//
// Idle logs hold up nobody (R5): their tails are durable. What somebody published there their own
// flushers flush, or whoever waits. A worker that is descheduled between reserve and publish holds
// up later ones in its log (aether_cd.cc), and in other logs those that are reserved after it:
// their tails are behind its hole.
//
// Protocol. `clock` only grows, by compare-and-swap: who loads (acquire) a number has behind it
// all that drew one up to it. A GSN is drawn after the tails were read; the tails come from
// AetherBuffer. Member and the producer's side of its queue are their worker's; queues are asked by
// anyone. Points: {n, streams() + w}, the n-th in worker w's queue; {kPositions + p, s}, position p
// of stream s; a ticket's number is no point, and never durable.
#include <algorithm>
#include <cstring>
#include <string>

#include "logging/buffer/tail_queue.h"
#include "logging/schemes/aether_buffer.h"
#include "logging/schemes/many_streams.h"

namespace logjam {
namespace {

using platform::memory_order_acq_rel;
using platform::memory_order_acquire;
using platform::memory_order_relaxed;

enum class Placement : uint8_t { kSocket, kRandom };

class Dlog final : public ManyStreams {
 public:
  Dlog(const LogConfig& config, Placement placement)
      : ManyStreams(config), run_(config.run), placement_(placement) {
    if (streams() > 1) sync_bytes_ = sizeof(RecordHeader) + streams() * sizeof(uint64_t);
    for (uint32_t s = 0; s < streams(); ++s) {
      logs_.push_back(std::make_unique<SocketLog>(config, stream(s)));
    }
    for (uint32_t worker = 0; worker < config.workers && streams() > 0; ++worker) {
      Member& me = *members_.emplace_back(std::make_unique<Member>(streams()));
      me.random = worker + 1;
      me.home = placement == Placement::kSocket ? config.socket_of(worker) : draw_log(me);
    }
  }

  Traits traits() const override {
    return {
        .streams = streams(), .flushers = streams(), .serial_order = streams() <= 1, .unsafe = ""};
  }
  uint64_t max_record_bytes() const override {
    return streams() == 0 ? 0 : ManyStreams::max_record_bytes() - sync_bytes_;
  }

  Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    Member& me = *members_[worker];
    me.commits = deps.commits;
    me.bytes = bytes + (deps.commits ? sync_bytes_ : 0);
    const uint64_t begin = logs_[me.home]->buffer.reserve(worker, me.bytes);
    if (deps.commits) me.bound = look_at_all(me.tails);
    me.tails[me.home] = begin + me.bytes;
    const uint64_t gsn = draw(me.home, std::max(deps.max_read, deps.max_overwritten));
    if (deps.commits && sync_bytes_ != 0) {
      for (const auto& log : logs_) raise(log->clock, gsn);
      write_sync(me, begin + bytes, gsn);
      me.syncs.store(me.syncs.load(memory_order_relaxed) + 1, memory_order_relaxed);
    }
    return ticket(me.home, begin, bytes, gsn);
  }

  Point publish(uint32_t worker, const Ticket& ticket, bool, bool commits) override {
    Member& me = *members_[worker];
    Point point{kPositions + me.tails[me.home], me.home};
    if (commits) point = {me.queue.push(me.tails, me.bound), streams() + worker};
    logs_[ticket.stream]->buffer.publish(worker, me.bytes, commits);
    if (me.commits && placement_ == Placement::kRandom) me.home = draw_log(me);
    return point;
  }

  Point observe(uint32_t worker, const Dependencies& deps) override {
    Member& me = *members_[worker];
    if (deps.max_read <= me.queue.bound()) return {};
    const uint64_t bound = look_at_all(me.goal);
    return {me.queue.push(me.goal, bound), streams() + worker};
  }

  bool is_durable(const Point& point) const override {
    if (point.sequence == 0) return true;
    const auto durable = [&](uint32_t s) { return stream(s).durable(); };
    if (point.stream < streams()) return point.sequence - kPositions <= durable(point.stream);
    return members_[point.stream - streams()]->queue.met(point.sequence, durable);
  }

  void wait_durable(uint32_t worker, const Point& point) override {
    if (point.stream < streams()) return stream(point.stream).wait(worker, point);
    std::vector<uint64_t>& goal = members_[worker]->goal;
    while (!is_durable(point)) {
      members_[point.stream - streams()]->queue.tails_of(point.sequence, goal);
      wait_for_each(worker, [&](uint32_t s) { return Point{kPositions + goal[s], s}; });
    }
  }

  Counters counters() const override {
    Counters all = ManyStreams::counters();
    for (const auto& log : logs_) all.add(log->buffer.counters());
    double syncs = 0;
    for (const auto& member : members_) {
      syncs += static_cast<double>(member->syncs.load(memory_order_relaxed));
    }
    all.add({{"sync_records", syncs}, {"sync_record_bytes", syncs * sync_bytes_}});
    return all;
  }

  Cut cut(const std::vector<StreamTail>& tails) const override {
    if (tails.size() == 1) return {.bytes = {tails[0].bytes}, .why = tails[0].why};
    Cut cut{.bytes = {}, .why = "last sync record that is met, at byte"};
    for (uint32_t s = 0; s < tails.size(); ++s) {
      cut.bytes.push_back(last_met(tails, s));
      cut.why += (s == 0 ? " " : ", ") + std::to_string(cut.bytes[s]) + " of " +
                 std::to_string(tails[s].bytes) + " in stream " + std::to_string(s);
    }
    return cut;
  }
  bool survives(const RecordHeader&, uint32_t, const Cut&) const override { return true; }

 private:
  static constexpr uint64_t kPositions = uint64_t{1} << 63;

  struct SocketLog {
    SocketLog(const LogConfig& config, Stream& stream)
        : buffer(config, Consolidate::kTogether, stream) {}

    AetherBuffer<ReleaseInOrder> buffer;
    alignas(platform::kCacheLine) platform::atomic<uint64_t> clock{0};
  };
  struct alignas(platform::kCacheLine) Member {
    explicit Member(uint32_t logs) : tails(logs), goal(logs), queue(logs) {}

    uint32_t home = 0;  // the log of this transaction
    uint64_t random = 0;
    // Between reserve and publish.
    bool commits = false;
    uint32_t bytes = 0;
    std::vector<uint64_t> tails;
    uint64_t bound = 0;

    std::vector<uint64_t> goal;  // of a wait
    TailQueue queue;
    platform::atomic<uint64_t> syncs{0};  // records
  };

  uint64_t filled(uint32_t index) override { return logs_[index]->buffer.filled(); }
  uint32_t home(uint32_t worker) const override { return members_[worker]->home; }

  uint32_t draw_log(Member& me) const {
    me.random = me.random * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>((me.random >> 33) % streams());
  }

  // Returns the least clock as it was before.
  uint64_t look_at_all(std::vector<uint64_t>& tails) const {
    uint64_t least = ~uint64_t{0};
    for (const auto& log : logs_) least = std::min(least, log->clock.load(memory_order_acquire));
    for (uint32_t s = 0; s < streams(); ++s) tails[s] = logs_[s]->buffer.reserved();
    return least;
  }

  uint64_t draw(uint32_t index, uint64_t deps) {
    platform::atomic<uint64_t>& clock = logs_[index]->clock;
    uint64_t seen = clock.load(memory_order_relaxed), gsn;
    do {
      gsn = std::max(seen, deps) + 1;
    } while (!clock.compare_exchange_weak(seen, gsn, memory_order_acq_rel, memory_order_relaxed));
    return gsn;
  }
  static void raise(platform::atomic<uint64_t>& clock, uint64_t gsn) {
    uint64_t seen = clock.load(memory_order_relaxed);
    while (seen < gsn &&
           !clock.compare_exchange_weak(seen, gsn, memory_order_acq_rel, memory_order_relaxed)) {
    }
  }

  void write_sync(const Member& me, uint64_t begin, uint64_t gsn) {
    std::byte* hole = stream(me.home).at(begin);
    RecordWriter record(hole, sync_bytes_, RecordKind::kMark, gsn, 0);
    std::memcpy(hole + sizeof(RecordHeader), me.tails.data(), sync_bytes_ - sizeof(RecordHeader));
    record.seal(run_, begin);
  }

  // The end of the last sync record of stream `s` that is met.
  static uint64_t last_met(const std::vector<StreamTail>& tails, uint32_t s) {
    const auto& batches = tails[s].mark_words;
    for (auto words = batches.rbegin(); words != batches.rend(); ++words) {
      for (size_t syncs = (*words)->size() / tails.size(); syncs > 0; --syncs) {
        const uint64_t* sync = &(**words)[(syncs - 1) * tails.size()];
        bool met = true;
        for (size_t i = 0; i < tails.size(); ++i) met = met && sync[i] <= tails[i].bytes;
        if (met) return sync[s];
      }
    }
    return 0;
  }

  const uint64_t run_;
  const Placement placement_;
  uint32_t sync_bytes_ = 0;
  std::vector<std::unique_ptr<SocketLog>> logs_;
  std::vector<std::unique_ptr<Member>> members_;
};

SchemeInfo info(std::string_view name, Placement placement) {
  const bool random = placement == Placement::kRandom;
  return {
      .name = name,
      .streams = random ? "1 per socket, at random" : "1 per socket",
      .buffer = "aether-cd's in each",
      .sequence = "GSN: over reads, overwrites, log (Lamport)",
      .flushed_by = "leader or daemon each",
      .safe_when = "every log durable up to the tails in its sync record",
      .cut = "last sync record whose tails are there",
      .source = "Aether 7.2-7.4",
      .stream_count = [](uint32_t, const LogConfig& config) { return config.sockets; },
      .make = [placement](
                  const LogConfig& config) { return std::make_unique<Dlog>(config, placement); },
  };
}

const SchemeRegistration by_socket(info("dlog-s", Placement::kSocket));
const SchemeRegistration at_random(info("dlog-r", Placement::kRandom));

}  // namespace
}  // namespace logjam

// Protocol. An Inserter's members are used by its thread alone, except for its counts and its
// histogram, which the thread writes and the main thread reads (relaxed; a reading may be slightly
// old). The fields of Control are relaxed too, because they publish no other memory: the threads
// are joined at the end, and the scheme orders the records that depend on another thread's sequence
// number.
#include "workloads/log_insert/log_insert.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/run/benchmark_threads.h"
#include "engine/run/commit_pipeline.h"
#include "logging/format/staged_record.h"
#include "platform/clock.h"
#include "platform/copy.h"
#include "platform/counter.h"
#include "platform/thread.h"
#include "platform/worker_class.h"
#include "workloads/log_insert/floor.h"

namespace logjam::log_insert {
namespace {

using platform::memory_order_relaxed;

// Without commits no thread waits for the records, but the buffer must still be flushed. So each
// thread polls the log after this many inserts.
constexpr uint64_t kInsertsPerPoll = 64;

struct Control : BenchmarkControl {
  // The sequence number of the last synchronising insert (Options::sync_every). It acts as a tuple
  // that all threads write.
  alignas(platform::kCacheLine) platform::atomic<uint64_t> last_sequence{0};
};

template <class Log>
class alignas(platform::kCacheLine) Inserter {
 public:
  Inserter(uint32_t id, const Options& options, Log& log, Control& control)
      : id_(id),
        options_(options),
        log_(log),
        control_(control),
        size_(options.sizes.first(id, options.threads)),
        source_(options.sizes.largest(), std::byte{0x5a}),
        own_(options.local ? options.sizes.largest() : 0),
        pipeline_(log, id, options.wait ? 0 : options.pipeline_depth) {}

  void run() {
    if (options_.pin) platform::pin_to_core(static_cast<int>(id_));
    if (options_.worker_class != nullptr) options_.worker_class->join();
    platform::name_this_thread("insert-" + std::to_string(id_));
    control_.gate.made_and_await_start();
    while (!control_.stop.load(memory_order_relaxed) &&
           (options_.inserts == 0 || inserted_ < options_.inserts)) {
      if (options_.logs_per_commit == 0) {
        insert(next_size(), RecordKind::kTransaction, false);
        if (options_.polls && inserted_ % kInsertsPerPoll == 0) log_.poll(id_);
      } else {
        transaction();
      }
    }
    control_.ended.fetch_add(1, memory_order_relaxed);
    if (options_.pin) platform::look_at_pin(static_cast<int>(id_));
    while (!pipeline_.empty()) {
      pipeline_.wait();
      acknowledge_durable();
    }
  }

  uint64_t inserts() const { return inserts_.value(); }
  uint64_t bytes() const { return bytes_.value(); }
  const Histogram& commit() const { return commit_; }

 private:
  struct PendingTransaction {
    CommitPoint point;
    uint64_t start;
  };

  uint32_t next_size() {
    const uint32_t bytes = options_.sizes.bytes[size_];
    if (++size_ == options_.sizes.bytes.size()) size_ = 0;
    return bytes;
  }

  // Inserts a transaction's records. The transaction is durable when its commit record is.
  void transaction() {
    const uint64_t start = platform::ticks();
    for (uint32_t i = 0; i < options_.logs_per_commit; ++i) {
      insert(next_size(), RecordKind::kOperation, false);
    }
    const CommitPoint point = insert(kCommitRecordBytes, RecordKind::kCommit, true);
    pipeline_.push({point, start});
    if (pipeline_.too_full()) {
      pipeline_.wait();
    } else {
      log_.poll(id_);
    }
    acknowledge_durable();
  }

  CommitPoint insert(uint32_t bytes, RecordKind kind, bool commits) {
    Dependencies deps{.commits = commits};
    const bool synchronises =
        options_.sync_every != 0 && inserted_ % options_.sync_every == options_.sync_every - 1;
    if (synchronises) deps.max_overwritten = control_.last_sequence.load(memory_order_relaxed);
    if (options_.seal) stage(bytes, kind);
    const LogReservation reservation = log_.reserve(id_, deps, bytes);
    if (options_.seal) {
      record_.fill(reservation, kind, uint64_t{id_} << 48 | inserted_, 0, options_.run);
    } else {
      platform::copy(options_.local ? own_.data() : reservation.hole, source_.data(), bytes);
      // The thread that places a record asks for its length.
      if (reservation.position == kPlacedLater) RecordWriter(reservation, RecordKind::kVoid, 0);
    }
    const CommitPoint point =
        log_.publish(id_, reservation, commits ? RecordRole::kCommit : RecordRole::kPart);
    if (synchronises) control_.last_sequence.store(reservation.sequence, memory_order_relaxed);
    ++inserted_;
    inserts_.add();
    bytes_.add(bytes);
    return point;
  }

  // Encodes a whole record. Its one write has a row that fills the record; a commit record has no
  // write.
  void stage(uint32_t bytes, RecordKind kind) {
    record_.start();
    if (kind == RecordKind::kCommit) return;
    const auto row_bytes =
        static_cast<uint32_t>(bytes - sizeof(RecordHeader) - sizeof(WriteHeader));
    record_.add({.header = {0, WriteOp::kUpdate, WriteImage::kAfter, row_bytes, inserted_},
                 .after = source_.data()});
  }

  void acknowledge_durable() {
    pipeline_.acknowledge_durable(
        [this](const PendingTransaction& txn) { commit_.record(platform::ticks() - txn.start); });
  }

  const uint32_t id_;
  const Options& options_;
  Log& log_;
  Control& control_;
  size_t size_;  // index in options_.sizes of the next record's size
  const std::vector<std::byte> source_;
  std::vector<std::byte> own_;
  StagedRecord record_;
  uint64_t inserted_ = 0;
  CommitPipeline<Log, PendingTransaction> pipeline_;
  platform::Counter inserts_, bytes_;
  Histogram commit_;
};

// All counts up to one moment.
struct Reading {
  uint64_t ns = 0, inserts = 0, bytes = 0;
  std::vector<uint64_t> inserts_of;  // by thread
  HistogramSum commit;
  platform::ProcessUse usage;
  Counters counters;
};

template <class Log>
Result drive(Log& log, const Options& options) {
  platform::ns_per_tick();  // calibrates now, not inside the run
  Control control;
  std::vector<std::unique_ptr<Inserter<Log>>> inserters;
  for (uint32_t id = 0; id < options.threads; ++id) {
    inserters.push_back(std::make_unique<Inserter<Log>>(id, options, log, control));
  }
  const auto read = [&] {
    Reading reading;
    for (const auto& inserter : inserters) {
      reading.inserts_of.push_back(inserter->inserts());
      reading.inserts += reading.inserts_of.back();
      reading.bytes += inserter->bytes();
      reading.commit.add(inserter->commit());
    }
    reading.counters = log.counters();
    reading.usage = platform::process_use();
    reading.ns = platform::now_ns();
    return reading;
  };
  const auto [before, after] =
      run_benchmark(inserters, control, options.warmup_seconds, options.seconds, read);

  Result result;
  result.seconds = static_cast<double>(after.ns - before.ns) * 1e-9;
  result.inserts = after.inserts - before.inserts;
  std::vector<uint64_t> inserts_of = after.inserts_of;
  for (uint32_t id = 0; id < options.threads; ++id) inserts_of[id] -= before.inserts_of[id];
  result.least_inserts = *std::ranges::min_element(inserts_of);
  result.most_inserts = *std::ranges::max_element(inserts_of);
  result.bytes = after.bytes - before.bytes;
  result.commit = after.commit.since(before.commit);
  result.commits = result.commit.count();
  result.usage = after.usage.since(before.usage);
  result.counters = after.counters.since(before.counters);
  return result;
}

}  // namespace

Result insert_into(LogScheme& scheme, const Options& options) { return drive(scheme, options); }

Result insert_into_floor(Floor floor, uint64_t ring_bytes, const Options& options) {
  if (floor == Floor::kFetchAdd) {
    FloorLog<true> log(options.threads, ring_bytes, options.pin);
    return drive(log, options);
  }
  FloorLog<false> log(options.threads, ring_bytes, options.pin);
  return drive(log, options);
}

}  // namespace logjam::log_insert

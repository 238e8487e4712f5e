// Protocol. Only the thread of an Inserter uses the Inserter's members, except for the counts and
// the histogram, which the thread writes and the main thread reads (relaxed; a reading may be
// slightly old). Control::last_sequence is relaxed too, because the scheme itself orders a record
// after an earlier record whose sequence number the thread has read in last_sequence.
#include "workloads/log_insert/log_insert.h"

#include <bit>
#include <charconv>
#include <memory>
#include <random>
#include <string_view>

#include "engine/run/benchmark_threads.h"
#include "engine/run/commit_pipeline.h"
#include "logging/format/record_writer.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/copy.h"
#include "platform/counter.h"
#include "platform/memory.h"
#include "platform/placement.h"
#include "platform/thread.h"
#include "platform/thread_annotations.h"
#include "platform/worker_class.h"

namespace logjam::log_insert {
namespace {

// Replaces the log in a measurement of the lowest cost that any log can have. FloorLog copies the
// same bytes as a log into the same kind of ring, and does little else. With kShared, all workers
// share one ring. Otherwise each worker has a ring of its own. The class has the functions of
// LogScheme that the benchmark calls, but not as virtual functions.
//
// Protocol. Only worker w accesses next_[w] and ring w. With kShared, workers take parts of the
// ring by fetch-and-add (relaxed). A worker may overwrite a part into which another worker still
// copies, because no thread reads the bytes.
template <bool kShared>
class FloorLog {
 public:
  // With `pinned`, worker w stays on core w.
  FloorLog(uint32_t workers, uint64_t ring_bytes, bool pinned)
      : mask_(std::bit_ceil(ring_bytes) - 1) {
    for (uint32_t ring = 0; ring < (kShared ? 1 : workers); ++ring) {
      const int node = kShared || !pinned ? platform::kEveryNode
                                          : platform::node_of_core(static_cast<int>(ring));
      rings_.push_back(std::make_unique<platform::MirroredMemory>(mask_ + 1, node));
    }
    if (!kShared) next_.resize(workers);
  }

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) {
    LJ_ASSERT_IN_TESTS(bytes <= mask_ + 1);
    uint64_t begin;
    if constexpr (kShared) {
      begin = shared_next_.fetch_add(bytes, platform::memory_order_relaxed);
    } else {
      begin = *next_[worker];
      *next_[worker] += bytes;
    }
    return {.sequence = begin + bytes,
            .position = begin,
            .hole = rings_[kShared ? 0 : worker]->data() + (begin & mask_),
            .bytes = bytes};
  }
  CommitPoint publish(uint32_t, const LogReservation&, RecordRole) { return {}; }
  bool is_durable(const CommitPoint&) const { return true; }
  void wait_durable(uint32_t, const CommitPoint&) {}
  void poll(uint32_t) {}
  Counters counters() const { return {}; }

 private:
  const uint64_t mask_;
  std::vector<std::unique_ptr<platform::MirroredMemory>> rings_;
  std::vector<platform::Padded<uint64_t>> next_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> shared_next_{0};
};

using platform::memory_order_relaxed;

// Without logs_per_commit no thread waits for records, so no wait makes the log flush its buffer.
// Therefore each thread polls the log every kInsertsPerPoll inserts.
constexpr uint64_t kInsertsPerPoll = 64;

struct Control : BenchmarkControl {
  // The sequence number of the last synchronising insert (Options::sync_every).
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
        pipeline_(log, id, options.wait ? 0 : options.pipeline_depth),
        yield_(options.worker_class) {}

  void run() {
    const platform::ThreadRole::Scope role(platform::worker_role);
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

  platform::Counter inserts, bytes;
  Histogram commit;

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

  void transaction() LJ_REQUIRES(platform::worker_role) {
    const uint64_t start = platform::ticks();
    yield_.at(start);
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

  CommitPoint insert(uint32_t bytes, RecordKind kind, bool commits)
      LJ_REQUIRES(platform::worker_role) {
    Dependencies deps{.commits = commits};
    const bool synchronises =
        options_.sync_every != 0 && inserted_ % options_.sync_every == options_.sync_every - 1;
    if (synchronises) deps.max_overwritten = control_.last_sequence.load(memory_order_relaxed);
    if (options_.seal) stage(bytes, kind);
    const LogReservation reservation = log_.reserve(id_, deps, bytes);
    if (options_.seal) {
      record_.fill(reservation, kind, uint64_t{id_} << kWorkerShift | inserted_, 0, options_.run);
    } else {
      platform::copy(options_.local ? own_.data() : reservation.hole, source_.data(), bytes);
      // Writes a header, because such a scheme later reads the record's length in the header.
      if (reservation.position == kPlacedLater) RecordWriter(reservation, RecordKind::kVoid, 0);
    }
    const CommitPoint point =
        log_.publish(id_, reservation, commits ? RecordRole::kCommit : RecordRole::kPart);
    if (synchronises) control_.last_sequence.store(reservation.sequence, memory_order_relaxed);
    ++inserted_;
    inserts.add();
    this->bytes.add(bytes);
    return point;
  }

  // Encodes a whole record. Unless it is a commit record, one write with its row fills the record.
  void stage(uint32_t bytes, RecordKind kind) {
    record_.start();
    if (kind == RecordKind::kCommit) return;
    LJ_ASSERT_IN_TESTS(bytes >= sizeof(RecordHeader) + sizeof(WriteHeader));
    const auto row_bytes =
        static_cast<uint32_t>(bytes - sizeof(RecordHeader) - sizeof(WriteHeader));
    record_.add({.header = {0, WriteOp::kUpdate, WriteImage::kAfter, row_bytes, inserted_},
                 .after = source_.data()});
  }

  void acknowledge_durable() {
    pipeline_.acknowledge_durable(
        [this](const PendingTransaction& txn) { commit.record(platform::ticks() - txn.start); });
  }

  const uint32_t id_;
  const Options& options_;
  Log& log_;
  Control& control_;
  size_t size_;  // the index in options_.sizes of the size of the next record
  const std::vector<std::byte> source_;
  std::vector<std::byte> own_;
  StagedRecord record_;
  uint64_t inserted_ = 0;
  CommitPipeline<Log, PendingTransaction> pipeline_;
  platform::PeriodicYield yield_;
};

// The time of one moment, and the counts up to this moment.
struct Reading {
  uint64_t ns = 0, inserts = 0, bytes = 0;
  std::vector<uint64_t> inserts_of;  // by thread
  HistogramSum commit;
  platform::ProcessUse usage;
  Counters counters;
};

template <class Log>
Result drive(Log& log, const Options& options) {
  LJ_ASSERT(options.threads > 0);
  platform::ns_per_tick();  // calibrates the clock now, not during the run
  Control control;
  std::vector<std::unique_ptr<Inserter<Log>>> inserters;
  for (uint32_t id = 0; id < options.threads; ++id) {
    inserters.push_back(std::make_unique<Inserter<Log>>(id, options, log, control));
  }
  const auto read = [&] {
    Reading reading;
    for (const auto& inserter : inserters) {
      reading.inserts_of.push_back(inserter->inserts.value());
      reading.inserts += reading.inserts_of.back();
      reading.bytes += inserter->bytes.value();
      reading.commit.add(inserter->commit);
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

constexpr uint32_t kOutlierEvery = 60;
constexpr size_t kRound = 64 * kOutlierEvery;
constexpr uint32_t kMostBytes = 1 << 26;
constexpr std::string_view kDistribution = "dist:";
constexpr std::string_view kAether = "40,264,120";

// Returns why a record cannot have `bytes` bytes, or an empty string. `what` names the size.
std::string refuse(const std::string& what, uint32_t bytes) {
  if (bytes >= 8 && bytes % 8 == 0 && bytes <= kMostBytes) return "";
  return "--record_bytes:" + what + " " + std::to_string(bytes) +
         " is not a multiple of 8 from 8 to " + std::to_string(kMostBytes);
}

// Returns the comma-separated numbers in `text`, or none if `text` has another form.
std::vector<uint32_t> numbers(std::string_view text) {
  std::vector<uint32_t> all;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    uint32_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    all.push_back(number);
    if (stop == end) return all;
    if (*stop != ',') return {};
    at = stop + 1;
  }
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

std::string RecordSizes::parse(const std::string& given, uint64_t seed) {
  const bool two_peaks = given.starts_with(kDistribution);
  const size_t colon = given.find(':', two_peaks ? kDistribution.size() : 0);
  spec = given.substr(0, colon);
  const std::vector<uint32_t> outlier =
      colon == given.npos ? std::vector<uint32_t>{0} : numbers(given.substr(colon + 1));
  std::string_view text = spec;
  if (two_peaks) text.remove_prefix(kDistribution.size());
  const std::vector<uint32_t> sizes = numbers(two_peaks && text.empty() ? kAether : text);
  if (sizes.size() != (two_peaks ? 3 : 1) || outlier.size() != 1) {
    return "--record_bytes=" + given +
           " is neither a number of bytes nor dist: nor dist:SMALL,LARGE,MEAN, nor one of these "
           "and :OUTLIER";
  }
  outlier_bytes = outlier[0];
  for (const std::string& why :
       {refuse("", sizes[0]), two_peaks ? refuse("", sizes[1]) : "",
        colon == given.npos ? "" : refuse(" the outlier", outlier_bytes)}) {
    if (!why.empty()) return why;
  }

  bytes.assign(kRound, sizes[0]);
  if (two_peaks) {
    const uint32_t small = sizes[0], large = sizes[1], mean = sizes[2];
    if (!(small < large && small <= mean && mean <= large)) {
      return "--record_bytes=" + spec + " needs SMALL < LARGE and a MEAN between them";
    }
    const auto many = kRound * (mean - small) / (large - small);
    std::fill_n(bytes.begin(), many, large);
    std::shuffle(bytes.begin(), bytes.end(), std::mt19937_64(seed));
  }
  std::mt19937_64 random(seed);
  for (size_t i = 0; outlier_bytes != 0 && i < kRound; i += kOutlierEvery) {
    bytes[i + random() % kOutlierEvery] = outlier_bytes;
  }
  LJ_ASSERT(std::ranges::all_of(bytes, [](uint32_t size) { return size % 8 == 0; }));
  return "";
}

}  // namespace logjam::log_insert

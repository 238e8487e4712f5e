// Protocol. Each stream has one reader (a serial stage); its batches are applied by any thread. Two
// appliers meet at a tuple's version word: whoever sets its lock bit (acquire) may compare, write
// the row and store the new version (release), and a smaller sequence number leaves it alone.
#include "engine/recovery/recover.h"

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>
#include <unordered_map>

#include "logging/record.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/copy.h"
#include "platform/mutex.h"
#include "platform/spin.h"
#include "platform/thread.h"

namespace logjam {
namespace {

// Bodies of committed transactions, ready to apply in any order.
struct Replay {
  std::vector<std::shared_ptr<std::vector<std::byte>>> memory;  // what the bodies point into
  std::vector<std::pair<uint64_t, const RecordHeader*>>
      bodies;  // with the commit's sequence number
};
using ReplayPtr = std::shared_ptr<Replay>;

// Turns one stream's records into bodies of committed transactions: at once for whole-transaction
// records, at the commit record for records of single operations.
class CommittedOnly {
 public:
  CommittedOnly(uint32_t stream, const LogScheme& scheme, const Cut& cut)
      : stream_(stream), scheme_(scheme), cut_(cut) {}

  ReplayPtr take(const RecordBatch& batch) {
    auto replay = std::make_shared<Replay>();
    replay->memory.push_back(batch.memory);
    for (size_t i = 0; i < batch.records.size(); ++i) {
      const RecordHeader& record = *batch.records[i];
      if (batch.positions[i] + record.bytes > cut_.bytes[stream_] ||
          !scheme_.survives(record, stream_, cut_)) {
        ++beyond_cut;
        continue;
      }
      ++records;
      bytes += record.bytes;
      take(record, batch.memory, replay.get());
    }
    return replay;
  }

  uint64_t open_transactions() const { return open_.size(); }

  uint64_t records = 0, bytes = 0, transactions = 0, beyond_cut = 0;

 private:
  using Memory = std::shared_ptr<std::vector<std::byte>>;

  void take(const RecordHeader& record, const Memory& memory, Replay* replay) {
    switch (record.kind) {
      case RecordKind::kVoid:
        break;
      case RecordKind::kTransaction:
        ++transactions;
        replay->bodies.emplace_back(record.sequence, &record);
        break;
      case RecordKind::kBegin:
        open_[record.txn].clear();
        break;
      case RecordKind::kOperation:
        open_[record.txn].emplace_back(memory, &record);
        break;
      case RecordKind::kCommit: {
        ++transactions;
        const auto found = open_.find(record.txn);
        if (found == open_.end()) break;
        for (const auto& [from, operation] : found->second) {
          if (from != replay->memory.back()) replay->memory.push_back(from);
          replay->bodies.emplace_back(record.sequence, operation);
        }
        open_.erase(found);
        break;
      }
    }
  }

  const uint32_t stream_;
  const LogScheme& scheme_;
  const Cut& cut_;
  std::unordered_map<uint64_t, std::vector<std::pair<Memory, const RecordHeader*>>> open_;
};

class Applier {
 public:
  explicit Applier(Database& database) : database_(database) {}

  void apply(const Replay& replay) {
    Arena& arena = arenas_.local();
    for (size_t i = 0; i < replay.bodies.size(); ++i) {
      // Replay waits for memory, not for the processor: the next body's rows can come meanwhile.
      if (i + 1 < replay.bodies.size()) prefetch(*replay.bodies[i + 1].second);
      const auto& [sequence, record] = replay.bodies[i];
      RecordBody body(*record);
      LoggedWrite write;
      while (body.next(&write)) apply(write, sequence, arena);
      if (!body.well_formed()) fail("a record with a valid checksum contradicts itself");
    }
  }

  std::string error() {
    platform::lock_guard<platform::mutex> hold(mutex_);
    return error_;
  }

 private:
  void prefetch(const RecordHeader& record) const {
    RecordBody body(record);
    LoggedWrite write;
    while (body.next(&write)) {
      if (Table* table = database_.table(write.header.table)) {
        table->primary().prefetch(write.header.key);
      }
    }
  }

  void apply(const LoggedWrite& write, uint64_t sequence, Arena& arena) {
    Table* table = database_.table(write.header.table);
    if (table == nullptr || table->row_bytes() != write.header.row_bytes) {
      fail("a record writes table " + std::to_string(write.header.table) + " with rows of " +
           std::to_string(write.header.row_bytes) + " bytes, which this workload does not have");
      return;
    }
    const bool erase = write.header.op == WriteOp::kErase;
    Tuple* tuple = table->obtain(write.header.key, arena);
    const Version before = lock(*tuple);
    if (sequence <= before.sequence()) {
      tuple->version.store(before.word(), platform::memory_order_release);
      return;
    }
    if (!erase) {
      platform::racy_store(tuple->row(), write.after, write.header.row_bytes);
      if (table->secondary_count() > 0) table->index_row(tuple, write.after, arena);
    }
    tuple->version.store(Version(sequence, erase).word(), platform::memory_order_release);
  }

  static Version lock(Tuple& tuple) {
    platform::SpinWait wait;
    while (true) {
      uint64_t word = Version(tuple.version.load(platform::memory_order_relaxed)).unlocked().word();
      if (tuple.version.compare_exchange_weak(word, word | Version::kLocked,
                                              platform::memory_order_acquire,
                                              platform::memory_order_relaxed)) {
        return Version(word);
      }
      wait.once();
    }
  }

  void fail(std::string why) {
    platform::lock_guard<platform::mutex> hold(mutex_);
    if (error_.empty()) error_ = std::move(why);
  }

  Database& database_;
  tbb::enumerable_thread_specific<Arena> arenas_;
  platform::mutex mutex_;
  std::string error_;
};

// Runs `body(stream)` for every stream, each on a thread of its own.
template <class Body>
void for_each_stream(size_t streams, const Body& body) {
  std::vector<platform::thread> threads;
  for (uint32_t stream = 0; stream < streams; ++stream) {
    threads.emplace_back([&body, stream] { body(stream); });
  }
  for (auto& thread : threads) thread.join();
}

StreamTail read_to_end(const std::string& path) {
  LogReader reader(path);
  RecordBatch batch;
  while (reader.next(&batch)) {
  }
  return reader.tail();
}

}  // namespace

RecoveryResult recover(Database& database, const LogFiles& files, const LogScheme& scheme,
                       uint32_t threads) {
  RecoveryResult result;
  const uint64_t start = platform::now_ns();
  const size_t streams = files.paths.size();
  result.tails.resize(streams);
  // The cut of several streams depends on where each ends, so they are read twice. The cut of a
  // single one is where its reader stops.
  if (streams > 1) {
    for_each_stream(streams, [&](uint32_t s) { result.tails[s] = read_to_end(files.paths[s]); });
    result.cut = scheme.cut(result.tails);
  } else {
    result.cut.bytes = {~uint64_t{0}};
  }

  Applier applier(database);
  tbb::task_arena arena(static_cast<int>(threads));
  std::vector<CommittedOnly> committed;
  for (uint32_t s = 0; s < streams; ++s) committed.emplace_back(s, scheme, result.cut);
  for_each_stream(streams, [&](uint32_t s) {
    LogReader reader(files.paths[s]);
    arena.execute([&] {
      tbb::parallel_pipeline(threads * 4,
                             tbb::make_filter<void, ReplayPtr>(tbb::filter_mode::serial_in_order,
                                                               [&](tbb::flow_control& flow) {
                                                                 RecordBatch batch;
                                                                 if (!reader.next(&batch)) {
                                                                   flow.stop();
                                                                   return ReplayPtr();
                                                                 }
                                                                 return committed[s].take(batch);
                                                               }) &
                                 tbb::make_filter<ReplayPtr, void>(
                                     tbb::filter_mode::parallel,
                                     [&](const ReplayPtr& replay) { applier.apply(*replay); }));
    });
    if (!reader.error().empty()) result.tails[s].why = reader.error();
    if (streams == 1) result.tails[s] = reader.tail();
  });
  if (streams == 1) result.cut = scheme.cut(result.tails);

  for (const CommittedOnly& stream : committed) {
    result.records += stream.records;
    result.bytes += stream.bytes;
    result.transactions += stream.transactions;
    result.beyond_cut += stream.beyond_cut;
    result.incomplete += stream.open_transactions();
  }
  result.error = applier.error();
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam

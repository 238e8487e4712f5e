// Protocol. Every thread takes the next batch of a stream under that stream's mutex, which guards
// the reader and what it has collected, and then applies it beside the others. Two appliers meet at
// a tuple's version word: whoever sets its lock bit (acquire) may compare, write the row and store
// the new version (release), and a smaller sequence number leaves it alone.
#include "engine/recovery/recover.h"

#include <algorithm>
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

// Turns one stream's records into bodies of committed transactions: at once for whole-transaction
// records, at the commit record for records of single operations.
class CommittedOnly {
 public:
  CommittedOnly(uint32_t stream, const LogScheme& scheme, const Cut& cut)
      : stream_(stream), scheme_(scheme), cut_(cut) {}

  Replay take(const RecordBatch& batch) {
    Replay replay;
    replay.memory.push_back(batch.memory);
    for (size_t i = 0; i < batch.records.size(); ++i) {
      const RecordHeader& record = *batch.records[i];
      if (batch.positions[i] + record.bytes > cut_.bytes[stream_] ||
          !scheme_.survives(record, stream_, cut_)) {
        ++beyond_cut;
        continue;
      }
      ++records;
      bytes += record.bytes;
      take(record, batch.memory, &replay);
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
      case RecordKind::kMark:
      case RecordKind::kPadding:
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

  void apply(const Replay& replay, Arena& arena) {
    for (size_t i = 0; i < replay.bodies.size(); ++i) {
      // Replay waits for memory, not for the processor: the next body's rows can come meanwhile.
      if (i + 1 < replay.bodies.size()) prefetch(*replay.bodies[i + 1].second);
      apply(replay.bodies[i], arena);
    }
  }

  void apply(const std::pair<uint64_t, const RecordHeader*>& body_of, Arena& arena) {
    RecordBody body(*body_of.second);
    LoggedWrite write;
    while (body.next(&write)) apply(write, body_of.first, arena);
    if (!body.well_formed()) fail("a record with a valid checksum contradicts itself");
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
  platform::mutex mutex_;
  std::string error_;
};

// Runs `body(i)` for every i below `count`, each on a thread of its own.
template <class Body>
void in_parallel(size_t count, const Body& body) {
  std::vector<platform::thread> threads;
  for (uint32_t i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (auto& thread : threads) thread.join();
}

StreamTail read_to_end(const std::vector<std::string>& paths) {
  LogReader reader(paths);
  RecordBatch batch;
  while (reader.next(&batch)) {
  }
  return reader.tail();
}

// One stream being replayed. Guarded by its mutex.
class StreamReplay {
 public:
  StreamReplay(const std::vector<std::string>& paths, uint32_t stream, const LogScheme& scheme,
               const Cut& cut)
      : reader_(paths), committed_(stream, scheme, cut) {}

  // False at the end of the usable log.
  bool next(Replay* replay) {
    platform::lock_guard<platform::mutex> hold(mutex_);
    RecordBatch batch;
    if (!reader_.next(&batch)) return false;
    *replay = committed_.take(batch);
    return true;
  }

  // When all threads are done with it.
  const LogReader& reader() const { return reader_; }
  const CommittedOnly& committed() const { return committed_; }

 private:
  platform::mutex mutex_;
  LogReader reader_;
  CommittedOnly committed_;
};

using Replays = std::vector<std::unique_ptr<StreamReplay>>;

void apply_in_parallel(Replays& streams, Applier& applier, size_t threads) {
  in_parallel(std::max(threads, streams.size()), [&](uint32_t thread) {
    Arena arena;
    Replay replay;
    // Each begins with another stream, so that all devices are read at once.
    for (size_t i = 0; i < streams.size(); ++i) {
      StreamReplay& stream = *streams[(thread + i) % streams.size()];
      while (stream.next(&replay)) applier.apply(replay, arena);
    }
  });
}

// Algorithm 3 of P-WAL: again and again the smallest of the streams' heads.
void apply_merged(Replays& streams, Applier& applier) {
  struct Head {
    StreamReplay* stream;
    Replay replay = {};
    size_t next = 0;

    bool any() {
      while (next == replay.bodies.size()) {
        if (!stream->next(&replay)) return false;
        next = 0;
      }
      return true;
    }
    uint64_t sequence() const { return replay.bodies[next].first; }
  };
  std::vector<Head> heads;
  for (auto& stream : streams) heads.push_back({stream.get()});
  std::erase_if(heads, [](Head& head) { return !head.any(); });
  Arena arena;
  while (!heads.empty()) {
    const auto least = std::ranges::min_element(heads, {}, &Head::sequence);
    applier.apply(least->replay.bodies[least->next++], arena);
    if (!least->any()) heads.erase(least);
  }
}

}  // namespace

RecoveryResult recover(Database& database, const LogFiles& files, const LogScheme& scheme,
                       uint32_t threads, ReplayOrder order) {
  RecoveryResult result;
  const uint64_t start = platform::now_ns();
  const size_t streams = files.paths.size();
  result.tails.resize(streams);
  // The cut of several streams depends on where each ends, and that of an unordered one may lie
  // before it, so they are read twice. An ordered single one is cut where its reader stops.
  const bool cut_at_end = streams == 1 && scheme.traits().serial_order;
  if (!cut_at_end) {
    in_parallel(streams, [&](uint32_t s) { result.tails[s] = read_to_end(files.paths[s]); });
    result.cut = scheme.cut(result.tails);
  } else {
    result.cut.bytes = {~uint64_t{0}};
  }

  Replays replays;
  for (uint32_t s = 0; s < streams; ++s) {
    replays.push_back(std::make_unique<StreamReplay>(files.paths[s], s, scheme, result.cut));
  }
  Applier applier(database);
  if (order == ReplayOrder::kMerged) {
    apply_merged(replays, applier);
  } else {
    apply_in_parallel(replays, applier, threads);
  }

  for (size_t s = 0; s < streams; ++s) {
    const LogReader& reader = replays[s]->reader();
    if (cut_at_end) result.tails[s] = reader.tail();
    if (!reader.error().empty()) result.tails[s].why = reader.error();
    const CommittedOnly& stream = replays[s]->committed();
    result.records += stream.records;
    result.bytes += stream.bytes;
    result.transactions += stream.transactions;
    result.beyond_cut += stream.beyond_cut;
    result.incomplete += stream.open_transactions();
  }
  if (cut_at_end) result.cut = scheme.cut(result.tails);
  result.error = applier.error();
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam

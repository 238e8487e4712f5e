// Every stream is read once. Which records survive depends on where all streams end (the cut), but
// a cut that follows from what has been read so far never takes what a later one does not: what
// survives it is applied at once, and only the rest is held until more is known.
//
// Protocol. Each stream has a reader thread; the LogReader is its own until it has ended. What it
// has read lies in the stream's queue, under that stream's mutex, until one of the appliers takes
// it and applies it beside the others. Frontier has a mutex of its own, taken inside a stream's.
// Two appliers meet at a tuple's version word: whoever sets its lock bit (acquire) may compare,
// write the row and store the new version (release), and a smaller sequence number leaves it alone.
#include "engine/recovery/recover.h"

#include <algorithm>
#include <deque>
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
  CommittedOnly(uint32_t stream, const LogScheme& scheme) : stream_(stream), scheme_(scheme) {}

  bool survives(const RecordBatch& batch, size_t i, const Cut& cut) const {
    const RecordHeader& record = *batch.records[i];
    return batch.positions[i] + record.bytes <= cut.bytes[stream_] &&
           scheme_.survives(record, stream_, cut);
  }

  Replay take(const RecordBatch& batch, const Cut& cut) {
    Replay replay;
    replay.memory.push_back(batch.memory);
    for (size_t i = 0; i < batch.records.size(); ++i) {
      const RecordHeader& record = *batch.records[i];
      if (!survives(batch, i, cut)) {
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
      case RecordKind::kCommand:  // not values: its body will be found to contradict itself
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

// How far all streams have been read, and what of them may be used if that is all there is.
class Frontier {
 public:
  Frontier(const LogScheme& scheme, size_t streams)
      : scheme_(scheme), tails_(streams), held_(streams), ended_(streams), unread_(streams) {}

  void read(uint32_t stream, const StreamTail& tail, bool ended) {
    platform::lock_guard<platform::mutex> hold(mutex_);
    tails_[stream] = tail;
    if (ended) {
      ended_[stream] = true;
      --unread_;
    }
    cut_ = std::make_shared<const Cut>(scheme_.cut(tails_));
  }
  void holds(uint32_t stream, uint64_t bytes) {
    platform::lock_guard<platform::mutex> hold(mutex_);
    held_[stream] = bytes;
  }

  struct Known {
    std::shared_ptr<const Cut> cut;
    bool all;  // no more will be known
  };
  Known known() const {
    platform::lock_guard<platform::mutex> hold(mutex_);
    return {cut_, unread_ == 0};
  }

  // Whether some stream that is still being read holds less than this one.
  bool others_hold_less(uint32_t stream) const {
    platform::lock_guard<platform::mutex> hold(mutex_);
    for (size_t other = 0; other < held_.size(); ++other) {
      if (!ended_[other] && held_[other] < held_[stream]) return true;
    }
    return false;
  }

  // When all threads are done with it.
  std::vector<StreamTail> take_tails() { return std::move(tails_); }

 private:
  const LogScheme& scheme_;
  mutable platform::mutex mutex_;
  std::vector<StreamTail> tails_;
  std::vector<uint64_t> held_;
  std::vector<bool> ended_;
  size_t unread_;
  std::shared_ptr<const Cut> cut_;
};

constexpr uint64_t kNapNs = 50'000;

// One stream being replayed.
class StreamReplay {
 public:
  enum class Next { kTaken, kLater, kDone };

  StreamReplay(const std::vector<std::string>& paths, uint32_t stream, const LogScheme& scheme,
               Frontier& frontier, uint64_t most_held_bytes, std::vector<ReadPace*> paces)
      : stream_(stream),
        most_held_bytes_(most_held_bytes),
        frontier_(frontier),
        reader_(paths, std::move(paces)),
        committed_(stream, scheme) {}

  // The reader thread.
  void read() {
    for (bool more = true; more;) {
      RecordBatch batch;
      more = reader_.next(&batch);
      {
        platform::lock_guard<platform::mutex> hold(mutex_);
        if (more) {
          held_bytes_ += batch.memory->size();
          held_.push_back({std::move(batch)});
        }
        ended_ = !more;
        frontier_.holds(stream_, held_bytes_);
        frontier_.read(stream_, reader_.tail(), ended_);
      }
      while (!may_read_on()) platform::sleep_ns(kNapNs);
    }
  }

  // kLater: it is not read yet, or what comes next depends on other streams.
  Next next(Replay* replay) {
    platform::lock_guard<platform::mutex> hold(mutex_);
    if (held_.empty()) return ended_ ? Next::kDone : Next::kLater;
    const Frontier::Known known = frontier_.known();
    if (!is_certain(known) && !known.all) return Next::kLater;
    const RecordBatch& batch = held_.front().batch;
    *replay = committed_.take(batch, *known.cut);
    held_bytes_ -= batch.memory->size();
    held_.pop_front();
    frontier_.holds(stream_, held_bytes_);
    return Next::kTaken;
  }

  // When all threads are done with it.
  const LogReader& reader() const { return reader_; }
  const CommittedOnly& committed() const { return committed_; }

 private:
  struct Held {
    RecordBatch batch;
    size_t surviving = 0;  // so many of its first records survive for certain
  };

  // Memory is bounded while streams come forward together. Over the bound, one waits for appliers,
  // or for others if it is ahead of them; of those ahead, the one that holds least does not.
  bool may_read_on() {
    platform::lock_guard<platform::mutex> hold(mutex_);
    if (held_bytes_ < most_held_bytes_) return true;
    return !is_certain(frontier_.known()) && !frontier_.others_hold_less(stream_);
  }

  bool is_certain(const Frontier::Known& known) {
    auto& [batch, surviving] = held_.front();
    const size_t all = batch.records.size();
    while (surviving < all && committed_.survives(batch, surviving, *known.cut)) ++surviving;
    return surviving == all;
  }

  const uint32_t stream_;
  const uint64_t most_held_bytes_;
  Frontier& frontier_;
  LogReader reader_;
  platform::mutex mutex_;
  CommittedOnly committed_;
  std::deque<Held> held_;
  uint64_t held_bytes_ = 0;
  bool ended_ = false;
};

using Replays = std::vector<std::unique_ptr<StreamReplay>>;

void apply_in_parallel(Replays& streams, Applier& applier, uint32_t thread) {
  Arena arena;
  Replay replay;
  for (size_t done = 0; done < streams.size();) {
    done = 0;
    bool idle = true;
    for (size_t i = 0; i < streams.size(); ++i) {
      StreamReplay& stream = *streams[(thread + i) % streams.size()];
      auto next = stream.next(&replay);
      for (; next == StreamReplay::Next::kTaken; next = stream.next(&replay)) {
        applier.apply(replay, arena);
        idle = false;
      }
      if (next == StreamReplay::Next::kDone) ++done;
    }
    if (idle && done < streams.size()) platform::sleep_ns(kNapNs);
  }
}

// Algorithm 3 of P-WAL: again and again the smallest of the streams' heads.
void apply_merged(Replays& streams, Applier& applier) {
  struct Head {
    StreamReplay* stream;
    Replay replay = {};
    size_t next = 0;

    bool any() {
      while (next == replay.bodies.size()) {
        const auto got = stream->next(&replay);
        if (got == StreamReplay::Next::kDone) return false;
        if (got == StreamReplay::Next::kTaken) {
          next = 0;
        } else {
          platform::sleep_ns(kNapNs);
        }
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
                       uint32_t threads, ReplayOrder order, double read_bytes_per_second) {
  RecoveryResult result;
  const uint64_t start = platform::now_ns();
  const size_t streams = files.paths.size();
  const bool merged = order == ReplayOrder::kMerged;
  // Merging may want one stream's next while it holds all that others could give up.
  const uint64_t most_held_bytes = merged ? ~uint64_t{0} : uint64_t{128} << 20;
  Frontier frontier(scheme, streams);
  ReadPaces paces(read_bytes_per_second);
  Replays replays;
  for (uint32_t s = 0; s < streams; ++s) {
    replays.push_back(std::make_unique<StreamReplay>(files.paths[s], s, scheme, frontier,
                                                     most_held_bytes, paces.of(files.paths[s])));
  }
  Applier applier(database);
  in_parallel(streams + (merged ? 1 : threads), [&](uint32_t thread) {
    if (thread < streams) return replays[thread]->read();
    merged ? apply_merged(replays, applier) : apply_in_parallel(replays, applier, thread);
  });

  result.cut = *frontier.known().cut;
  result.tails = frontier.take_tails();
  for (size_t s = 0; s < streams; ++s) {
    const LogReader& reader = replays[s]->reader();
    if (!reader.error().empty()) result.tails[s].why = reader.error();
    const CommittedOnly& stream = replays[s]->committed();
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

// `rocksdb`: the write-ahead log of RocksDB, by the steps of its write_thread.cc: workers form
// groups, and the leader of a group copies the records of all its members into the log
// (write_groups.h). SBL is the end of the last record that a leader has copied.
//
// Here the leader copies and the flusher writes; in RocksDB the leader does both. A worker that
// waits for its commit leads the flush (Stream::wait). So with synchronous commits one thread
// writes for all, as in RocksDB. A worker waits for room in the ring before it fills its record.
// Meanwhile the leader can copy all earlier records, so that a flush can make room.
//
// Protocol. Only the current leader stores sbl_ (release); any thread loads it (acquire).
#include "logging/schemes/common/single_stream_scheme.h"
#include "logging/schemes/rocksdb/write_groups.h"
#include "platform/copy.h"

namespace logjam {
namespace {

class RocksDb final : public SingleStreamScheme {
 public:
  explicit RocksDb(const LogConfig& config) : SingleStreamScheme(config), groups_(config.workers) {}

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    const uint64_t begin = groups_.link(worker, bytes);
    LogReservation mine = reservation(begin, bytes, stream().wait_for_space(begin + bytes));
    mine.hole = groups_.memory(worker);
    return mine;
  }

  void fill_done(uint32_t worker, const LogReservation&, RecordRole) override {
    groups_.hand_over(
        worker,
        [this](uint64_t begin, const std::byte* record, uint32_t bytes) {
          LJ_ASSERT(begin == sbl_.load(platform::memory_order_relaxed));
          platform::copy(stream().at(begin, bytes), record, bytes);
          sbl_.store(begin + bytes, platform::memory_order_release);
        },
        [this] { stream().on_publish(false); });
  }

 private:
  uint64_t sbl() const override { return sbl_.load(platform::memory_order_acquire); }

  WriteGroups groups_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> sbl_{0};
};

const SchemeRegistration registration(lsn_scheme({
    .name = "rocksdb",
    .differs =
        "a writer links before its record is filled, because its number is a position; the "
        "leader copies, and a flusher writes; a follower returns when its group is copied, "
        "where RocksDB's group is also written to the file and the memtable; waiting writers "
        "spin with a back-off, and do not sleep on a condition variable",
    .buffer = "write groups: the leader copies all records",
    .source = "RocksDB's write_thread.cc",
    .construct = construct<RocksDb>,
}));

}  // namespace
}  // namespace logjam

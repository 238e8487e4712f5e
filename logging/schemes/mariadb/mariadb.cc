// `mariadb`: the write-ahead log of MariaDB 10.8 to 11.3 (10.11 is Debian 12's). A worker shares
// the log's latch, takes its LSN under a mutex (log_sys.lsn_lock), fills its record, and leaves the
// latch. A thread that is about to write takes the latch exclusively. Then all records up to the
// end of the log are filled (shared_latch.h).
//
// The mutex is a futex without spinning (srw_mutex), in another cache line than the LSN
// (log0log.h). MariaDB spins for the LSN only if innodb_log_spin_wait_delay is set, which is 0 by
// default.
//
// sbl() returns the end of the log, even if records before this end are not filled. So it shows
// only whether there is something to write. filled_to_write() then takes the latch.
//
// Stream::wait replaces MariaDB's group_commit_lock, whose owner writes for all workers.
//
// Protocol. A thread that shares the latch stores position_ (release) under position_lock_; any
// thread loads it (acquire). A worker that finds no room leaves the latch before it waits, because
// the write that makes room needs the latch. filled_ is stored (release) under the exclusive latch.
#include "logging/schemes/common/single_stream_scheme.h"
#include "logging/schemes/mariadb/shared_latch.h"
#include "platform/mutex.h"

namespace logjam {
namespace {

class MariaDb final : public SingleStreamScheme {
 public:
  explicit MariaDb(const LogConfig& config) : SingleStreamScheme(config) {}

  LogReservation reserve(uint32_t, const Dependencies&, uint32_t bytes) override
      LJ_ACQUIRE_SHARED(latch_) {
    for (uint64_t waited = 0;;) {
      latch_.lock_shared();
      position_lock_.lock();
      const uint64_t begin = position_.load(platform::memory_order_relaxed), end = begin + bytes;
      const bool fits = stream().ring().fits(end);
      if (fits) position_.store(end, platform::memory_order_release);
      position_lock_.unlock();
      if (fits) return reservation(begin, bytes, waited);
      latch_.unlock_shared();
      waited += stream().wait_for_space(end);
    }
  }

  void fill_done(uint32_t, const LogReservation&, RecordRole) override LJ_RELEASE_SHARED(latch_) {
    latch_.unlock_shared();
  }

  std::vector<uint64_t> published_positions() override { return {filled_to_write(0, 0)}; }

 private:
  uint64_t sbl() const override { return position_.load(platform::memory_order_acquire); }
  uint64_t filled_to_write(uint32_t, uint64_t) override {
    if (latch_.lock(kRounds)) {
      filled_.store(position_.load(platform::memory_order_relaxed), platform::memory_order_release);
      latch_.unlock();
    }
    return filled_.load(platform::memory_order_acquire);
  }

  // How often a writer pauses, yields or sleeps before it gives up: 20 ms in all. With a shorter
  // limit, writers would give up whenever a sharer is descheduled.
  static constexpr uint32_t kRounds = 2000;

  SharedLatch latch_;
  alignas(platform::kCacheLine) platform::mutex position_lock_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> position_{0};
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
};

const SchemeRegistration registration(lsn_scheme({
    .name = "mariadb",
    .differs = "a writer that does not get the latch soon tries again later; waiters of the latch "
               "spin first, where MariaDB's sleep at once; copies go on in one ring while a write "
               "is under way, where MariaDB's writer changes to the other of two buffers; records "
               "without pages",
    .buffer = "shared latch, LSN under a mutex, filled in parallel",
    .source = "MariaDB 10.11, log0log.cc",
    .construct = construct<MariaDb>,
}));

}  // namespace
}  // namespace logjam

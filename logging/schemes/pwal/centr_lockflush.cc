// `centr-lockflush`: one buffer under one mutex, like `centr`, but the group of commits is also
// flushed under the mutex. P-WAL's paper compares P-WAL with this log (Kamiya et al., Algorithm 1).
// A worker writes the buffer, and waits for the device, if its commit is the NGROUPth of the group
// or if it finds the buffer full. Meanwhile no other worker can insert.
//
// The paper does not say which thread flushes an incomplete group. Here the daemon flushes this
// group after 1 ms, or --flush=us, without the mutex. With --flush_help=false the daemon makes all
// writes, and the NGROUPth worker waits for the daemon under the mutex.
//
// Protocol. `sbl_` is stored (release) under the mutex, and loaded (acquire) by flushers. The
// daemon does not take the mutex, so that a worker with the mutex may wait for the daemon.
#include "logging/schemes/common/scheme_flags.h"
#include "logging/schemes/common/single_stream_scheme.h"
#include "platform/mutex.h"

namespace logjam {
namespace {

constexpr uint64_t kIdleDelayUs = 1000;

LogConfig with_delay(LogConfig config) {
  if (config.flush_us == 0) config.flush_us = kIdleDelayUs;
  if (!config.flush_help && config.flush_txns == 0) config.flush_txns = pwal_ngroup();
  return config;
}

class CentrLockFlush final : public SingleStreamScheme {
 public:
  explicit CentrLockFlush(const LogConfig& config)
      : SingleStreamScheme(with_delay(config)), group_(pwal_ngroup()) {}

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override
      LJ_ACQUIRE(mutex_) {
    mutex_.lock();
    const uint64_t begin = sbl_.load(platform::memory_order_relaxed);
    if (!stream().ring().fits(begin + bytes)) flush_buffer(worker);
    const uint64_t waited = stream().wait_for_space(begin + bytes);
    return reservation(begin, bytes, waited);
  }

  void fill_done(uint32_t, const LogReservation& reservation, RecordRole) override
      LJ_REQUIRES(mutex_) {
    LJ_ASSERT_IN_TESTS(reservation.position == sbl_.load(platform::memory_order_relaxed));
    sbl_.store(reservation.sequence, platform::memory_order_release);
  }
  void after_publish(uint32_t worker, RecordRole role) override LJ_RELEASE(mutex_) {
    if (commits(role) && ++commits_ >= group_) flush_buffer(worker);
    mutex_.unlock();
  }

  // Flushes nothing: workers flush under the mutex only.
  void poll(uint32_t) override {}

 private:
  uint64_t sbl() const override { return sbl_.load(platform::memory_order_acquire); }

  void flush_buffer(uint32_t worker) LJ_REQUIRES(mutex_) {
    commits_ = 0;
    stream().wait(worker, commit_point(sbl()), Flush::kNow);
  }

  const uint64_t group_;
  alignas(platform::kCacheLine) platform::mutex mutex_;
  uint64_t commits_ LJ_GUARDED_BY(mutex_) = 0;  // commits since the last flush under the mutex
  platform::atomic<uint64_t> sbl_{0};
};

// Returns `info` without a pace: the workers' groups decide when a write begins.
SchemeInfo without_pace(SchemeInfo info) {
  info.may_have.pace = 0;
  return info;
}

const SchemeRegistration registration(without_pace(lsn_scheme({
    .name = "centr-lockflush",
    .differs = "a group that does not fill is flushed after 1 ms; a write has a checksum, where "
               "the paper writes bodies and then headers",
    .buffer = "one mutex around acquire, fill, release, flush",
    .flushed_by = "every N-th committer",
    .source = "P-WAL Alg. 1",
    .construct = construct<CentrLockFlush>,
    .flags = {"pwal_ngroup"},
})));

}  // namespace
}  // namespace logjam

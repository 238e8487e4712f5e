// `centr`: one lock around acquire, fill and release: the baseline of Aether (Alg. 1), in which a
// flush blocks no insert. (`centr-lockflush` flushes under its lock.) The schemes `aether-*` and
// `poplar` use the same class of lock, so a comparison of these schemes shows the differences of
// their algorithms.
//
// Protocol. `sbl_` is stored (release) under the lock, and loaded (acquire) by flushers.
#include "logging/schemes/common/handoff_lock.h"
#include "logging/schemes/common/single_stream_scheme.h"

namespace logjam {
namespace {

class Centr final : public SingleStreamScheme {
 public:
  explicit Centr(const LogConfig& config) : SingleStreamScheme(config), lock_(config.workers) {}

  LogReservation reserve(uint32_t, const Dependencies&, uint32_t bytes) override LJ_ACQUIRE(lock_) {
    lock_.lock();
    const uint64_t begin = sbl_.load(platform::memory_order_relaxed);
    const uint64_t waited = stream().wait_for_space(begin + bytes);
    return reservation(begin, bytes, waited);
  }

  void fill_done(uint32_t, const LogReservation& reservation, RecordRole) override
      LJ_RELEASE(lock_) {
    LJ_ASSERT_IN_TESTS(reservation.position == sbl_.load(platform::memory_order_relaxed));
    sbl_.store(reservation.sequence, platform::memory_order_release);
    lock_.unlock();
  }

 private:
  uint64_t sbl() const override { return sbl_.load(platform::memory_order_acquire); }

  alignas(platform::kCacheLine) [[no_unique_address]] HandoffLock lock_;
  platform::atomic<uint64_t> sbl_{0};
};

const SchemeRegistration registration(lsn_scheme({
    .name = "centr",
    .buffer = "one lock around acquire, fill, release",
    .source = "Aether Alg. 1",
    .construct = construct<Centr>,
}));

}  // namespace
}  // namespace logjam

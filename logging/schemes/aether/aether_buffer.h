// The log buffers of Aether (section 5, appendix A). Two decisions define a buffer:
//
//   `consolidate` how many consolidation arrays there are. With arrays, an insert that finds the
//                 lock busy joins a group, whose leader acquires the space of all members. The last
//                 member that has filled its part releases the space.
//   `Release`     whether the lock is held while a region is filled, and which thread releases the
//                 region (release.h, release_queue.h).
//
// Protocol. `lock_` guards the pools of the arrays, the order of the release queue, and stores of
// `next_`. The owner of a region waits for buffer space under the lock. This wait ends, because the
// threads that make space do not need the lock: the owners of earlier regions have their regions
// already, and a worker holds at most one reservation. With ReleaseUnderLock the thread that
// releases the region also releases the lock, which another member of the group may have taken.
#pragma once

#include "logging/schemes/aether/consolidation_array.h"
#include "logging/schemes/aether/release_queue.h"
#include "logging/schemes/common/handoff_lock.h"
#include "logging/schemes/common/scheme_flags.h"
#include "logging/schemes/common/worker_states.h"
#include "logging/stream/stream.h"
#include "platform/random.h"

namespace logjam {

enum class Consolidate : uint8_t { kNever, kTogether, kBySocket };

template <class Release>
class AetherBuffer {
 public:
  struct Place {
    uint64_t begin;         // the stream position at which the hole begins
    uint64_t waited_ticks;  // how long this worker waited for room in the ring
  };

  // The regions lie in the ring of `stream`, which outlives the buffer.
  AetherBuffer(const LogConfig& config, Consolidate consolidate, Stream& stream)
      : stream_(stream), force_(aether_force()), workers_(config.workers), lock_(config.workers) {
    if (consolidate == Consolidate::kNever) return;
    const bool by_socket = consolidate == Consolidate::kBySocket;
    for (uint32_t socket = 0; socket < (by_socket ? config.sockets : 1); ++socket) {
      arrays_.push_back(std::make_unique<ConsolidationArray>(aether_slots(), config.workers,
                                                             stream.ring().max_record_bytes()));
    }
    for (uint32_t worker = 0; worker < config.workers; ++worker) {
      workers_[worker].random = platform::Lcg(worker + 1);
      workers_[worker].array = arrays_[by_socket ? config.socket_of(worker) : 0].get();
    }
  }

  // Reserves a hole (Alg. 2, L1-L19). Waits for room. Called only by `worker`, as is fill_done().
  Place reserve(uint32_t worker, uint32_t bytes) LJ_NOT_ANALYSED {  // publish() unlocks
    WorkerState& me = workers_[worker];
    me.inserts.add();
    me.slot = nullptr;
    if (me.array == nullptr) {
      lock_.lock();
      const uint64_t waited = acquire(me, bytes);
      return {me.region.begin, waited};
    }
    if (!forced(me) && lock_.try_lock()) {
      const uint64_t waited = acquire(me, bytes);
      return {me.region.begin, waited};
    }
    const auto [slot, offset] = me.array->join(bytes, me.random.next());
    me.slot = slot;
    me.consolidated.add();
    uint64_t waited = 0;
    if (offset == 0) {
      me.groups.add();
      lock_.lock();
      waited = acquire(me, me.array->close(*slot));
      me.array->notify(*slot, me.region);
    } else {
      me.region = me.array->wait(*slot);
    }
    return {me.region.begin + offset, waited};
  }

  // Hands over the worker's filled hole of `bytes` (Alg. 2, L21-L26).
  void fill_done(uint32_t worker, uint32_t bytes) {
    WorkerState& me = workers_[worker];
    if (me.slot == nullptr) {
      release(me);
    } else if (me.array->leave(*me.slot, bytes)) {
      me.array->free(*me.slot);
      release(me);
    }
  }
  // Wakes the threads that wait for a release. Called after Stream::on_publish(), which fences.
  void after_publish() { release_.after_publish(); }

  // Returns the position up to which all regions are released. Any thread may call it.
  uint64_t filled() const { return release_.filled(); }
  // Returns the end of the last reserved region. Any thread may call it.
  uint64_t reserved() const { return next_.load(platform::memory_order_acquire); }

  Counters counters() const {
    const double consolidated = workers_.total(&WorkerState::consolidated),
                 groups = workers_.total(&WorkerState::groups);
    Counters counters = {{"inserts", workers_.total(&WorkerState::inserts)},
                         {"consolidated_inserts", consolidated},
                         {"delegated_releases", workers_.total(&WorkerState::delegated)}};
    if (!arrays_.empty()) {
      counters.add({{"groups", groups}, {"mean_group_size", consolidated, groups}});
    }
    return counters;
  }

 private:
  struct WorkerState {
    // Valid between reserve() and fill_done():
    ConsolidationArray::Slot* slot = nullptr;  // null: the worker took the lock itself
    Region region;

    ConsolidationArray* array = nullptr;
    platform::Lcg random;
    platform::Counter inserts, consolidated, groups, delegated;
  };

  // Acquires the worker's region, under the lock. Returns the ticks of the wait for room.
  uint64_t acquire(WorkerState& me, uint64_t bytes) LJ_NOT_ANALYSED {
    const uint64_t begin = next_.load(platform::memory_order_relaxed), end = begin + bytes;
    const uint64_t waited = stream_.wait_for_space(end);
    next_.store(end, platform::memory_order_release);
    me.region = {.begin = begin, .end = end, .node = release_.join(end)};
    if constexpr (Release::kDecoupled) lock_.unlock();
    return waited;
  }

  void release(WorkerState& me) LJ_NOT_ANALYSED {
    if (!release_.release(me.region, me.random.next())) me.delegated.add();
    if constexpr (!Release::kDecoupled) lock_.unlock();
  }

  bool forced(const WorkerState& me) const {
    return force_ != 0 && me.inserts.value() % force_ == 0;
  }

  Stream& stream_;
  const uint32_t force_;
  WorkerStates<WorkerState> workers_;
  std::vector<std::unique_ptr<ConsolidationArray>> arrays_;
  alignas(platform::kCacheLine) [[no_unique_address]] HandoffLock lock_;
  platform::atomic<uint64_t> next_{0};
  Release release_;
};

}  // namespace logjam

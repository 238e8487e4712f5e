// The log buffers of Aether (section 5, appendix A), and two decisions.
//
//   consolidate   how many consolidation arrays there are. None: every insert waits for the lock.
//                 Otherwise one that finds it busy joins a group; the group's leader acquires the
//                 buffer space of all, the last member that has filled its part releases it.
//   `Release`     whether the lock is held while a region is filled, and who releases it
//                 (logging/buffer/release.h, release_queue.h).
//
// Protocol. `lock_` guards the arrays' pools, the order of the release queue, and `next_`, which
// others may load; under it the owner of a region waits for buffer space. Nobody who is waited for
// then needs the lock: all before were told their regions already, and a worker holds one ticket at
// most. Under ReleaseUnderLock whoever releases the region releases the lock, which need not be its
// taker. members_[w] is worker w's alone, but for its counts, which others may read.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "logging/buffer/consolidation_array.h"
#include "logging/buffer/handoff_lock.h"
#include "logging/buffer/release.h"
#include "logging/buffer/release_queue.h"
#include "logging/stream.h"

namespace logjam {

enum class Consolidate : uint8_t { kNever, kTogether, kBySocket };

template <class Release>
class AetherBuffer {
 public:
  AetherBuffer(const LogConfig& config, Consolidate consolidate, Stream& stream)
      : stream_(stream), force_(config.force_consolidation), members_(config.workers) {
    if (consolidate == Consolidate::kNever) return;
    const bool by_socket = consolidate == Consolidate::kBySocket;
    for (uint32_t socket = 0; socket < (by_socket ? config.sockets : 1); ++socket) {
      arrays_.push_back(std::make_unique<ConsolidationArray>(config.carray_slots, config.workers,
                                                             stream.ring().max_record_bytes()));
    }
    for (uint32_t worker = 0; worker < config.workers; ++worker) {
      members_[worker].random = worker + 1;
      members_[worker].array = arrays_[by_socket ? config.socket_of(worker) : 0].get();
    }
  }

  // Where the worker's hole of `bytes` begins (Alg. 2, L1-L19).
  uint64_t reserve(uint32_t worker, uint32_t bytes) {
    Member& me = members_[worker];
    count(me.inserts);
    me.slot = nullptr;
    if (me.array == nullptr) {
      lock_.lock();
      me.region = acquire(bytes);
      return me.region.begin;
    }
    if (!forced(me) && lock_.try_lock()) {
      me.region = acquire(bytes);
      return me.region.begin;
    }
    const auto [slot, offset] = me.array->join(bytes, random(me));
    me.slot = slot;
    count(me.consolidated);
    if (offset == 0) {
      count(me.groups);
      lock_.lock();
      me.region = acquire(me.array->close(*slot));
      me.array->notify(*slot, me.region);
    } else {
      me.region = me.array->wait(*slot);
    }
    return me.region.begin + offset;
  }

  // It has filled the hole, which has so many `bytes` (Alg. 2, L20-L26).
  void publish(uint32_t worker, uint32_t bytes, bool commits) {
    Member& me = members_[worker];
    if (me.slot == nullptr) {
      release(me);
    } else if (me.array->leave(*me.slot, bytes)) {
      me.array->free(*me.slot);
      release(me);
    }
    stream_.published(commits);
    release_.after_published();
  }

  uint64_t filled() const { return release_.filled(); }
  // The tail: all that anybody has reserved is before it.
  uint64_t reserved() const { return next_.load(platform::memory_order_acquire); }

  Counters counters() const {
    const auto sum = [&](platform::atomic<uint64_t> Member::*counter) {
      uint64_t total = 0;
      for (const Member& member : members_) {
        total += (member.*counter).load(platform::memory_order_relaxed);
      }
      return static_cast<double>(total);
    };
    const double consolidated = sum(&Member::consolidated), groups = sum(&Member::groups);
    return {{"inserts", sum(&Member::inserts)},
            {"consolidated_inserts", consolidated},
            {"groups", groups},
            {"mean_group_size", consolidated, groups},
            {"delegated_releases", sum(&Member::delegated)}};
  }

 private:
  struct alignas(platform::kCacheLine) Member {
    // Between reserve and publish.
    ConsolidationArray::Slot* slot = nullptr;  // none: it took the lock itself
    Region region;

    ConsolidationArray* array = nullptr;
    uint64_t random = 0;
    platform::atomic<uint64_t> inserts{0}, consolidated{0}, groups{0}, delegated{0};
  };

  // Under the lock; a decoupled scheme releases it.
  Region acquire(uint64_t bytes) {
    const uint64_t begin = next_.load(platform::memory_order_relaxed), end = begin + bytes;
    stream_.wait_for_space(end);
    next_.store(end, platform::memory_order_release);
    const Region region{.begin = begin, .end = end, .node = release_.join(end)};
    if constexpr (Release::kDecoupled) lock_.unlock();
    return region;
  }

  // All of the region is filled.
  void release(Member& me) {
    if (!release_.release(me.region, random(me))) count(me.delegated);
    if constexpr (!Release::kDecoupled) lock_.unlock();
  }

  bool forced(Member& me) const {
    return force_ != 0 && me.inserts.load(platform::memory_order_relaxed) % force_ == 0;
  }
  static void count(platform::atomic<uint64_t>& counter) {
    counter.store(counter.load(platform::memory_order_relaxed) + 1, platform::memory_order_relaxed);
  }
  // A linear congruential generator's high bits.
  static uint64_t random(Member& me) {
    me.random = me.random * 6364136223846793005 + 1442695040888963407;
    return me.random >> 33;
  }

  Stream& stream_;
  const uint32_t force_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<ConsolidationArray>> arrays_;
  alignas(platform::kCacheLine) HandoffLock lock_;
  platform::atomic<uint64_t> next_{0};
  Release release_;
};

}  // namespace logjam

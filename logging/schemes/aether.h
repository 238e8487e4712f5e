// The log buffers of Aether (section 5, appendix A): one stream, and two decisions.
//
//   consolidate   how many consolidation arrays there are. None: every insert waits for the lock.
//                 Otherwise one that finds it busy joins a group; the group's leader acquires the
//                 buffer space of all, the last member that has filled its part releases it.
//   `Release`     whether the lock is held while a region is filled, and who releases it
//                 (logging/buffer/release.h, release_queue.h).
//
// Protocol. `lock_` guards `next_`, the arrays' pools, and the order of the release queue; under it
// the owner of a region waits for buffer space. Nobody who is waited for then needs the lock: all
// before were told their regions already, and a worker holds one ticket at most. Under
// ReleaseUnderLock whoever releases the region releases the lock, which need not be its taker.
// members_[w] is worker w's alone, but for its counts, which others may read.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "logging/buffer/consolidation_array.h"
#include "logging/buffer/handoff_lock.h"
#include "logging/buffer/release.h"
#include "logging/buffer/release_queue.h"
#include "logging/schemes/single_stream.h"

namespace logjam {

enum class Consolidate : uint8_t { kNever, kTogether, kBySocket };

template <class Release>
class Aether final : public SingleStream {
 public:
  Aether(const LogConfig& config, Consolidate consolidate)
      : SingleStream(config), force_(config.force_consolidation), members_(config.workers) {
    if (config.devices.empty() || consolidate == Consolidate::kNever) return;
    const bool by_socket = consolidate == Consolidate::kBySocket;
    for (uint32_t socket = 0; socket < (by_socket ? config.sockets : 1); ++socket) {
      arrays_.push_back(std::make_unique<ConsolidationArray>(config.carray_slots, config.workers,
                                                             max_record_bytes()));
    }
    for (uint32_t worker = 0; worker < config.workers; ++worker) {
      members_[worker].random = worker + 1;
      members_[worker].array = arrays_[by_socket ? config.socket_of(worker) : 0].get();
    }
  }

  // Alg. 2, L1-L19.
  Ticket reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    Member& me = members_[worker];
    count(me.inserts);
    me.slot = nullptr;
    if (me.array == nullptr) {
      lock_.lock();
      me.region = acquire(bytes);
      return ticket(me.region.begin, bytes);
    }
    if (!forced(me) && lock_.try_lock()) {
      me.region = acquire(bytes);
      return ticket(me.region.begin, bytes);
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
    return ticket(me.region.begin + offset, bytes);
  }

  // Alg. 2, L20-L26.
  Point publish(uint32_t worker, const Ticket& ticket, bool, bool commits) override {
    Member& me = members_[worker];
    if (me.slot == nullptr) {
      release(me);
    } else if (me.array->leave(*me.slot, ticket.bytes)) {
      me.array->free(*me.slot);
      release(me);
    }
    stream().published(commits);
    release_.after_published();
    return {.sequence = ticket.sequence, .stream = 0};
  }

  Counters counters() const override {
    auto all = SingleStream::counters();
    const auto sum = [&](platform::atomic<uint64_t> Member::*counter) {
      uint64_t total = 0;
      for (const Member& member : members_) {
        total += (member.*counter).load(platform::memory_order_relaxed);
      }
      return static_cast<double>(total);
    };
    const double consolidated = sum(&Member::consolidated), groups = sum(&Member::groups);
    all.add({{"inserts", sum(&Member::inserts)},
             {"consolidated_inserts", consolidated},
             {"groups", groups},
             {"mean_group_size", consolidated, groups},
             {"delegated_releases", sum(&Member::delegated)}});
    return all;
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

  uint64_t filled() const override { return release_.filled(); }

  // Under the lock; a decoupled scheme releases it.
  Region acquire(uint64_t bytes) {
    const Region space{.begin = next_, .end = next_ + bytes, .node = 0};
    stream().wait_for_space(space.end);
    next_ = space.end;
    const Region region{.begin = space.begin, .end = space.end, .node = release_.join(space.end)};
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

  const uint32_t force_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<ConsolidationArray>> arrays_;
  alignas(platform::kCacheLine) HandoffLock lock_;
  uint64_t next_ = 0;  // under lock_
  Release release_;
};

}  // namespace logjam

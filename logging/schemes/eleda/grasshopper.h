// Grasshopper: finds SBL, the sequentially buffered LSN: the position up to which a log buffer is
// filled without a hole, while many workers fill it at once (ELEDA, sections 3.2 and 4).
//
// Each worker has a c-list of the records that it filled, in log order. It also has an h-list,
// which says, for each range of `hop_bytes`, which node of the c-list has the first record in it.
// *Crawling* merges the heads of the c-lists with a heap, record by record, as long as the smallest
// record begins at SBL. *Hopping* passes the whole ranges that RangeCounts (the H-index) says are
// full, and also the record that straddles the end of the last range: SBL is always the end of a
// record.
//
// Protocol (ELEDA, Table 2). Each list has one producer, its worker, and one consumer, the thread
// that advances SBL. One thread at a time advances SBL (FetchAddScheme's latch).
//   tail     stored by the worker (release) after the node and the record's bytes; loaded by the
//            consumer (acquire).
//   head     stored by the consumer (release) when it no longer needs a node; loaded by the worker
//            (acquire).
//   gc       used by the worker only: the last value of head that the worker has loaded. It loads
//            head again only when its list seems full. ELEDA lets gc follow SDL, because ELEDA
//            calls commits back from the nodes. Here the engine queues its commits itself, and a
//            node may be reused when SBL has passed the node.
//   h_tail   stored by the worker (release) *before* tail (ELEDA: after tail). So a thread that
//            sees a node also sees where the node's range begins, and need not walk the c-list in
//            search of the beginning.
//   h_head   used by the consumer only. An h-list cannot overflow: it has a node for each range
//            that a ring can hold, and the consumer drops the ranges that SBL passes before it
//            stores SBL. A worker that reuses their nodes has seen that SBL, because its hole fits
//            into the ring.
//   counts   added to by the worker after tail: when a range is full, all its records are in the
//            c-lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logging/counters.h"
#include "logging/schemes/common/range_counts.h"
#include "logging/stream/ring.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/counter.h"

namespace logjam {

// If kHops is false, the grasshopper only crawls and keeps neither h-lists nor counts.
template <bool kHops>
class Grasshopper {
 public:
  static constexpr bool kOwnThread = true;  // the scheme gives the tracker a thread

  // Makes a grasshopper. `hop_bytes` is the length of a range, a power of two.
  Grasshopper(uint32_t workers, const Ring& ring, uint64_t hop_bytes);

  // Returns whether the worker may publish one more record. Called by the worker.
  bool room(uint32_t worker) {
    List& list = lists_[worker];
    if (list.tail.load(platform::memory_order_relaxed) - list.gc <= node_mask_) return true;
    list.gc = list.head.load(platform::memory_order_acquire);
    return list.tail.load(platform::memory_order_relaxed) - list.gc <= node_mask_;
  }

  // Appends the record [begin, end), which is filled, to the worker's lists (the end of ELEDA's
  // section 4.1.2). Called by the worker.
  void publish(uint32_t worker, uint64_t begin, uint64_t end) {
    List& list = lists_[worker];
    const uint64_t tail = list.tail.load(platform::memory_order_relaxed);
    LJ_ASSERT_IN_TESTS(begin < end && tail - list.gc <= node_mask_);
    if constexpr (kHops) {
      const uint64_t range = counts_.range_of(begin);
      if (range != list.last_range) {
        list.last_range = range;
        const uint64_t h_tail = list.h_tail.load(platform::memory_order_relaxed);
        list.ranges[h_tail & range_mask_] = {range, tail};
        list.h_tail.store(h_tail + 1, platform::memory_order_release);
      }
    }
    list.nodes[tail & node_mask_] = {begin, end};
    list.tail.store(tail + 1, platform::memory_order_release);
    if constexpr (kHops) counts_.add(begin, end);
  }

  // Takes one step, starting from `sbl`. Returns the new SBL. One thread at a time calls it.
  // `allocated` is the position at which the next record will begin.
  uint64_t advance(uint64_t sbl, const platform::atomic<uint64_t>& allocated);

  // Returns how many bytes the largest record must leave free in the ring.
  uint64_t slack_bytes() const { return 0; }

  // Returns the figures of hopping and crawling. Any thread may call it.
  Counters counters() const;

 private:
  struct Node {
    uint64_t begin, end;
  };
  struct RangeStart {
    uint64_t range, node;  // the c-list's node with the first record that begins in `range`
  };
  struct alignas(platform::kCacheLine) List {
    // Stored by the worker.
    platform::atomic<uint64_t> tail{0}, h_tail{0};
    uint64_t gc = 0;
    uint64_t last_range = ~uint64_t{0};
    std::unique_ptr<Node[]> nodes;
    std::unique_ptr<RangeStart[]> ranges;
    // Stored by the consumer.
    alignas(platform::kCacheLine) platform::atomic<uint64_t> head{0};
    uint64_t h_head = 0;
    uint64_t seen_tail = 0;
    bool in_heap = false;
  };
  struct HeapEntry {
    uint64_t begin;
    uint32_t worker;
    // Compares for std::push_heap, which puts the largest on top.
    bool operator<(const HeapEntry& other) const { return begin > other.begin; }
  };

  uint64_t hop(uint64_t sbl, uint64_t allocated);
  uint64_t crawl(uint64_t sbl);
  void drop_ranges_before(List& list, uint64_t range);
  void enter_heap(uint32_t worker);
  bool top_begins_at(uint64_t sbl) const { return !heap_.empty() && heap_.front().begin == sbl; }

  RangeCounts counts_;
  const uint64_t node_mask_, range_mask_;
  std::vector<List> lists_;
  // The LSN-heap, with at most one entry for each list. Only the consumer uses it.
  std::vector<HeapEntry> heap_;
  // Stored by the consumer; any thread may read them.
  platform::Counter hops_, crawls_, hopped_bytes_, crawled_bytes_;
};

}  // namespace logjam

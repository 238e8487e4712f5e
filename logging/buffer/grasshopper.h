// Grasshopper: finds out up to where a log buffer that many fill at once is filled without a hole
// (ELEDA, sections 3.2 and 4). That point is SBL, "sequentially buffered log".
//
// Each worker has a c-list of the records that it filled, in log order, and an h-list that says
// where in the c-list its first record of each range of `hop_bytes` is. *Crawling* merges the heads
// of the c-lists with a heap, record by record, as long as the smallest begins at SBL. *Hopping*
// takes whole ranges that RangeCounts (the H-index) says are full, and with them the record that
// straddles the last one's end: SBL is always the end of a record.
//
// Protocol (ELEDA, Table 2). The lists have one producer, their worker, and one consumer, whoever
// advances: one thread at a time (FetchAdd's latch).
//   tail          worker, release: the node and the record's bytes come before it. Consumer,
//   acquire. head          consumer, release, when it is done with a node. Worker, acquire. gc
//   worker's own: what it knows of head, read anew only when its list seems full.
//                 ELEDA lets gc follow SDL, for it calls back from the nodes; here the engine
//                 queues its commits itself and a node may be reused when SBL has passed it.
//   h_tail        worker, release, *before* tail (ELEDA: after). So one that sees a node also sees
//                 where its range begins, and need not walk the c-list in search of it.
//   h_head        consumer's own. An h-list cannot overflow: it has a node for each range that a
//                 ring can hold, and those behind SBL are dropped before SBL is stored, which the
//                 worker that reuses their place has seen (its hole fits into the ring).
//   counts        worker, after tail: when a range is full, all its records are in the c-lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logging/buffer/range_counts.h"
#include "logging/buffer/ring.h"
#include "logging/log_scheme.h"
#include "platform/atomic.h"

namespace logjam {

// kHops: false for a grasshopper that only crawls and keeps neither h-lists nor counts.
template <bool kHops>
class Grasshopper {
 public:
  static constexpr bool kOwnThread = true;

  Grasshopper(const LogConfig& config, const Ring& ring);

  // Whether the worker may publish one more record.
  bool room(uint32_t worker) {
    List& list = lists_[worker];
    if (list.tail.load(platform::memory_order_relaxed) - list.gc <= node_mask_) return true;
    list.gc = list.head.load(platform::memory_order_acquire);
    return list.tail.load(platform::memory_order_relaxed) - list.gc <= node_mask_;
  }

  // The worker filled [begin, end), and asked for room() before. The end of ELEDA's section 4.1.2.
  void publish(uint32_t worker, uint64_t begin, uint64_t end) {
    List& list = lists_[worker];
    const uint64_t tail = list.tail.load(platform::memory_order_relaxed);
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

  // One step, by one thread at a time: SBL, from `sbl` on. `allocated` is the next record's begin.
  uint64_t advance(uint64_t sbl, const platform::atomic<uint64_t>& allocated);

  // What the largest record must leave free of the ring.
  uint64_t slack_bytes() const { return 0; }

  Counters counters() const;

 private:
  struct Node {
    uint64_t begin, end;
  };
  struct RangeStart {
    uint64_t range, node;  // the c-list's node with the first record that begins in `range`
  };
  struct alignas(platform::kCacheLine) List {
    // The worker's.
    platform::atomic<uint64_t> tail{0}, h_tail{0};
    uint64_t gc = 0;
    uint64_t last_range = ~uint64_t{0};
    std::unique_ptr<Node[]> nodes;
    std::unique_ptr<RangeStart[]> ranges;
    // The consumer's.
    alignas(platform::kCacheLine) platform::atomic<uint64_t> head{0};
    uint64_t h_head = 0;
    uint64_t seen_tail = 0;
    bool in_heap = false;
  };
  struct HeapEntry {
    uint64_t begin;
    uint32_t worker;
    // For std::push_heap, which wants the largest on top.
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
  // The consumer's: the LSN-heap, at most one entry a list.
  std::vector<HeapEntry> heap_;
  // Stored by the consumer, read at any time.
  platform::atomic<uint64_t> hops_{0}, crawls_{0}, hopped_bytes_{0}, crawled_bytes_{0};
};

}  // namespace logjam

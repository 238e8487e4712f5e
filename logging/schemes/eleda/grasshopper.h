// Grasshopper: finds SBL, the position up to which a log buffer is filled without a hole, while
// many workers fill it at once (ELEDA, sections 3.2 and 4).
//
// Each worker has a c-list of the records that it filled, in log order. For each range of
// `hop_bytes`, the worker's h-list says which c-list node has the first record in the range.
// *Crawling* merges the heads of the c-lists with a heap, record by record, as long as the smallest
// record begins at SBL. *Hopping* passes whole ranges that are full according to RangeCounts (the
// H-index). It also passes the record that straddles the end of the last range.
//
// Protocol (ELEDA, Table 2). Each list has one producer, its worker, and one consumer, the thread
// that advances SBL. One thread at a time advances SBL (FetchAddScheme's latch).
//   tail     stored (release) by the worker after the node; loaded (acquire) by the consumer.
//   head     stored (release) by the consumer after a node's use; loaded (acquire) by the worker.
//   gc       used by the worker only: the last value of head that it has loaded. The worker loads
//            head again only when its list seems full.
//   h_tail   stored by the worker (release) *before* tail (ELEDA: after tail). So a thread that
//            sees a node also sees where the node's range begins in the c-list.
//   h_head   used by the consumer only. An h-list cannot overflow: it has a node for each range
//            that a ring can hold, and the consumer drops the ranges that SBL passes before it
//            stores SBL. A worker that reuses the nodes has seen this SBL, because its hole fits
//            into the ring.
//   counts   raised by the worker after tail. So the c-lists have all records of a full range.
#pragma once

#include <memory>

#include "logging/schemes/common/range_counts.h"
#include "logging/schemes/common/tracker_base.h"
#include "logging/stream/ring.h"
#include "platform/counter.h"

namespace logjam {

// If kHops is false, the grasshopper only crawls, without h-lists and counts.
template <bool kHops>
class Grasshopper : public TrackerBase {
 public:
  static constexpr bool kOwnThread = true;

  Grasshopper(uint32_t workers, const Ring& ring, uint64_t hop_bytes)
      : counts_(hop_bytes, ring.capacity()),
        node_mask_(std::min(kMaxNodes, std::bit_ceil(ring.capacity() / kSmallestRecordBytes)) - 1),
        range_mask_(counts_.size() - 1),
        lists_(workers) {
    heap_.reserve(workers);
    for (List& list : lists_) {
      list.nodes = std::make_unique_for_overwrite<Node[]>(node_mask_ + 1);
      if (kHops) list.ranges = std::make_unique_for_overwrite<RangeStart[]>(range_mask_ + 1);
    }
  }

  bool room(uint32_t worker) {
    List& list = lists_[worker];
    if (list.tail.load(platform::memory_order_relaxed) - list.gc <= node_mask_) return true;
    list.gc = list.head.load(platform::memory_order_acquire);
    return list.tail.load(platform::memory_order_relaxed) - list.gc <= node_mask_;
  }

  // Appends the filled record [begin, end) to the worker's lists (the end of section 4.1.2).
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

  uint64_t advance(uint64_t sbl, const platform::atomic<uint64_t>& allocated) {
    const uint64_t first = sbl;
    for (int round = 0; round < kRoundsPerStep; ++round) {
      const uint64_t before = sbl;
      if (kHops) sbl = hop(sbl, allocated.load(platform::memory_order_relaxed));
      sbl = crawl(sbl);
      if (sbl == before) break;
    }
    const uint64_t range = counts_.range_of(sbl);
    if (kHops && range != counts_.range_of(first)) {
      for (List& list : lists_) drop_ranges_before(list, range);
    }
    return sbl;
  }

  Counters counters() const {
    const auto hopped = static_cast<double>(hopped_bytes_.value()),
               crawled = static_cast<double>(crawled_bytes_.value());
    return {{"sbl_hops", static_cast<double>(hops_.value())},
            {"sbl_crawls", static_cast<double>(crawls_.value())},
            {"sbl_crawl_share", crawled, hopped + crawled}};
  }

 private:
  // The most nodes of a c-list: a worker waits while it has this many records that SBL has not
  // passed.
  static constexpr uint64_t kMaxNodes = 1 << 18;
  static constexpr uint64_t kSmallestRecordBytes = 32;
  // The number of records over which a round crawls before the next round tries to hop.
  static constexpr int kCrawlsBetweenLooks = 64;
  // The most rounds of hopping and crawling in one call of advance().
  static constexpr int kRoundsPerStep = 64;

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
    // Inverts the order, so that the smallest record is on top of the heap.
    bool operator<(const HeapEntry& other) const { return begin > other.begin; }
  };

  void drop_ranges_before(List& list, uint64_t range) {
    const uint64_t h_tail = list.h_tail.load(platform::memory_order_acquire);
    while (list.h_head != h_tail && list.ranges[list.h_head & range_mask_].range < range) {
      ++list.h_head;
    }
  }

  // Hops over full ranges: Algorithm 1, lines 1 to 13.
  uint64_t hop(uint64_t sbl, uint64_t allocated) {
    const uint64_t from = counts_.range_of(sbl);
    uint64_t range = from;
    while (range < counts_.range_of(allocated) && counts_.full(range)) ++range;
    if (range == from) return sbl;

    uint64_t reached = counts_.begin_of(range);
    heap_.clear();
    for (uint32_t worker = 0; worker < lists_.size(); ++worker) {
      List& list = lists_[worker];
      // Loads the tail first, and then the node at which the list's next range begins. So every
      // record that begins before the boundary lies before this tail.
      list.seen_tail = list.tail.load(platform::memory_order_acquire);
      drop_ranges_before(list, range);
      const bool none = list.h_head == list.h_tail.load(platform::memory_order_acquire);
      const uint64_t to = none ? list.seen_tail : list.ranges[list.h_head & range_mask_].node;
      const uint64_t head = list.head.load(platform::memory_order_relaxed);
      if (to > head) {
        // The last record that begins before the boundary may end after the boundary. At most one
        // list has such a record.
        reached = std::max(reached, list.nodes[(to - 1) & node_mask_].end);
        list.head.store(to, platform::memory_order_release);
      }
      list.in_heap = false;
      enter_heap(worker);
    }
    hops_.add(1);
    hopped_bytes_.add(reached - sbl);
    return reached;
  }

  // Crawls from record to record: Algorithm 1, lines 14 to 23.
  uint64_t crawl(uint64_t sbl) {
    const uint64_t from = sbl;
    uint64_t crawled = 0;
    for (; crawled < kCrawlsBetweenLooks; ++crawled) {
      if (!top_begins_at(sbl)) {
        // The record that begins at SBL may be in a list that was empty.
        for (uint32_t worker = 0; worker < lists_.size(); ++worker) enter_heap(worker);
        if (!top_begins_at(sbl)) break;
      }
      std::pop_heap(heap_.begin(), heap_.end());
      const uint32_t worker = heap_.back().worker;
      heap_.pop_back();
      List& list = lists_[worker];
      const uint64_t head = list.head.load(platform::memory_order_relaxed);
      sbl = list.nodes[head & node_mask_].end;
      list.head.store(head + 1, platform::memory_order_release);
      list.in_heap = false;
      enter_heap(worker);
    }
    if (crawled == 0) return sbl;
    crawls_.add(crawled);
    crawled_bytes_.add(sbl - from);
    return sbl;
  }

  void enter_heap(uint32_t worker) {
    List& list = lists_[worker];
    if (list.in_heap) return;
    const uint64_t head = list.head.load(platform::memory_order_relaxed);
    if (head == list.seen_tail) {
      list.seen_tail = list.tail.load(platform::memory_order_acquire);
      if (head == list.seen_tail) return;
    }
    list.in_heap = true;
    heap_.push_back({list.nodes[head & node_mask_].begin, worker});
    std::push_heap(heap_.begin(), heap_.end());
  }

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

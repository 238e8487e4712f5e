#include "logging/schemes/eleda/grasshopper.h"

#include <algorithm>

namespace logjam {
namespace {

// A worker waits if SBL has not passed this number of its records.
constexpr uint64_t kMaxNodes = 1 << 18;
constexpr uint64_t kSmallestRecordBytes = 32;
// After it has crawled over this number of records, the crawler checks whether it can hop.
constexpr int kCrawlsBetweenLooks = 64;
// A step ends after this number of rounds of hopping and crawling, although there may be more to
// do.
constexpr int kRoundsPerStep = 64;

}  // namespace

template <bool kHops>
Grasshopper<kHops>::Grasshopper(uint32_t workers, const Ring& ring, uint64_t hop_bytes)
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

template <bool kHops>
uint64_t Grasshopper<kHops>::advance(uint64_t sbl, const platform::atomic<uint64_t>& allocated) {
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

template <bool kHops>
void Grasshopper<kHops>::drop_ranges_before(List& list, uint64_t range) {
  const uint64_t h_tail = list.h_tail.load(platform::memory_order_acquire);
  while (list.h_head != h_tail && list.ranges[list.h_head & range_mask_].range < range) {
    ++list.h_head;
  }
}

// Hops over full ranges: Algorithm 1, lines 1 to 13.
template <bool kHops>
uint64_t Grasshopper<kHops>::hop(uint64_t sbl, uint64_t allocated) {
  const uint64_t from = counts_.range_of(sbl);
  uint64_t range = from;
  while (range < counts_.range_of(allocated) && counts_.full(range)) ++range;
  if (range == from) return sbl;

  uint64_t reached = counts_.begin_of(range);
  heap_.clear();
  for (uint32_t worker = 0; worker < lists_.size(); ++worker) {
    List& list = lists_[worker];
    // The order matters: the tail is loaded first, and then the node where the list's next range
    // begins. Every record that begins before the boundary lies before this tail.
    list.seen_tail = list.tail.load(platform::memory_order_acquire);
    drop_ranges_before(list, range);
    const bool none = list.h_head == list.h_tail.load(platform::memory_order_acquire);
    const uint64_t to = none ? list.seen_tail : list.ranges[list.h_head & range_mask_].node;
    const uint64_t head = list.head.load(platform::memory_order_relaxed);
    if (to > head) {
      // The last record of this list that is hopped over may straddle the boundary. At most one
      // record of all lists does.
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
template <bool kHops>
uint64_t Grasshopper<kHops>::crawl(uint64_t sbl) {
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

template <bool kHops>
void Grasshopper<kHops>::enter_heap(uint32_t worker) {
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

template <bool kHops>
Counters Grasshopper<kHops>::counters() const {
  const auto value = [](const platform::Counter& counter) {
    return static_cast<double>(counter.value());
  };
  const double bytes = value(hopped_bytes_) + value(crawled_bytes_);
  return {{"sbl_hops", value(hops_)},
          {"sbl_crawls", value(crawls_)},
          {"sbl_crawl_share", value(crawled_bytes_), bytes}};
}

template class Grasshopper<false>;
template class Grasshopper<true>;

}  // namespace logjam

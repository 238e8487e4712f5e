#include "logging/buffer/grasshopper.h"

#include <algorithm>

namespace logjam {
namespace {

// A worker with so many records that SBL has not passed waits.
constexpr uint64_t kMaxNodes = 1 << 18;
constexpr uint64_t kSmallestRecordBytes = 32;
// After so many records the crawler looks whether it could hop.
constexpr int kCrawlsBetweenLooks = 64;
// A step ends after so many of these rounds, although there may be more to do.
constexpr int kRoundsPerStep = 64;

void add(platform::atomic<uint64_t>& counter, uint64_t amount) {
  counter.store(counter.load(platform::memory_order_relaxed) + amount,
                platform::memory_order_relaxed);
}

}  // namespace

template <bool kHops>
Grasshopper<kHops>::Grasshopper(const LogConfig& config, const Ring& ring)
    : counts_(config.hop_bytes, ring.capacity()),
      node_mask_(std::min(kMaxNodes, std::bit_ceil(ring.capacity() / kSmallestRecordBytes)) - 1),
      range_mask_(counts_.size() - 1),
      lists_(config.workers) {
  heap_.reserve(config.workers);
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

// Algorithm 1, lines 1 to 13.
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
    // In this order: the tail that is seen, and then where its ranges begin. All that begins before
    // the boundary is before this tail.
    list.seen_tail = list.tail.load(platform::memory_order_acquire);
    drop_ranges_before(list, range);
    const bool none = list.h_head == list.h_tail.load(platform::memory_order_acquire);
    const uint64_t to = none ? list.seen_tail : list.ranges[list.h_head & range_mask_].node;
    const uint64_t head = list.head.load(platform::memory_order_relaxed);
    if (to > head) {
      // The last that it hops over may straddle the boundary; nobody else's can then.
      reached = std::max(reached, list.nodes[(to - 1) & node_mask_].end);
      list.head.store(to, platform::memory_order_release);
    }
    list.in_heap = false;
    enter_heap(worker);
  }
  add(hops_, 1);
  add(hopped_bytes_, reached - sbl);
  return reached;
}

// Algorithm 1, lines 14 to 23.
template <bool kHops>
uint64_t Grasshopper<kHops>::crawl(uint64_t sbl) {
  const uint64_t from = sbl;
  uint64_t crawled = 0;
  for (; crawled < kCrawlsBetweenLooks; ++crawled) {
    if (!top_begins_at(sbl)) {
      // What begins at SBL may be in a list that was empty.
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
  add(crawls_, crawled);
  add(crawled_bytes_, sbl - from);
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
  const auto value = [](const platform::atomic<uint64_t>& counter) {
    return static_cast<double>(counter.load(platform::memory_order_relaxed));
  };
  const double bytes = value(hopped_bytes_) + value(crawled_bytes_);
  return {{"sbl_hops", value(hops_)},
          {"sbl_crawls", value(crawls_)},
          {"sbl_crawl_share", value(crawled_bytes_), bytes}};
}

template class Grasshopper<false>;
template class Grasshopper<true>;

}  // namespace logjam

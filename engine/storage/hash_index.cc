// The hash index: a fixed array of buckets. A bucket has one cache line, and a chain of Overflows.
//
// Protocol. A slot changes once, from 0 to its entry, under the head bucket's latch. Slots fill in
// order. The last bucket of a chain gets a successor only when it is full. Slots and chain pointers
// are stored with release and loaded with acquire, so a thread that sees an entry sees its key. A
// hit therefore needs no validation. A miss, or a list of a key's entries, is valid only if the
// head bucket's structure word was unlatched before the search and the same after it.
//
// The upper 16 bits of a slot, which user-space addresses leave free, hold a tag: bits of the hash.
// So a find usually touches two cache lines, that of the bucket and that of the entry.
#include <algorithm>
#include <array>
#include <bit>
#include <memory_resource>
#include <new>

#include "engine/storage/index.h"
#include "platform/cpu.h"
#include "platform/memory.h"
#include "platform/random.h"

namespace logjam {
namespace {

constexpr double kMaxPerBucket = 3.0;
// Up to this many entries of a key, find_all() takes no memory from the heap.
constexpr size_t kUsualEntries = 16;
constexpr int kTagShift = 48;
constexpr uint64_t kPointerMask = (uint64_t{1} << kTagShift) - 1;

using Slot = platform::atomic<uint64_t>;

template <size_t kSlots>
using Slots = std::array<Slot, kSlots>;

struct alignas(platform::kShortestLine) Overflow {
  platform::atomic<Overflow*> next{nullptr};
  Slots<7> slots{};
};

struct alignas(platform::kShortestLine) Bucket : IndexNode {
  platform::atomic<Overflow*> next{nullptr};
  Slots<5> slots{};
};
static_assert(sizeof(Bucket) == platform::kShortestLine);
static_assert(sizeof(Overflow) == platform::kShortestLine);

// Multiplies and folds (as in wyhash). The multiplication spreads dense keys more evenly than
// random bits would. The folding separates keys that differ in their high bits.
uint64_t hash_of(Key key) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(key) * platform::kGoldenRatio;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Returns a tag that is never 0, because 0 marks an empty slot.
uint64_t tag_of(uint64_t hash) { return (hash & 0xFFFF) | 1; }

Keyed* entry_in(uint64_t slot) { return reinterpret_cast<Keyed*>(slot & kPointerMask); }

// Returns one bit for each slot with the tag. No branch depends on the position of a match, because
// such a branch would be mispredicted in about half of all finds.
template <size_t kSlots>
uint32_t candidates_in(const Slots<kSlots>& slots, uint64_t tag) {
  uint32_t candidates = 0;
  for (size_t i = 0; i < kSlots; ++i) {
    const uint64_t slot = slots[i].load(platform::memory_order_acquire);
    candidates |= static_cast<uint32_t>(slot >> kTagShift == tag) << i;
  }
  return candidates;
}

template <size_t kSlots>
Keyed* first_of(uint32_t candidates, const Slots<kSlots>& slots) {
  const auto i = static_cast<size_t>(std::countr_zero(candidates));
  return entry_in(slots[i].load(platform::memory_order_relaxed));
}

template <size_t kSlots, class Found>
bool any_with_tag(const Slots<kSlots>& slots, uint64_t tag, Found&& found) {
  for (uint32_t left = candidates_in(slots, tag); left != 0; left &= left - 1) {
    if (found(first_of(left, slots))) return true;
  }
  return false;
}

template <class Found>
bool any_in_chain_with_tag(const Bucket& bucket, uint64_t tag, Found&& found) {
  if (any_with_tag(bucket.slots, tag, found)) return true;
  for (const Overflow* more = bucket.next.load(platform::memory_order_acquire); more != nullptr;
       more = more->next.load(platform::memory_order_acquire)) {
    if (any_with_tag(more->slots, tag, found)) return true;
  }
  return false;
}

template <size_t kSlots>
Slot* empty_in(Slots<kSlots>& slots) {
  for (Slot& slot : slots) {
    if (slot.load(platform::memory_order_relaxed) == 0) return &slot;
  }
  return nullptr;
}

// Returns the first empty slot of the bucket's chain, which grows if it is full.
Slot& empty_slot(Bucket& bucket, Arena& arena) LJ_REQUIRES(bucket) {
  if (Slot* slot = empty_in(bucket.slots)) return *slot;
  platform::atomic<Overflow*>* next = &bucket.next;
  while (Overflow* more = next->load(platform::memory_order_relaxed)) {
    if (Slot* slot = empty_in(more->slots)) return *slot;
    next = &more->next;
  }
  auto* fresh = new (arena.allocate(sizeof(Overflow), alignof(Overflow))) Overflow;
  next->store(fresh, platform::memory_order_release);
  return fresh->slots[0];
}

// The array of buckets. A bucket of zero bytes is empty. Small arrays come from the heap.
class Buckets {
 public:
  explicit Buckets(uint64_t count) : bytes_(count * sizeof(Bucket)) {
    void* memory =
        bytes_ >= kHugeFrom ? platform::map_huge(bytes_) : ::operator new(bytes_, kAlignment);
    // Workers of all sockets use the array, so spread it over all NUMA nodes.
    if (bytes_ >= kHugeFrom) platform::interleave(memory, bytes_);
    data_ = static_cast<Bucket*>(memory);
    if (bytes_ < kHugeFrom) std::uninitialized_default_construct_n(data_, count);
  }
  ~Buckets() {
    if (bytes_ >= kHugeFrom) {
      platform::unmap_huge(data_, bytes_);
    } else {
      ::operator delete(data_, kAlignment);
    }
  }
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  Bucket& operator[](uint64_t i) const { return data_[i]; }

 private:
  static constexpr size_t kHugeFrom = size_t{1} << 20;
  static constexpr std::align_val_t kAlignment{platform::kShortestLine};
  size_t bytes_;
  Bucket* data_;
};

template <bool kUnique>
class HashIndex final : public Index {
 public:
  explicit HashIndex(const IndexOptions& options)
      : count_(std::bit_ceil(std::max(
            uint64_t{2},
            static_cast<uint64_t>(static_cast<double>(options.expected_entries) / kMaxPerBucket)))),
        shift_(64 - std::countr_zero(count_)),
        buckets_(count_),
        name_(options.name) {}

  bool unique() const override { return kUnique; }
  bool ordered() const override { return false; }

  Keyed* find(Key key, NodeVersion* missed_in, Finger*) override {
    LJ_ASSERT_IN_TESTS(kUnique);
    const uint64_t hash = hash_of(key);
    Bucket& bucket = bucket_of(hash);
    uint32_t left = candidates_in(bucket.slots, tag_of(hash));
    for (; left != 0; left &= left - 1) {
      Keyed* entry = first_of(left, bucket.slots);
      if (entry->key == key) return entry;
    }
    return find_in_chain(bucket, hash, key, missed_in);
  }

  InsertResult insert(Keyed* entry, Arena& arena, InsertGate gate, std::vector<NodeChange>* changes,
                      Finger*) override {
    const uint64_t hash = hash_of(entry->key);
    Bucket& bucket = bucket_of(hash);
    const uint64_t before = latch(bucket);
    if (Keyed* there = find_conflicting(bucket, hash, entry)) {
      unlatch_unchanged(bucket, before);
      return {.entry = there};
    }
    if (gate && !gate(bucket)) {
      unlatch_unchanged(bucket, before);
      return {.refused = true};
    }
    LJ_ASSERT_IN_TESTS((reinterpret_cast<uint64_t>(entry) & ~kPointerMask) == 0);
    const uint64_t slot = reinterpret_cast<uint64_t>(entry) | tag_of(hash) << kTagShift;
    empty_slot(bucket, arena).store(slot, platform::memory_order_release);
    const uint64_t after = unlatch_changed(bucket, before);
    if (changes != nullptr) changes->push_back({.node = &bucket, .before = before, .after = after});
    return {.entry = entry, .inserted = true};
  }

  void find_all(Key key, const NodeVisitor& visit) override {
    const uint64_t hash = hash_of(key);
    Bucket& bucket = bucket_of(hash);
    std::array<std::byte, kUsualEntries * 2 * sizeof(void*)> stack;
    std::pmr::monotonic_buffer_resource memory(stack.data(), stack.size());
    std::pmr::vector<Keyed*> entries(&memory);
    entries.reserve(kUsualEntries);
    for (;;) {
      const uint64_t seen = begin_reading(bucket);
      any_in_chain_with_tag(bucket, tag_of(hash), [&](Keyed* entry) {
        if (entry->key != key) return false;
        entries.push_back(entry);
        if constexpr (!kUnique) platform::prefetch(static_cast<const Posting*>(entry)->tuple);
        return false;
      });
      if (unchanged_since(bucket, seen)) {
        visit({&bucket, seen}, entries);
        return;
      }
      entries.clear();
    }
  }

  void scan(Key, Key, bool, const NodeVisitor&) override {
    platform::contract_broken("the index of " + name_ +
                              " is a hash index, and only an ordered index can be scanned: create "
                              "it with .kind = IndexKind::kOrdered");
  }

  void for_each(uint32_t part, uint32_t parts, FunctionRef<void(Keyed*)> visit) override {
    LJ_ASSERT(part < parts);
    const auto visit_slots = [&](const auto& slots) {
      for (const Slot& slot : slots) {
        if (Keyed* entry = entry_in(slot.load(platform::memory_order_acquire))) visit(entry);
      }
    };
    for (uint64_t i = count_ * part / parts; i < count_ * (part + 1) / parts; ++i) {
      visit_slots(buckets_[i].slots);
      for (const Overflow* more = buckets_[i].next.load(platform::memory_order_acquire);
           more != nullptr; more = more->next.load(platform::memory_order_acquire)) {
        visit_slots(more->slots);
      }
    }
  }

  void prefetch(Key key) const override { platform::prefetch(&bucket_of(hash_of(key))); }

  // Guesses by the tags which entry has the key. Ignores Overflows, which are not loaded yet.
  void prefetch(std::span<const Key> keys, size_t entry_bytes) const override {
    for (const Key key : keys) prefetch(key);
    for (const Key key : keys) {
      const uint64_t hash = hash_of(key);
      const Bucket& bucket = bucket_of(hash);
      for (uint32_t left = candidates_in(bucket.slots, tag_of(hash)); left != 0; left &= left - 1) {
        prefetch_entry(first_of(left, bucket.slots), entry_bytes);
      }
    }
  }

 private:
  Bucket& bucket_of(uint64_t hash) const { return buckets_[hash >> shift_]; }

  // Is separate from find(), to keep the path to a hit in the head bucket short.
  [[gnu::noinline]] static Keyed* find_in_chain(Bucket& bucket, uint64_t hash, Key key,
                                                NodeVersion* missed_in) {
    platform::SpinWait wait;
    for (;;) {
      const uint64_t seen = bucket.structure.load(platform::memory_order_acquire);
      if (Keyed* entry = search(bucket, hash, key)) return entry;
      if ((seen & IndexNode::kLatched) == 0 && unchanged_since(bucket, seen)) {
        if (missed_in != nullptr) *missed_in = {&bucket, seen};
        return nullptr;
      }
      wait.once();
    }
  }

  static Keyed* search(const Bucket& bucket, uint64_t hash, Key key) {
    Keyed* result = nullptr;
    any_in_chain_with_tag(bucket, tag_of(hash), [&](Keyed* entry) {
      if (entry->key == key) result = entry;
      return result != nullptr;
    });
    return result;
  }

  // Returns the entry that prevents the insert of `entry`, or null.
  static Keyed* find_conflicting(const Bucket& bucket, uint64_t hash, const Keyed* entry) {
    if constexpr (kUnique) return search(bucket, hash, entry->key);
    const auto primary_of = [](const Keyed* e) { return static_cast<const Posting*>(e)->primary; };
    Keyed* result = nullptr;
    any_in_chain_with_tag(bucket, tag_of(hash), [&](Keyed* other) {
      if (other->key == entry->key && primary_of(other) == primary_of(entry)) result = other;
      return result != nullptr;
    });
    return result;
  }

  const uint64_t count_;
  const int shift_;
  const Buckets buckets_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Index> make_hash_index(const IndexOptions& options) {
  if (options.unique) return std::make_unique<HashIndex<true>>(options);
  return std::make_unique<HashIndex<false>>(options);
}

}  // namespace logjam

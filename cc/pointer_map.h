// A map from the addresses that a transaction has accessed to the indexes of its lists. One worker
// owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/random.h"

namespace logjam {

// Open addressing with linear probing. A slot carries the stamp of the transaction that filled it,
// so emptying the map is one increment. A lookup usually touches one slot.
class PointerMap {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  PointerMap() : slots_(size_t{1} << kInitialBits) {}

  // Returns the value of `key`, or kNone.
  uint32_t find(const void* key) const {
    for (size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[i];
      if (slot.stamp != stamp_) return kNone;
      if (slot.key == key) return slot.value;
    }
  }

  // Adds a new key.
  void insert(const void* key, uint32_t value) {
    LJ_ASSERT_IN_TESTS(value != kNone && find(key) == kNone);
    if (++used_ * 2 > slots_.size()) grow();
    place(key, value);
  }

  void clear() {
    used_ = 0;
    if (++stamp_ != 0) return;
    for (Slot& slot : slots_) slot.stamp = 0;
    stamp_ = 1;
  }

 private:
  struct Slot {
    const void* key = nullptr;
    uint32_t stamp = 0;
    uint32_t value = 0;
  };
  static constexpr uint32_t kInitialBits = 6;

  size_t home(const void* key) const {
    return (reinterpret_cast<uintptr_t>(key) * platform::kGoldenRatio) >> (64 - bits_);
  }

  void place(const void* key, uint32_t value) {
    size_t i = home(key);
    while (slots_[i].stamp == stamp_) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {key, stamp_, value};
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    ++bits_;
    for (const Slot& slot : old) {
      if (slot.stamp == stamp_) place(slot.key, slot.value);
    }
  }

  std::vector<Slot> slots_;
  uint32_t bits_ = kInitialBits;
  uint32_t stamp_ = 1;
  size_t used_ = 0;
};

}  // namespace logjam

// The ledger's rows, and the numbers that let a checker reason about them.
//
// Every attempt of every transaction has its own id, and every row carries the id of the attempt
// that wrote it and of the one it overwrote. So the rows of a database say which transactions it
// holds and in which order, and what a reader saw is one number.
#pragma once

#include <cstdint>
#include <string>

#include "engine/storage/tuple.h"

namespace logjam::ledger {

using TransactionId = uint64_t;  // worker << 48 | that worker's count, from 1; 0: the initial load

constexpr TransactionId make_id(uint32_t worker, uint64_t count) {
  return uint64_t{worker} << 48 | count;
}
constexpr uint32_t worker_of(TransactionId id) { return static_cast<uint32_t>(id >> 48); }
// For people: worker:count.
inline std::string show(TransactionId id) {
  if (id == 0) return "the initial load";
  return std::to_string(worker_of(id)) + ":" + std::to_string(id & ((uint64_t{1} << 48) - 1));
}

// splitmix64's finalizer.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// One key of table `ledger`. It has an entry in table `entries` exactly if `present`.
struct LedgerRow {
  TransactionId writer = 0;
  TransactionId overwritten = 0;  // the writer before
  TransactionId toggler = 0;      // the last one that inserted or erased the entry
  uint32_t generation = 0;        // of that entry
  uint32_t present = 0;
  // Follows from what all its writers had read before they wrote, so that it is only what it was in
  // the run if each has read the same again (where logs hold commands instead of values).
  uint64_t seen = 0;
  static constexpr unsigned kFillers = 7;
  uint64_t filler[kFillers] = {};  // follows from all of the above: a torn row is noticed

  // A transaction that is about to write it has read that writer's row of `key`.
  void remember(Key key, TransactionId read) { seen = remember(seen, key, read); }
  static uint64_t remember(uint64_t seen, Key key, TransactionId read) {
    return mix(seen + mix(read ^ mix(~key)));
  }

  uint64_t expected_filler(Key key, unsigned i) const {
    const uint64_t all = mix(writer) ^ mix(overwritten + 1) ^ mix(toggler + 2) ^
                         mix(uint64_t{generation} << 32 | present) ^ mix(seen + 3) ^ mix(~key);
    return mix(all + i);
  }
  void seal(Key key) {
    for (unsigned i = 0; i < kFillers; ++i) filler[i] = expected_filler(key, i);
  }
  bool intact(Key key) const {
    for (unsigned i = 0; i < kFillers; ++i) {
      if (filler[i] != expected_filler(key, i)) return false;
    }
    return true;
  }
};
static_assert(sizeof(LedgerRow) == 96);

// A key's entries have one key each generation, in the ledger's order, so that inserting goes on
// changing the index and a range of ledger keys is a range of entries.
inline constexpr unsigned kGenerationBits = 20;
constexpr Key entry_key(Key key, uint32_t generation) {
  return key << kGenerationBits | (generation & ((1u << kGenerationBits) - 1));
}
constexpr Key ledger_key_of(Key entry) { return entry >> kGenerationBits; }

struct EntryRow {
  TransactionId writer = 0;
  Key key = 0;  // in the ledger
  uint64_t filler = 0;

  void seal() { filler = mix(writer ^ mix(~key)); }
  bool intact() const { return filler == mix(writer ^ mix(~key)); }
};

}  // namespace logjam::ledger

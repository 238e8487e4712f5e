// The rows of the ledger, and the numbers in them by which the checker reasons.
//
// Every attempt of every transaction has an id of its own. Every row of the ledger has the id of
// the attempt that wrote it, and the id of the attempt whose write that attempt overwrote. So the
// rows of a database say which transactions it holds, and in which order. In a history, a read is
// only one number: the writer of the row.
//
// Cells are rows that transactions overwrite without reading them. So a cell names its writer, but
// not the previous writer. A slot is a row that transactions often insert and erase. The cell with
// the number of the slot says whether the slot's row is present. In histories and in the checker,
// the keys of ledger rows begin at 0, and the keys of cells follow the keys of ledger rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/storage/tuple.h"
#include "platform/random.h"
#include "proof/history/file.h"

namespace logjam::ledger {

using platform::mix_bits;

// Returns the fillers of a row: numbers that follow from `all`, a hash of the row's other fields.
// In a torn row the fillers do not follow from the other fields.
template <size_t kFillers>
std::array<uint64_t, kFillers> fillers(uint64_t all) {
  std::array<uint64_t, kFillers> filler;
  for (size_t i = 0; i < kFillers; ++i) filler[i] = mix_bits(all + i);
  return filler;
}

// The row of a key in table `ledger`. The key has an entry in table `entries` exactly if `present`
// is 1.
struct LedgerRow {
  TransactionId writer = 0;
  TransactionId overwritten = 0;  // the previous writer
  TransactionId toggler = 0;      // the last writer that inserted or erased the entry
  uint32_t generation = 0;        // of the entry: see entry_key()
  uint32_t present = 0;
  // A hash of all versions that the row's writers had read before they wrote it. If the log holds
  // commands, recovery computes the same hash only if each writer reads the same versions again.
  uint64_t seen = 0;
  std::array<uint64_t, 7> filler = {};

  // Adds to `seen` a read of `key` in the version that transaction `read` wrote.
  void remember(Key key, TransactionId read) { seen = remember(seen, key, read); }
  static uint64_t remember(uint64_t seen, Key key, TransactionId read) {
    return mix_bits(seen + mix_bits(read ^ mix_bits(~key)));
  }

  std::array<uint64_t, 7> expected_filler(Key key) const {
    return fillers<7>(mix_bits(writer) ^ mix_bits(overwritten + 1) ^ mix_bits(toggler + 2) ^
                      mix_bits(uint64_t{generation} << 32 | present) ^ mix_bits(seen + 3) ^
                      mix_bits(~key));
  }
  void seal(Key key) { filler = expected_filler(key); }
  bool intact(Key key) const { return filler == expected_filler(key); }
};
static_assert(sizeof(LedgerRow) == 96);

// Returns the key of a ledger key's entry. The entry's key differs in each generation, so that each
// insert changes the index. Entries are in the order of their ledger keys, so a range of ledger
// keys is a range of entries.
inline constexpr unsigned kGenerationBits = 20;
constexpr Key entry_key(Key key, uint32_t generation) {
  return key << kGenerationBits | (generation & ((1u << kGenerationBits) - 1));
}
constexpr Key ledger_key_of(Key entry) { return entry >> kGenerationBits; }

struct EntryRow {
  TransactionId writer = 0;
  Key key = 0;  // the ledger key, or a slot's number
  uint64_t filler = 0;

  static EntryRow sealed(TransactionId writer, Key key) {
    return {writer, key, mix_bits(writer ^ mix_bits(~key))};
  }
  bool intact() const { return filler == mix_bits(writer ^ mix_bits(~key)); }
};

// The row of a cell. The slot of the same number is in table `slots` exactly if `present` is 1. In
// cells without a slot `present` is 0.
struct CellRow {
  TransactionId writer = 0;
  uint64_t present = 0;
  // A hash of all versions that the cell's last writer had read.
  uint64_t seen = 0;
  std::array<uint64_t, 3> filler = {};

  std::array<uint64_t, 3> expected_filler(Key number) const {
    return fillers<3>(mix_bits(writer) ^ mix_bits(present + 1) ^ mix_bits(seen + 2) ^
                      mix_bits(~number));
  }
  void seal(Key number) { filler = expected_filler(number); }
  bool intact(Key number) const { return filler == expected_filler(number); }
};
static_assert(sizeof(CellRow) == 48);

}  // namespace logjam::ledger

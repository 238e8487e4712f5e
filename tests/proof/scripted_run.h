// A small log that a script writes on one thread. The script knows from which transactions each
// transaction has read, and the order of each row's writers. The script does not know the scheme's
// sequence numbers, so a check that uses only the script's knowledge is independent of the scheme.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/protocol.h"
#include "logging/scheme_registry.h"

namespace logjam {

struct ScriptedRun {
  static constexpr uint64_t kKeys = 12;

  // Transaction 0 is the initial load.
  struct Transaction {
    std::vector<uint64_t> read_from;  // transactions whose rows it has read
    std::vector<uint64_t> writes;     // the keys of the written rows
    bool acknowledged = false;        // acknowledged before the run ended
  };
  struct Row {
    uint64_t transaction;  // the transaction that wrote the row
    uint64_t same[4];      // words that all writes of the row leave unchanged
    uint64_t check;
    bool operator==(const Row&) const = default;
  };
  static Row row(uint64_t transaction, uint64_t key) {
    return {transaction, {key, ~key, key, 7}, (transaction + 1) * 0x9e3779b97f4a7c15 ^ key};
  }

  std::vector<Transaction> transactions;
  std::vector<std::vector<uint64_t>> writers;   // each key's writers, in the order of the writes
  std::vector<std::vector<std::string>> files;  // by stream, then by stripe
  uint64_t stripe_bytes = 0;
};

struct ScriptOptions {
  const SchemeInfo* scheme = nullptr;
  LogRecords records = LogRecords::kTransaction;
  bool ranges = false;
  bool finished = true;  // if false, the machine stops right after the last transaction
  bool striped = false;  // if true, and if the scheme has one stream and allows stripes, stripes it
  uint64_t seed = 0;
};

// Runs the script of `options.seed`. The calling thread must be the only one that sets flags.
ScriptedRun run_script(const ScriptOptions& options);

}  // namespace logjam

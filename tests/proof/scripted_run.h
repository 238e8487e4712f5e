// A small log, written by a script on one thread, and the script's knowledge of it: which
// transaction read from which, and the writers of each row in order. The script does not know the
// scheme's numbers, so a judge that uses only the script's knowledge is independent of the scheme.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/protocol.h"
#include "logging/scheme_registry.h"

namespace logjam {

struct ScriptedRun {
  static constexpr uint64_t kKeys = 12;

  // The load is transaction 0.
  struct Transaction {
    std::vector<uint64_t> read_from;  // transactions whose rows it has read
    std::vector<uint64_t> writes;     // keys
    bool acknowledged = false;        // before the run ended
  };
  struct Row {
    uint64_t transaction;  // the transaction that wrote the row
    uint64_t same[4];      // the same in all writes of the row
    uint64_t check;
    bool operator==(const Row&) const = default;
  };
  static Row row(uint64_t transaction, uint64_t key) {
    return {transaction, {key, ~key, key, 7}, (transaction + 1) * 0x9e3779b97f4a7c15 ^ key};
  }

  std::vector<Transaction> transactions;
  std::vector<std::vector<uint64_t>> writers;   // of each key, in order
  std::vector<std::vector<std::string>> files;  // by stream, then by stripe
  uint64_t stripe_bytes = 0;
};

struct ScriptOptions {
  const SchemeInfo* scheme = nullptr;
  LogRecords records = LogRecords::kTransaction;
  bool ranges = false;
  bool finished = true;  // otherwise the machine stops right after the last transaction
  bool striped = false;  // if the scheme has one stream that may be
  uint64_t seed = 0;
};

// Runs the script of `options.seed`. The calling thread must be the only one that sets flags.
ScriptedRun run_script(const ScriptOptions& options);

}  // namespace logjam

// Rounds of the crash test: run the ledger, kill the process, recover, and check the history. A
// round of several lives does this several times on one set of log directories.
//
// Everything about a round except its timing follows from its seed and the registries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace logjam {

// All flags of a run except its paths. arguments() leaves out a flag if its default and its field
// are 0.
struct LedgerFlags {
  std::string scheme, protocol, commit, log_records, device;
  std::string sync = "dsync";  // has an effect if the device has sync methods
  bool no_io_uring = false;
  uint64_t seed = 0;
  uint64_t transactions = 0;  // the run ends after this number; 0: after 20 s
  uint32_t threads = 1, sockets = 2, pipeline_depth = 1;
  std::string locks = "early", log_parts;
  std::string snapshot;  // empty: the protocol has no snapshots

  uint32_t log_buffer_mb = 1, stripe_kb = 0, io_depth = 1;
  bool flush_help = true;
  uint32_t flush_txns = 0, flush_bytes = 0, flush_us = 0, flush_gap_us = 0;
  double epoch_ms = 1;
  uint32_t pwal_ngroup = 0;
  bool store_sdl = false;
  double checkpoint_s = 0;
  uint32_t checkpoint_mb = 0, checkpoint_mb_s = 0;

  uint64_t keys = 200, cells = 64, slots = 8;
  uint64_t reads = 2, writes = 2;
  uint32_t readers = 0;
  double theta = 0;
  uint64_t yield = 0, dawdle = 0;
  uint64_t die_after = 0, die_early = 0;  // the numbers of CrashPoint
  uint32_t history_mb = 256;

  // Copies --ledger from the first life of the log, because this flag decides the tables.
  void take_tables_of(const LedgerFlags& first) {
    keys = first.keys, cells = first.cells, slots = first.slots;
    reads = first.reads, writes = first.writes, theta = first.theta;
  }

  std::vector<std::string> arguments() const;
};

struct CrashRound {
  uint64_t seed = 0;
  LedgerFlags flags;            // of the run
  bool ends_by_itself = false;  // no kill: recovery must find exactly the acknowledged transactions
  uint32_t kill_after_ms = 0;
  uint32_t directories = 1;  // of the log; recovery gets them in another order
  std::string replay;        // recovery's --replay

  std::string name() const;  // in messages and test names: centr_occ_sync_txn
};

// Returns how many combinations of scheme, protocol, commit policy and record granularity exist.
uint64_t crash_combinations();
// Derives the round of this seed. Consecutive seeds walk through all combinations, so the test
// includes every new scheme and protocol.
CrashRound derive_round(uint64_t seed);

struct CrashResult {
  bool passed = false;
  std::string commands;  // the exact command lines of the run and of the recovery
  std::string report;    // the result; after a failure, also the output of the programs
  uint64_t recorded = 0, acknowledged = 0;
};

// Plays the round with `binary` in a temporary directory, which stays if the round fails.
CrashResult play(const CrashRound& round, const std::string& binary);

// One life of a log: a run of the ledger that takes checkpoints and is killed. Each life has its
// own scheme, protocol, commit policy and device, and names the directories in another order. Kills
// hit runs, their checkpoints and truncations, the recoveries and restarts that begin a later life,
// runs that replace the log, and `recover --checkpoint` between lives.
struct Life {
  LedgerFlags flags;
  uint32_t kill_after_ms = 0;  // from the start of the process; 0: the life ends by itself
  // After this life `recover --checkpoint` runs, and is killed after this time; 0: it does not run.
  uint32_t checkpoint_for_ms = 0;
  bool overwrites = false;      // the life replaces the log, and does not continue it
  bool bad_checkpoint = false;  // then the latest checkpoint is damaged, if another is complete
};

struct LivesRound {
  uint64_t seed = 0;
  uint32_t directories = 1;
  std::vector<Life> lives;

  std::string name() const;  // the first life's scheme and protocol
};

// Derives a round whose first life has derive_round(seed)'s scheme, protocol and granularity.
LivesRound derive_lives(uint64_t seed);

CrashResult play(const LivesRound& round, const std::string& binary);

}  // namespace logjam

// The ledger's scale and draws: --ledger=keys:1000,theta:0.9,... and what --test sets.
#pragma once

#include <cstdint>
#include <string>

#include "proof/ledger/history.h"

namespace logjam::ledger {

inline constexpr uint64_t kMostAccesses = 64;  // limit for the reads, and for the writes

struct Options {
  uint64_t keys = 1000;
  uint64_t cells = 64;  // rows that are overwritten without being read
  uint64_t slots = 16;  // cells whose row comes and goes, by erase and insert; few do so often
  uint64_t reads = 2;   // rows that a transfer reads, at most
  uint64_t writes = 2;  // rows that a transfer updates, at most
  double theta = 0;     // zipfian skew of the keys; 0 is uniform

  // --test=ledger_readers: the number of workers that only read. Their acknowledgements wait only
  // for writes that the transaction has read.
  uint64_t readers = 0;
  // --test=ledger_yield: after this many accesses a worker yields its core, so that few cores see
  // many interleavings. 0: never.
  uint64_t yield = 0;
  // --test=ledger_dawdle: how often, at most, a transaction that has inserted and read nothing
  // yields its core before it commits, until others have inserted and erased the same row.
  uint64_t dawdle = 0;
  // --test=ledger_die_after: one worker kills the process (SIGKILL) right after this number of its
  // acknowledgements, when a lost commit would be noticed. 0: no worker does.
  uint64_t die_after = 0;
  // --test=ledger_die_early: a worker kills the process (SIGKILL) right after this number of its
  // early acknowledgements. An early one acknowledges a blind insert before the erase that the
  // insert follows is acknowledged. 0: no worker does.
  uint64_t die_early = 0;

  KeySpace key_space() const { return {.ledger = keys, .cells = cells, .slots = slots}; }
};

// Returns the options that the flags say. The main thread and workers that start call it.
Options options_from_flags();

// Returns why the flags cannot be used, in one sentence, or an empty string.
std::string check_flags();

}  // namespace logjam::ledger

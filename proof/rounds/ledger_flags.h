// The flags of a crash round's run of the ledger. Each field is given once, as one flag.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace logjam {

// All flags of a run except its paths. arguments() leaves out a flag whose default is 0 if its
// field is 0.
struct LedgerFlags {
  std::string scheme, protocol, commit, log_records, device;
  uint64_t seed = 0;
  uint64_t transactions = 0;  // the run ends by itself; 0: after 20 s
  uint32_t threads = 1, sockets = 2, pipeline_depth = 1;
  std::string locks = "early";

  uint32_t log_buffer_mb = 1, stripe_kb = 0, io_depth = 1;
  bool flush_help = true;
  uint32_t flush_txns = 0, flush_bytes = 0, flush_us = 0, flush_gap_us = 0;
  uint32_t epoch_ms = 1, pwal_ngroup = 0;
  bool store_sdl = false;
  double checkpoint_s = 0;
  uint32_t checkpoint_mb = 0, checkpoint_mb_s = 0;

  uint64_t keys = 200, cells = 64, slots = 8;
  uint64_t reads = 2, writes = 2;
  uint32_t readers = 0;
  double theta = 0;
  uint64_t yield = 0, dawdle = 0;
  uint64_t die_after = 0, die_early = 0;  // acknowledgements
  uint32_t history_mb = 256;

  // Copies --ledger from the first life of the log, because this flag decides the tables.
  void take_tables_of(const LedgerFlags& first) {
    keys = first.keys, cells = first.cells, slots = first.slots;
    reads = first.reads, writes = first.writes, theta = first.theta;
  }

  std::vector<std::string> arguments() const {
    std::vector<std::string> all;
    const auto give = [&all](const char* name, const auto& value) {
      std::ostringstream flag;
      flag << std::boolalpha << "--" << name << '=' << value;
      all.push_back(flag.str());
    };
    const auto give_unless_0 = [&give](const char* name, auto value) {
      if (value != 0) give(name, value);
    };
    const auto give_list = [&give](const char* name,
                                   std::initializer_list<std::pair<const char*, double>> keys) {
      std::ostringstream list;
      for (const auto& [key, value] : keys) {
        if (value != 0) list << (list.tellp() == 0 ? "" : ",") << key << ':' << value;
      }
      if (list.tellp() != 0) give(name, list.str());
    };
    give("workload", "ledger");
    give("log", scheme);
    give("cc", protocol);
    give("commit", commit);
    give("log_records", log_records);
    give("device", device);
    give("seed", seed);
    give("seconds", 20);
    give_unless_0("transactions", transactions);
    if (transactions == 0) give("warmup", 0);
    give("threads", threads);
    give("sockets", sockets);
    give("pipeline_depth", pipeline_depth);
    give("locks", locks);
    give("log_buffer_mb", log_buffer_mb);
    give("log_prealloc_mb", 1);  // segments of 1 MiB, the next one made while the log is written
    give_unless_0("stripe_kb", stripe_kb);
    give("io_depth", io_depth);
    give("flush_help", flush_help);
    give_list("flush", {{"txns", flush_txns}, {"bytes", flush_bytes}, {"us", flush_us}});
    give("flush_gap_us", flush_gap_us);
    give("silo_epoch_ms", epoch_ms);
    give("pwal_ngroup", pwal_ngroup);
    give("eleda_store_sdl", store_sdl);
    give_list("checkpoint",
              {{"s", checkpoint_s}, {"mb", checkpoint_mb}, {"mb_s", checkpoint_mb_s}});
    std::ostringstream ledger;
    ledger << "keys:" << keys << ",cells:" << cells << ",slots:" << slots << ",reads:" << reads
           << ",writes:" << writes << ",theta:" << theta;
    give("ledger", ledger.str());
    give_list("test", {{"ledger_readers", readers},
                       {"ledger_yield", yield},
                       {"ledger_dawdle", dawdle},
                       {"ledger_die_after", die_after},
                       {"ledger_die_early", die_early}});
    give("history_mb", history_mb);
    return all;
  }
};

}  // namespace logjam

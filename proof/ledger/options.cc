#include "proof/ledger/options.h"

#include <gflags/gflags.h>

#include "platform/flag_list.h"
#include "platform/test_value.h"

DEFINE_string(ledger, "",
              "the ledger's scale and draws: keys:1000 (rows), cells:64 (rows overwritten unread), "
              "slots:16 (cells whose row comes and goes), reads:2 and writes:2 (of a transfer, at "
              "most), theta:0 (zipfian skew of the keys)");
DECLARE_string(history);
DECLARE_uint64(history_mb);

namespace logjam::ledger {
namespace {

using platform::TestValue;

const TestValue readers("ledger_readers"), yield("ledger_yield"), dawdle("ledger_dawdle"),
    die_after("ledger_die_after"), die_early("ledger_die_early");

}  // namespace

Options options_from_flags() {
  Options options;
  const auto number = [](const char* key, uint64_t otherwise) {
    return static_cast<uint64_t>(
        platform::listed(FLAGS_ledger, key, static_cast<double>(otherwise)));
  };
  options.keys = number("keys", options.keys);
  options.cells = number("cells", options.cells);
  options.slots = number("slots", options.slots);
  options.reads = number("reads", options.reads);
  options.writes = number("writes", options.writes);
  options.theta = platform::listed(FLAGS_ledger, "theta");
  options.readers = readers.get();
  options.yield = yield.get();
  options.dawdle = dawdle.get();
  options.die_after = die_after.get();
  options.die_early = die_early.get();
  return options;
}

std::string check_flags() {
  constexpr double kMostKeys = 100'000'000, kMostCells = 1'000'000, kMostTheta = 2;
  constexpr auto kMost = static_cast<double>(kMostAccesses);
  const platform::ListKey keys[] = {{"keys", 1, kMostKeys},   {"cells", 1, kMostCells},
                                    {"slots", 0, kMostCells}, {"reads", 0, kMost},
                                    {"writes", 1, kMost},     {"theta", 0, kMostTheta, false}};
  if (std::string why = platform::check_list("ledger", FLAGS_ledger, keys); !why.empty()) {
    return why;
  }
  const Options options = options_from_flags();
  if (options.keys < options.reads + options.writes) {
    return "--ledger needs at least as many keys as a transfer reads and writes: " +
           std::to_string(options.reads + options.writes);
  }
  if (options.slots > options.cells) return "--ledger needs a cell for each of its slots";
  if (options.die_early != 0 && FLAGS_history.empty()) {
    return "--test=ledger_die_early needs a --history, which numbers the transactions";
  }
  constexpr uint64_t kMostHistoryMb = 1 << 20;
  if (FLAGS_history_mb < 1 || FLAGS_history_mb > kMostHistoryMb) {
    return "--history_mb is from 1 to " + std::to_string(kMostHistoryMb);
  }
  return "";
}

}  // namespace logjam::ledger

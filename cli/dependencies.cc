#include "engine/recovery/dependencies.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <string>

#include "cli/dependencies.h"
#include "cli/output_claim.h"
#include "cli/row_files.h"
#include "platform/fatal.h"
#include "platform/output_file.h"

DECLARE_string(dependencies);
DECLARE_string(csv);
DECLARE_string(json);

namespace logjam {
namespace {

// Aether, Fig. 15: the older record is one of the five most recently inserted ones of its log.
constexpr uint64_t kTight = 5;

constexpr char kHeader[] =
    "from_stream,from_sequence,from_order,to_stream,to_sequence,to_order,rows,since\n";

double percent(uint64_t part, uint64_t all) {
  return 100 * per(static_cast<double>(part), static_cast<double>(all));
}

Value median(std::vector<uint64_t> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Row make_row(const LogFiles& files, const DumpRange& range, const LogDependencies& found) {
  const auto& transactions = found.transactions;
  uint64_t crossing = 0, tight = 0;
  std::vector<uint64_t> gaps, places;
  for (const Dependency& edge : found.edges) {
    const LoggedTransaction &from = transactions[edge.from], &to = transactions[edge.to];
    gaps.push_back(to.sequence - from.sequence);
    places.push_back(edge.to - edge.from);
    if (from.stream == to.stream) continue;
    ++crossing;
    if (edge.since < kTight) ++tight;
  }
  const auto workload = files.header.flags.find("workload");
  Row row = {{"workload", workload == files.header.flags.end() ? "" : workload->second}};
  add_log(files, &row);
  row.emplace_back("log_transactions", found.log_transactions);
  row.emplace_back("dump_from", range.from);
  row.emplace_back("transactions", transactions.size());
  row.emplace_back("edges", found.edges.size());
  row.emplace_back("cross_stream_edges", crossing);
  row.emplace_back("cross_stream_pct", number(percent(crossing, found.edges.size()), 2));
  row.emplace_back("tight_edges", tight);
  row.emplace_back("tight_pct", number(percent(tight, crossing), 2));
  row.emplace_back("median_gap", median(gaps));
  row.emplace_back("median_order_gap", median(places));
  row.emplace_back("longest_path", found.longest_path);
  add_origin(&row);
  return row;
}

void write_edges(const LogDependencies& found, uint64_t from) {
  platform::OutputFile file(FLAGS_dependencies);
  file.write(kHeader);
  const auto end = [&](uint64_t which) {
    const LoggedTransaction& txn = found.transactions[which];
    return std::to_string(txn.stream) + "," + std::to_string(txn.sequence) + "," +
           std::to_string(from + which) + ",";
  };
  for (const Dependency& edge : found.edges) {
    file.write(end(edge.from) + end(edge.to) + std::to_string(edge.rows) + "," +
               std::to_string(edge.since) + "\n");
  }
}

}  // namespace

bool dependencies_wanted() {
  return !FLAGS_dependencies.empty() || !FLAGS_csv.empty() || !FLAGS_json.empty();
}

void dump_dependencies(const LogFiles& files, const DumpRange& range) {
  if (files.header.log_records == "command") {
    platform::refuse("the log of scheme " + files.header.scheme +
                     " holds commands, which do not say what rows they wrote: it has no "
                     "dependencies to dump");
  }
  claim_row_files(make_row(files, range, {}));
  if (!FLAGS_dependencies.empty()) {
    claim_replaced("--dependencies", FLAGS_dependencies, "a list of dependencies", {kHeader});
  }
  const LogDependencies found = find_dependencies(files, {range.from, range.count});
  if (!found.error.empty()) platform::refuse(found.error);
  if (range.from != 0 && range.from >= found.log_transactions) {
    platform::refuse("--range=from:" + std::to_string(range.from) + " is beyond the log, of " +
                     std::to_string(found.log_transactions) + " transactions");
  }
  if (!FLAGS_dependencies.empty()) write_edges(found, range.from);
  const Row row = make_row(files, range, found);
  append_row(row);
  print_summary(row);
}

}  // namespace logjam

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "engine/recovery/dependencies.h"
#include "engine/recovery/log_chain.h"
#include "logging/format/log_reader.h"
#include "logging/format/range_image.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/flag_list.h"
#include "platform/output_file.h"
#include "platform/text.h"

namespace logjam {
namespace {

struct DumpOptions {
  std::vector<std::string> directories;
  uint64_t run = 0;          // 0: the last run
  uint64_t from = 0;         // the number of records or transactions to skip at the log's begin
  uint64_t count = 0;        // the largest number of records or transactions to dump
  std::string dependencies;  // the file for the dependencies; empty: none
  OutputFiles files;

  // Returns whether the flags ask for dependencies or for their counts, and not for records.
  bool of_dependencies() const {
    return !dependencies.empty() || !files.csv.empty() || !files.json.empty();
  }
};

const char* name_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::kVoid:
      return "void";
    case RecordKind::kTransaction:
      return "transaction";
    case RecordKind::kBegin:
      return "begin";
    case RecordKind::kOperation:
      return "operation";
    case RecordKind::kCommit:
      return "commit";
    case RecordKind::kWatermark:
      return "watermark";
    case RecordKind::kPadding:
      return "padding";
    case RecordKind::kCommand:
      return "command";
  }
  return "?";
}

const char* name_of(WriteOp op) {
  switch (op) {
    case WriteOp::kUpdate:
      return "update";
    case WriteOp::kInsert:
      return "insert";
    case WriteOp::kErase:
      return "erase";
  }
  return "?";
}

void print_image(const char* name, const std::byte* image, uint32_t bytes) {
  if (image == nullptr) return;
  std::printf(" %s=", name);
  constexpr uint32_t kShownBytes = 16;
  const uint32_t shown = std::min(bytes, kShownBytes);
  for (uint32_t i = 0; i < shown; ++i) std::printf("%02x", static_cast<unsigned>(image[i]));
  if (shown < bytes) std::printf("...");
}

void print_ranges(RangeImage image) {
  std::printf(" changes version %lu", image.version());
  for (Range range; image.next(&range);) {
    print_image(("from " + std::to_string(range.offset)).c_str(), range.bytes, range.length);
  }
}

// Prints `position`, up to which a stream was certainly durable, unless `position` is 0 (unknown).
void print_durable(uint64_t position) {
  if (position != 0) std::printf(", durable %lu", position);
}

void print_record(const RecordHeader& record, uint64_t position) {
  std::printf("%12lu  seq %-12lu txn %u:%-10lu %-11s %u bytes", position, record.sequence,
              worker_of(record), record.txn & ((uint64_t{1} << kWorkerShift) - 1),
              name_of(record.kind), record.bytes);
  print_durable(vouched_position(record, position));
  std::printf("\n");
  if (LoggedCommand command; read_command(record, &command)) {
    std::printf("%16stype %u, %u rows, %zu bytes", "", command.type, command.rows,
                command.input.size());
    print_image("input", command.input.data(), static_cast<uint32_t>(command.input.size()));
    std::printf("\n");
    return;
  }
  if (record.kind == RecordKind::kVoid) return;
  for (const uint64_t word : vector_of(record)) {
    std::printf("%16sneeds stream %u up to %lu\n", "", VectorWord::stream(word),
                VectorWord::position(word));
  }
  if (record.kind == RecordKind::kWatermark && !watermark_body(record).empty()) {
    std::printf("%16s", "");
    for (const uint64_t word : watermark_body(record)) {
      std::printf("%lu", WatermarkWord::position(word));
      print_durable(WatermarkWord::vouched(word));
      std::printf("; ");
    }
    std::printf("\n");
  }
  RecordBody body(record);
  LoggedWrite write;
  while (body.next(&write)) {
    std::printf("%16s%s table %u key %lu %s %u bytes", "", name_of(write.header.op),
                write.header.table, write.header.key, write.has_ranges() ? "ranges" : "row",
                write.header.image_bytes);
    if (write.has_ranges()) {
      print_ranges(RangeImage(write.image()));
    } else {
      print_image("after", write.after, write.header.image_bytes);
      print_image("before", write.before, write.header.image_bytes);
    }
    std::printf("\n");
  }
}

DumpOptions dump_options() {
  constexpr double kMostRuns = 1e9, kMostRecords = 1e15;
  constexpr platform::ListKey kKeys[] = {
      {"run", 1, kMostRuns}, {"from", 0, kMostRecords}, {"count", 0, kMostRecords}};
  refuse_if(platform::check_list("range", FLAGS_range, kKeys));
  const auto number = [](const char* key, double otherwise) {
    return static_cast<uint64_t>(platform::listed(FLAGS_range, key, otherwise));
  };
  return {.directories = wal_directories(),
          .run = number("run", 0),
          .from = number("from", 0),
          .count = number("count", kMostRecords),
          .dependencies = FLAGS_dependencies,
          .files = output_files()};
}

// Returns the files of the run to dump. Refuses a run that a recovery would not read.
LogFiles run_to_dump(const DumpOptions& options) {
  const uint64_t wanted = options.run;
  const LogChain chain = find_log_chain(options.directories);
  refuse_if(chain.error);
  const RecoveryStart& start = chain.starts.front();
  for (auto run = start.runs.rbegin(); run != start.runs.rend(); ++run) {
    if (wanted == 0 || run->header.ordinal == wanted) return *run;
  }
  std::string why = wanted == 0
                        ? "a recovery reads no run of the log"
                        : "a recovery does not read run " + std::to_string(wanted) + " of the log";
  if (start.checkpoint) why += ": " + start.checkpoint->name() + " has it";
  platform::refuse(why);
}

// A dependency whose Dependency::since is smaller than this number is tight (Aether, Fig. 15).
constexpr uint64_t kTight = 5;

constexpr char kEdgesHeader[] =
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

Row make_row(const LogFiles& files, const DumpOptions& options, const LogDependencies& found) {
  const auto& transactions = found.transactions;
  uint64_t crossing = 0, tight = 0;
  std::vector<uint64_t> gaps, places;
  for (const Dependency& edge : found.edges) {
    LJ_ASSERT(edge.from < edge.to && edge.to < transactions.size());
    const LoggedTransaction &from = transactions[edge.from], &to = transactions[edge.to];
    gaps.push_back(to.sequence - from.sequence);
    places.push_back(edge.to - edge.from);
    if (from.stream == to.stream) continue;
    ++crossing;
    if (edge.since < kTight) ++tight;
  }
  const auto workload = files.header.flags.find("workload");
  Row row = {{"workload", workload == files.header.flags.end() ? "" : workload->second}};
  add_log(files, options.directories.size(), &row);
  append(&row, {{"log_transactions", found.log_transactions},
                {"dump_from", options.from},
                {"transactions", transactions.size()},
                {"edges", found.edges.size()},
                {"cross_stream_edges", crossing},
                {"cross_stream_pct", number(percent(crossing, found.edges.size()), 2)},
                {"tight_edges", tight},
                {"tight_pct", number(percent(tight, crossing), 2)},
                {"median_gap", median(gaps)},
                {"median_order_gap", median(places)},
                {"longest_path", found.longest_path}});
  add_origin(&row);
  return row;
}

void write_edges(const LogDependencies& found, const DumpOptions& options) {
  platform::OutputFile file(options.dependencies);
  file.write(kEdgesHeader);
  const auto end = [&](uint64_t which) {
    const LoggedTransaction& txn = found.transactions[which];
    return std::to_string(txn.stream) + "," + std::to_string(txn.sequence) + "," +
           std::to_string(options.from + which) + ",";
  };
  for (const Dependency& edge : found.edges) {
    file.write(end(edge.from) + end(edge.to) + std::to_string(edge.rows) + "," +
               std::to_string(edge.since) + "\n");
  }
}

void dump_dependencies(const LogFiles& files, const DumpOptions& options) {
  if (files.header.log_records == "command") {
    platform::refuse("the log of scheme " + files.header.scheme +
                     " holds commands, which do not say what rows they wrote: it has no "
                     "dependencies to dump");
  }
  options.files.claim(make_row(files, options, {}));
  if (!options.dependencies.empty()) {
    claim_replaced("--dependencies", options.dependencies, "a list of dependencies",
                   {kEdgesHeader});
  }
  const LogDependencies found = find_dependencies(files, {options.from, options.count});
  refuse_if(found.error);
  if (options.from != 0 && options.from >= found.log_transactions) {
    platform::refuse("--range=from:" + std::to_string(options.from) + " is beyond the log, of " +
                     std::to_string(found.log_transactions) + " transactions");
  }
  if (!options.dependencies.empty()) write_edges(found, options);
  const Row row = make_row(files, options, found);
  options.files.append(row);
  print_summary(row);
}

}  // namespace

int dump_command() {
  const DumpOptions options = dump_options();
  const LogFiles files = run_to_dump(options);
  if (options.of_dependencies()) {
    dump_dependencies(files, options);
    return 0;
  }
  for (size_t stream = 0; stream < files.paths.size(); ++stream) {
    const std::vector<std::string>& paths = files.paths[stream];
    if (paths.empty()) {
      std::printf("# a stream of %s, which was starting: empty\n", files.header.origin().c_str());
      continue;
    }
    LogReader reader(files, stream);
    refuse_if(reader.error());
    const LogFileHeader& header = reader.header();
    std::printf("# %s: scheme %s, stream %u of %u, device %s, records %s, run %016lx\n",
                platform::join(paths, ", ").c_str(), header.scheme.c_str(), header.stream,
                header.streams, header.device.c_str(), header.log_records.c_str(), header.run);
    for (const auto& [name, value] : header.flags) {
      std::printf("# --%s=%s\n", name.c_str(), value.c_str());
    }
    RecordBatch batch;
    uint64_t seen = 0;
    const uint64_t end = options.from + options.count;
    // The loop also ends if the program that reads stdout, such as `head`, has ended.
    while (seen < end && std::ferror(stdout) == 0 && reader.next(&batch)) {
      for (size_t i = 0; i < batch.records.size() && seen < end; ++i, ++seen) {
        if (seen >= options.from) print_record(*batch.records[i], batch.positions[i]);
      }
    }
    if (seen < end) std::printf("# %s\n", reader.tail().why.c_str());
  }
  return 0;
}

}  // namespace logjam

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/dependencies.h"
#include "engine/recovery/log_chain.h"
#include "logging/format/log_reader.h"
#include "logging/format/range_image.h"
#include "platform/fatal.h"
#include "platform/flag_list.h"
#include "platform/text.h"

DEFINE_string(dependencies, "",
              "write the dependencies between transactions to this file; as CSV, instead of the "
              "records: which transaction overwrote rows of which earlier one; --csv and --json "
              "take a row with the counts");
DEFINE_string(
    range, "",
    "the part of the log to print, such as run:2,from:1000,count:100; run: the number of a "
    "run, without it the last run; from: the records of each stream to leave out first, or "
    "with --dependencies the transactions, in the order of their sequence numbers; count: the "
    "most to print; the log before the latest checkpoint is not printed");

namespace logjam {
namespace {

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

// Prints the position up to which a stream was certainly durable, if it is known.
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

DumpRange range_or_refuse() {
  constexpr double kMostRuns = 1e9, kMostRecords = 1e15;
  constexpr platform::ListKey kKeys[] = {
      {"run", 1, kMostRuns}, {"from", 0, kMostRecords}, {"count", 0, kMostRecords}};
  refuse_if(platform::check_list("range", FLAGS_range, kKeys));
  const auto number = [](const char* key, double otherwise) {
    return static_cast<uint64_t>(platform::listed(FLAGS_range, key, otherwise));
  };
  return {number("run", 0), number("from", 0), number("count", kMostRecords)};
}

// Returns the files of run `wanted`, or of the last run if `wanted` is 0. Refuses a run that a
// recovery would not read.
LogFiles run_to_dump(const std::vector<std::string>& directories, uint64_t wanted) {
  const LogChain chain = find_log_chain(directories);
  if (!chain.error.empty()) platform::refuse(chain.error);
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

}  // namespace

int dump_command() {
  const DumpRange range = range_or_refuse();
  const LogFiles files = run_to_dump(wal_directories(), range.run);
  if (dependencies_wanted()) {
    dump_dependencies(files, range);
    return 0;
  }
  for (size_t stream = 0; stream < files.paths.size(); ++stream) {
    const std::vector<std::string>& paths = files.paths[stream];
    if (paths.empty()) {
      std::printf("# a stream of %s, which was starting: empty\n", files.header.origin().c_str());
      continue;
    }
    LogReader reader(files, stream);
    if (!reader.error().empty()) platform::refuse(reader.error());
    const LogFileHeader& header = reader.header();
    std::printf("# %s: scheme %s, stream %u of %u, device %s, records %s, run %016lx\n",
                platform::join(paths, ", ").c_str(), header.scheme.c_str(), header.stream,
                header.streams, header.device.c_str(), header.log_records.c_str(), header.run);
    for (const auto& [name, value] : header.flags) {
      std::printf("# --%s=%s\n", name.c_str(), value.c_str());
    }
    RecordBatch batch;
    uint64_t seen = 0;
    const uint64_t end = range.from + range.count;
    // Printing ends with its reader, such as head.
    while (seen < end && std::ferror(stdout) == 0 && reader.next(&batch)) {
      for (size_t i = 0; i < batch.records.size() && seen < end; ++i, ++seen) {
        if (seen >= range.from) print_record(*batch.records[i], batch.positions[i]);
      }
    }
    if (seen < end) std::printf("# %s\n", reader.tail().why.c_str());
  }
  return 0;
}

}  // namespace logjam

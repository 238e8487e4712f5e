#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/dependencies.h"
#include "cli/settings.h"
#include "engine/recovery/log_chain.h"
#include "logging/format/log_reader.h"
#include "platform/fatal.h"
#include "platform/text.h"

DEFINE_uint64(dump_records, ~uint64_t{0}, "records to print of each stream");
DEFINE_uint32(dump_row_bytes, 16, "bytes of each row image to print");
DEFINE_string(dependencies, "",
              "dump: instead of the records, write to this file which transactions overwrote rows "
              "of which others, as CSV; --csv and --json take a row that sums it up");
DEFINE_uint32(dump_run, 0,
              "dump: of a log with several runs, print this one; 0: the last. What lies before the "
              "latest checkpoint is not printed");
DEFINE_uint64(dump_from, 0,
              "dump --dependencies: of the transactions, in the order of their sequence numbers, "
              "leave out so many");
DEFINE_uint64(dump_transactions, ~uint64_t{0},
              "dump --dependencies: and take no more than so many; both ends of a dependency are "
              "among them");

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
  const uint32_t shown = std::min(bytes, FLAGS_dump_row_bytes);
  for (uint32_t i = 0; i < shown; ++i) std::printf("%02x", static_cast<unsigned>(image[i]));
  if (shown < bytes) std::printf("...");
}

// How far a stream was durable for certain, if that is known.
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
    std::printf("%16s%s table %u key %lu row %u bytes", "", name_of(write.header.op),
                write.header.table, write.header.key, write.header.row_bytes);
    print_image("after", write.after, write.header.row_bytes);
    print_image("before", write.before, write.header.row_bytes);
    std::printf("\n");
  }
}

// Of the runs that a recovery would read, the one that --dump_run names, or the last one.
LogFiles run_to_dump(const std::vector<std::string>& directories) {
  const LogChain chain = find_log_chain(directories);
  if (!chain.error.empty()) platform::refuse(chain.error);
  const RecoveryStart& start = chain.starts.front();
  for (auto run = start.runs.rbegin(); run != start.runs.rend(); ++run) {
    if (FLAGS_dump_run == 0 || run->header.ordinal == FLAGS_dump_run) return *run;
  }
  platform::refuse("a recovery reads no run " +
                   (FLAGS_dump_run == 0 ? "" : std::to_string(FLAGS_dump_run) + " ") +
                   "of the log" +
                   (start.checkpoint ? ": " + start.checkpoint->name() + " has it" : ""));
}

}  // namespace

int dump_command() {
  const LogFiles files = run_to_dump(wal_directories());
  if (dependencies_wanted()) {
    dump_dependencies(files);
    return 0;
  }
  for (size_t stream = 0; stream < files.paths.size(); ++stream) {
    const std::vector<std::string>& paths = files.paths[stream];
    if (paths.empty()) {
      std::printf("# a stream of %s, which was starting: empty\n", files.header.origin().c_str());
      continue;
    }
    LogReader reader(paths, {}, files.start(stream));
    if (!reader.error().empty()) platform::refuse(reader.error());
    const LogFileHeader& header = reader.header();
    std::printf("# %s: scheme %s, stream %u of %u, device %s, records %s, run %016lx\n",
                platform::join(paths, ", ").c_str(), header.scheme.c_str(), header.stream,
                header.streams, header.device.c_str(), header.log_records.c_str(), header.run);
    for (const auto& [name, value] : header.flags) {
      std::printf("# --%s=%s\n", name.c_str(), value.c_str());
    }
    RecordBatch batch;
    uint64_t printed = 0;
    while (printed < FLAGS_dump_records && reader.next(&batch)) {
      for (size_t i = 0; i < batch.records.size() && printed < FLAGS_dump_records; ++i, ++printed) {
        print_record(*batch.records[i], batch.positions[i]);
      }
    }
    if (printed < FLAGS_dump_records) std::printf("# %s\n", reader.tail().why.c_str());
  }
  return 0;
}

}  // namespace logjam

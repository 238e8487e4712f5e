// Records and range images: through the readers of streams, the rule of a scheme, and the applier.
#include "engine/recovery/applier.h"
#include "engine/recovery/recover.h"
#include "tests/fuzz/record_input.h"
#include "tests/fuzz/replay.h"
#include "tests/fuzz/tables.h"

namespace logjam::fuzz {
namespace {

// The memory of a recovery that reads little of a stream at once.
constexpr uint64_t kLittleBytes = 1;

// Replays the log into the database.
void replay(const RecordInput& input, const LogFiles& files, Database& database) {
  LogMemoryMeter meter;
  Applier applier(database, &meter);
  Arena arena;
  const StreamShare share = share_of_stream(kLittleBytes, files.paths.size(), 1);
  if (replay_streams(files, input.scheme->recovery, share, meter,
                     [&](const BodiesToApply& ready) { applier.apply(ready, arena); })) {
    applier.finish();
  }
}

// Reads all bytes of the rows and of what the indexes lead to.
void touch_rows(Database& database) {
  uint64_t sum = 0;
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte* row) {
      sum += key;
      for (uint32_t i = 0; i < table->row_bytes(); ++i) sum += static_cast<uint64_t>(row[i]);
    });
  }
  volatile uint64_t seen = sum;
  (void)seen;
}

void apply_records(Input bytes) {
  const RecordInput input(bytes);
  ByteFiles disk;
  const LogFiles files = input.add_files(&disk);
  const platform::ReplaceFiles replace(disk);
  Database database;
  create_tables(database);
  replay(input, files, database);
  touch_rows(database);
}

void recover_records(Input bytes) {
  const RecordInput input(bytes);
  ByteFiles disk;
  const LogFiles files = input.add_files(&disk);
  const platform::ReplaceFiles replace(disk);
  Database database;
  create_tables(database);
  recover(database, files, input.scheme->recovery, 1,
          input.merged ? ReplayOrder::kMerged : ReplayOrder::kParallel, 0,
          input.reads_little ? kLittleBytes : kRecoveryBytes);
  touch_rows(database);
}

const FuzzRegistration registration({.name = "records",
                                     .most_bytes = kMostRecordBytes,
                                     .run = apply_records,
                                     .mend = mend_records});
const FuzzRegistration recover_registration({.name = "recover",
                                             .most_bytes = kMostRecordBytes,
                                             .run = recover_records,
                                             .mend = mend_records});

}  // namespace
}  // namespace logjam::fuzz

// `logjam dump`: its --range, and the records of a log that it prints.
//
// input := the value of --range, a line break, a log as in record_input.h
#include <gflags/gflags.h>

#include <algorithm>

#include "cli/commands.h"
#include "engine/recovery/dependencies.h"
#include "tests/fuzz/record_input.h"

DECLARE_string(range);
DECLARE_string(wal_dir);

namespace logjam::fuzz {
namespace {

constexpr const char* kDirectory = "d0";  // the one of a stream that is not striped

void dump_log(Input bytes) {
  Parts parts(bytes);
  FLAGS_range = parts.line();
  FLAGS_wal_dir = kDirectory;
  RecordInput input(parts.rest());
  input.stripes = 1;
  ByteFiles disk;
  const LogFiles files = input.add_files(&disk);
  Manifest manifest;
  ManifestRun& run = manifest.runs.emplace_back();
  run.header = files.header;
  run.begun = true;
  run.ends = files.ends;
  manifest.last_ordinal = run.ordinal();
  const std::string text = manifest.encode();
  require(Manifest().decode(text).empty(), "the input's manifest is read");
  const Input encoded = bytes_of(text);
  disk.add(std::string(kDirectory) + "/manifest", {encoded.begin(), encoded.end()});
  const platform::ReplaceFiles replace(disk);
  dump_command();
  find_dependencies(files, {});
}

void mend_dump(std::vector<std::byte>& input, platform::SplitMix64& random) {
  const auto end = std::ranges::find(input, std::byte{'\n'});
  if (end == input.end()) return;
  std::vector<std::byte> log(end + 1, input.end());
  mend_records(log, random);
  input.erase(end + 1, input.end());
  input.insert(input.end(), log.begin(), log.end());
}

const FuzzRegistration registration(
    {.name = "dump", .most_bytes = 2048, .run = dump_log, .mend = mend_dump});

}  // namespace
}  // namespace logjam::fuzz

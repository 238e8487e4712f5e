// The files of a log's directory: the names in it, and a manifest that leads to its log files.
#include "engine/recovery/log_chain.h"

#include <algorithm>

#include "logging/format/log_files.h"
#include "logging/format/segments.h"
#include "logging/scheme_registry.h"
#include "tests/fuzz/byte_files.h"
#include "tests/fuzz/replay.h"
#include "tests/fuzz/target.h"

namespace logjam::fuzz {
namespace {

constexpr size_t kMostNames = 40;
// Streams of a run that are read, and bytes of each file that are asked for.
constexpr uint64_t kMostStreams = 8, kReadBytes = 4096;

std::vector<std::byte> copy(Input input) { return {input.begin(), input.end()}; }

// Reads the beginning and the end of a file that may claim any length.
void read_ends(SegmentedFile& file) {
  std::vector<std::byte> bytes(kReadBytes);
  const uint64_t end = file.bytes();
  for (const uint64_t at : {uint64_t{0}, end - std::min(end, kReadBytes)}) {
    require(file.read(bytes.data(), at, kReadBytes) <= kReadBytes, "a read fits its memory");
  }
}

// input := a byte, then (a length (1 byte), a name, a line break)*
void read_names(Input input) {
  Parts parts(input);
  const Segments segments{(1 + parts.byte() % 4) * kLogHeaderBytes};
  ByteFiles disk;
  for (size_t i = 0; i < kMostNames && !parts.rest().empty(); ++i) {
    const uint64_t bytes = parts.byte() * uint64_t{256};
    const std::string name(parts.line());
    if (name.find('/') == name.npos) disk.add("d/" + name, {}, bytes);
  }
  const platform::ReplaceFiles replace(disk);
  std::vector<SegmentFile> all;
  require(segment_files_in("d", &all) == 0, "the names can be listed");
  std::vector<std::pair<uint32_t, std::string>> logs;
  require(log_files_in("d", &logs) == 0, "the names can be listed");
  for (const auto& [stream, path] : logs) {
    SegmentedFile file(path, segments);
    read_ends(file);
    std::vector<SegmentFile> own;
    require(segment_files_of(path, &own) == 0, "the names can be listed");
    bool hole = false;
    for (size_t i = 0; i < own.size(); ++i) hole = hole || own[i].index != i + 1;
    require(!hole || !file.why_lost().empty(), "a hole in a chain of segments is a loss");
  }
  find_manifest({"d"}, true);
}

// Reads the streams of a run as far as a recovery would.
void read_run(const LogFiles& run) {
  check_files(run);
  const SchemeInfo* scheme = find_scheme(run.header.scheme);
  if (scheme == nullptr || run.paths.size() > kMostStreams) return;
  LogMemoryMeter meter;
  replay_streams(run, scheme->recovery, share_of_stream(1, run.paths.size(), 1), meter,
                 [](const BodiesToApply&) {});
}

// input := the text of a manifest, which ends with a byte of 0, and the bytes of each log file
void read_chain(Input input) {
  const std::string_view text = text_of(input);
  const size_t end = std::min(text.find('\0'), text.size());
  const Input rest = input.subspan(std::min(end + 1, input.size()));
  ByteFiles disk;
  disk.add("d/manifest", copy(bytes_of(text.substr(0, end))));
  for (const char* directory : {"d", "d/run-2"}) {
    for (uint32_t stream = 0; stream < 2; ++stream) {
      const std::string path = log_file_path(directory, stream);
      disk.add(path, copy(rest.first(std::min(rest.size(), kLogHeaderBytes))));
      disk.add(segment_path(path, 1), copy(rest.subspan(std::min(rest.size(), kLogHeaderBytes))));
    }
  }
  const platform::ReplaceFiles replace(disk);
  const LogChain chain = find_log_chain({"d"});
  for (const RecoveryStart& start : chain.starts) {
    for (const LogFiles& run : start.runs) read_run(run);
  }
}

void mend_chain(std::vector<std::byte>& input, platform::SplitMix64&) {
  const auto end = std::ranges::find(input, std::byte{0});
  std::vector<std::byte> text(input.begin(), end);
  mend_text_block(text);
  text.insert(text.end(), end, input.end());
  input = std::move(text);
}

const FuzzRegistration registration(
    {.name = "chain", .most_bytes = 4096, .run = read_chain, .mend = mend_chain});
const FuzzRegistration names_registration({.name = "names", .most_bytes = 800, .run = read_names});

}  // namespace
}  // namespace logjam::fuzz

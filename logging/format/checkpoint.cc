#include "logging/format/checkpoint.h"

#include <numeric>
#include <sstream>
#include <string_view>

#include "logging/format/log_file.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr std::string_view kFlagPrefix = "flag.", kRowsPrefix = "rows-";

std::string numbers(std::initializer_list<uint64_t> values) {
  return platform::join(values, " ", [](uint64_t value) { return std::to_string(value); });
}

}  // namespace

KeyValues Checkpoint::lines() const {
  KeyValues lines = {
      {"number", std::to_string(number)},
      {"id", hex(id)},
      {"complete", complete ? "1" : "0"},
      {"ordinal", std::to_string(ordinal)},
      {"at_end", at_end ? "1" : "0"},
      {"sequence", std::to_string(sequence)},
      {"tables", tables},
      {"revision", revision},
  };
  for (const StreamStart& start : rsn) {
    lines.emplace_back("rsn", numbers({start.position, start.sequence, start.durable}));
  }
  for (const CheckpointFile& file : files) {
    lines.emplace_back("file", file.name + " " + numbers({file.bytes, file.rows, file.tombstones}));
  }
  for (const auto& [name, value] : flags)
    lines.emplace_back(std::string(kFlagPrefix) + name, value);
  return lines;
}

std::string Checkpoint::read(const KeyValues& lines) {
  Checkpoint read;
  bool good = true;
  for (const auto& [key, value] : lines) {
    std::istringstream in(value);
    if (key == "number") {
      good &= parse_number(value, 10, &read.number);
    } else if (key == "id") {
      good &= parse_number(value, 16, &read.id);
    } else if (key == "complete") {
      read.complete = value == "1";
    } else if (key == "ordinal") {
      good &= parse_number(value, 10, &read.ordinal) && read.ordinal > 0;
    } else if (key == "at_end") {
      read.at_end = value == "1";
    } else if (key == "sequence") {
      good &= parse_number(value, 10, &read.sequence);
    } else if (key == "tables") {
      read.tables = value;
    } else if (key == "revision") {
      read.revision = value;
    } else if (key == "rsn") {
      StreamStart& start = read.rsn.emplace_back();
      good &= static_cast<bool>(in >> start.position >> start.sequence >> start.durable);
    } else if (key == "file") {
      CheckpointFile& file = read.files.emplace_back();
      good &= static_cast<bool>(in >> file.name >> file.bytes >> file.rows >> file.tombstones);
    } else if (key.starts_with(kFlagPrefix)) {
      read.flags[key.substr(kFlagPrefix.size())] = value;
    } else {
      return "it has the unknown key \"" + key + "\"";
    }
  }
  if (!good) return "a number in it cannot be read";
  for (const StreamStart& start : read.rsn) good &= start.position <= kMostPosition;
  good &= read.number <= kMostPosition && read.ordinal <= kMostOrdinal &&
          read.files.size() <= kMostLogFiles;
  for (const CheckpointFile& file : read.files) {
    // With these limits, sums over all files fit in 64 bits.
    constexpr uint64_t kMost = uint64_t{1} << 43;
    good &= file.bytes <= kMost && file.rows <= kMost && file.tombstones <= kMost;
    if (!file.name.starts_with(kRowsPrefix) || file.name.find('/') != file.name.npos) {
      return "it has a file with the name \"" + file.name + "\"";
    }
  }
  if (!good) return "a number in it is too large";
  *this = std::move(read);
  return "";
}

uint64_t Checkpoint::bytes() const {
  return std::accumulate(files.begin(), files.end(), uint64_t{0},
                         [](uint64_t sum, const CheckpointFile& file) { return sum + file.bytes; });
}

uint64_t Checkpoint::rows() const {
  return std::accumulate(files.begin(), files.end(), uint64_t{0},
                         [](uint64_t sum, const CheckpointFile& file) { return sum + file.rows; });
}

std::string checkpoint_directory(const std::string& directory, uint64_t number) {
  return directory + "/checkpoint-" + std::to_string(number);
}

std::vector<std::string> paths_of(const std::vector<std::string>& directories,
                                  const Checkpoint& checkpoint, std::string* error) {
  std::vector<std::string> paths;
  error->clear();
  for (const CheckpointFile& file : checkpoint.files) {
    std::string& path = paths.emplace_back();
    platform::FileStatus status;
    for (const std::string& directory : directories) {
      path = checkpoint_directory(directory, checkpoint.number) + "/" + file.name;
      if (const int failed = platform::files().status(path, &status); failed != 0) {
        platform::fail("cannot look at " + path + ": " + platform::error_text(failed));
      }
      if (status.kind == platform::FileKind::kFile) break;
    }
    if (!error->empty()) continue;
    if (status.kind != platform::FileKind::kFile) {
      *error = checkpoint.name() + " lacks its file " + file.name;
    } else if (status.bytes < file.bytes) {
      *error = checkpoint.name() + ": " + path + " is too short";
    }
  }
  return paths;
}

}  // namespace logjam

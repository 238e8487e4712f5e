#include "engine/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string_view>
#include <system_error>

#include "logging/device/write_file.h"
#include "logging/format/run_directories.h"
#include "logging/format/text_block.h"
#include "platform/fatal.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr std::string_view kFirstLine = "logjam checkpoint 1";
constexpr std::string_view kFlagPrefix = "flag.";

std::string numbers(std::initializer_list<uint64_t> values) {
  return platform::join(values, " ", [](uint64_t value) { return std::to_string(value); });
}

}  // namespace

std::string Checkpoint::encode() const {
  KeyValues lines = {
      {"number", std::to_string(number)},     {"id", hex(id)},    {"first_run", hex(first_run)},
      {"ordinal", std::to_string(ordinal)},   {"run", hex(run)},  {"at_end", at_end ? "1" : "0"},
      {"sequence", std::to_string(sequence)}, {"tables", tables}, {"revision", revision},
  };
  for (const StreamStart& start : rsn) {
    lines.emplace_back("rsn", numbers({start.position, start.sequence, start.durable}));
  }
  for (const uint64_t tail : tails) lines.emplace_back("tail", std::to_string(tail));
  for (const CheckpointFile& file : files) {
    lines.emplace_back("file", file.name + " " + numbers({file.bytes, file.rows, file.tombstones}));
  }
  for (const auto& [name, value] : flags)
    lines.emplace_back(std::string(kFlagPrefix) + name, value);
  return encode_text_block(kFirstLine, lines);
}

std::string Checkpoint::decode(const std::string& text) {
  KeyValues lines;
  std::string why = decode_text_block(text, kFirstLine, "it", &lines);
  if (!why.empty()) return why;
  Checkpoint read;
  bool good = true;
  for (const auto& [key, value] : lines) {
    std::istringstream in(value);
    if (key == "number") {
      good &= parse_number(value, 10, &read.number);
    } else if (key == "id") {
      good &= parse_number(value, 16, &read.id);
    } else if (key == "first_run") {
      good &= parse_number(value, 16, &read.first_run);
    } else if (key == "ordinal") {
      good &= parse_number(value, 10, &read.ordinal) && read.ordinal > 0;
    } else if (key == "run") {
      good &= parse_number(value, 16, &read.run);
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
    } else if (key == "tail") {
      good &= parse_number(value, 10, &read.tails.emplace_back());
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
  return directory + "/" + std::string(kCheckpointPrefix) + std::to_string(number);
}

std::string metadata_path(const std::string& directory, uint64_t number) {
  return checkpoint_directory(directory, number) + "/metadata";
}

std::vector<uint64_t> checkpoint_numbers_in(const std::vector<std::string>& directories) {
  return numbers_in(directories, kCheckpointPrefix);
}

std::string find_checkpoint(const std::vector<std::string>& directories, uint64_t number,
                            Checkpoint* checkpoint) {
  const std::string name = "checkpoint " + std::to_string(number);
  for (const std::string& directory : directories) {
    const std::string path = metadata_path(directory, number);
    std::ifstream in(path, std::ios::binary);
    if (!in) continue;
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::string why = checkpoint->decode(text);
    if (!why.empty()) return path + " is not a checkpoint's metadata: " + why;
    if (checkpoint->number != number) {
      return path + " says it is " + checkpoint->name();
    }
    for (const CheckpointFile& file : checkpoint->files) {
      const std::string rows = path_of(directories, *checkpoint, file);
      if (rows.empty()) return name + " lacks its file " + file.name;
      std::error_code error;
      const uint64_t bytes = std::filesystem::file_size(rows, error);
      if (error || bytes < file.bytes) return name + ": " + rows + " is too short";
    }
    return "";
  }
  return name + " is incomplete: it has no metadata";
}

std::string path_of(const std::vector<std::string>& directories, const Checkpoint& checkpoint,
                    const CheckpointFile& file) {
  for (const std::string& directory : directories) {
    std::string path = checkpoint_directory(directory, checkpoint.number) + "/" + file.name;
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return "";
}

std::string write_metadata(const std::string& directory, const Checkpoint& checkpoint,
                           SyncFile* sync) {
  const std::string path = metadata_path(directory, checkpoint.number), fresh = path + ".new";
  const auto failed = [](const char* what, const std::string& of, int error) {
    return std::string("cannot ") + what + " " + of + ": " + strerror(error);
  };
  const std::string text = checkpoint.encode();
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failed("create", fresh, errno);
  int error = write_fully(fd, 0, std::as_bytes(std::span(text)));
  if (error == 0 && sync(fd) != 0) error = errno;
  close(fd);
  if (error != 0) return failed("write", fresh, error);
  if (rename(fresh.c_str(), path.c_str()) != 0) return failed("rename a file to", path, errno);
  error = sync_directory_of(path, sync);
  return error != 0 ? failed("sync the directory of", path, error) : "";
}

void remove_checkpoint(const std::vector<std::string>& directories, uint64_t number) {
  // Without its metadata there is no checkpoint. So a crash in between leaves none that lacks
  // files.
  for (const std::string& directory : directories) {
    const std::string path = metadata_path(directory, number);
    if (unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
      platform::fatal("cannot remove " + path + ": " + strerror(errno));
    }
  }
  for (const std::string& directory : directories) {
    std::error_code error;
    std::filesystem::remove_all(checkpoint_directory(directory, number), error);
    if (error) {
      platform::fatal("cannot remove " + checkpoint_directory(directory, number) + ": " +
                      error.message());
    }
  }
}

}  // namespace logjam

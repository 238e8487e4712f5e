#include "logging/format/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "logging/format/text_block.h"
#include "platform/fatal.h"

namespace logjam {
namespace {

constexpr std::string_view kFirstLine = "logjam log 2";
// In a log of version 1 nothing is known of durability: its records' flags and its watermark
// records' words have no code for it, and watermark records of nvmd and nvlog have no body.
constexpr std::string_view kFirstLineBefore = "logjam log 1";
constexpr std::string_view kFlagPrefix = "flag.";
constexpr std::string_view kNamePrefix = "stream-", kNameSuffix = ".log.db";
constexpr std::string_view kStartingName = "starting.log.db";

}  // namespace

std::vector<std::byte> LogFileHeader::encode() const {
  KeyValues lines;
  const auto add = [&lines](std::string_view key, const std::string& value) {
    lines.emplace_back(key, value);
  };
  add("scheme", scheme);
  add("device", device);
  add("log_records", log_records);
  add("stream", std::to_string(stream));
  add("streams", std::to_string(streams));
  add("stripe", std::to_string(stripe));
  add("stripes", std::to_string(stripes));
  add("stripe_bytes", std::to_string(stripe_bytes));
  if (segment_bytes != 0) add("segment_bytes", std::to_string(segment_bytes));
  add("workers", std::to_string(workers));
  add("run", hex(run));
  if (ordinal != 1) {
    add("ordinal", std::to_string(ordinal));
    add("first_run", hex(first_run));
    add("after", hex(after));
    add("after_bytes", std::to_string(after_bytes));
  }
  add("revision", revision);
  for (const auto& [name, value] : flags) add(std::string(kFlagPrefix) + name, value);
  const std::string text = encode_text_block(kFirstLine, lines);
  if (text.size() > kLogHeaderBytes) {
    platform::refuse("the flags to be stored in the log's header need " +
                     std::to_string(text.size()) + " bytes and it has " +
                     std::to_string(kLogHeaderBytes));
  }
  std::vector<std::byte> block(kLogHeaderBytes);
  std::memcpy(block.data(), text.data(), text.size());
  return block;
}

std::string LogFileHeader::origin() const { return "scheme " + scheme + ", run " + hex(run); }

std::string LogFileHeader::decode(std::span<const std::byte> block) {
  const std::string_view text(reinterpret_cast<const char*>(block.data()), block.size());
  KeyValues lines;
  const std::string why =
      decode_text_block(text, {kFirstLine, kFirstLineBefore}, "its header", &lines);
  if (!why.empty()) return why;

  LogFileHeader read;
  bool good = true;
  for (const auto& [key, value] : lines) {
    if (key == "scheme") {
      read.scheme = value;
    } else if (key == "device") {
      read.device = value;
    } else if (key == "log_records") {
      read.log_records = value;
    } else if (key == "stream") {
      good &= parse_number(value, 10, &read.stream);
    } else if (key == "streams") {
      good &= parse_number(value, 10, &read.streams);
    } else if (key == "stripe") {
      good &= parse_number(value, 10, &read.stripe);
    } else if (key == "stripes") {
      good &= parse_number(value, 10, &read.stripes);
    } else if (key == "stripe_bytes") {
      good &= parse_number(value, 10, &read.stripe_bytes) && read.stripe_bytes != 0;
    } else if (key == "segment_bytes") {
      good &=
          parse_number(value, 10, &read.segment_bytes) && read.segment_bytes % kLogHeaderBytes == 0;
    } else if (key == "workers") {
      good &= parse_number(value, 10, &read.workers);
    } else if (key == "run") {
      good &= parse_number(value, 16, &read.run);
    } else if (key == "ordinal") {
      good &= parse_number(value, 10, &read.ordinal) && read.ordinal > 1;
    } else if (key == "first_run") {
      good &= parse_number(value, 16, &read.first_run);
    } else if (key == "after") {
      good &= parse_number(value, 16, &read.after);
    } else if (key == "after_bytes") {
      good &= parse_number(value, 10, &read.after_bytes);
    } else if (key == "revision") {
      read.revision = value;
    } else if (key.starts_with(kFlagPrefix)) {
      read.flags[key.substr(kFlagPrefix.size())] = value;
    } else {
      return "its header has the unknown key \"" + key + "\"";
    }
  }
  if (!good) return "a number in its header cannot be read";
  if (read.stripe >= read.stripes || read.stripes > kMaxStripes) {
    return "its header counts its stripes wrongly";
  }
  if (read.ordinal == 1) read.first_run = read.run;
  *this = std::move(read);
  return "";
}

std::string read_log_file_header(const std::string& path, LogFileHeader* header) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "cannot open the log file " + path + ": " + strerror(errno);
  std::vector<std::byte> block(kLogHeaderBytes);
  const ssize_t n = pread(fd, block.data(), block.size(), 0);
  const int error = errno;
  close(fd);
  if (n < 0) return "cannot read the log file " + path + ": " + strerror(error);
  // The block is written as a whole before any record, so a shorter file has lost its end.
  const bool whole = static_cast<size_t>(n) == block.size();
  const std::string why = whole ? header->decode(block) : "it is shorter than its header";
  return why.empty() ? "" : path + " is not a log file: " + why;
}

std::string log_file_path(const std::string& directory, uint32_t stream) {
  return directory + "/" + std::string(kNamePrefix) + std::to_string(stream) +
         std::string(kNameSuffix);
}

std::vector<std::pair<uint32_t, std::string>> log_files_in(const std::string& directory) {
  std::vector<std::pair<uint32_t, std::string>> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kNamePrefix) || !name.ends_with(kNameSuffix)) continue;
    const std::string number =
        name.substr(kNamePrefix.size(), name.size() - kNamePrefix.size() - kNameSuffix.size());
    uint32_t stream = 0;
    if (parse_number(number, 10, &stream)) files.emplace_back(stream, entry.path());
  }
  std::ranges::sort(files);
  return files;
}

bool log_file_is_blank(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::vector<std::byte> chunk(size_t{1} << 20);
  ssize_t n;
  do {
    n = read(fd, chunk.data(), chunk.size());
  } while (n > 0 && std::all_of(chunk.begin(), chunk.begin() + n,
                                [](std::byte b) { return b == std::byte{0}; }));
  close(fd);
  return n == 0;
}

std::string starting_file_path(const std::string& directory) {
  return directory + "/" + std::string(kStartingName);
}

bool starting_log(const std::string& directory, LogFileHeader* header) {
  return read_log_file_header(starting_file_path(directory), header).empty();
}

}  // namespace logjam

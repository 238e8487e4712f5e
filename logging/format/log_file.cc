#include "logging/format/log_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "platform/fatal.h"

namespace logjam {
namespace {

constexpr std::string_view kFirstLine = "logjam log 2\n";
// In a log of version 1 nothing is known of durability: its records' flags and its watermark
// records' words have no code for it, and watermark records of nvmd and nvlog have no body.
constexpr std::string_view kFirstLineBefore = "logjam log 1\n";
constexpr std::string_view kFlagPrefix = "flag.";
constexpr std::string_view kNamePrefix = "stream-", kNameSuffix = ".log.db";
constexpr std::string_view kStartingName = "starting.log.db";

std::string hex(uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  return std::string(digits, end);
}

template <class Number>
bool parse(std::string_view text, int base, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

// A value may hold any bytes that a flag may hold. A line break in a value must not look like the
// start of the next key.
std::string escape(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\n' || c == '%') {
      out += c == '\n' ? "%n" : "%%";
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescape(std::string_view value) {
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '%' && i + 1 < value.size()) {
      out += value[++i] == 'n' ? '\n' : value[i];
    } else {
      out += value[i];
    }
  }
  return out;
}

}  // namespace

std::vector<std::byte> LogFileHeader::encode() const {
  std::string text(kFirstLine);
  const auto add = [&text](std::string_view key, std::string_view value) {
    text.append(key).append("=").append(escape(value)).append("\n");
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
  add("revision", revision);
  for (const auto& [name, value] : flags) add(std::string(kFlagPrefix) + name, value);
  text += "end " + hex(XXH3_64bits(text.data(), text.size())) + "\n";
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
  if (!text.starts_with(kFirstLine) && !text.starts_with(kFirstLineBefore)) {
    return "it does not start with \"logjam log 2\"";
  }
  const size_t end = text.find("\nend ");
  const size_t end_line = end == text.npos ? text.npos : text.find('\n', end + 1);
  if (end_line == text.npos) return "its header has no end";
  const std::string_view lines = text.substr(0, end + 1);
  // The checksum is compared as text, not as a number: "A" in place of "a" is a change too.
  if (text.substr(end + 5, end_line - end - 5) != hex(XXH3_64bits(lines.data(), lines.size()))) {
    return "its header does not match its checksum";
  }

  LogFileHeader read;
  bool good = true;
  for (size_t at = kFirstLine.size(); at < lines.size();) {
    const size_t stop = lines.find('\n', at);
    const std::string_view line = lines.substr(at, stop - at);
    at = stop + 1;
    const size_t equals = line.find('=');
    if (equals == line.npos) return "its header has a line without \"=\"";
    const std::string_view key = line.substr(0, equals);
    const std::string value = unescape(line.substr(equals + 1));
    if (key == "scheme") {
      read.scheme = value;
    } else if (key == "device") {
      read.device = value;
    } else if (key == "log_records") {
      read.log_records = value;
    } else if (key == "stream") {
      good &= parse(value, 10, &read.stream);
    } else if (key == "streams") {
      good &= parse(value, 10, &read.streams);
    } else if (key == "stripe") {
      good &= parse(value, 10, &read.stripe);
    } else if (key == "stripes") {
      good &= parse(value, 10, &read.stripes);
    } else if (key == "stripe_bytes") {
      good &= parse(value, 10, &read.stripe_bytes) && read.stripe_bytes != 0;
    } else if (key == "segment_bytes") {
      good &= parse(value, 10, &read.segment_bytes) && read.segment_bytes % kLogHeaderBytes == 0;
    } else if (key == "workers") {
      good &= parse(value, 10, &read.workers);
    } else if (key == "run") {
      good &= parse(value, 16, &read.run);
    } else if (key == "revision") {
      read.revision = value;
    } else if (key.starts_with(kFlagPrefix)) {
      read.flags[std::string(key.substr(kFlagPrefix.size()))] = value;
    } else {
      return "its header has the unknown key \"" + std::string(key) + "\"";
    }
  }
  if (!good) return "a number in its header cannot be read";
  if (read.stripe >= read.stripes || read.stripes > kMaxStripes) {
    return "its header counts its stripes wrongly";
  }
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
    if (parse(number, 10, &stream)) files.emplace_back(stream, entry.path());
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

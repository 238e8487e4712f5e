#include "logging/format/log_file.h"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <variant>

#include "logging/format/segments.h"
#include "logging/format/text_block.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/files.h"

namespace logjam {

using platform::files;

namespace {

constexpr std::string_view kFirstLine = "logjam log 4";
constexpr std::string_view kFlagPrefix = "flag.";
constexpr std::string_view kNamePrefix = "stream-", kNameSuffix = ".log.db";

bool always(const LogFileHeader&) { return true; }
bool has_segments(const LogFileHeader& header) { return header.segment_bytes != 0; }
bool has_scale(const LogFileHeader& header) { return !header.scale.empty(); }
bool has_given(const LogFileHeader& header) { return !header.given.empty(); }

struct Field {
  std::string_view key;
  std::variant<std::string LogFileHeader::*, uint32_t LogFileHeader::*, uint64_t LogFileHeader::*>
      member;
  int base = 10;                                   // the base of a number: 10 or 16
  uint64_t least = 0;                              // the smallest number that is accepted
  bool (*present)(const LogFileHeader&) = always;  // whether encode() writes the line
};

// encode() writes the lines in this order.
constexpr Field kFields[] = {
    {"scheme", &LogFileHeader::scheme},
    {"device", &LogFileHeader::device},
    {"log_records", &LogFileHeader::log_records},
    {"stream", &LogFileHeader::stream},
    {"streams", &LogFileHeader::streams},
    {"stripe", &LogFileHeader::stripe},
    {"stripes", &LogFileHeader::stripes},
    {"stripe_bytes", &LogFileHeader::stripe_bytes, 10, 1},
    {"segment_bytes", &LogFileHeader::segment_bytes, 10, 0, has_segments},
    {"workers", &LogFileHeader::workers},
    {"run", &LogFileHeader::run, 16},
    {"log", &LogFileHeader::log, 16},
    {"ordinal", &LogFileHeader::ordinal, 10, 1},
    {"revision", &LogFileHeader::revision},
    {"scale", &LogFileHeader::scale, 10, 0, has_scale},
    {"given", &LogFileHeader::given, 10, 0, has_given},
};

std::string text_of(const std::string& text, const Field&) { return text; }
std::string text_of(uint64_t number, const Field& field) {
  return field.base == 16 ? hex(number) : std::to_string(number);
}

// Reads `text` into a member of the header. Returns false if the field does not accept `text`.
bool read_field(const std::string& text, const Field&, std::string* member) {
  *member = text;
  return true;
}
template <class Number>
bool read_field(const std::string& text, const Field& field, Number* member) {
  return parse_number(text, field.base, member) && *member >= field.least;
}

uint64_t checksum_of(uint64_t sdl, uint64_t run) {
  return XXH3_64bits_withSeed(&sdl, sizeof sdl, run);
}

}  // namespace

KeyValues LogFileHeader::lines() const {
  KeyValues lines;
  for (const Field& field : kFields) {
    if (!field.present(*this)) continue;
    lines.emplace_back(
        field.key,
        std::visit([&](auto member) { return text_of(this->*member, field); }, field.member));
  }
  for (const auto& [name, value] : flags)
    lines.emplace_back(std::string(kFlagPrefix) + name, value);
  return lines;
}

std::vector<std::byte> LogFileHeader::encode() const {
  LJ_ASSERT(stripe < stripes && stripe_bytes != 0 && segment_bytes % kLogHeaderBytes == 0);
  LJ_ASSERT(ordinal >= 1 && ordinal <= kMostOrdinal);
  const std::string text = encode_text_block(kFirstLine, lines());
  constexpr uint64_t kMostBytes = kLogHeaderBytes - kStoredSdlBytes;
  if (text.size() > kMostBytes) {
    platform::refuse("the flags to be stored in the log's header need " +
                     std::to_string(text.size()) + " bytes and it has " +
                     std::to_string(kMostBytes));
  }
  std::vector<std::byte> block(kLogHeaderBytes);
  std::memcpy(block.data(), text.data(), text.size());
  return block;
}

std::string LogFileHeader::origin() const { return "scheme " + scheme + ", run " + hex(run); }

std::string LogFileHeader::decode(std::span<const std::byte> block) {
  const std::string_view text(reinterpret_cast<const char*>(block.data()), block.size());
  KeyValues lines;
  std::string why = decode_text_block(text, kFirstLine, "its header", &lines);
  return why.empty() ? read(lines) : why;
}

std::string LogFileHeader::read(const KeyValues& lines) {
  LogFileHeader read;
  bool good = true;
  for (const auto& [key, value] : lines) {
    const auto field = std::ranges::find(kFields, key, &Field::key);
    if (field != std::end(kFields)) {
      // `text` is `value`: Clang 14 captures a structured binding only under a new name.
      const auto read_text = [&, &text = value](auto member) {
        return read_field(text, *field, &(read.*member));
      };
      good &= std::visit(read_text, field->member);
    } else if (key.starts_with(kFlagPrefix)) {
      read.flags[key.substr(kFlagPrefix.size())] = value;
    } else {
      return "its header has the unknown key \"" + key + "\"";
    }
  }
  if (!good || read.segment_bytes % kLogHeaderBytes != 0) {
    return "a number in its header cannot be read";
  }
  if (read.stripe >= read.stripes || read.stripes > kMaxStripes) {
    return "its header counts its stripes wrongly";
  }
  if (read.streams == 0) return "its header counts no stream";
  if (uint64_t{read.streams} * read.stripes > kMostLogFiles ||
      read.stripe_bytes > kMostLogFileBytes || read.segment_bytes > kMostLogFileBytes ||
      read.ordinal > kMostOrdinal) {
    return "a number in its header is too large";
  }
  *this = std::move(read);
  return "";
}

std::string read_log_file_header(const std::string& path, LogFileHeader* header, int* error) {
  int ignored;
  if (error == nullptr) error = &ignored;
  const int file = files().open(path, O_RDONLY);
  *error = std::max(0, -file);
  if (file < 0) return "cannot open the log file " + path + ": " + platform::error_text(*error);
  std::vector<std::byte> block(kLogHeaderBytes);
  const int64_t n = platform::read_all(file, 0, block);
  files().close(file);
  *error = static_cast<int>(std::max<int64_t>(0, -n));
  if (n < 0) return "cannot read the log file " + path + ": " + platform::error_text(*error);
  // The block is written before any record, so a file shorter than the block has lost its end.
  const bool whole = static_cast<size_t>(n) == block.size();
  const std::string why = whole ? header->decode(block) : "it is shorter than its header";
  return why.empty() ? "" : path + " is not a log file: " + why;
}

std::string log_file_path(const std::string& directory, uint32_t stream) {
  return directory + "/" + std::string(kNamePrefix) + std::to_string(stream) +
         std::string(kNameSuffix);
}

std::vector<std::string> log_file_paths(const std::vector<std::string>& directories,
                                        uint32_t streams, uint32_t stripes) {
  LJ_ASSERT(!directories.empty());
  std::vector<std::string> paths(uint64_t{streams} * stripes);
  for (uint32_t file = 0; file < paths.size(); ++file) {
    paths[file] = log_file_path(directories[file % directories.size()], file / stripes);
  }
  return paths;
}

int log_files_in(const std::string& directory,
                 std::vector<std::pair<uint32_t, std::string>>* files) {
  files->clear();
  std::vector<std::string> names;
  if (const int error = platform::names_in(directory, &names); error != 0) return error;
  for (const std::string& name : names) {
    if (!name.starts_with(kNamePrefix) || !name.ends_with(kNameSuffix)) continue;
    const std::string number =
        name.substr(kNamePrefix.size(), name.size() - kNamePrefix.size() - kNameSuffix.size());
    uint32_t stream = 0;
    if (parse_number(number, 10, &stream)) files->emplace_back(stream, directory + "/" + name);
  }
  std::ranges::sort(*files);
  return 0;
}

std::string log_file_of(uint64_t log, const std::string& directory) {
  std::vector<std::pair<uint32_t, std::string>> files;
  if (log_files_in(directory, &files) != 0) return "";
  for (const auto& [stream, path] : files) {
    LogFileHeader header;
    if (read_log_file_header(path, &header).empty() && header.log == log) return path;
  }
  return "";
}

bool log_file_is_blank(const std::string& path) {
  const int file = files().open(path, O_RDONLY);
  if (file < 0) return false;
  std::vector<std::byte> chunk(size_t{1} << 20);
  uint64_t offset = 0;
  int64_t n;
  do {
    n = files().read(file, offset, chunk);
    if (n > 0) offset += static_cast<uint64_t>(n);
  } while (n > 0 && std::all_of(chunk.begin(), chunk.begin() + n,
                                [](std::byte b) { return b == std::byte{0}; }));
  files().close(file);
  return n == 0;
}

void put_stored_sdl(std::span<std::byte> block, uint64_t run, uint64_t sdl) {
  LJ_ASSERT(block.size() == kLogHeaderBytes);
  const uint64_t words[] = {sdl, checksum_of(sdl, run)};
  static_assert(sizeof words == kStoredSdlBytes);
  std::memcpy(block.last(kStoredSdlBytes).data(), words, sizeof words);
}

uint64_t stored_sdl(std::span<const std::byte> block, uint64_t run) {
  uint64_t words[2];
  std::memcpy(words, block.last(kStoredSdlBytes).data(), sizeof words);
  return words[1] == checksum_of(words[0], run) ? words[0] : 0;
}

}  // namespace logjam

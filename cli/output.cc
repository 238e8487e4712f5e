#include "cli/output.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags.h"
#include "cli/row.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/output_file.h"
#include "platform/text.h"
#include "proof/history/file.h"
#include "proof/history/history_files.h"
#include "workloads/trace/record.h"

namespace logjam {
namespace {

using platform::refuse;

struct Claim {
  std::string output;  // the flag and its value
  dev_t device;
  ino_t inode;
};

std::vector<Claim>& claims() {
  static std::vector<Claim> made;
  return made;
}

// Returns the files that claims have created. The list is never destroyed, because in a simulation
// its memory no longer exists when the process ends.
std::vector<std::string>& created() {
  static auto& files = *new std::vector<std::string>;
  return files;
}

// Returns the path of an open file, in which the kernel has resolved all symbolic links.
std::filesystem::path path_of(int file) {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), none);
}

void refuse_log_file(const std::string& output, const std::filesystem::path& path) {
  static const std::regex names(
      "manifest(\\.copy)?(\\.new)?|member-[0-9a-f]+(\\.new)?|stream-[0-9]+\\.log\\.db(\\.[0-9]+)?|"
      "rows-[0-9]+.*|id");
  if (!std::regex_match(path.filename().string(), names)) return;
  refuse(output + " has the name of a log's file; name another file");
}

// Refuses a block device, and a file that was already claimed for another output.
void refuse_file(const std::string& output, const struct stat& status) {
  if (S_ISBLK(status.st_mode)) refuse(output + " is a disk; name a file");
  if (S_ISCHR(status.st_mode)) return;  // several outputs may share a terminal or /dev/null
  for (const Claim& other : claims()) {
    if (other.device != status.st_dev || other.inode != status.st_ino) continue;
    refuse(output + " and " + other.output + " are one file; two outputs need two files");
  }
  claims().push_back({output, status.st_dev, status.st_ino});
}

void refuse_other_kind(const std::string& output, const ClaimedFile& file, std::string_view kind,
                       const std::vector<std::string_view>& beginnings) {
  if (file.bytes() == 0) return;
  for (const std::string_view beginning : beginnings) {
    if (file.read(0, beginning.size()) == beginning) return;
  }
  refuse(output + " is not " + std::string(kind) + ", and is not replaced; name another file");
}

// Claims a file that a run makes under another name and then renames: refuses an existing file that
// is not empty, unless it begins with one of `beginnings`.
void claim_renamed(const std::string& flag, const std::string& path, std::string_view kind,
                   const std::vector<std::string_view>& beginnings) {
  const std::string output = flag + "=" + path;
  refuse_log_file(output, path);
  // Without O_NONBLOCK, open() of a FIFO would wait for a writer.
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return;
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0)
    refuse("cannot use " + output + ": " + strerror(errno));
  const ClaimedFile claimed(file, static_cast<uint64_t>(status.st_size));
  refuse_log_file(output, path_of(file));
  if (!S_ISREG(status.st_mode)) refuse(output + " is no regular file; name another file");
  refuse_file(output, status);
  refuse_other_kind(output, claimed, kind, beginnings);
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string joined(const Row& row, bool names) {
  std::string line;
  for (const auto& [name, value] : row) line += quoted(names ? name : value.text()) + ",";
  if (!line.empty()) line.pop_back();
  return line;
}

// Returns the number of cells in a CSV file's last line; 0 if the line ends within a quoted cell.
size_t last_cells(const ClaimedFile& file) {
  constexpr size_t kStep = size_t{1} << 16;
  size_t cells = 1;
  bool in_quotes = false;
  for (uint64_t at = 0; at < file.bytes(); at += kStep) {
    for (const char c : file.read(at, kStep)) {
      if (c == '"') in_quotes = !in_quotes;
      if (in_quotes) continue;
      if (c == ',') ++cells;
      if (c == '\n') cells = 1;
    }
  }
  return in_quotes ? 0 : cells;
}

// Returns whether the file's last line is a whole JSON object.
bool ends_in_object(const ClaimedFile& file) {
  constexpr size_t kStep = size_t{1} << 16;
  int depth = 0;
  bool in_text = false, escaped = false;
  char last = 0;
  for (uint64_t at = 0; at < file.bytes(); at += kStep) {
    for (const char c : file.read(at, kStep)) {
      if (c == '\n') depth = 0, in_text = false;
      if (c == '"' && !escaped) in_text = !in_text;
      escaped = in_text && c == '\\' && !escaped;
      if (!in_text && c == '{') ++depth;
      if (!in_text && c == '}') --depth;
      last = c;
    }
  }
  return last == '}' && depth == 0 && !in_text;
}

bool ends_a_line(const ClaimedFile& file) { return file.read(file.bytes() - 1, 1) == "\n"; }

void refuse_rows(const std::string& flag, const std::string& path, const std::string& why) {
  if (!why.empty()) platform::refuse(flag + "=" + path + " " + why);
}

// Appends the text to a regular file. First writes `header` if the file is empty, or a newline if
// the file does not end with one. Returns 0, or returns errno and leaves the file unchanged.
int append_to_regular(int file, const std::string& header, const std::string& text) {
  flock(file, LOCK_EX);  // if it fails, commands that end at the same time may mix their lines
  struct stat status {};
  if (fstat(file, &status) != 0) return errno;
  const off_t bytes = status.st_size;
  char last = '\n';
  if (bytes != 0 && pread(file, &last, 1, bytes - 1) != 1) return errno;
  const std::string before = bytes == 0 ? header : last == '\n' ? "" : "\n";
  const int error = platform::write_text(file, before + text);
  if (error != 0 && ftruncate(file, bytes) != 0) return errno;
  return error;
}

void append_text(const std::string& path, const std::string& header, const std::string& text) {
  LJ_ASSERT(!path.empty() && text.ends_with('\n'));
  static std::set<std::string> begun;  // paths of files that keep no text and have got the header
  const auto fail = [&](int error) {
    platform::fatal("cannot write " + (path == "-" ? "stdout" : path) + ": " + strerror(error));
  };
  struct stat status {};
  const int file = platform::open_output(path, O_APPEND);
  if (file < 0 || fstat(file, &status) != 0) fail(errno);
  const bool appends = S_ISREG(status.st_mode) && !platform::is_stdout(file);
  const int error =
      appends ? append_to_regular(file, header, text)
              : platform::write_text(file, (begun.insert(path).second ? header : "") + text);
  if (error != 0) fail(error);
  if (close(file) != 0) fail(errno);
}

constexpr char kCdfHeader[] = "fraction,latency_us\n";

}  // namespace

ClaimedFile::~ClaimedFile() {
  if (file_ >= 0) close(file_);
}

std::string ClaimedFile::read(uint64_t offset, size_t bytes) const {
  LJ_ASSERT(file_ >= 0 && offset <= bytes_);
  std::string text(bytes, '\0');
  const ssize_t count = pread(file_, text.data(), bytes, static_cast<off_t>(offset));
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

ClaimedFile claim_file(const std::string& flag, const std::string& path) {
  LJ_ASSERT(!path.empty());
  const std::string output = flag + "=" + path;
  struct stat status {};
  const bool is_new = stat(path.c_str(), &status) != 0 && path != "-";
  const int file = platform::open_output(path);
  if (file < 0 || fstat(file, &status) != 0)
    refuse("cannot write " + output + ": " + strerror(errno));
  if (is_new) created().push_back(path_of(file));
  refuse_log_file(output, path_of(file));
  refuse_file(output, status);
  if (!S_ISREG(status.st_mode) || platform::is_stdout(file)) return {-1, 0};  // stays open
  return {file, static_cast<uint64_t>(status.st_size)};
}

void remove_claims() {
  for (const std::string& path : created()) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && status.st_size == 0) unlink(path.c_str());
  }
}

void claim_replaced(const std::string& flag, const std::string& path, std::string_view kind,
                    const std::vector<std::string_view>& beginnings) {
  refuse_other_kind(flag + "=" + path, claim_file(flag, path), kind, beginnings);
}

// Accepts a history of zeros: a process that is killed while it creates its history leaves zeros.
void claim_history(const std::string& path) {
  static constexpr std::string_view kZeros("\0\0\0\0\0\0\0\0", 8);
  for (uint32_t life = 1;; ++life) {
    const std::string file = file_of_life(path, life);
    claim_renamed("--history", file, "a history", {kHistoryBeginning});
    claim_renamed("--history", unfinished_history(file), "a history", {kHistoryBeginning, kZeros});
    if (access(file.c_str(), F_OK) != 0) return;
  }
}

void claim_record(const std::string& path) {
  std::error_code none;
  const auto status = std::filesystem::symlink_status(path, none);
  if (path == "-" || (exists(status) && !is_regular_file(status))) {
    refuse("--record=" + path + " is no regular file; name another file");
  }
  constexpr std::string_view kKind = "a recorded trace";
  claim_replaced("--record", path, kKind, {trace::kRecordedColumns});
  claim_renamed("--record", trace::unfinished_trace(path), kKind, {trace::kRecordedColumns});
}

std::string why_no_rows(const ClaimedFile& file, const std::string& header) {
  LJ_ASSERT(header.find('\n') == header.npos);
  if (file.bytes() == 0) return "";
  std::string begin = file.read(0, header.size() + 2);
  if (begin.starts_with(kByteOrderMark)) {
    return "begins with a byte-order mark, which other programs add; name a new file";
  }
  const std::string found = begin.substr(0, header.size());
  if (!header.starts_with(found)) return "holds rows with other columns; name a new file";
  if (found.size() < header.size()) {
    return "ends within the names of its columns; remove it, or name a new file";
  }
  begin.erase(0, header.size());
  if (begin.starts_with("\r")) {
    return "has lines that end in CR LF, as other programs write them; name a new file";
  }
  if (!begin.empty() && begin[0] != '\n') return "holds rows with other columns; name a new file";
  if (ends_a_line(file)) return "";
  const size_t cells = last_cells(file);
  const auto columns = static_cast<size_t>(std::ranges::count(header, ',')) + 1;
  if (cells == columns) return "";
  return "ends within a row; remove that row, or name a new file";
}

std::string why_no_objects(const ClaimedFile& file) {
  if (file.bytes() == 0) return "";
  if (file.read(0, kByteOrderMark.size()) == kByteOrderMark) {
    return "begins with a byte-order mark, which other programs add; name a new file";
  }
  if (file.read(0, 1) != "{") return "holds no lines of JSON objects; name a new file";
  if (ends_a_line(file) || ends_in_object(file)) return "";
  return "ends within a JSON object; remove that line, or name a new file";
}

OutputFiles output_files() { return {FLAGS_csv, FLAGS_json, FLAGS_cdf}; }

void OutputFiles::reserve_stdout() const {
  static bool reserved = false;
  LJ_ASSERT(!std::exchange(reserved, true));
  if (csv == "-" || json == "-") platform::reserve_stdout();
}

void OutputFiles::claim(const Row& row) const {
  if (!csv.empty()) {
    refuse_rows("--csv", csv, why_no_rows(claim_file("--csv", csv), joined(row, true)));
  }
  claim_json();
}

void OutputFiles::append(const Row& row) const {
  if (!csv.empty()) append_csv(csv, row);
  if (!json.empty()) append_json(to_json(row));
}

void append_csv(const std::string& path, const Row& row) {
  LJ_ASSERT(!row.empty());
  append_text(path, joined(row, true) + "\n", joined(row, false) + "\n");
}

std::string to_json(const Row& row) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, value] : row) members.emplace_back(name, value.json());
  return json_object(members);
}

void OutputFiles::claim_json() const {
  if (json.empty()) return;
  refuse_rows("--json", json, why_no_objects(claim_file("--json", json)));
}

void OutputFiles::append_json(const std::string& object) const {
  append_text(json, "", object + "\n");
}

void OutputFiles::claim_cdf() const {
  if (cdf.empty()) return;
  claim_replaced("--cdf", cdf, "a distribution of latencies", {kCdfHeader});
}

void OutputFiles::write_cdf(const HistogramSum& ticks) const {
  if (cdf.empty()) return;
  std::vector<double> fractions;
  for (int percent = 2; percent < 95; percent += 2) fractions.push_back(percent / 100.0);
  for (const double tail : {0.95, 0.96, 0.98, 0.99, 0.995, 0.999, 1.0}) fractions.push_back(tail);
  platform::OutputFile file(cdf);
  file.write(kCdfHeader);
  if (ticks.count() == 0) fractions.clear();  // without commits there is no distribution
  for (const double fraction : fractions) {
    const uint64_t at = fraction == 1 ? ticks.max() : ticks.percentile(fraction);
    file.write(platform::with_decimals(fraction, 3) + "," +
               platform::with_decimals(platform::ticks_to_ns(at) * 1e-3, 1) + "\n");
  }
}

}  // namespace logjam

#include "cli/row_files.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>

#include "cli/json.h"
#include "cli/output_claim.h"
#include "platform/fatal.h"
#include "platform/output_file.h"

DEFINE_string(csv, "", "append a row to this file; - prints it to stdout, and all else to stderr");
DEFINE_string(json, "",
              "append the row to this file, as a line with a JSON object; - or --json alone: print "
              "it to stdout, and all else to stderr; list prints JSON instead of tables");

namespace logjam {
namespace {

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

// Returns the cells of the last line, 0 if it ends within a quoted cell.
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

// Returns whether the last line is a whole JSON object.
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

// Writes the text to the end of a regular file, with a newline before it if the file lacks one, and
// `header` if it is empty. Returns 0 or errno; then the file is as before.
int append_to_regular(int file, const std::string& header, const std::string& text) {
  flock(file, LOCK_EX);  // where there are no locks, two commands may not end at once
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
  static std::set<std::string> begun;  // what keeps no text gets the header once
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

}  // namespace

std::string why_no_rows(const ClaimedFile& file, const std::string& header) {
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

void reserve_stdout_for_rows() {
  if (FLAGS_csv == "-" || FLAGS_json == "-") platform::reserve_stdout();
}

void claim_row_files(const Row& row) {
  if (!FLAGS_csv.empty()) {
    refuse_rows("--csv", FLAGS_csv, why_no_rows(claim_file("--csv", FLAGS_csv), joined(row, true)));
  }
  claim_json_file();
}

void append_row(const Row& row) {
  if (!FLAGS_csv.empty()) append_csv(FLAGS_csv, row);
  if (!FLAGS_json.empty()) append_json(to_json(row));
}

void append_csv(const std::string& path, const Row& row) {
  append_text(path, joined(row, true) + "\n", joined(row, false) + "\n");
}

std::string to_json(const Row& row) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, value] : row) members.emplace_back(name, value.json());
  return json_object(members);
}

void claim_json_file() {
  if (FLAGS_json.empty()) return;
  refuse_rows("--json", FLAGS_json, why_no_objects(claim_file("--json", FLAGS_json)));
}

void append_json(const std::string& json) { append_text(FLAGS_json, "", json + "\n"); }

}  // namespace logjam

#include "cli/row_files.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "cli/json.h"
#include "platform/fatal.h"

DEFINE_string(csv, "", "append a row to this file");
DEFINE_string(json, "",
              "append the row to this file, as a line with a JSON object; - or --json alone: print "
              "it to stdout, and all else to stderr; list prints JSON instead of tables");

namespace logjam {
namespace {

int json_fd = -1;  // the stdout of the process, if it is kept for JSON

bool json_to_stdout() { return FLAGS_json == "-"; }

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

int open_to_append(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

void write_or_end(int fd, const std::string& text, const std::string& name) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(fd, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) platform::fatal("cannot write " + name + ": " + strerror(errno));
    written += static_cast<size_t>(count);
  }
}

void append_text(const std::string& path, const std::string& text) {
  const int fd = open_to_append(path);
  if (fd < 0) platform::fatal("cannot write " + path + ": " + strerror(errno));
  write_or_end(fd, text, path);
  if (close(fd) != 0) platform::fatal("cannot write " + path + ": " + strerror(errno));
}

}  // namespace

void reserve_stdout_for_json() {
  if (!json_to_stdout()) return;
  json_fd = dup(STDOUT_FILENO);
  if (json_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    platform::fatal(std::string("cannot print JSON: ") + strerror(errno));
  }
}

void refuse_row_files(const Row& row) {
  if (!FLAGS_csv.empty()) refuse_foreign_csv(FLAGS_csv, row);
  refuse_json_file();
}

void append_row(const Row& row) {
  if (!FLAGS_csv.empty()) append_csv(FLAGS_csv, row);
  if (!FLAGS_json.empty()) append_json(to_json(row));
}

void refuse_foreign_csv(const std::string& path, const Row& row) {
  std::ifstream in(path);
  std::string header;
  if (in && std::getline(in, header) && header != joined(row, true)) {
    platform::refuse("--csv=" + path + " holds rows with other columns; name a new file");
  }
  refuse_unwritable("csv", path);
}

void append_csv(const std::string& path, const Row& row) {
  std::ifstream in(path);
  const bool is_new = in.peek() == std::ifstream::traits_type::eof();
  append_text(path, (is_new ? joined(row, true) + "\n" : "") + joined(row, false) + "\n");
}

std::string to_json(const Row& row) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, value] : row) members.emplace_back(name, value.json());
  return json_object(members);
}

void refuse_json_file() {
  if (!FLAGS_json.empty() && !json_to_stdout()) refuse_unwritable("json", FLAGS_json);
}

void append_json(const std::string& json) {
  if (!json_to_stdout()) return append_text(FLAGS_json, json + "\n");
  write_or_end(json_fd, json + "\n", "stdout");
}

void refuse_unwritable(const std::string& flag, const std::string& path) {
  const int fd = open_to_append(path);
  if (fd < 0) platform::refuse("cannot write --" + flag + "=" + path + ": " + strerror(errno));
  close(fd);
}

}  // namespace logjam

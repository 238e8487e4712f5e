#include "cli/output_claim.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <regex>

#include "platform/fatal.h"
#include "platform/output_file.h"
#include "proof/history/file.h"
#include "proof/history/history_files.h"

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

void remove_if_empty(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && status.st_size == 0) unlink(path.c_str());
}

// Returns the name of an open file, after all links.
std::filesystem::path path_of(int file) {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), none);
}

// Refuses a file whose name is one that a log gives.
void refuse_log_file(const std::string& output, const std::filesystem::path& path) {
  static const std::regex names(
      "manifest(\\.copy)?(\\.new)?|member-[0-9a-f]+(\\.new)?|stream-[0-9]+\\.log\\.db(\\.[0-9]+)?|"
      "rows-[0-9]+.*|id");
  if (!std::regex_match(path.filename().string(), names)) return;
  refuse(output + " has the name of a log's file; name another file");
}

// Refuses what one file cannot be: two outputs, or a disk.
void refuse_file(const std::string& output, const struct stat& status) {
  if (S_ISBLK(status.st_mode)) refuse(output + " is a disk; name a file");
  if (S_ISCHR(status.st_mode)) return;  // a terminal and /dev/null keep nothing of either
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

// Refuses to replace what is at `path`, unless it is a history that begins as one of `beginnings`.
void claim_life(const std::string& path, const std::vector<std::string_view>& beginnings) {
  const std::string output = "--history=" + path;
  refuse_log_file(output, path);
  // Without O_NONBLOCK a FIFO would wait for its writer.
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return;
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0)
    refuse("cannot use " + output + ": " + strerror(errno));
  const ClaimedFile claimed(file, static_cast<uint64_t>(status.st_size));
  refuse_log_file(output, path_of(file));
  if (!S_ISREG(status.st_mode)) refuse(output + " is no regular file; name another file");
  refuse_file(output, status);
  refuse_other_kind(output, claimed, "a history", beginnings);
}

}  // namespace

ClaimedFile::~ClaimedFile() {
  if (file_ >= 0) close(file_);
}

std::string ClaimedFile::read(uint64_t offset, size_t bytes) const {
  std::string text(bytes, '\0');
  const ssize_t count = pread(file_, text.data(), bytes, static_cast<off_t>(offset));
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

ClaimedFile claim_file(const std::string& flag, const std::string& path) {
  // Never destroyed: at the end of a simulation its heap is gone.
  static auto& created = *new std::vector<std::unique_ptr<platform::RefusalUndo>>;
  const std::string output = flag + "=" + path;
  struct stat status {};
  const bool is_new = stat(path.c_str(), &status) != 0 && path != "-";
  const int file = platform::open_output(path);
  if (file < 0 || fstat(file, &status) != 0)
    refuse("cannot write " + output + ": " + strerror(errno));
  if (is_new) {
    created.push_back(
        std::make_unique<platform::RefusalUndo>([made = path_of(file)] { remove_if_empty(made); }));
  }
  refuse_log_file(output, path_of(file));
  refuse_file(output, status);
  if (!S_ISREG(status.st_mode) || platform::is_stdout(file)) return {-1, 0};  // stays open
  return {file, static_cast<uint64_t>(status.st_size)};
}

void claim_replaced(const std::string& flag, const std::string& path, std::string_view kind,
                    const std::vector<std::string_view>& beginnings) {
  refuse_other_kind(flag + "=" + path, claim_file(flag, path), kind, beginnings);
}

// Claims the file of each life. A process that was killed while it made one has left zeros in it.
void claim_history(const std::string& path) {
  static constexpr std::string_view kZeros("\0\0\0\0\0\0\0\0", 8);
  for (uint32_t life = 1;; ++life) {
    const std::string file = file_of_life(path, life);
    claim_life(file, {kHistoryBeginning});
    claim_life(unfinished_history(file), {kHistoryBeginning, kZeros});
    if (access(file.c_str(), F_OK) != 0) return;
  }
}

}  // namespace logjam

#include "platform/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "platform/assert.h"
#include "platform/fatal.h"

namespace logjam::platform {
namespace {

constexpr size_t kWaitingBytes = size_t{64} << 10;

int user_stdout = STDOUT_FILENO;

bool has_no_reader(int file) {
  pollfd polled{.fd = file, .events = POLLOUT, .revents = 0};
  return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace

void reserve_stdout() {
  LJ_ASSERT(user_stdout == STDOUT_FILENO);
  user_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (user_stdout < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    fatal(std::string("cannot write stdout: ") + strerror(errno));
  }
}

bool is_stdout(int file) {
  struct stat one {
  }, other{};
  return fstat(file, &one) == 0 && fstat(user_stdout, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

int open_output(const std::string& path, int flags) {
  struct stat status {};
  const bool keeps_text = stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  flags |= O_CREAT | O_CLOEXEC | O_NOCTTY | (keeps_text ? O_RDWR : O_WRONLY);
  const bool by_name = path == "-" || path == "/dev/stdout" || path == "/dev/fd/1";
  const int file = by_name ? -1 : open(path.c_str(), flags, 0666);
  if (!by_name && (file < 0 || !is_stdout(file))) return file;
  if (file >= 0) close(file);
  std::fflush(stdout);
  return fcntl(user_stdout, F_DUPFD_CLOEXEC, 0);
}

int write_text(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EPIPE && is_stdout(file)) return 0;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

std::string lost_stdout() {
  if (user_stdout != STDOUT_FILENO) return "";  // what was printed went to stderr
  const bool failed = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed) return "";
  const int error = errno;
  if (error == EPIPE || has_no_reader(STDOUT_FILENO)) return "";
  return "cannot write stdout" + (error == 0 ? "" : std::string(": ") + strerror(error));
}

OutputFile::OutputFile(const std::string& path) : path_(path), file_(open_output(path)) {
  struct stat status {};
  if (file_ < 0 || fstat(file_, &status) != 0) fail(errno);
  const bool has_text = S_ISREG(status.st_mode) && !is_stdout(file_);
  if (has_text && ftruncate(file_, 0) != 0) fail(errno);
}

OutputFile::~OutputFile() {
  flush();
  if (close(file_) != 0) fail(errno);
}

void OutputFile::fail(int error) const { fatal("cannot write " + path_ + ": " + strerror(error)); }

void OutputFile::write(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() >= kWaitingBytes) flush();
}

void OutputFile::flush() {
  if (const int error = write_text(file_, waiting_); error != 0) fail(error);
  waiting_.clear();
}

}  // namespace logjam::platform

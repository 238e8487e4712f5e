#include "platform/run_delay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace logjam::platform {
namespace {

// Opens the file of this thread. Any thread can read it later: the kernel resolves "thread-self"
// when the file is opened.
int open_of_this_thread() { return ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC); }

// Returns the second number of the file, or nothing if it has none: the thread has ended.
std::optional<uint64_t> delay_in(int file) {
  char text[96];
  const ssize_t length = file < 0 ? -1 : ::pread(file, text, sizeof text, 0);
  if (length <= 0) return std::nullopt;
  std::string_view left(text, static_cast<size_t>(length));
  left.remove_prefix(std::min(left.find(' '), left.size() - 1) + 1);
  uint64_t delay = 0;
  const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), delay);
  if (error != std::errc()) return std::nullopt;
  return delay;
}

}  // namespace

RunDelay::~RunDelay() {
  for (const int file : files_) ::close(file);
}

bool RunDelay::counted() {
  const int file = open_of_this_thread();
  const bool counted = delay_in(file).has_value();
  if (file >= 0) ::close(file);
  return counted;
}

void RunDelay::add_this_thread() {
  const int file = open_of_this_thread();
  if (file < 0) return;
  lock_guard<mutex> hold(mutex_);
  files_.push_back(file);
}

uint64_t RunDelay::ns() const {
  lock_guard<mutex> hold(mutex_);
  uint64_t sum = 0;
  for (const int file : files_) sum += delay_in(file).value_or(0);
  return sum;
}

}  // namespace logjam::platform

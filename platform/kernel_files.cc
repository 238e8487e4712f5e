#include "platform/kernel_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

namespace logjam::platform {

std::string KernelFiles::read(const std::string& path) const {
  std::ifstream in(root + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string KernelFiles::word(const std::string& path) const {
  std::istringstream in(read(path));
  std::string first;
  in >> first;
  return first;
}

bool KernelFiles::exists(const std::string& path) const {
  return access((root + path).c_str(), F_OK) == 0;
}

bool KernelFiles::write(const std::string& path, const std::string& text) const {
  const int file = open((root + path).c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool taken = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  if (taken) changed(path);
  return taken;
}

bool KernelFiles::make_directory(const std::string& path) const {
  if (mkdir((root + path).c_str(), 0755) != 0) return false;
  changed(path);
  return true;
}

int KernelFiles::remove_directory(const std::string& path) const {
  removing(path);
  return rmdir((root + path).c_str()) == 0 ? 0 : errno;
}

}  // namespace logjam::platform

#include "logging/format/segments.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

#include "platform/files.h"

namespace logjam {
namespace {

// Returns the index in the name of a segment file, or 0 if `name` is not such a name.
uint64_t index_in(std::string_view name) {
  const std::string_view digits = name.substr(name.rfind('.') + 1);
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool number = error == std::errc{} && end == digits.data() + digits.size();
  return number && digits[0] != '0' ? index : 0;
}

int segment_files(const std::string& directory, std::string_view begin,
                  std::vector<SegmentFile>* files) {
  files->clear();
  std::vector<std::string> names;
  if (const int error = platform::names_in(directory, &names); error != 0) return error;
  for (const std::string& name : names) {
    const uint64_t index = index_in(name);
    const std::string log_file = name.substr(0, name.rfind('.'));
    if (index == 0 || !log_file.starts_with(begin) || !log_file.ends_with(".log.db")) continue;
    platform::FileStatus status;
    const int error = platform::files().status(directory + "/" + name, &status);
    if (error != 0) return error;
    files->push_back({directory + "/" + log_file, index, status.bytes});
  }
  std::ranges::sort(*files, {},
                    [](const SegmentFile& one) { return std::tie(one.log_file, one.index); });
  return 0;
}

}  // namespace

std::string segment_path(const std::string& path, uint64_t index) {
  return index == 0 ? path : path + "." + std::to_string(index);
}

int segment_files_in(const std::string& directory, std::vector<SegmentFile>* files) {
  return segment_files(directory, "stream-", files);
}

int segment_files_of(const std::string& path, std::vector<SegmentFile>* files) {
  const std::filesystem::path file(path);
  const std::string directory = file.has_parent_path() ? file.parent_path().native() : ".";
  const std::string name = file.filename();
  if (const int error = segment_files(directory, name, files); error != 0) return error;
  std::erase_if(*files, [&](const SegmentFile& one) {
    return one.log_file.size() != directory.size() + 1 + name.size();
  });
  for (SegmentFile& one : *files) one.log_file = path;
  return 0;
}

}  // namespace logjam

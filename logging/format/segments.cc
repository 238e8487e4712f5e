#include "logging/format/segments.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

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

std::vector<SegmentFile> segment_files(const std::string& directory, std::string_view begin) {
  std::vector<SegmentFile> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    const uint64_t index = index_in(name);
    const std::string log_file = name.substr(0, name.rfind('.'));
    if (index == 0 || !log_file.starts_with(begin) || !log_file.ends_with(".log.db")) continue;
    const uint64_t bytes = entry.file_size(error);
    files.push_back({directory + "/" + log_file, index, error ? 0 : bytes});
  }
  std::ranges::sort(files, {},
                    [](const SegmentFile& one) { return std::tie(one.log_file, one.index); });
  return files;
}

}  // namespace

std::string segment_path(const std::string& path, uint64_t index) {
  return index == 0 ? path : path + "." + std::to_string(index);
}

std::vector<SegmentFile> segment_files_in(const std::string& directory) {
  return segment_files(directory, "stream-");
}

std::vector<SegmentFile> segment_files_of(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string directory = file.has_parent_path() ? file.parent_path().native() : ".";
  const std::string name = file.filename();
  std::vector<SegmentFile> files = segment_files(directory, name);
  std::erase_if(files, [&](const SegmentFile& one) {
    return one.log_file.size() != directory.size() + 1 + name.size();
  });
  for (SegmentFile& one : files) one.log_file = path;
  return files;
}

}  // namespace logjam

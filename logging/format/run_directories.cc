#include "logging/format/run_directories.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "logging/format/segments.h"
#include "logging/format/text_block.h"

namespace logjam {
namespace {

constexpr std::string_view kPrefix = "run-";

int sync_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = fdatasync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

std::string run_directory(const std::string& directory, uint32_t ordinal) {
  if (ordinal == 1) return directory;
  return directory + "/" + std::string(kPrefix) + std::to_string(ordinal);
}

std::vector<std::string> run_directories(const std::vector<std::string>& directories,
                                         uint32_t ordinal) {
  std::vector<std::string> found;
  for (const std::string& directory : directories) {
    found.push_back(run_directory(directory, ordinal));
  }
  return found;
}

std::vector<uint64_t> numbers_in(const std::vector<std::string>& directories,
                                 std::string_view prefix) {
  std::vector<uint64_t> numbers;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      const std::string name = entry.path().filename();
      uint64_t number = 0;
      if (name.starts_with(prefix) &&
          parse_number(std::string_view(name).substr(prefix.size()), 10, &number)) {
        numbers.push_back(number);
      }
    }
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::vector<uint64_t> later_runs_in(const std::vector<std::string>& directories) {
  std::vector<uint64_t> ordinals = numbers_in(directories, kPrefix);
  std::erase_if(ordinals, [](uint64_t ordinal) { return ordinal < 2; });
  return ordinals;
}

uint64_t first_run_in(const std::vector<std::string>& directories) {
  const LogFiles files = find_log_files(directories);
  if (files.error.empty()) return files.header.run;
  for (const std::string& directory : directories) {
    std::vector<std::pair<uint32_t, std::string>> found;
    if (log_files_in(directory, &found) != 0) continue;
    for (const auto& [stream, path] : found) {
      LogFileHeader header;
      if (read_log_file_header(path, &header).empty()) return header.run;
    }
  }
  return 0;
}

Runs find_runs(const std::vector<std::string>& directories, uint32_t from, uint64_t first_run) {
  Runs found;
  const std::vector<uint64_t> later = later_runs_in(directories);
  const auto last = std::max(from, later.empty() ? 1 : static_cast<uint32_t>(later.back()));
  for (uint32_t ordinal = from; ordinal <= last; ++ordinal) {
    const auto of_run = run_directories(directories, ordinal);
    LogFiles files = find_log_files(of_run);
    const std::string name = "run " + std::to_string(ordinal) + " of the log";
    if (!files.error.empty()) {
      if (ordinal > from && ordinal == last && !later_run_began(directories, ordinal)) break;
      found.error = ordinal == 1 ? files.error : name + " cannot be used: " + files.error;
      return found;
    }
    const LogFileHeader& header = files.header;
    if (first_run == 0) first_run = header.first_run;
    // A run replaced the log, and was killed before it had removed this run of the earlier log.
    if (header.first_run != first_run && ordinal > from) break;
    if (header.ordinal != ordinal || header.first_run != first_run) {
      found.error = of_run[0] + " has run " + std::to_string(header.ordinal) + " of the log " +
                    hex(header.first_run) + ", not run " + std::to_string(ordinal) +
                    " of the log " + hex(first_run);
      return found;
    }
    if (ordinal > from && header.after != found.runs.back().header.run) {
      found.error = name + " continues run " + hex(header.after) + ", which does not exist";
      return found;
    }
    found.runs.push_back(std::move(files));
  }
  return found;
}

bool later_run_began(const std::vector<std::string>& directories, uint32_t ordinal) {
  const auto of_run = run_directories(directories, ordinal);
  if (find_log_files(of_run).error.empty()) return true;
  return std::ranges::any_of(of_run, [](const std::string& directory) {
    std::vector<std::pair<uint32_t, std::string>> files;
    if (log_files_in(directory, &files) != 0) return true;
    return std::ranges::any_of(files,
                               [](const auto& file) { return !log_file_is_blank(file.second); });
  });
}

std::vector<std::string> continued_in(const std::string& directory) {
  std::vector<std::string> found;
  for (const std::string_view prefix : {kCheckpointPrefix, kPrefix}) {
    for (const uint64_t number : numbers_in({directory}, prefix)) {
      found.push_back(directory + "/" + std::string(prefix) + std::to_string(number));
    }
  }
  return found;
}

int remove_run(const std::vector<std::string>& directories, uint32_t ordinal) {
  std::error_code error;
  for (const std::string& directory : run_directories(directories, ordinal)) {
    if (ordinal > 1) {
      std::filesystem::remove_all(directory, error);
      if (error) return error.value();
      continue;
    }
    std::vector<SegmentFile> segments;
    std::vector<std::pair<uint32_t, std::string>> files;
    if (const int failed = segment_files_in(directory, &segments); failed != 0) return failed;
    if (const int failed = log_files_in(directory, &files); failed != 0) return failed;
    for (const SegmentFile& segment : segments) {
      std::filesystem::remove(segment_path(segment.log_file, segment.index), error);
      if (error) return error.value();
    }
    for (const auto& [stream, path] : files) {
      std::filesystem::remove(path, error);
      if (error) return error.value();
    }
  }
  return 0;
}

int sync_run(const LogFiles& run) {
  for (const auto& stream : run.paths) {
    for (const std::string& path : stream) {
      if (const int error = sync_file(path); error != 0) return error;
      std::vector<SegmentFile> segments;
      if (const int error = segment_files_of(path, &segments); error != 0) return error;
      for (const SegmentFile& segment : segments) {
        const int error = sync_file(segment_path(path, segment.index));
        if (error != 0) return error;
      }
      const auto directory = std::filesystem::path(path).parent_path();
      if (const int error = sync_file(directory.empty() ? "." : directory); error != 0) {
        return error;
      }
    }
  }
  return 0;
}

}  // namespace logjam

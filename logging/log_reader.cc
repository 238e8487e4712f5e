#include "logging/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "platform/fatal.h"

namespace logjam {
namespace {

constexpr uint64_t kReadBytes = uint64_t{4} << 20;
constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 30;
// Behind the end we look for records that are good, but of no use, to tell the operator. Garbage
// can claim any lengths, so what is spent on checksums has a bound of its own.
constexpr uint64_t kLookAheadBytes = uint64_t{64} << 20;
constexpr uint64_t kLookAheadChecksumBytes = 4 * kLookAheadBytes;

// Whether a header could be one, in a stream that has `room` bytes from here.
bool plausible(const RecordHeader& header, uint64_t room) {
  return header.bytes >= sizeof(RecordHeader) && header.bytes % 8 == 0 &&
         header.bytes <= std::min(room, kMaxRecordBytes) && header.kind >= RecordKind::kVoid &&
         header.kind <= RecordKind::kCommit && header.reserved == 0;
}

bool all_zero(const std::byte* bytes, uint64_t count) {
  return std::all_of(bytes, bytes + count, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

struct LogReader::State {
  std::string path;
  int fd = -1;
  uint64_t stream_bytes = 0;  // the file's, behind the header
  uint64_t run = 0;
  uint64_t position = 0;         // of the next record
  std::vector<std::byte> carry;  // read already, from `position` on
  bool ended = false;

  // Up to `count` bytes of the stream from `from`; less only at the end of the file.
  uint64_t read(std::byte* to, uint64_t from, uint64_t count) {
    uint64_t done = 0;
    while (done < count) {
      const ssize_t n =
          pread(fd, to + done, count - done, static_cast<off_t>(kLogHeaderBytes + from + done));
      if (n < 0 && errno == EINTR) continue;
      // Not the end of the log: what follows may well be good, and acknowledged.
      if (n < 0) platform::fatal("cannot read the log file " + path + ": " + strerror(errno));
      if (n == 0) break;
      done += static_cast<uint64_t>(n);
    }
    return done;
  }

  // How many valid records lie behind `position`, and their bytes.
  std::pair<uint64_t, uint64_t> look_ahead() {
    if (position >= stream_bytes) return {0, 0};
    std::vector<std::byte> window(std::min(stream_bytes - position, kLookAheadBytes));
    const uint64_t size = read(window.data(), position, window.size());
    uint64_t records = 0, bytes = 0, checked = 0;
    for (uint64_t at = 8; at + sizeof(RecordHeader) <= size;) {
      const auto* header = reinterpret_cast<const RecordHeader*>(window.data() + at);
      if (plausible(*header, size - at) && checked + header->bytes <= kLookAheadChecksumBytes) {
        checked += header->bytes;
        if (header->checksum == record_checksum(*header, run, position + at)) {
          ++records;
          bytes += header->bytes;
          at += header->bytes;
          continue;
        }
      }
      at += 8;
    }
    return {records, bytes};
  }

  std::string why_ended(bool zeros) {
    const auto [records, bytes] = look_ahead();
    if (zeros && records == 0) return "end of log";
    std::string why = (zeros ? "zeros at byte " : "torn, stale or corrupt record at byte ") +
                      std::to_string(position);
    if (records != 0) {
      why += "; " + std::to_string(records) + " valid record(s) of " + std::to_string(bytes) +
             " bytes behind it are not used";
    }
    return why;
  }
};

LogReader::LogReader(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  state_->fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (state_->fd < 0 || fstat(state_->fd, &status) != 0) {
    error_ = "cannot open the log file " + path + ": " + strerror(errno);
    return;
  }
  std::vector<std::byte> block(kLogHeaderBytes);
  const ssize_t n = pread(state_->fd, block.data(), block.size(), 0);
  if (n < 0) {
    error_ = "cannot read the log file " + path + ": " + strerror(errno);
    return;
  }
  block.resize(static_cast<size_t>(n));
  if (const std::string why = header_.decode(block); !why.empty()) {
    error_ = path + " is not a log file: " + why;
    return;
  }
  state_->run = header_.run;
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  state_->stream_bytes = file_bytes < kLogHeaderBytes ? 0 : file_bytes - kLogHeaderBytes;
}

LogReader::~LogReader() {
  if (state_->fd >= 0) close(state_->fd);
}

bool LogReader::next(RecordBatch* batch) {
  batch->records.clear();
  batch->positions.clear();
  if (!error_.empty() || state_->ended) return false;
  State& state = *state_;

  auto memory = std::make_shared<std::vector<std::byte>>(std::move(state.carry));
  state.carry.clear();
  uint64_t want = kReadBytes;
  uint64_t at = 0;  // in memory; state.position is its place in the stream
  while (true) {
    // Here memory holds the stream from `position` on, and no record of it yet.
    const uint64_t base = state.position, had = memory->size();
    const uint64_t count = std::min(want, state.stream_bytes - (base + had));
    memory->resize(had + count);
    memory->resize(had + state.read(memory->data() + had, base + had, count));
    if (memory->size() < had + count) state.stream_bytes = base + memory->size();  // it has shrunk

    bool needs_more = false;
    while (memory->size() - at >= sizeof(RecordHeader)) {
      const auto* header = reinterpret_cast<const RecordHeader*>(memory->data() + at);
      if (!plausible(*header, state.stream_bytes - state.position)) break;
      if (header->bytes > memory->size() - at) {
        needs_more = true;
        want = header->bytes;
        break;
      }
      if (header->checksum != record_checksum(*header, state.run, state.position)) break;
      batch->records.push_back(header);
      batch->positions.push_back(state.position);
      ++tail_.records;
      tail_.last_sequence = header->sequence;
      at += header->bytes;
      state.position += header->bytes;
    }
    tail_.bytes = state.position;

    const bool more_in_file = base + memory->size() < state.stream_bytes;
    const bool header_cut = memory->size() - at < sizeof(RecordHeader);
    if (more_in_file && (needs_more || header_cut)) {
      if (batch->records.empty()) continue;
      state.carry.assign(memory->begin() + static_cast<ptrdiff_t>(at), memory->end());
      break;
    }
    state.ended = true;
    const uint64_t rest = std::min<uint64_t>(memory->size() - at, sizeof(RecordHeader));
    tail_.why = state.why_ended(all_zero(memory->data() + at, rest));
    break;
  }
  batch->memory = std::move(memory);
  return !batch->records.empty();
}

LogFiles find_log_files(const std::vector<std::string>& directories) {
  LogFiles files;
  std::map<uint32_t, std::vector<std::string>> by_stream;
  for (const std::string& directory : directories) {
    for (const auto& [stream, path] : log_files_in(directory)) by_stream[stream].push_back(path);
  }
  if (by_stream[0].size() != 1) {
    files.error =
        by_stream[0].empty()
            ? "no log is in the log directories: there is no " + log_file_path("DIR", 0)
            : "two logs are in the log directories: " + by_stream[0][0] + " and " + by_stream[0][1];
    return files;
  }
  for (uint32_t stream = 0; stream == 0 || stream < files.header.streams; ++stream) {
    for (const std::string& path : by_stream[stream]) {
      const LogReader reader(path);
      const LogFileHeader& header = reader.header();
      if (!reader.error().empty()) {
        files.error = reader.error();
      } else if (header.stream != stream) {
        files.error = path + " says it is stream " + std::to_string(header.stream);
      } else if (stream != 0 && header.run != files.header.run) {
        files.error = path + " belongs to another run than stream 0";
      } else {
        if (stream == 0) files.header = header;
        files.paths.push_back(path);
        continue;
      }
      return files;
    }
    if (files.paths.size() != stream + 1) {
      files.error = "stream " + std::to_string(stream) + " of " +
                    std::to_string(files.header.streams) +
                    (files.paths.size() > stream ? " is there twice" : " is missing") +
                    " in the log directories";
      return files;
    }
  }
  return files;
}

}  // namespace logjam

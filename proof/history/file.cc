#include "proof/history/file.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "platform/exploration.h"
#include "platform/fatal.h"

DEFINE_string(history, "",
              "file that keeps what transactions wrote, and which were acknowledged; run and "
              "recover check it; the ledger's file also keeps what transactions read; a run with "
              "--continue adds FILE.2, then FILE.3, ...");
DEFINE_uint64(history_mb, 256, "MiB of the file of --history; the run ends when it is full");

namespace logjam {
namespace {

constexpr char kMagic[8] = {'l', 'o', 'g', 'j', 'a', 'm', 'H', '6'};

struct FileHeader {
  char magic[8];
  uint64_t checksum;  // XXH3-64 of the fields from `workers` to `run`
  uint64_t workers, area_bytes, counters, log, ordinal, after, serializable;
  std::array<uint64_t, 3> keys;
  char workload[32];
  char unsafe[256];
  char run[2048];  // the flags, for human readers
  platform::atomic<uint64_t> started, finished;

  uint64_t expected_checksum() const {
    const char* from = reinterpret_cast<const char*>(&workers);
    return XXH3_64bits(from, static_cast<size_t>(run + sizeof run - from));
  }
};
static_assert(sizeof(FileHeader) <= kHistoryHeaderBytes);

enum State : uint64_t { kEnd = 0, kIntended = 0x746e65746e69, kAcknowledged = 0x646b6361 };

struct EntryHeader {
  platform::atomic<uint64_t> state;
  TransactionId id;
  uint64_t payload_bytes;
};
static_assert(sizeof(EntryHeader) == 24);

EntryHeader& entry_at(std::byte* at) { return *reinterpret_cast<EntryHeader*>(at); }

size_t bytes_of_counters(size_t counters) {
  return (counters * sizeof(uint64_t) + platform::kShortestLine - 1) / platform::kShortestLine *
         platform::kShortestLine;
}

void put_text(char* to, size_t size, const std::string& text) {
  std::memset(to, 0, size);
  std::memcpy(to, text.data(), std::min(text.size(), size - 1));
}

std::string get_text(const char* from, size_t size) { return {from, strnlen(from, size)}; }

std::string given_flags() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::string text;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (!flag.is_default) text += "--" + flag.name + "=" + flag.current_value + " ";
  }
  return text;
}

}  // namespace

std::string show(TransactionId id) {
  if (id == 0) return "the initial load";
  return std::to_string(worker_of(id)) + ":" + std::to_string(count_of(id));
}

std::string unfinished_history(const std::string& path) { return path + ".new"; }

HistoryArea::HistoryArea(std::byte* begin, size_t bytes, uint32_t counters)
    : begin_(begin), bytes_(bytes), first_entry_(bytes_of_counters(counters)), used_(first_entry_) {
  LJ_ASSERT(first_entry_ <= bytes);
}

std::byte* HistoryArea::payload_at(size_t entry) { return begin_ + entry + sizeof(EntryHeader); }

void HistoryArea::intend(TransactionId id, size_t payload_bytes) {
  LJ_ASSERT(payload_bytes % 8 == 0 && !full_for(payload_bytes));
  LJ_ASSERT(id > last_);
  last_ = id;
  EntryHeader& entry = entry_at(begin_ + used_);
  entry.id = id;
  entry.payload_bytes = payload_bytes;
  // Ends the area after this entry: the next state word may hold bytes of a longer entry that was
  // here and was retracted.
  const size_t next = used_ + sizeof(EntryHeader) + payload_bytes;
  if (next + sizeof(EntryHeader) <= bytes_) {
    entry_at(begin_ + next).state.store(kEnd, platform::memory_order_relaxed);
  }
  entry.state.store(kIntended, platform::memory_order_release);
  pending_.push_back({id, used_});
  used_ = next;
}

void HistoryArea::retract() {
  LJ_ASSERT(!pending_.empty() && pending_.back().id == last_);
  used_ = pending_.back().offset;
  pending_.pop_back();
  // acq_rel: the worker's later stores to the entry must not become visible before this store.
  entry_at(begin_ + used_).state.exchange(kEnd, platform::memory_order_acq_rel);
}

void HistoryArea::acknowledge(TransactionId id) {
  const auto found = std::find_if(pending_.begin(), pending_.end(),
                                  [id](const Pending& pending) { return pending.id == id; });
  if (found == pending_.end()) {
    platform::fatal("transaction " + show(id) + " was acknowledged without having committed",
                    platform::kExitViolation);
  }
  entry_at(begin_ + found->offset).state.store(kAcknowledged, platform::memory_order_release);
  pending_.erase(found);
  platform::maybe_crash();
}

void HistoryArea::count(uint32_t counter) {
  LJ_ASSERT((counter + 1) * sizeof(uint64_t) <= first_entry_);
  auto& counted = reinterpret_cast<platform::atomic<uint64_t>*>(begin_)[counter];
  counted.store(counted.load(platform::memory_order_relaxed) + 1, platform::memory_order_relaxed);
}

bool HistoryArea::full_for(size_t payload_bytes) const {
  return bytes_ < used_ + sizeof(EntryHeader) + payload_bytes;
}

std::string HistoryWriter::note_if_full(bool (*is_full)(const HistoryArea&)) const {
  if (std::ranges::none_of(areas_, is_full)) return "";
  return "a worker ended early because its part of --history was full: a --history_mb of more "
         "than " +
         std::to_string(FLAGS_history_mb) + " has room for more transactions";
}

HistoryWriter::HistoryWriter(const std::string& path, uint32_t workers, uint64_t bytes,
                             const HistoryFileParameters& parameters)
    : path_(path), undo_([this] { unlink(unfinished_history(path_).c_str()); }) {
  LJ_ASSERT(workers > 0 && parameters.counters <= kMostHistoryCounters);
  LJ_ASSERT(parameters.workload.size() < sizeof(FileHeader::workload));
  const size_t area_bytes = std::max<uint64_t>(bytes / workers, 4096) / 4096 * 4096;
  bytes_ = kHistoryHeaderBytes + area_bytes * workers;
  const std::string unfinished = unfinished_history(path);
  // Removes an old file or link of this name, because a link would lead to another file.
  unlink(unfinished.c_str());
  const int fd = open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) platform::refuse("cannot create --history=" + path + ": " + strerror(errno));
  // Allocates the blocks now, so that a full disk is an error here and not a SIGBUS later.
  if (const int failed = posix_fallocate(fd, 0, static_cast<off_t>(bytes_)); failed != 0) {
    platform::refuse("cannot make --history=" + path + " " + std::to_string(bytes_) +
                     " bytes long: " + strerror(failed));
  }
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) platform::refuse("cannot map " + path + ": " + strerror(errno));
  close(fd);
  memory_ = static_cast<std::byte*>(memory);

  auto& header = *reinterpret_cast<FileHeader*>(memory_);
  header.workers = workers;
  header.area_bytes = area_bytes;
  header.counters = parameters.counters;
  header.log = parameters.log;
  header.ordinal = parameters.ordinal;
  header.after = parameters.after;
  header.serializable = parameters.serializable ? 1 : 0;
  header.keys = parameters.keys;
  put_text(header.workload, sizeof header.workload, parameters.workload);
  put_text(header.unsafe, sizeof header.unsafe, parameters.unsafe);
  put_text(header.run, sizeof header.run, given_flags());
  header.checksum = header.expected_checksum();
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  for (uint32_t worker = 0; worker < workers; ++worker) {
    areas_.emplace_back(memory_ + kHistoryHeaderBytes + worker * area_bytes, area_bytes,
                        parameters.counters);
  }
}

void HistoryWriter::keep() {
  LJ_ASSERT(!kept_);
  kept_ = true;
  undo_.forget();
  if (rename(unfinished_history(path_).c_str(), path_.c_str()) != 0) {
    platform::fatal("cannot create --history=" + path_ + ": " + strerror(errno));
  }
}

HistoryWriter::~HistoryWriter() { munmap(memory_, bytes_); }

void HistoryWriter::record_start() {
  auto& started = reinterpret_cast<FileHeader*>(memory_)->started;
  if (started.load(platform::memory_order_relaxed) == 0) {
    started.store(1, platform::memory_order_release);
  }
}

void HistoryWriter::record_end() {
  reinterpret_cast<FileHeader*>(memory_)->finished.store(1, platform::memory_order_release);
}

std::string unusable_history(const std::string& path, const std::string& why) {
  return "cannot use the history " + path + ": " + why;
}

namespace {

// Appends the entries of one area to the history. Returns the area's error, or an empty string.
std::string read_area(const std::byte* area, uint64_t bytes, uint32_t worker,
                      HistoryFile* history) {
  const auto wrong = [worker](const char* what, uint64_t at) {
    return std::string(what) + " byte " + std::to_string(at) + " in the area of worker " +
           std::to_string(worker);
  };
  const uint32_t counters = history->parameters.counters;
  const auto* counted = reinterpret_cast<const platform::atomic<uint64_t>*>(area);
  auto& counts = history->counters.emplace_back();
  counts.reserve(counters);
  for (uint32_t i = 0; i < counters; ++i) {
    counts.push_back(counted[i].load(platform::memory_order_relaxed));
  }
  TransactionId last = 0;
  uint64_t at = bytes_of_counters(counters);
  while (bytes - at >= sizeof(EntryHeader)) {
    const auto& entry = *reinterpret_cast<const EntryHeader*>(area + at);
    const uint64_t state = entry.state.load(platform::memory_order_acquire);
    if (state == kEnd) break;
    if (state != kIntended && state != kAcknowledged) {
      return wrong("an entry in no known state at", at);
    }
    at += sizeof(EntryHeader);
    if (bytes - at < entry.payload_bytes || entry.payload_bytes % 8 != 0) {
      return wrong("an entry longer than its area before", at);
    }
    if (worker_of(entry.id) != worker || entry.id <= last) {
      return wrong("an entry out of order before", at);
    }
    last = entry.id;
    history->entries.push_back(
        {entry.id, 0, state == kAcknowledged, {area + at, entry.payload_bytes}});
    at += entry.payload_bytes;
  }
  return "";
}

}  // namespace

HistoryFile open_history_file(const std::string& path) {
  HistoryFile history;
  const auto refuse = [&](const std::string& why) {
    history.error = unusable_history(path, why);
    history.entries.clear();
    return history;
  };
  // With O_NONBLOCK, open() does not wait for a FIFO's writer.
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return refuse(strerror(errno));
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return refuse("not a file");
  }
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes < kHistoryHeaderBytes) {
    close(fd);
    return refuse("too short to be one (" + std::to_string(bytes) + " bytes)");
  }
  void* memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return refuse(strerror(errno));
  history.memory = std::shared_ptr<const void>(
      memory, [bytes](const void* mapped) { munmap(const_cast<void*>(mapped), bytes); });

  const auto& header = *static_cast<const FileHeader*>(memory);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return refuse("not a logjam history");
  if (header.checksum != header.expected_checksum()) return refuse("its header is damaged");
  if (header.workers == 0 || header.workers > 65535 || header.area_bytes % 8 != 0 ||
      header.area_bytes == 0 || header.area_bytes > bytes ||
      header.counters > kMostHistoryCounters ||
      header.area_bytes < bytes_of_counters(header.counters) ||
      kHistoryHeaderBytes + header.workers * header.area_bytes != bytes) {
    return refuse("its length is not what its header says");
  }
  history.workers = static_cast<uint32_t>(header.workers);
  history.parameters = {get_text(header.workload, sizeof header.workload),
                        static_cast<uint32_t>(header.counters),
                        header.keys,
                        get_text(header.unsafe, sizeof header.unsafe),
                        static_cast<uint32_t>(header.ordinal),
                        static_cast<uint32_t>(header.after),
                        header.log,
                        header.serializable != 0};
  history.started = header.started.load(platform::memory_order_acquire) != 0;
  history.finished = header.finished.load(platform::memory_order_acquire) != 0;
  for (uint32_t worker = 0; worker < history.workers; ++worker) {
    const std::byte* area =
        static_cast<const std::byte*>(memory) + kHistoryHeaderBytes + worker * header.area_bytes;
    if (std::string why = read_area(area, header.area_bytes, worker, &history); !why.empty()) {
      return refuse(why);
    }
  }
  return history;
}

}  // namespace logjam

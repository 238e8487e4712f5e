#include "workloads/ledger/history.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "platform/fatal.h"

namespace logjam::ledger {
namespace {

constexpr char kMagic[8] = {'l', 'o', 'g', 'j', 'a', 'm', 'H', '2'};

struct FileHeader {
  char magic[8];
  uint64_t checksum;  // XXH3-64 of the fields from `workers` to `run`
  uint64_t workers, area_bytes;
  KeySpace keys;
  char unsafe[256];
  char run[2048];
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
  Mismatch mismatch;
  uint16_t reads, writes;
  Key mismatch_key;
};
static_assert(sizeof(EntryHeader) == 32);

// The size of an entry with so many accesses.
size_t bytes_for(size_t accesses) { return sizeof(EntryHeader) + accesses * sizeof(Access); }

EntryHeader& entry_at(std::byte* at) { return *reinterpret_cast<EntryHeader*>(at); }

void put_text(char* to, size_t size, const std::string& text) {
  std::memset(to, 0, size);
  std::memcpy(to, text.data(), std::min(text.size(), size - 1));
}

std::string get_text(const char* from, size_t size) { return {from, strnlen(from, size)}; }

}  // namespace

std::string KeySpace::name(Key key) const {
  return is_cell(key) ? "cell " + std::to_string(key - ledger)
                      : "ledger key " + std::to_string(key);
}

const char* describe(Mismatch mismatch) {
  switch (mismatch) {
    case Mismatch::kNone:
      return "nothing wrong";
    case Mismatch::kTornRow:
      return "a row that is half one write and half another";
    case Mismatch::kMissingRow:
      return "no row, though none is ever erased";
    case Mismatch::kMissingEntry:
      return "no entry where its row says there is one (phantom)";
    case Mismatch::kUnexpected:
      return "an entry where its row says there is none (phantom)";
    case Mismatch::kForeignEntry:
      return "an entry by another transaction than its row says (phantom)";
    case Mismatch::kDuplicateEntry:
      return "two entries of one key at once (phantom)";
  }
  return "an unknown mismatch";
}

void HistoryArea::intend(const Attempt& attempt) {
  EntryHeader& entry = entry_at(begin_ + used_);
  entry.id = attempt.id;
  entry.mismatch = attempt.mismatch;
  entry.mismatch_key = attempt.mismatch_key;
  entry.reads = static_cast<uint16_t>(attempt.reads.size());
  entry.writes = static_cast<uint16_t>(attempt.writes.size());
  auto* accesses = reinterpret_cast<Access*>(&entry + 1);
  accesses = std::copy(attempt.reads.begin(), attempt.reads.end(), accesses);
  accesses = std::copy(attempt.writes.begin(), attempt.writes.end(), accesses);
  // The next state word may hold bytes of a longer entry that was retracted, so it is set to 0.
  const size_t next = used_ + bytes_for(attempt.reads.size() + attempt.writes.size());
  if (next + sizeof(EntryHeader) <= bytes_) {
    entry_at(begin_ + next).state.store(kEnd, platform::memory_order_relaxed);
  }
  entry.state.store(kIntended, platform::memory_order_release);
  pending_.push_back({attempt.id, used_});
  used_ = next;
}

void HistoryArea::found_overwritten(size_t index, TransactionId writer) {
  EntryHeader& entry = entry_at(begin_ + pending_.back().offset);
  reinterpret_cast<Access*>(&entry + 1)[entry.reads + index].writer = writer;
}

void HistoryArea::retract() {
  if (pending_.empty()) return;
  used_ = pending_.back().offset;
  pending_.pop_back();
  // acq_rel: no later store into these bytes may become visible before this store.
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
}

bool HistoryArea::full_for(size_t accesses) const { return bytes_ - used_ < bytes_for(accesses); }

HistoryWriter::HistoryWriter(const std::string& path, uint32_t workers, uint64_t bytes,
                             const HistoryParameters& parameters)
    : path_(path) {
  const size_t area_bytes = bytes / workers / 4096 * 4096;
  bytes_ = kHistoryHeaderBytes + area_bytes * workers;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) platform::refuse("cannot create --history=" + path + ": " + strerror(errno));
  // The blocks are allocated now, so that a full disk is an error here and not a SIGBUS later.
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
  header.keys = parameters.keys;
  put_text(header.unsafe, sizeof header.unsafe, parameters.unsafe);
  put_text(header.run, sizeof header.run, parameters.run);
  header.checksum = header.expected_checksum();
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  for (uint32_t worker = 0; worker < workers; ++worker) {
    areas_.emplace_back(memory_ + kHistoryHeaderBytes + worker * area_bytes, area_bytes);
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

uint32_t History::find(TransactionId id) const {
  const auto found = std::lower_bound(
      transactions.begin(), transactions.end(), id,
      [](const RecordedTransaction& transaction, TransactionId i) { return transaction.id < i; });
  if (found == transactions.end() || found->id != id) return kNone;
  return static_cast<uint32_t>(found - transactions.begin());
}

namespace {

// Appends the entries of one area to the history. Returns what is wrong with the area, or an empty
// string.
std::string read_area(const std::byte* area, uint64_t bytes, uint32_t worker, History* history) {
  const std::string where = " in the area of worker " + std::to_string(worker);
  TransactionId last = 0;
  uint64_t at = 0;
  while (bytes - at >= sizeof(EntryHeader)) {
    const auto& entry = *reinterpret_cast<const EntryHeader*>(area + at);
    const uint64_t state = entry.state.load(platform::memory_order_acquire);
    if (state == kEnd) break;
    if (state != kIntended && state != kAcknowledged) {
      return "an entry in no known state at byte " + std::to_string(at) + where;
    }
    const uint64_t size = bytes_for(size_t{entry.reads} + entry.writes);
    if (bytes - at < size)
      return "an entry longer than its area at byte " + std::to_string(at) + where;
    if (worker_of(entry.id) != worker || entry.id <= last) {
      return "an entry out of order at byte " + std::to_string(at) + where;
    }
    last = entry.id;
    const auto* accesses = reinterpret_cast<const Access*>(&entry + 1);
    history->transactions.push_back({entry.id,
                                     state == kAcknowledged,
                                     entry.mismatch,
                                     entry.mismatch_key,
                                     {accesses, entry.reads},
                                     {accesses + entry.reads, entry.writes}});
    at += size;
  }
  return "";
}

}  // namespace

History open_history(const std::string& path) {
  History history;
  const auto refuse = [&](const std::string& why) {
    history.error = "cannot use the history " + path + ": " + why;
    history.transactions.clear();
    return history;
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
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
      header.area_bytes > bytes ||
      kHistoryHeaderBytes + header.workers * header.area_bytes != bytes) {
    return refuse("its length is not what its header says");
  }
  history.workers = static_cast<uint32_t>(header.workers);
  history.parameters = {header.keys, get_text(header.unsafe, sizeof header.unsafe),
                        get_text(header.run, sizeof header.run)};
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

}  // namespace logjam::ledger

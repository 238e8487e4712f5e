#include "engine/checkpoint/row_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/spin.h"

namespace logjam {

using platform::files;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kWriteBytes = kMostBlockBytes;  // the size of one write
constexpr uint64_t kBufferBytes = 4 * kWriteBytes;
constexpr uint32_t kSpinsBeforeSleep = 400;
constexpr uint64_t kLockedNapNs = 50'000;  // a lock's holder may be waiting for a device

}  // namespace

TableParts::TableParts(Database& database, uint32_t parts) : parts_(parts) {
  for (const auto& table : database.tables()) {
    splits_.push_back(table->primary().split_keys(parts));
  }
}

void TableParts::walk(Table& table, uint32_t part, FunctionRef<void(const Tuple&)> visit) const {
  LJ_ASSERT(part < parts_);
  Index& index = table.primary();
  if (!index.ordered()) {
    index.for_each(part, parts_, [&](Keyed* entry) { visit(*Table::tuple_of(entry)); });
    return;
  }
  const std::vector<Key>& splits = splits_[table.id()];
  if (part > splits.size()) return;  // a small table has fewer parts
  const Key low = part == 0 ? 0 : splits[part - 1];
  const Key high = part == splits.size() ? ~Key{0} : splits[part] - 1;
  index.scan(low, high, false, [&](NodeVersion, std::span<Keyed* const> entries) {
    for (Keyed* entry : entries) visit(*Table::tuple_of(entry));
    return true;
  });
}

RowWriter::RowWriter(RowWriterOptions options)
    : options_(std::move(options)), buffer_(kBufferBytes) {
  file_.name = std::filesystem::path(options_.path).filename();
}

RowWriter::~RowWriter() {
  if (out_ >= 0) files().close(out_);
}

// Opens the file for direct writes if possible: in the page cache, the rows would push out the log,
// and the kernel would choose when to write the rows back.
bool RowWriter::open_file() {
  out_ = platform::create_file(options_.path, O_WRONLY | O_DIRECT);
  if (out_ == -EINVAL) out_ = platform::create_file(options_.path);
  if (out_ < 0) fail("create", -out_);
  return out_ >= 0;
}

std::string RowWriter::write(Database& database, const TableParts& parts) {
  LJ_ASSERT(out_ < 0);
  if (!open_file()) return error_;
  uint32_t since = 0;
  for (const auto& table : database.tables()) {
    parts.walk(*table, options_.part, [&](const Tuple& tuple) {
      constexpr uint32_t kAskEvery = 64;
      if (++since % kAskEvery == 0 && good() && options_.stops && options_.stops()) {
        error_ = kAbandoned;
      }
      if (good()) add(*table, tuple);
    });
    end_block();
  }
  file_.bytes = begin_ + filled_;
  flush(true);
  if (!good()) return error_;
  if (const int error = files().sync(out_); error != 0) fail("sync", error);
  return error_;
}

void RowWriter::add(const Table& table, const Tuple& tuple) {
  const uint64_t row_bytes = (uint64_t{table.row_bytes()} + 7) / 8 * 8;
  const uint64_t most = sizeof(SavedTuple) + row_bytes;
  if (open_ && filled_ + most > block_ + kMostBlockBytes) end_block();
  if (!open_) begin_block(table);
  LJ_ASSERT_IN_TESTS(filled_ + most <= kBufferBytes);
  auto* saved = reinterpret_cast<SavedTuple*>(buffer_.data() + filled_);
  Version version;
  platform::SpinWait wait;
  while (!try_copy_committed(tuple, table.row_bytes(), saved->row(), &version)) {
    if (options_.stops && options_.stops()) {
      error_ = kAbandoned;
      return;
    }
    wait.rounds() < kSpinsBeforeSleep ? wait.once() : platform::sleep_ns(kLockedNapNs);
  }
  // Leaves the tuple out: it belongs to an insert that has not committed, or to a row that an
  // earlier run erased. A recovery replays this run's writes of the row, which lie after the RSN.
  if (version.absent() && version.sequence() == 0) return;
  saved->key = tuple.key;
  saved->version = version.word();
  sequence_ = std::max(sequence_, version.sequence());
  filled_ += version.absent() ? sizeof(SavedTuple) : most;
  ++(version.absent() ? file_.tombstones : file_.rows);
  ++reinterpret_cast<BlockHeader*>(buffer_.data() + block_)->tuples;
  if (!version.absent() && row_bytes != table.row_bytes()) {
    std::memset(saved->row() + table.row_bytes(), 0, row_bytes - table.row_bytes());
  }
}

void RowWriter::begin_block(const Table& table) {
  LJ_ASSERT(!open_ && filled_ % sizeof(uint64_t) == 0);
  open_ = true;
  block_ = filled_;
  filled_ += sizeof(BlockHeader);
  BlockHeader& block = *reinterpret_cast<BlockHeader*>(buffer_.data() + block_);
  block = {0, 0, 0, table.id(), options_.part, 0};
}

void RowWriter::end_block() {
  if (!open_) return;
  open_ = false;
  BlockHeader& block = *reinterpret_cast<BlockHeader*>(buffer_.data() + block_);
  if (block.tuples == 0) {
    filled_ = block_;
    return;
  }
  block.bytes = static_cast<uint32_t>(filled_ - block_);
  block.checksum = block_checksum(block, options_.id, begin_ + block_);
  if (filled_ >= kWriteBytes) flush(false);
}

// Writes the whole pages in the buffer. With `all`, also writes the last page, padded with zeros.
void RowWriter::flush(bool all) {
  LJ_ASSERT(!open_ && begin_ % kPage == 0);
  uint64_t bytes = filled_ / kPage * kPage;
  if (all && bytes != filled_) {
    bytes += kPage;
    std::memset(buffer_.data() + filled_, 0, bytes - filled_);
  }
  if (!good() || bytes == 0) return;
  if (options_.pace != nullptr) options_.pace->transfer(bytes);
  const int error = platform::write_all(out_, begin_, {buffer_.data(), bytes});
  if (error != 0) return fail("write", error);
  if (all) return;
  std::memmove(buffer_.data(), buffer_.data() + bytes, filled_ - bytes);
  begin_ += bytes;
  filled_ -= bytes;
}

void RowWriter::fail(const char* what, int error) {
  error_ = std::string("cannot ") + what + " " + options_.path + ": " + platform::error_text(error);
}

}  // namespace logjam

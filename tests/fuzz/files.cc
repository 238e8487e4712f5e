// Inputs of one piece: a history, flags, rows of results, a manifest, a header, a range image, a
// card.
#include <gflags/gflags.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "cli/flags.h"
#include "cli/output.h"
#include "logging/device/disk_card.h"
#include "logging/format/log_file.h"
#include "logging/format/manifest.h"
#include "logging/format/range_image.h"
#include "platform/flag_list.h"
#include "proof/history/with_history.h"
#include "proof/ledger/checker.h"
#include "tests/fuzz/target.h"

namespace logjam::fuzz {
namespace {

// A file in memory. Each target has one such file, and overwrites the file for each input.
class MemoryPath {
 public:
  MemoryPath()
      : file_(memfd_create("input", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(file_)) {}

  void write(Input input) {
    const auto bytes = static_cast<ssize_t>(input.size());
    require(ftruncate(file_, 0) == 0 && pwrite(file_, input.data(), input.size(), 0) == bytes,
            "a file in memory can be written");
  }
  int file() const { return file_; }
  const std::string& path() const { return path_; }

 private:
  const int file_;
  const std::string path_;
};

// Reads an input as the file of a history, and runs the history's checkers.
//
//   input := nine numbers of the header (8 bytes each), bits (8 bytes), the areas
//
// The bits say whether the ledger wrote the history, and whether its run has started and ended.
constexpr size_t kNumbers = 72, kHeadBytes = kNumbers + 8, kMostBytes = 2048;
// Offsets in the file's header.
constexpr size_t kChecksum = 8, kFirstNumber = 16, kWorkload = 88, kStarted = 2424,
                 kFinished = 2432;
// The target makes no database with more keys.
constexpr uint64_t kMostKeys = 64;

std::vector<std::byte> file_of(Input input) {
  std::vector<std::byte> file(kHistoryHeaderBytes);
  Parts parts(input);
  const auto put = [&](size_t at, const void* bytes, size_t count) {
    std::memcpy(&file[at], bytes, count);
  };
  put(0, "logjamH6", 8);
  const Input numbers = parts.take(kNumbers);
  if (!numbers.empty()) put(kFirstNumber, numbers.data(), numbers.size());
  const uint64_t bits = parts.number(8);
  put(kWorkload, (bits & 1) != 0 ? "words" : "ledger", 6);
  const uint64_t started = bits >> 1 & 1, finished = bits >> 2 & 1;
  put(kStarted, &started, sizeof started);
  put(kFinished, &finished, sizeof finished);
  const uint64_t checksum = XXH3_64bits(&file[kFirstNumber], kStarted - kFirstNumber);
  put(kChecksum, &checksum, sizeof checksum);
  file.insert(file.end(), parts.rest().begin(), parts.rest().end());
  return file;
}

// Returns the rows of a database in which each row has the last writer that the history gives it.
ledger::LedgerRows rows_of(const ledger::History& history) {
  ledger::LedgerRows rows;
  const ledger::KeySpace& keys = history.keys;
  for (Key key = 0; key < std::min(keys.ledger, kMostKeys); ++key) rows.ledger.push_back({key, {}});
  for (Key key = 0; key < std::min(keys.cells, kMostKeys); ++key) rows.cells.push_back({key, {}});
  for (const auto& transaction : history.transactions) {
    for (const ledger::Access& write : transaction.writes) {
      if (write.key < rows.ledger.size()) {
        rows.ledger[write.key].second.writer = transaction.id;
        rows.ledger[write.key].second.overwritten = write.writer;
      } else if (write.key - rows.ledger.size() < rows.cells.size()) {
        ledger::CellRow& cell = rows.cells[write.key - rows.ledger.size()].second;
        cell.writer = transaction.id;
        cell.present = write.op == ledger::Op::kErase ? 0 : 1;
      }
    }
  }
  for (auto& [key, row] : rows.ledger) row.seal(key);
  for (auto& [number, cell] : rows.cells) {
    if (number >= keys.slots) cell.present = 0;
    if (cell.writer == 0 && number < keys.slots) cell.present = number % 2 == 0 ? 1 : 0;
    cell.seal(number);
    if (cell.present == 0) continue;
    rows.slots.emplace_back(number, ledger::EntryRow::sealed(cell.writer, number));
  }
  return rows;
}

void check_words(const std::string& path) {
  Database database;
  Table& table =
      database.create_table({.name = "words", .row_bytes = 8, .kind = IndexKind::kOrdered});
  Arena arena;
  for (uint64_t key = 0; key < 4; ++key) table.load(key, &key, arena);
  write_history::check_history(database, path, "words", {"one", "two"});
}

void read_history(Input input) {
  static auto& memory = *new MemoryPath;
  memory.write(file_of(input));
  if (input.size() > kNumbers && (input[kNumbers] & std::byte{1}) != std::byte{0}) {
    check_words(memory.path());
    return;
  }
  const ledger::History history = ledger::open_history(memory.path());
  ledger::check(rows_of(history), history);
}

// In three of four inputs, makes the length of the areas equal to the length in the header.
void mend_history(std::vector<std::byte>& input, platform::SplitMix64& random) {
  if (input.size() <= kHeadBytes || random.next() % 4 == 0) return;
  uint64_t workers;
  std::memcpy(&workers, input.data(), sizeof workers);
  if (workers == 0 || workers > 4) workers = 1 + random.next() % 4;
  const uint64_t area = (input.size() - kHeadBytes) / workers / 8 * 8;
  std::memcpy(input.data(), &workers, sizeof workers);
  std::memcpy(&input[8], &area, sizeof area);
  input.resize(kHeadBytes + workers * area);
}

// Returns whether a flag in `text` may make gflags read the environment or another file.
bool names_other_sources(std::string_view text) {
  return text.find("env") != text.npos || text.find("flagfile") != text.npos ||
         text.find("undefok") != text.npos;
}

void read_flags(Input input) {
  static auto& memory = *new MemoryPath;
  memory.write(input);
  refuse_bad_flags({"run", "--flagfile=" + memory.path()});
  const std::string text(text_of(input));
  if (names_other_sources(text)) return;
  const gflags::FlagSaver saver;
  require(gflags::ReadFlagsFromString(text, "logjam", false),
          "gflags takes the flags that the check has passed");
}

ClaimedFile claimed(Input content) {
  static auto& memory = *new MemoryPath;
  memory.write(content);
  return {dup(memory.file()), content.size()};
}

void read_csv(Input input) {
  Parts parts(input);
  std::string header(text_of(parts.take(parts.byte())));
  std::erase(header, '\n');
  const Input content = parts.rest();
  if (!why_no_rows(claimed(content), header).empty() || content.empty()) return;
  const std::string_view text = text_of(content);
  require(text == header || text.starts_with(header + "\n"), "the columns are those of the rows");
}

void read_json(Input input) {
  if (!why_no_objects(claimed(input)).empty() || input.empty()) return;
  require(text_of(input).starts_with('{'), "a file of objects begins with one");
}

constexpr platform::ListKey kKeys[] = {
    {"run", 1, 1e9}, {"from", 0, 1e15}, {"count", 0, 1e15}, {"end", 1, 1}, {"mb_s", 0, 1e9, false}};

void read_list(Input input) {
  const std::string text(text_of(input));
  if (!platform::check_list("list", text, kKeys).empty()) return;
  for (const platform::ListKey& key : kKeys) {
    const double value = platform::listed(text, key.name, key.least);
    require(value >= key.least && value <= key.most, "a number that is accepted is in its range");
    require(!key.whole || value == std::floor(value), "a whole number is one");
  }
}

void read_manifest(Input input) {
  Manifest manifest;
  if (!manifest.decode(std::string(text_of(input))).empty()) return;
  const std::string text = manifest.encode();
  Manifest again;
  require(again.decode(text).empty(), "a manifest that was read can be read again");
  require(again.encode() == text, "a manifest that was read again is the same");
  manifest.remove_unfinished();
  for (const Checkpoint& checkpoint : manifest.checkpoints) {
    require(checkpoint.complete, "no unfinished checkpoint is left");
  }
}

void read_card(Input input) {
  DiskCard card;
  if (!card.decode(text_of(input)).empty()) return;
  const std::string text = card.encode();
  DiskCard again;
  require(again.decode(text).empty(), "a card that was read can be read again");
  require(again.encode() == text, "a card that was read again is the same");
  CardTimes times(card, 1);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 30}) {
    for (const uint32_t under_way : {1U, 3U, 100U}) {
      for (const bool one_call : {false, true}) {
        const double us = times.next_us(bytes, under_way, one_call);
        require(us >= 0 && us <= 1e9, "a write takes a time");
      }
    }
  }
}

void read_header(Input input) {
  std::vector<std::byte> block(input.begin(), input.end());
  block.resize(kLogHeaderBytes);
  LogFileHeader header;
  if (!header.decode(block).empty()) return;
  stored_sdl(block, header.run);
  require(header.stripe < header.stripes, "a file is one of its stream's stripes");
  LogFileHeader again;
  const std::vector<std::byte> encoded = header.encode();
  require(again.decode(encoded).empty(), "a header that was read can be read again");
  require(again.lines() == header.lines(), "a header that was read again is the same");
}

void mend_text(std::vector<std::byte>& input, platform::SplitMix64&) { mend_text_block(input); }

constexpr uint32_t kMostRowBytes = 400;

// input := the length of the row (2 bytes), the row, an image
void change_row(Input input) {
  Parts parts(input);
  const auto bytes = static_cast<uint32_t>(parts.number(2) % kMostRowBytes) + 1;
  const Input taken = parts.take(bytes);
  std::vector<std::byte> row(taken.begin(), taken.end());
  row.resize(bytes);
  if (parts.rest().size() < sizeof(uint64_t)) return;
  const std::vector<std::byte> image(parts.rest().begin(), parts.rest().end());
  const std::vector<std::byte> before = row;
  apply_ranges(RangeImage(image), row.data(), bytes);

  std::vector<std::byte> encoded(bytes);
  const uint32_t length =
      encode_ranges(RangeImage(image).version(), before.data(), row.data(), bytes, encoded.data());
  if (length == 0) return;
  std::vector<std::byte> again = before;
  encoded.resize(length);
  require(apply_ranges(RangeImage(encoded), again.data(), bytes),
          "an encoded image is well formed");
  require(again == row, "an encoded image makes the row that it was made of");
}

const FuzzRegistration registrations[] = {
    FuzzRegistration(
        {.name = "history", .most_bytes = kMostBytes, .run = read_history, .mend = mend_history}),
    FuzzRegistration({.name = "flags", .most_bytes = 200, .run = read_flags}),
    FuzzRegistration({.name = "csv", .most_bytes = 400, .run = read_csv}),
    FuzzRegistration({.name = "json", .most_bytes = 200, .run = read_json}),
    FuzzRegistration({.name = "lists", .most_bytes = 200, .run = read_list}),
    FuzzRegistration(
        {.name = "manifest", .most_bytes = 4096, .run = read_manifest, .mend = mend_text}),
    FuzzRegistration({.name = "card", .most_bytes = 4096, .run = read_card, .mend = mend_text}),
    FuzzRegistration({.name = "header", .most_bytes = 2048, .run = read_header, .mend = mend_text}),
    FuzzRegistration({.name = "ranges", .most_bytes = 600, .run = change_row}),
};

}  // namespace
}  // namespace logjam::fuzz

// The file of a history, and what its checkers make of it.
//
//   input := nine numbers of the header (8 bytes each), bits (8 bytes), the areas
//
// The bits say whether it is the ledger's history, and whether the run has started and ended.
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "proof/history/with_history.h"
#include "proof/ledger/checker.h"
#include "tests/fuzz/memory_path.h"

namespace logjam::fuzz {
namespace {

constexpr size_t kNumbers = 72, kHeadBytes = kNumbers + 8, kMostBytes = 2048;
// Offsets in the file's header.
constexpr size_t kChecksum = 8, kFirstNumber = 16, kWorkload = 88, kStarted = 2424,
                 kFinished = 2432;
// Databases with more keys are not made.
constexpr uint64_t kMostKeys = 64;

std::vector<std::byte> file_of(Input input) {
  std::vector<std::byte> file(kHistoryHeaderBytes);
  Parts parts(input);
  const auto put = [&](size_t at, const void* bytes, size_t count) {
    std::memcpy(&file[at], bytes, count);
  };
  put(0, "logjamH5", 8);
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

// Returns the rows of a database whose last writers are those of the history.
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
    ledger::EntryRow& slot = rows.slots.emplace_back(number, ledger::EntryRow{}).second;
    slot = {cell.writer, number, 0};
    slot.seal();
  }
  return rows;
}

void check_words(const std::string& path) {
  Database database;
  TableSchema schema;
  schema.name = "words";
  schema.row_bytes = 8;
  schema.kind = IndexKind::kOrdered;
  Table& table = database.create_table(std::move(schema));
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

// Mostly lets the areas be as long as the header says.
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

const FuzzRegistration registration(
    {.name = "history", .most_bytes = kMostBytes, .run = read_history, .mend = mend_history});

}  // namespace
}  // namespace logjam::fuzz

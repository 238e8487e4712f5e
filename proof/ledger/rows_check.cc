// The checks that need rows only, no history.
#include <algorithm>
#include <cstring>

#include "proof/ledger/checker.h"

namespace logjam::ledger {
namespace {

std::string name(Key key) { return "ledger key " + std::to_string(key); }

}  // namespace

LedgerRows read_rows(Database& database) {
  LedgerRows rows;
  database.table("ledger").for_each_row([&](Key key, const std::byte* row) {
    std::memcpy(&rows.ledger.emplace_back(key, LedgerRow{}).second, row, sizeof(LedgerRow));
  });
  for (const auto& [name, to] : {std::pair{"entries", &rows.entries}, {"slots", &rows.slots}}) {
    database.table(name).for_each_row([to = to](Key key, const std::byte* row) {
      std::memcpy(&to->emplace_back(key, EntryRow{}).second, row, sizeof(EntryRow));
    });
  }
  database.table("cells").for_each_row([&](Key cell, const std::byte* row) {
    std::memcpy(&rows.cells.emplace_back(cell, CellRow{}).second, row, sizeof(CellRow));
  });
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(rows.ledger.begin(), rows.ledger.end(), by_key);
  std::sort(rows.entries.begin(), rows.entries.end(), by_key);
  std::sort(rows.cells.begin(), rows.cells.end(), by_key);
  std::sort(rows.slots.begin(), rows.slots.end(), by_key);
  return rows;
}

namespace {

std::string check_ledger(const LedgerRows& rows, uint64_t keys) {
  if (rows.ledger.size() != keys) {
    return "R1: the ledger has " + std::to_string(rows.ledger.size()) + " rows instead of " +
           std::to_string(keys);
  }
  auto entry = rows.entries.begin();
  for (Key expected = 0; expected < keys; ++expected) {
    const auto& [key, row] = rows.ledger[expected];
    if (key != expected) return "R1: " + name(expected) + " is not there";
    if (!row.intact(key)) {
      return "R2: the row of " + name(key) + ", by " + show(row.writer) + ", is torn";
    }
    const std::string who = "R2: " + name(key) + " (by " + show(row.writer) + ", toggled by " +
                            show(row.toggler) + ") ";
    const auto end = std::find_if(entry, rows.entries.end(), [&](const auto& e) {
      return ledger_key_of(e.first) != expected;
    });
    if (end - entry > 1) return who + "has " + std::to_string(end - entry) + " entries";
    if (row.present != 0 && entry == end) return who + "should have an entry and has none";
    if (row.present == 0 && entry != end) {
      return who + "should have no entry and has one, by " + show(entry->second.writer);
    }
    if (entry != end) {
      const auto& [at, value] = *entry;
      if (at != entry_key(key, row.generation) || value.writer != row.toggler) {
        return who + "has an entry that it was not written with, by " + show(value.writer);
      }
      if (!value.intact() || value.key != key) return who + "has a torn entry";
    }
    entry = end;
  }
  if (entry != rows.entries.end()) {
    return "R2: there is an entry for " + name(ledger_key_of(entry->first)) +
           ", which does not exist";
  }
  return "";
}

std::string check_cells(const LedgerRows& rows, const KeySpace& keys) {
  if (rows.cells.size() != keys.cells) {
    return "R1: there are " + std::to_string(rows.cells.size()) + " cells instead of " +
           std::to_string(keys.cells);
  }
  auto slot = rows.slots.begin();
  for (uint64_t expected = 0; expected < keys.cells; ++expected) {
    const auto& [cell, row] = rows.cells[expected];
    const std::string name = keys.name(keys.ledger + expected);
    if (cell != expected) return "R1: " + name + " is not there";
    if (!row.intact(cell))
      return "R2: the row of " + name + ", by " + show(row.writer) + ", is torn";
    const std::string who = "R2: " + name + " (by " + show(row.writer) + ") ";
    if (slot == rows.slots.end() || slot->first != cell) {
      if (row.present != 0) return who + "should have a slot's row and has none";
      continue;
    }
    const EntryRow& value = slot->second;
    if (row.present == 0)
      return who + "should have no slot's row and has one, by " + show(value.writer);
    if (value.writer != row.writer) return who + "has a slot's row by " + show(value.writer);
    if (!value.intact() || value.key != cell) return who + "has a torn slot's row";
    ++slot;
  }
  if (slot != rows.slots.end()) {
    return "R2: there is a row for slot " + std::to_string(slot->first) + ", which does not exist";
  }
  return "";
}

}  // namespace

std::string check_rows(const LedgerRows& rows, const KeySpace& keys) {
  const std::string wrong = check_ledger(rows, keys.ledger);
  return wrong.empty() ? check_cells(rows, keys) : wrong;
}

}  // namespace logjam::ledger

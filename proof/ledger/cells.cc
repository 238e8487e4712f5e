// The accesses of ledger transactions to cells and slots.
#include <algorithm>
#include <cstring>

#include "proof/ledger/client.h"

namespace logjam::ledger {

// Copies the row of `cell` to `*row`, and records its writer as a read of the attempt. Returns
// kAbort or kOk. Records a missing row as a mismatch.
Status LedgerClient::read_cell(Transaction& txn, uint64_t cell, CellRow* row) {
  const Key key = keys_.ledger + cell;
  const CellRow* seen = nullptr;
  const Status status = txn.read(cells_, cell, &seen);
  if (status == Status::kAbort) return status;
  if (status != Status::kOk) {
    attempt_.complain(Mismatch::kMissingRow, key);
    return Status::kOk;
  }
  *row = *seen;
  if (!row->intact(cell)) attempt_.complain(Mismatch::kTornRow, key);
  attempt_.reads.push_back({key, row->writer, Op::kRead});
  now_and_then_yield();
  return Status::kOk;
}

// Writes a cell, and its slot if it has one. Returns kAbort or kOk. If the slot is not as expected,
// the attempt reads the cell and does not write it. seal_cells() completes the row after all reads
// of the attempt.
Status LedgerClient::write_cell(Transaction& txn, CellWrite write) {
  LJ_ASSERT(write.cell < keys_.cells && write.op != Op::kRead);
  const Key key = keys_.ledger + write.cell;
  const bool slot = keys_.has_slot(key);
  if (slot) {
    const Status status = change_slot(txn, write);
    if (status == Status::kAbort) return status;
    if (status != Status::kOk) {
      CellRow row;
      if (read_cell(txn, write.cell, &row) == Status::kAbort) return Status::kAbort;
      if (status == Status::kExists && row.present == 0) {
        attempt_.complain(Mismatch::kUnexpected, key);
      }
      if (status == Status::kNotFound && row.present != 0) {
        attempt_.complain(Mismatch::kMissingEntry, key);
      }
      return Status::kOk;
    }
  }
  std::byte* bytes = nullptr;
  const Status status = write.op == Op::kUpdate ? txn.update(cells_, write.cell, &bytes)
                                                : txn.write(cells_, write.cell, &bytes);
  if (status != Status::kOk) {
    if (status == Status::kNotFound) attempt_.complain(Mismatch::kMissingRow, key);
    return status == Status::kAbort ? status : Status::kOk;
  }
  auto* row = reinterpret_cast<CellRow*>(bytes);
  TransactionId overwritten = kNotYet;
  if (write.op == Op::kUpdate) {
    if (!row->intact(write.cell)) attempt_.complain(Mismatch::kTornRow, key);
    overwritten = row->writer;
  }
  *row = CellRow{};
  row->writer = attempt_.id;
  row->present = slot && write.op != Op::kErase ? 1 : 0;
  written_cells_.push_back({write.cell, row, order_.last(write.cell)});
  attempt_.writes.push_back({key, overwritten, write.op});
  now_and_then_yield();
  return Status::kOk;
}

// Changes a slot. Returns the engine's status: kOk, kAbort, kExists for an insert, or kNotFound for
// an erase or a write.
Status LedgerClient::change_slot(Transaction& txn, CellWrite write) {
  if (write.op == Op::kErase) return txn.erase(slots_, write.cell);
  EntryRow row{attempt_.id, write.cell, 0};
  row.seal();
  if (write.op == Op::kInsert) return txn.insert(slots_, write.cell, row);
  std::byte* bytes = nullptr;
  const Status status = txn.write(slots_, write.cell, &bytes);
  if (status == Status::kOk) std::memcpy(bytes, &row, sizeof row);
  return status;
}

// Yields the core until other transactions have inserted and erased the row that the attempt has
// inserted, --test=ledger_dawdle times at most. Under a locking protocol no other transaction can.
void LedgerClient::dawdle() {
  for (const CellWrite& write : input_.cell_writes) {
    if (write.op != Op::kInsert) continue;
    const TransactionId before = order_.last(write.cell);
    for (uint64_t yields = 0; yields < options_.dawdle; ++yields) {
      platform::yield();
      if (order_.last(write.cell) != before && !order_.looks_present(write.cell)) break;
    }
  }
}

void LedgerClient::seal_cells() {
  for (const WrittenCell& written : written_cells_) {
    uint64_t seen = 0;
    for (const Access& read : attempt_.reads) {
      seen = LedgerRow::remember(seen, read.key, read.writer);
    }
    written.row->seen = seen;
    written.row->seal(written.cell);
  }
}

// Compares a slot with its cell. `slot` is null if the slot has no row.
void LedgerClient::compare_slot(uint64_t cell, const CellRow& row, const EntryRow* slot) {
  const Key key = keys_.ledger + cell;
  if (slot == nullptr) {
    if (row.present != 0) attempt_.complain(Mismatch::kMissingEntry, key);
    return;
  }
  if (row.present == 0) attempt_.complain(Mismatch::kUnexpected, key);
  if (slot->writer != row.writer) attempt_.complain(Mismatch::kForeignEntry, key);
  if (!slot->intact() || slot->key != cell) attempt_.complain(Mismatch::kTornRow, key);
}

Status LedgerClient::audit_slots(Transaction& txn) {
  std::vector<CellRow> rows(input_.high - input_.low + 1);
  std::vector<EntryRow> slots;
  const auto read = [&] {
    for (uint64_t cell = input_.low; cell <= input_.high; ++cell) {
      if (read_cell(txn, cell, &rows[cell - input_.low]) == Status::kAbort) return Status::kAbort;
    }
    return Status::kOk;
  };
  const auto scan = [&] {
    return txn.scan(slots_, input_.low, input_.high, input_.descending,
                    [&](Key, const std::byte* row) {
                      std::memcpy(&slots.emplace_back(), row, sizeof(EntryRow));
                      return true;
                    });
  };
  if ((input_.ledger_first ? read() : scan()) == Status::kAbort) return Status::kAbort;
  if ((input_.ledger_first ? scan() : read()) == Status::kAbort) return Status::kAbort;
  for (uint64_t cell = input_.low; cell <= input_.high; ++cell) {
    const auto found = std::find_if(slots.begin(), slots.end(),
                                    [&](const EntryRow& slot) { return slot.key == cell; });
    compare_slot(cell, rows[cell - input_.low], found == slots.end() ? nullptr : &*found);
  }
  return Status::kOk;
}

Status LedgerClient::lookup_slot(Transaction& txn, uint64_t cell) {
  CellRow row;
  const EntryRow* slot = nullptr;
  const auto read = [&] { return read_cell(txn, cell, &row); };
  const auto find = [&] { return txn.read(slots_, cell, &slot); };
  if ((input_.ledger_first ? read() : find()) == Status::kAbort) return Status::kAbort;
  if ((input_.ledger_first ? find() : read()) == Status::kAbort) return Status::kAbort;
  compare_slot(cell, row, slot);
  return Status::kOk;
}

}  // namespace logjam::ledger

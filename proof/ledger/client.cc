#include "proof/ledger/client.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "workloads/command.h"

namespace logjam::ledger {

KeyPicker::KeyPicker(uint64_t keys, double theta) {
  double sum = 0;
  for (uint64_t rank = 1; rank <= keys; ++rank) {
    cumulative_.push_back(sum += std::pow(static_cast<double>(rank), -theta));
  }
}

Key KeyPicker::operator()(std::mt19937_64& random) const {
  const double at = static_cast<double>(random() >> 11) / 9007199254740992.0 * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
  return static_cast<Key>(found - cumulative_.begin());
}

LedgerClient::LedgerClient(Database& database, uint32_t worker, uint32_t workers, uint64_t seed,
                           const KeyPicker& pick, const ResumeState& resume_state, CellOrder& order,
                           Acknowledged& acknowledged, HistoryWriter* history)
    : ledger_(database.table("ledger")),
      entries_(database.table("entries")),
      cells_(database.table("cells")),
      slots_(database.table("slots")),
      worker_(worker),
      reader_(worker + options_.readers >= workers),
      crash_point_(acknowledged, worker == seed % workers ? options_.die_after : 0,
                   options_.die_early),
      pick_(pick),
      order_(order),
      history_(history),
      area_(history == nullptr ? nullptr : &history->area(worker)),
      random_(mix_bits(seed + 1) ^ mix_bits(worker + 1)),
      attempts_(resume_state.attempts_of(worker)),
      last_generation_(resume_state.generations) {
  last_generation_.resize(options_.keys);
}

// Appends `count` different keys that are not in `*keys` yet. If a key that was chosen at random is
// already in `*keys`, takes the next free key.
void LedgerClient::draw_keys(size_t count, std::vector<Key>* keys) {
  LJ_ASSERT(keys->size() + count <= options_.keys);
  for (; count > 0; --count) {
    Key key = pick_(random_);
    while (std::ranges::find(*keys, key) != keys->end()) key = (key + 1) % options_.keys;
    keys->push_back(key);
  }
}

// Chooses `count` random writes to different cells, or fewer. Most writes are to slots, and most of
// these are to the hot slot, so rows often return after an erase. The client guesses whether a slot
// has its row, and reverses one guess in eight.
void LedgerClient::draw_cell_writes(size_t count, bool write_only) {
  const uint64_t others = keys_.cells - keys_.slots;
  for (; count > 0; --count) {
    CellWrite write;
    const bool slot = keys_.slots != 0 && (others == 0 || roll(4) != 0);
    write.cell = !slot          ? keys_.slots + roll(others)
                 : roll(8) == 0 ? roll(keys_.slots)
                                : order_.hot() % keys_.slots;
    if (!slot) {
      if (!write_only && roll(4) == 0) write.op = Op::kUpdate;
    } else if (order_.looks_present(write.cell) == (roll(8) == 0)) {
      write.op = Op::kInsert;
    } else if (write_only) {  // an erase or a write of a slot's row reads that the row is present
      if (others == 0) continue;
      write.cell = keys_.slots + roll(others);
    } else if (roll(2) == 0) {
      write.op = Op::kErase;
    }
    if (std::ranges::find(input_.cell_writes, write.cell, &CellWrite::cell) ==
        input_.cell_writes.end()) {
      input_.cell_writes.push_back(write);
    }
  }
}

// Finds the writers that the attempt overwrites blindly. If another transaction has erased a slot's
// row since execute(), the attempt's insert depends on that erase. If the attempt reads nothing, it
// has no other dependency, so crash_point_ notes this dependency.
void LedgerClient::serialized() {
  auto written = written_cells_.begin();
  for (size_t i = 0; i < attempt_.writes.size(); ++i) {
    Access& write = attempt_.writes[i];
    if (!keys_.is_cell(write.key)) continue;
    LJ_ASSERT(written != written_cells_.end());
    const TransactionId seen = written++->last;
    const bool present = keys_.has_slot(write.key) && write.op != Op::kErase;
    const TransactionId overwritten =
        order_.overwrite(write.key - keys_.ledger, attempt_.id, present);
    if (reads_row(write.op)) continue;
    write.writer = overwritten;
    if (area_ != nullptr) found_overwritten(*area_, i, overwritten);
    const bool overtaken = write.op == Op::kInsert && overwritten != seen;
    if (overtaken && attempt_.reads.empty()) crash_point_.note_dependency(attempt_.id, overwritten);
  }
  LJ_ASSERT(written == written_cells_.end());
}

void LedgerClient::acknowledged(uint64_t number) {
  if (area_ != nullptr) area_->acknowledge(number);
  if (replayed_ == 0) crash_point_.on_acknowledgement(number);
}

uint32_t LedgerClient::next() {
  intended_ = false;
  if (history_ != nullptr) history_->record_start();
  const uint64_t percent = reader_ ? 80 + roll(20) : roll(100);
  input_.type = percent < 30   ? kTransfer
                : percent < 50 ? kToggle
                : percent < 80 ? kBlind
                : percent < 90 ? kAudit
                               : kLookup;
  const bool write_only = input_.type == kBlind && roll(2) == 0;
  std::vector<Key> keys;
  const size_t reads = input_.type == kLookup ? 1 : write_only ? 0 : roll(options_.reads + 1);
  const size_t writes = input_.type == kToggle  ? 1
                        : input_.type == kBlind ? (write_only ? 0 : roll(2))
                                                : 1 + roll(options_.writes);
  draw_keys(reads + writes, &keys);
  const auto split = keys.begin() + static_cast<std::ptrdiff_t>(reads);
  input_.reads.assign(keys.begin(), split);
  input_.writes.assign(split, keys.end());
  input_.cell_writes.clear();
  if (input_.type == kBlind) draw_cell_writes(1 + roll(kMostCellWrites), write_only);
  // One read in four is of a cell.
  if (input_.type != kLookup) {
    for (Key& key : input_.reads) {
      if (roll(4) == 0) key = keys_.ledger + roll(keys_.cells);
    }
  }
  // One transaction in four reads a key before it updates this key, so that locking protocols
  // upgrade the lock from shared to exclusive.
  if (reads > 0 && writes > 0 && !keys_.is_cell(input_.reads[0]) && roll(4) == 0) {
    input_.writes[0] = input_.reads[0];
  }
  input_.dawdles = write_only && roll(2) == 0;
  input_.of_cells = keys_.slots != 0 && roll(2) == 0;
  input_.low = input_.of_cells ? roll(keys_.slots) : pick_(random_);
  input_.high = std::min(input_.low + roll(kLongestAudit),
                         (input_.of_cells ? keys_.slots : keys_.ledger) - 1);
  input_.scan_limit = roll(4) == 0 ? 1 + roll(4) : ~size_t{0};
  input_.descending = roll(2) == 0;
  input_.ledger_first = roll(2) == 0;
  input_.new_generation = roll(2) == 0;
  return input_.type;
}

Status LedgerClient::execute(Transaction& txn) {
  if (intended_) {
    LJ_ASSERT(area_ != nullptr);
    area_->retract();
    crash_point_.on_refusal(attempt_.id);
  }
  intended_ = false;
  written_cells_.clear();
  attempt_.clear(replayed_ != 0 ? replayed_ : make_id(worker_, ++attempts_));
  switch (input_.type) {
    case kTransfer:
    case kBlind:
      return transfer(txn);
    case kToggle:
      return toggle(txn);
    case kAudit:
      return input_.of_cells ? audit_slots(txn) : audit(txn);
    case kLookup:
      return input_.of_cells ? lookup_slot(txn, input_.low) : lookup(txn, input_.reads[0]);
  }
  return Status::kRollback;
}

// Encodes one word for the attempt's id, one for the numbers of keys and for Input::new_generation,
// one for each key, and one for each write of a cell. Read-only transactions log no command.
std::span<const std::byte> LedgerClient::command() {
  const uint64_t reads = input_.reads.size(), writes = input_.writes.size();
  command_ = {attempt_.id, reads | writes << 16 | uint64_t{input_.new_generation} << 32 |
                               input_.cell_writes.size() << 33};
  command_.insert(command_.end(), input_.reads.begin(), input_.reads.end());
  command_.insert(command_.end(), input_.writes.begin(), input_.writes.end());
  for (const CellWrite& write : input_.cell_writes) {
    command_.push_back(write.cell << 8 | static_cast<uint64_t>(write.op));
  }
  return std::as_bytes(std::span(command_));
}

bool LedgerClient::take(uint32_t type, std::span<const std::byte> input) {
  if (type != kTransfer && type != kToggle && type != kBlind) return false;
  CommandWords words(input);
  replayed_ = words.next();
  const uint64_t how = words.next();
  input_.type = static_cast<Type>(type);
  input_.new_generation = (how >> 32 & 1) != 0;
  input_.reads.resize(how & 0xffff);
  input_.writes.resize(how >> 16 & 0xffff);
  if (how >> 33 > kMostCellWrites) return false;
  input_.cell_writes.resize(how >> 33);
  if (replayed_ == 0 || (type != kBlind && input_.writes.empty())) return false;
  for (Key& key : input_.reads) {
    key = words.next();
    if (key >= keys_.all()) return false;
  }
  for (Key& key : input_.writes) {
    key = words.next();
    if (key >= keys_.ledger) return false;
  }
  for (CellWrite& write : input_.cell_writes) {
    const uint64_t word = words.next();
    write = {static_cast<Op>(word & 0xff), word >> 8};
    if (write.cell >= keys_.cells || write.op > Op::kErase || write.op == Op::kRead) return false;
  }
  return words.ended();
}

Status LedgerClient::read_keys(Transaction& txn) {
  for (const Key key : input_.reads) {
    LedgerRow row;
    CellRow cell;
    const Status status = keys_.is_cell(key) ? read_cell(txn, key - keys_.ledger, &cell)
                                             : read_ledger(txn, key, &row);
    if (status == Status::kAbort) return status;
  }
  return Status::kOk;
}

template <class Row>
Status LedgerClient::read_row(Transaction& txn, Table& table, Key number, Key key, Row* row) {
  const Row* seen = nullptr;
  const Status status = txn.read(table, number, &seen);
  if (status == Status::kAbort) return status;
  if (status != Status::kOk) {
    attempt_.complain(Mismatch::kMissingRow, key);
    return Status::kOk;
  }
  *row = *seen;
  if (!row->intact(number)) attempt_.complain(Mismatch::kTornRow, key);
  attempt_.reads.push_back({key, row->writer, Op::kRead});
  now_and_then_yield();
  return Status::kOk;
}

Status LedgerClient::read_ledger(Transaction& txn, Key key, LedgerRow* row) {
  const size_t reads = attempt_.reads.size();
  const Status status = read_row(txn, ledger_, key, key, row);
  if (attempt_.reads.size() != reads) last_generation_[key] = row->generation;
  return status;
}

// Fetches the row of `key` for a change, names the attempt as its writer, and records the writer
// whom the attempt overwrites. Records a missing row as a mismatch. The caller seals the row.
Status LedgerClient::update_ledger(Transaction& txn, Key key, LedgerRow** row) {
  const Status status = txn.update(ledger_, key, row);
  if (status != Status::kOk) {
    attempt_.complain(Mismatch::kMissingRow, key);
    return status;
  }
  if (!(*row)->intact(key)) attempt_.complain(Mismatch::kTornRow, key);
  attempt_.writes.push_back({key, (*row)->writer, Op::kUpdate});
  (*row)->overwritten = (*row)->writer;
  (*row)->writer = attempt_.id;
  for (const Access& read : attempt_.reads) (*row)->remember(read.key, read.writer);
  now_and_then_yield();
  return Status::kOk;
}

Status LedgerClient::transfer(Transaction& txn) {
  if (read_keys(txn) == Status::kAbort) return Status::kAbort;
  for (const CellWrite& write : input_.cell_writes) {
    if (write_cell(txn, write) == Status::kAbort) return Status::kAbort;
  }
  if (input_.dawdles) dawdle();
  for (const Key key : input_.writes) {
    LedgerRow* row = nullptr;
    const Status status = update_ledger(txn, key, &row);
    if (status == Status::kAbort) return status;
    if (status == Status::kOk) row->seal(key);
  }
  seal_cells();
  return Status::kOk;
}

Status LedgerClient::toggle(Transaction& txn) {
  if (read_keys(txn) == Status::kAbort) return Status::kAbort;
  LJ_ASSERT(!input_.writes.empty());
  const Key key = input_.writes[0];
  LedgerRow* row = nullptr;
  Status status = update_ledger(txn, key, &row);
  if (status != Status::kOk) return status;
  row->toggler = attempt_.id;
  row->present ^= 1;
  if (row->present != 0 && input_.new_generation) {
    row->generation = (row->generation + 1) & ((1u << kGenerationBits) - 1);
  }
  row->seal(key);
  const Key at = entry_key(key, row->generation);
  if (row->present != 0) {
    status = txn.insert(entries_, at, EntryRow::sealed(attempt_.id, key));
    if (status == Status::kExists) attempt_.complain(Mismatch::kUnexpected, key);
  } else {
    status = txn.erase(entries_, at);
    if (status == Status::kNotFound) attempt_.complain(Mismatch::kMissingEntry, key);
  }
  return status == Status::kAbort ? status : Status::kOk;
}

// Records a mismatch if the entries `seen` under `key` do not agree with the ledger row of `key`.
void LedgerClient::compare(Key key, const LedgerRow& row, const std::vector<SeenEntry>& seen) {
  const SeenEntry* found = nullptr;
  for (const SeenEntry& entry : seen) {
    if (ledger_key_of(entry.key) != key) continue;
    if (found != nullptr) attempt_.complain(Mismatch::kDuplicateEntry, key);
    found = &entry;
  }
  const bool foreign = found != nullptr && (found->key != entry_key(key, row.generation) ||
                                            found->row.writer != row.toggler);
  compare(key, row.present != 0, found == nullptr ? nullptr : &found->row, foreign, key);
}

// Compares an entry with its ledger row, or a slot with its cell. `entry` is null if the attempt
// found no row; otherwise the row's field `number` must be the argument `number`.
void LedgerClient::compare(Key key, bool present, const EntryRow* entry, bool foreign, Key number) {
  if (entry == nullptr) {
    if (present) attempt_.complain(Mismatch::kMissingEntry, key);
    return;
  }
  if (!present) attempt_.complain(Mismatch::kUnexpected, key);
  if (foreign) attempt_.complain(Mismatch::kForeignEntry, key);
  if (!entry->intact() || entry->key != number) attempt_.complain(Mismatch::kTornRow, key);
}

// Collects the entries of the transaction's range. Sets [*low, *high] to the ledger keys that the
// scan covered. A scan that stopped at its limit covered only the keys up to its last entry.
Status LedgerClient::scan_range(Transaction& txn, std::vector<SeenEntry>* seen, Key* low,
                                Key* high) {
  *low = input_.low;
  *high = input_.high;
  const auto visit = [&](Key at, const std::byte* row) {
    SeenEntry entry{at, {}};
    std::memcpy(&entry.row, row, sizeof entry.row);
    seen->push_back(entry);
    if (seen->size() < input_.scan_limit) return true;
    (input_.descending ? *low : *high) = ledger_key_of(at);
    return false;
  };
  return txn.scan(entries_, entry_key(input_.low, 0), entry_key(input_.high + 1, 0) - 1,
                  input_.descending, visit);
}

Status LedgerClient::audit(Transaction& txn) {
  std::vector<LedgerRow> rows;
  std::vector<SeenEntry> seen;
  Key low = 0, high = 0;
  const auto read = [&] {
    for (Key key = input_.low; key <= input_.high; ++key) {
      if (read_ledger(txn, key, &rows.emplace_back()) == Status::kAbort) return Status::kAbort;
    }
    return Status::kOk;
  };
  const auto scan = [&] { return scan_range(txn, &seen, &low, &high); };
  if (in_order(read, scan) == Status::kAbort) return Status::kAbort;
  for (Key key = low; key <= high; ++key) compare(key, rows[key - input_.low], seen);
  return Status::kOk;
}

// Reads the ledger row, the entry of its generation, and the entry of the next generation, which
// does not exist. If the client reads the entries first, it does not know the generation yet, and
// takes the generation that it last read for this key.
Status LedgerClient::lookup(Transaction& txn, Key key) {
  LedgerRow row;
  std::vector<SeenEntry> seen;
  const auto read = [&] { return read_ledger(txn, key, &row); };
  const auto find = [&] {
    for (const uint32_t ahead : {0, 1}) {
      const Key at = entry_key(key, last_generation_[key] + ahead);
      const EntryRow* entry = nullptr;
      const Status status = txn.read(entries_, at, &entry);
      if (status == Status::kAbort) return status;
      if (status == Status::kOk) seen.push_back({at, *entry});
    }
    return Status::kOk;
  };
  const uint32_t guess = last_generation_[key];
  if (in_order(read, find) == Status::kAbort) return Status::kAbort;
  if (input_.ledger_first || row.generation - guess <= 1) {
    compare(key, row, seen);
  } else if (!seen.empty()) {
    attempt_.complain(Mismatch::kForeignEntry, key);
  }
  return Status::kOk;
}

// Writes a cell, and its slot if it has one. Returns kAbort or kOk. If the slot is not as the
// client guessed, the attempt reads the cell instead. After all reads of the attempt, seal_cells()
// completes the row.
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

// Changes a slot. Returns kOk, kAbort, kExists for an insert, or kNotFound for an erase or a write.
Status LedgerClient::change_slot(Transaction& txn, CellWrite write) {
  if (write.op == Op::kErase) return txn.erase(slots_, write.cell);
  const EntryRow row = EntryRow::sealed(attempt_.id, write.cell);
  if (write.op == Op::kInsert) return txn.insert(slots_, write.cell, row);
  std::byte* bytes = nullptr;
  const Status status = txn.write(slots_, write.cell, &bytes);
  if (status == Status::kOk) std::memcpy(bytes, &row, sizeof row);
  return status;
}

// Yields the core, at most --test=ledger_dawdle times, until other transactions have inserted and
// erased the row that the attempt has inserted. Locking protocols let no transaction do that.
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
  if (in_order(read, scan) == Status::kAbort) return Status::kAbort;
  for (uint64_t cell = input_.low; cell <= input_.high; ++cell) {
    const auto found = std::ranges::find(slots, cell, &EntryRow::key);
    const CellRow& row = rows[cell - input_.low];
    const bool is_there = found != slots.end();
    compare(keys_.ledger + cell, row.present != 0, is_there ? &*found : nullptr,
            is_there && found->writer != row.writer, cell);
  }
  return Status::kOk;
}

Status LedgerClient::lookup_slot(Transaction& txn, uint64_t cell) {
  CellRow row;
  const EntryRow* slot = nullptr;
  const auto read = [&] { return read_cell(txn, cell, &row); };
  const auto find = [&] { return txn.read(slots_, cell, &slot); };
  if (in_order(read, find) == Status::kAbort) return Status::kAbort;
  compare(keys_.ledger + cell, row.present != 0, slot,
          slot != nullptr && slot->writer != row.writer, cell);
  return Status::kOk;
}

}  // namespace logjam::ledger

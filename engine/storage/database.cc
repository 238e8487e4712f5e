#include "engine/storage/database.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "platform/nearest_name.h"

namespace logjam {
namespace {

constexpr size_t kLine = platform::kShortestLine;

std::unique_ptr<Index> make_index(IndexKind kind, const IndexOptions& options) {
  return kind == IndexKind::kHash ? make_hash_index(options) : make_ordered_index(options);
}

uint64_t tuple_bytes(uint32_t row_bytes) {
  return sizeof(Tuple) + (uint64_t{row_bytes} + 7) / 8 * 8;
}
uint64_t bytes_of_old_version(uint32_t row_bytes) {
  return tuple_bytes(row_bytes) - sizeof(Tuple) + sizeof(OldVersion);
}

// Returns the alignment of a tuple. A tuple that fits into a cache line must not straddle two
// lines. A longer tuple starts at the begin of a line if this wastes little memory.
size_t alignment_of(size_t bytes) {
  if (bytes <= kLine) return std::bit_ceil(bytes);
  const size_t waste = (kLine - bytes % kLine) % kLine;
  return waste <= bytes / 4 ? kLine : 8;
}

}  // namespace

uint64_t table_bytes(uint64_t rows, uint32_t row_bytes, size_t secondaries) {
  constexpr uint64_t kIndexEntry = 32;
  return rows *
         (tuple_bytes(row_bytes) + kIndexEntry + secondaries * (sizeof(Posting) + kIndexEntry));
}

Table::Table(uint16_t id, TableSchema schema)
    : id_(id),
      schema_(std::move(schema)),
      free_tuples_(tuple_bytes(row_bytes())),
      free_old_versions_(bytes_of_old_version(row_bytes())) {
  IndexOptions options{.expected_entries = schema_.expected_rows, .name = schema_.name};
  primary_ = make_index(schema_.kind, options);
  // Secondary indexes are not unique even if their schemas are: the posting of an erased row stays,
  // and must not prevent the posting of another row with the same key.
  options.unique = false;
  reclaims_ = primary_->removes() && schema_.secondaries.empty();
  for (const SecondarySchema& secondary : schema_.secondaries) {
    LJ_ASSERT(!(secondary.moves && secondary.unique));
    keys_move_ = keys_move_ || secondary.moves;
    options.name = schema_.name + "." + secondary.name;
    secondaries_.push_back(make_index(secondary.kind, options));
  }
}

Tuple* Table::new_tuple(Key key, Arena& arena) {
  void* memory = free_tuples_.allocate(arena);
  if (memory == nullptr) {
    const size_t bytes = tuple_bytes(row_bytes());
    memory = arena.allocate(bytes, alignment_of(bytes));
  }
  return new (memory) Tuple(key, Version(0, true));
}

void Table::free(Tuple* tuple, Arena& arena) {
  if (!arena.free(tuple, tuple_bytes(row_bytes()))) free_tuples_.free(tuple, arena);
}

OldVersion* Table::new_old_version(Arena& arena) {
  void* memory = free_old_versions_.allocate(arena);
  if (memory == nullptr) memory = arena.allocate(old_version_bytes());
  return new (memory) OldVersion;
}

uint64_t Table::old_version_bytes() const { return bytes_of_old_version(row_bytes()); }

namespace {

// Takes the locks of all protocols; the lock of a protocol that is not in use is always free.
// Returns false if a transaction holds the tuple. With `old_versions`, Tuple::lock is no lock.
bool lock_forever(Tuple& tuple, Version version, bool old_versions) {
  if (version.locked()) return false;
  if (old_versions) {
    uint64_t word = version.word();
    return tuple.version.compare_exchange_strong(word, Version::kRemoved,
                                                 platform::memory_order_seq_cst);
  }
  uint64_t free = 0;
  if (!tuple.lock.compare_exchange_strong(free, kLockedForever, platform::memory_order_seq_cst)) {
    return false;
  }
  uint64_t word = version.word();
  if (tuple.version.compare_exchange_strong(word, Version::kRemoved,
                                            platform::memory_order_seq_cst)) {
    return true;
  }
  // Wakes no sleeper: a transaction that sleeps on the lock wakes up after RowLock::kMaxSleepNs.
  tuple.lock.store(0, platform::memory_order_release);
  return false;
}

}  // namespace

bool Table::remove_absent(Key key, uint64_t sequence, bool old_versions,
                          std::vector<Retired>* retired) {
  LJ_ASSERT(reclaims());
  Keyed* entry = primary_->find(key, nullptr);
  if (entry != nullptr) {
    Tuple& tuple = *tuple_of(entry);
    const Version version = tuple.load_version();
    // Nothing is left to do: the row is present again; or a later transaction has erased it again,
    // and will have the tuple removed; or another worker's reclaimer is removing the tuple.
    if (!version.absent() || version.sequence() != sequence) return true;
    if (!lock_forever(tuple, version, old_versions)) return false;
    if (old_versions && newest_old_version(tuple) != nullptr) {
      retired->push_back(
          {const_cast<OldVersion*>(newest_old_version(tuple)), Retired::Kind::kOldVersion});
    }
    platform::atomic_max(removed_up_to_, sequence, platform::memory_order_release);
    retired->push_back({&tuple, Retired::Kind::kTuple});
  }
  return primary_->remove(key, entry, retired);
}

void Table::recycle(const Retired& retired, const Arena& arena) {
  if (retired.kind == Retired::Kind::kTuple) {
    free_tuples_.free(retired.memory, arena);
  } else if (retired.kind == Retired::Kind::kOldVersion) {
    free_old_versions_.free(retired.memory, arena);
  } else {
    primary_->recycle(retired, arena);
  }
}

Posting* Table::new_posting(size_t secondary, const Tuple& tuple, const std::byte* row,
                            Arena& arena) const {
  auto* posting = new (arena.allocate(sizeof(Posting), alignof(Posting))) Posting;
  posting->key = schema_.secondaries[secondary].key_of(tuple.key, row);
  posting->primary = tuple.key;
  posting->tuple = const_cast<Tuple*>(&tuple);
  return posting;
}

void Table::load(Key key, const void* row, Arena& arena) {
  Tuple* tuple = new_tuple(key, arena);
  std::memcpy(tuple->row(), row, row_bytes());
  tuple->version.store(Version(0, false).word(), platform::memory_order_relaxed);
  const bool is_new = primary_->insert(tuple, arena, nullptr, nullptr).inserted;
  if (!is_new) {
    platform::contract_broken("load() got the key " + std::to_string(key) + " of table " +
                              schema_.name + " twice");
  }
  index_row(tuple, tuple->row(), arena);
}

Tuple* Table::find_or_create(Key key, Arena& arena) {
  if (Keyed* existing = primary_->find(key, nullptr)) return tuple_of(existing);
  note_membership_change();
  return tuple_of(primary_->insert(new_tuple(key, arena), arena, nullptr, nullptr).entry);
}

bool Table::restore(Key key, Version version, const std::byte* row, Arena& arena) {
  LJ_ASSERT((row == nullptr) == version.absent() && !version.locked());
  Tuple* tuple = new_tuple(key, arena);
  if (row != nullptr) std::memcpy(tuple->row(), row, row_bytes());
  tuple->version.store(version.word(), platform::memory_order_relaxed);
  if (!primary_->insert(tuple, arena, nullptr, nullptr).inserted) return false;
  index_row(tuple, row, arena);
  return true;
}

void Table::index_row(Tuple* tuple, const std::byte* row, Arena& arena) {
  if (row == nullptr) return;
  for (size_t i = 0; i < secondaries_.size(); ++i) {
    Posting* posting = new_posting(i, *tuple, row, arena);
    if (!secondaries_[i]->insert(posting, arena, nullptr, nullptr).inserted) {
      arena.free(posting, sizeof(Posting));
    }
  }
}

uint64_t Table::count_rows() {
  uint64_t rows = 0;
  for_each_row([&](Key, const std::byte*) { ++rows; });
  return rows;
}

void Table::for_each_row(FunctionRef<void(Key, const std::byte*)> visit) {
  for_each_row(0, 1, visit);
}

void Table::for_each_row(uint32_t part, uint32_t parts,
                         FunctionRef<void(Key, const std::byte*)> visit) {
  primary_->for_each(part, parts, [&](Keyed* entry) {
    const Tuple* tuple = tuple_of(entry);
    if (!tuple->load_version().absent()) visit(tuple->key, tuple->row());
  });
}

Table& Database::create_table(TableSchema schema) {
  LJ_ASSERT(tables_.size() <= std::numeric_limits<uint16_t>::max());
  for (const auto& table : tables_) {
    if (table->schema().name == schema.name) {
      platform::contract_broken("two tables have the name " + schema.name);
    }
  }
  for (const Column& column : schema.columns) {
    const uint64_t end = uint64_t{column.offset} + column.bytes;
    if (column.of_key == nullptr && end > schema.row_bytes) {
      platform::contract_broken("the column " + column.name + " ends at byte " +
                                std::to_string(end) + " of a row, and table " + schema.name +
                                " has rows of " + std::to_string(schema.row_bytes) + " bytes");
    }
  }
  const auto id = static_cast<uint16_t>(tables_.size());
  tables_.push_back(std::make_unique<Table>(id, std::move(schema)));
  return *tables_.back();
}

Table& Database::table(const std::string& name) {
  const auto name_of = [](const auto& table) -> const std::string& { return table->schema().name; };
  const auto found = std::ranges::find(tables_, name, name_of);
  if (found != tables_.end()) return **found;
  std::vector<std::string_view> names(tables_.size());
  std::ranges::transform(tables_, names.begin(), name_of);
  platform::contract_broken("there is no table " + name + platform::instead_of(name, names));
}

}  // namespace logjam

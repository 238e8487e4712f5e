// Scripts: several transactions interleaved on one thread.
//
// A transaction that waits for a lock calls WorkerContext::acknowledge_durable() in a loop. One
// thread runs the whole script, so the wait would never end. In a script this function therefore
// throws Blocked, unless the test sets another function. The actor then aborts the transaction.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/protocol.h"
#include "tests/cc/fake_log.h"

namespace logjam {

struct Row {
  int64_t value = 0;
  uint64_t group = 0;
  uint64_t email = 0;
};

// A database, a log and a protocol. Table `ordered` has secondary indexes; table `hash` has none.
// Table `notes` has eight rows in which actors write down their results.
struct World {
  explicit World(const std::string& protocol_name, FakeLog::Options options = {},
                 LogRecords granularity = LogRecords::kTransaction, bool elr = true)
      : protocol(find_protocol(protocol_name)),
        log(16, options),
        records(granularity),
        early_lock_release(elr) {
    const auto group_of = [](Key, const std::byte* row) -> Key {
      return reinterpret_cast<const Row*>(row)->group;
    };
    const auto email_of = [](Key, const std::byte* row) -> Key {
      return reinterpret_cast<const Row*>(row)->email;
    };
    TableSchema schema = plain("ordered");
    schema.kind = IndexKind::kOrdered;
    schema.secondaries = {
        {.name = "by_group", .key_of = group_of, .moves = true},
        {.name = "by_email", .kind = IndexKind::kHash, .unique = true, .key_of = email_of}};
    ordered = &database.create_table(std::move(schema));
    hash = &database.create_table(plain("hash"));
    notes = &database.create_table(plain("notes"));
    for (Key key = 0; key < 8; ++key) notes->load(key, std::make_unique<Row>().get(), arena);
  }

  static TableSchema plain(const std::string& name) {
    return {.name = name, .row_bytes = sizeof(Row)};
  }

  void load(Table& table, Key key, Row row) { table.load(key, &row, arena); }
  // Loads rows with keys 0, 10, 20, ..., value 1, group key / 100, and email 1000 + key.
  void load_tens(Table& table, Key rows) {
    for (Key key = 0; key < rows * 10; key += 10) load(table, key, row_of(key, 1));
  }
  static Row row_of(Key key, int64_t value) { return {value, key / 100, 1000 + key}; }
  static int64_t value_of(const std::byte* row) { return reinterpret_cast<const Row*>(row)->value; }

  std::map<Key, int64_t> content(Table& table) {
    std::map<Key, int64_t> rows;
    table.for_each_row([&](Key key, const std::byte* row) { rows[key] = value_of(row); });
    return rows;
  }

  const ProtocolInfo* protocol;
  FakeLog log;
  LogRecords records;
  bool early_lock_release;
  bool ranges = false;  // whether actors that are made later log ranges
  SnapshotRule snapshot = SnapshotRule::kAcknowledged;  // of actors that are made later
  Arena arena;
  Database database;
  Table* ordered;
  Table* hash;
  Table* notes;
  platform::atomic<uint64_t> ages{0};
  ReadStamps read_stamps;
  uint32_t actors = 0;
  uint32_t threads = 8;  // a test with more actors sets a larger number
};

// Thrown where a transaction would wait for a lock.
struct Blocked {};

// A Status that the caller may ignore.
struct Outcome {
  Status status;
  bool operator==(Status other) const { return status == other; }
};

// A worker with one transaction at a time. After an abort, all calls except begin() report the
// abort.
class Actor {
 public:
  explicit Actor(World& world) {
    context.id = world.actors++;
    context.database = &world.database;
    context.log = &world.log;
    options.log_records = world.records;
    options.log_ranges = world.ranges;
    options.early_lock_release = world.early_lock_release;
    options.threads = world.threads;
    options.snapshot = world.snapshot;
    context.arena = &arena_;
    context.breakdown = &breakdown_;
    context.ages = &world.ages;
    context.read_stamps = &world.read_stamps;
    context.acknowledge_durable = [] { throw Blocked(); };
    txn = world.protocol->make(context);
    begin();
  }

  void begin(bool retry = false) {
    txn->begin(retry);
    alive = true;
    committed = blocked = false;
  }

  // Runs an operation, and aborts the transaction if the operation aborts or would wait.
  template <class Step>
  Outcome step(const Step& run) {
    if (!alive) return {Status::kAbort};
    Status status = Status::kAbort;
    try {
      status = run();
    } catch (const Blocked&) {
      blocked = true;
    }
    if (status == Status::kAbort) {
      txn->abort();
      alive = false;
    }
    return {status};
  }

  std::optional<int64_t> read(Table& table, Key key) {
    const Row* row = nullptr;
    const Outcome status = step([&] { return txn->read(table, key, &row); });
    if (!(status == Status::kOk)) return std::nullopt;
    return row->value;
  }
  Outcome add(Table& table, Key key, int64_t delta) {
    return update(table, key, [&](Row& row) { row.value += delta; });
  }
  Outcome move(Table& table, Key key, uint64_t group) {
    return update(table, key, [&](Row& row) { row.group = group; });
  }
  Outcome set(Table& table, Key key, Row value) {
    return step([&] {
      std::byte* row = nullptr;
      const Status status = txn->write(table, key, &row);
      if (status == Status::kOk) std::memcpy(row, &value, sizeof(Row));
      return status;
    });
  }
  Outcome set(Table& table, Key key, int64_t value) {
    return set(table, key, World::row_of(key, value));
  }
  Outcome insert(Table& table, Key key, Row row) {
    return step([&] { return txn->insert(table, key, row); });
  }
  Outcome insert(Table& table, Key key, int64_t value) {
    return insert(table, key, World::row_of(key, value));
  }
  Outcome erase(Table& table, Key key) {
    return step([&] { return txn->erase(table, key); });
  }
  std::vector<Key> scan(Table& table, Key low, Key high, bool descending = false,
                        size_t at_most = ~size_t{0}) {
    return visited(
        at_most, [&](const auto& visit) { return txn->scan(table, low, high, descending, visit); });
  }
  std::vector<Key> scan_group(Table& table, Key low, Key high, bool descending = false) {
    return visited(~size_t{0}, [&](const auto& visit) {
      return txn->scan_secondary(table, 0, low, high, descending, visit);
    });
  }
  std::vector<Key> read_secondary(Table& table, size_t which, Key of) {
    return visited(~size_t{0},
                   [&](const auto& visit) { return txn->read_secondary(table, which, of, visit); });
  }

  bool commit() {
    const Outcome status = step([&] { return txn->commit(); });
    committed = status == Status::kOk;
    alive = false;
    return committed;
  }
  void abort() {
    if (alive) txn->abort();
    alive = false;
  }
  // Tells the transaction that its commit is durable. The transaction then releases its kept locks.
  void durable() {
    if (txn->holds_locks()) txn->release_locks();
  }

  uint64_t arena_bytes() const { return arena_.allocated_bytes(); }

  RunOptions options;
  WorkerContext context{.options = options};
  std::unique_ptr<ProtocolTransaction> txn;
  bool alive = false;
  bool committed = false;
  bool blocked = false;

 private:
  // Calls `read` with a visitor that stops after `at_most` rows. Returns the keys of these rows.
  template <class Read>
  std::vector<Key> visited(size_t at_most, const Read& read) {
    std::vector<Key> keys;
    const Outcome status = step([&] {
      return read([&](Key key, const std::byte*) {
        keys.push_back(key);
        return keys.size() < at_most;
      });
    });
    EXPECT_TRUE(status == Status::kOk || !alive);
    return keys;
  }
  template <class Change>
  Outcome update(Table& table, Key key, const Change& change) {
    return step([&] {
      Row* row = nullptr;
      const Status status = txn->update(table, key, &row);
      if (status == Status::kOk) change(*row);
      return status;
    });
  }

  Arena arena_;
  Breakdown breakdown_;
};

inline std::vector<std::string> protocol_names() {
  std::vector<std::string> names;
  for (const ProtocolInfo& info : all_protocols()) names.emplace_back(info.name);
  return names;
}

inline std::vector<std::string> names_of_protocols_serial_in_commit_order() {
  std::vector<std::string> names;
  for (const ProtocolInfo& info : all_protocols()) {
    if (info.serial_in_commit_order) names.emplace_back(info.name);
  }
  return names;
}

inline std::string test_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

inline std::string protocol_name(const testing::TestParamInfo<std::string>& info) {
  return test_name(info.param);
}

inline auto every_protocol_and_release() {
  return testing::Combine(testing::ValuesIn(protocol_names()), testing::Bool());
}
inline std::string protocol_and_release(
    const testing::TestParamInfo<std::tuple<std::string, bool>>& info) {
  return test_name(std::get<0>(info.param)) + (std::get<1>(info.param) ? "" : "_keeps_locks");
}

// Returns test parameters: each protocol with each record granularity and each NumberDrawn.
inline auto log_variants(const std::vector<std::string>& protocols) {
  return testing::Combine(testing::ValuesIn(protocols),
                          testing::Values(LogRecords::kTransaction, LogRecords::kOperation),
                          testing::Values(NumberDrawn::kAfterValidation, NumberDrawn::kBefore,
                                          NumberDrawn::kBeforeWithoutHole));
}
inline std::string name_of_log_variant(
    const testing::TestParamInfo<std::tuple<std::string, LogRecords, NumberDrawn>>& info) {
  const auto& [protocol, records, drawn] = info.param;
  const char* const when[] = {"", "_early", "_early_alone"};
  return test_name(protocol) + (records == LogRecords::kOperation ? "_op" : "_txn") +
         when[static_cast<size_t>(drawn)];
}

}  // namespace logjam

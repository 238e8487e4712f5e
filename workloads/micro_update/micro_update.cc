// P-WAL's micro-benchmark (section V): a table in memory, and transactions of one update
// (UPDATE-1), five updates and five reads (UPDATE-5&READ-5), or ten updates (UPDATE-10). Rows are
// drawn uniformly. With --log_records=op a transaction writes 3, 7 or 12 records, as in the paper.
#include <gflags/gflags.h>

#include <algorithm>

#include "workloads/ack_counter.h"
#include "workloads/command.h"
#include "workloads/expect_row.h"
#include "workloads/flag_refusals.h"
#include "workloads/previous_update.h"
#include "workloads/table_checks.h"
#include "workloads/wrapping.h"
#include "workloads/ycsb/row.h"

DEFINE_string(micro_update_kind, "update-1",
              "the transaction: update-1, update-5-read-5 or update-10");
DEFINE_uint64(micro_update_rows, 65'536, "rows in the table");
DEFINE_uint32(micro_update_row_bytes, 512, "bytes of a row, at least 32");

namespace logjam {
namespace {

constexpr const char* kTable = "pages";
constexpr uint64_t kMaxRows = 1'000'000'000;
constexpr uint32_t kMinRowBytes = 32, kMaxRowBytes = 1 << 20;
constexpr uint32_t kMostOperations = 10;

struct Kind {
  std::string_view name;
  uint32_t updates;
  uint32_t reads;
};
constexpr std::array kKinds = {Kind{"update-1", 1, 0}, Kind{"update-5-read-5", 5, 5},
                               Kind{"update-10", 10, 0}};
static_assert(std::ranges::all_of(kKinds, [](const Kind& kind) {
  return kind.updates + kind.reads <= kMostOperations;
}));

const Kind* find_kind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &Kind::name);
  return found == kKinds.end() ? nullptr : found;
}

// The first bytes of a row. All later bytes follow from the Head and the key, so verify() notices a
// torn or misplaced row. A transaction changes balances by amounts that add up to 0, and each
// update names the previous update by the same worker. So verify() also notices a lost update, and
// a transaction that was recovered in part.
struct Head {
  uint64_t updates;
  int64_t balance;
  PreviousUpdate previous;

  uint64_t stamp() const {
    const uint64_t before = uint64_t{previous.key} << 32 | previous.updates;
    return mix64(before ^ mix64(updates ^ mix64(static_cast<uint64_t>(balance))));
  }
};

void write_row(std::byte* row, uint32_t bytes, Key key, const Head& head) {
  LJ_ASSERT_IN_TESTS(bytes >= kMinRowBytes);
  std::memcpy(row, &head, sizeof head);
  ycsb::fill_field(row + sizeof head, bytes - sizeof head, key, head.stamp());
}

const Head& head_of(const std::byte* row) { return *reinterpret_cast<const Head*>(row); }

struct Scale {
  uint64_t rows;
  uint32_t row_bytes;
};

class UpdateClient : public Client {
 public:
  UpdateClient(const Scale& scale, const Kind& kind, AckCounter& ack_counter, Table& table,
               uint32_t worker, uint64_t seed)
      : scale_(scale),
        kind_(kind),
        ack_counter_(ack_counter),
        table_(table),
        random_(seed, worker) {}
  ~UpdateClient() override { ack_counter_.add(acknowledged_); }

  uint32_t next() override {
    LJ_ASSERT_IN_TESTS(kind_.updates + kind_.reads <= scale_.rows);
    int64_t sum = 0;
    before_ = last_;  // the transaction executed last has committed
    for (uint32_t i = 0; i < kind_.updates + kind_.reads; ++i) {
      do {
        keys_[i] = random_.below(scale_.rows);
      } while (std::find(keys_.begin(), keys_.begin() + i, keys_[i]) != keys_.begin() + i);
      deltas_[i] = i + 1 < kind_.updates ? random_.between(-1'000'000, 1'000'000) : -sum;
      sum += deltas_[i];
    }
    return 0;
  }

  Status execute(Transaction& txn) override {
    last_ = before_;
    for (uint32_t i = 0; i < kind_.updates; ++i) {
      auto* const row = update_or_die<std::byte>(txn, table_, keys_[i], "micro-update: a row");
      if (row == nullptr) return Status::kAbort;
      Head head = head_of(row);
      ++head.updates;
      add_to(head.balance, deltas_[i]);
      head.previous = last_;
      last_ = {static_cast<uint32_t>(keys_[i]), static_cast<uint32_t>(head.updates)};
      write_row(row, scale_.row_bytes, keys_[i], head);
    }
    for (uint32_t i = kind_.updates; i < kind_.updates + kind_.reads; ++i) {
      const auto* const row = read_or_die<std::byte>(txn, table_, keys_[i], "micro-update: a row");
      if (row == nullptr) return Status::kAbort;
      sum_ += ycsb::sum_field(row, scale_.row_bytes);
    }
    return Status::kOk;
  }

  std::span<const std::byte> command() override {
    command_ = {uint64_t{kind_.reads} << 32 | kind_.updates,
                uint64_t{before_.key} << 32 | before_.updates};
    for (uint32_t i = 0; i < kind_.updates + kind_.reads; ++i) command_.push_back(keys_[i]);
    for (uint32_t i = 0; i < kind_.updates; ++i) {
      command_.push_back(static_cast<uint64_t>(deltas_[i]));
    }
    return std::as_bytes(std::span(command_));
  }
  bool take(uint32_t, std::span<const std::byte> input) override {
    CommandWords words(input);
    const uint64_t counts = words.next();
    kind_.updates = static_cast<uint32_t>(counts);
    kind_.reads = static_cast<uint32_t>(counts >> 32);
    if (uint64_t{kind_.updates} + kind_.reads > kMostOperations) return false;
    const uint64_t before = words.next();
    before_ = {static_cast<uint32_t>(before >> 32), static_cast<uint32_t>(before)};
    for (uint32_t i = 0; i < kind_.updates + kind_.reads; ++i) keys_[i] = words.next();
    for (uint32_t i = 0; i < kind_.updates; ++i) deltas_[i] = static_cast<int64_t>(words.next());
    return words.ended();
  }
  uint64_t committing() override { return kind_.updates; }
  void acknowledged(uint64_t updates) override { acknowledged_ += updates; }

 private:
  const Scale& scale_;
  Kind kind_;
  AckCounter& ack_counter_;
  Table& table_;
  Random random_;
  uint64_t acknowledged_ = 0;  // the number of acknowledged updates
  uint64_t sum_ = 0;           // a member, so that the compiler cannot drop the reads

  PreviousUpdate before_;  // the worker's last update before the drawn transaction
  PreviousUpdate last_;    // the last update of the latest executed transaction
  std::array<Key, kMostOperations> keys_{};
  std::array<int64_t, kMostOperations> deltas_{};
  std::vector<uint64_t> command_;
};

class MicroUpdate : public Workload {
 public:
  MicroUpdate(const Scale& scale, const Kind& kind) : scale_(scale), kind_(kind) {}

  void create_tables(Database& database) override {
    Columns columns;
    columns.key("id", [](Key key) { return key; })
        .field("updates", &Head::updates)
        .field("balance", &Head::balance)
        .field("previous_key", &Head::previous, &PreviousUpdate::key)
        .field("previous_updates", &Head::previous, &PreviousUpdate::updates)
        .bytes("filler", sizeof(Head), scale_.row_bytes - sizeof(Head));
    database.create_table(
        {kTable, scale_.row_bytes, IndexKind::kHash, scale_.rows, {}, std::move(columns)});
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    std::vector<std::byte> row(scale_.row_bytes);
    for (const Key key : part_of(scale_.rows, part, parts)) {
      write_row(row.data(), scale_.row_bytes, key, Head{});
      database.table(kTable).load(key, row.data(), arena);
    }
  }

  void resume(Database& database) override {
    ack_counter_.resume(sum_of_rows(
        database.table(kTable), [](Key, const std::byte* row) { return head_of(row).updates; }));
  }

  Specification spec() const override {
    return {.description = "micro-update: " + std::string(kind_.name) + " on " +
                           std::to_string(scale_.rows) + " rows of " +
                           std::to_string(scale_.row_bytes) + " B, uniform and distinct",
            .expected_bytes = table_bytes(scale_.rows, scale_.row_bytes),
            .types = {{kind_.name}},
            .largest = {kind_.updates, scale_.row_bytes, most_words() * sizeof(uint64_t)}};
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    return std::make_unique<UpdateClient>(scale_, kind_, ack_counter_, database.table(kTable),
                                          worker, seed);
  }

  void note_any_order() override { any_order_ = true; }

  std::vector<Check> verify(Database& database) override {
    Table& table = database.table(kTable);
    const auto updates_of = [&](Key key) {
      const auto* head = find_row<Head>(table, key);
      return head == nullptr ? 0 : head->updates;
    };
    const Found found = sum_of_parts(Found{}, [&](uint32_t part, uint32_t parts, Found* sum) {
      std::vector<std::byte> expected(scale_.row_bytes);
      table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
        ++sum->rows;
        const Head head = head_of(row);
        sum->updates += head.updates;
        add_to(sum->balance, head.balance);
        check_previous(key, head.previous, updates_of, &sum->lost);
        write_row(expected.data(), scale_.row_bytes, key, head);
        if (std::memcmp(row, expected.data(), scale_.row_bytes) == 0 && key < scale_.rows) return;
        sum->broken.note([&] { return "; first: row " + std::to_string(key); });
      });
    });
    std::vector<Check> checks = {
        {"every row is there", found.rows == scale_.rows,
         std::to_string(found.rows) + " rows, " + std::to_string(scale_.rows) + " loaded"},
        {"every row is whole", found.broken.count == 0,
         std::to_string(found.broken.count) + " torn or misplaced" + found.broken.first},
        {"balances add up to nothing", found.balance == 0,
         "they add up to " + std::to_string(found.balance)}};
    if (!any_order_) checks.push_back(no_update_lost(found.lost));
    ack_counter_.check("rows count every update", found.updates, &checks);
    return checks;
  }

 private:
  // The result of verify()'s scan.
  struct Found {
    uint64_t rows = 0, updates = 0;
    int64_t balance = 0;
    BrokenRows broken, lost;
    auto members() { return std::tie(rows, updates, balance, broken, lost); }
  };

  // Returns the words of a command: two, a key for each operation, and a delta for each update.
  uint64_t most_words() const { return 2 + 2 * kind_.updates + kind_.reads; }

  const Scale scale_;
  const Kind& kind_;
  AckCounter ack_counter_;
  bool any_order_ = false;
};

std::string check_flags() {
  return first_refusal(
      {refuse_unless(find_kind(FLAGS_micro_update_kind) != nullptr,
                     "--micro_update_kind is update-1, update-5-read-5 or update-10",
                     FLAGS_micro_update_kind),
       refuse_outside("micro_update_rows", FLAGS_micro_update_rows, kMostOperations, kMaxRows),
       refuse_outside("micro_update_row_bytes", FLAGS_micro_update_row_bytes, kMinRowBytes,
                      kMaxRowBytes)});
}

const WorkloadRegistration registration({
    .name = "micro-update",
    .what = "P-WAL's UPDATE-1, UPDATE-5&READ-5 and UPDATE-10 on one small table",
    .memory = "0.57 kB a row of 512 B",
    .load_flags = {"micro_update_rows", "micro_update_row_bytes"},
    .check_flags = check_flags,
    .make =
        [] {
          const Scale scale{FLAGS_micro_update_rows, FLAGS_micro_update_row_bytes};
          return std::make_unique<MicroUpdate>(scale, *find_kind(FLAGS_micro_update_kind));
        },
    .has_commands = true,
});

}  // namespace
}  // namespace logjam

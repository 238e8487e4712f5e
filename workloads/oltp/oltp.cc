// sysbench's oltp_read_write (1.0): a transaction has point selects, four kinds of range selects,
// an update of an indexed column, an update of another column, and a delete followed by an insert.
#include <gflags/gflags.h>

#include <cstdio>

#include "workloads/command.h"
#include "workloads/expect_row.h"
#include "workloads/flag_refusals.h"
#include "workloads/oltp/rows.h"
#include "workloads/parallel_check.h"

DEFINE_uint32(oltp_tables, 1, "tables");
DEFINE_uint64(oltp_rows, 10'000, "rows of a table");
DEFINE_string(oltp_distribution, "special",
              "how ids are drawn; special: 75 % of them in the middle hundredth, the others around "
              "it, as sysbench 1.0 draws by default; or uniform");
DEFINE_uint32(oltp_range_size, 100, "rows of a range query");

namespace logjam::oltp {
namespace {

constexpr uint32_t kMaxTables = 1000;
constexpr uint64_t kMaxRows = 1'000'000'000;
// sysbench's default numbers of statements in a transaction. kRanges: the selects of one Range.
constexpr uint32_t kPointSelects = 10, kRanges = 1, kNonIndexUpdates = 1, kDeleteInserts = 1;
constexpr uint64_t kLoadSeed = 0x5b7e57;

struct Options {
  Scale scale;
  bool special = true;
  uint32_t range_size = 0;
};

enum Kind : uint8_t {
  kPoint,
  kSimpleRange,  // this kind and the next three have the same order as in Range
  kSumRange,
  kOrderRange,
  kDistinctRange,
  kIndexUpdate,
  kNonIndexUpdate,
  kDeleteInsert,
};

class OltpClient : public Client {
 public:
  OltpClient(const Options& options, Database& database, AckCounter& ack_counter, uint32_t worker,
             uint64_t seed)
      : options_(options),
        ack_counter_(ack_counter),
        range_size_(options.range_size),
        random_(seed, worker),
        select_(options.range_size) {
    for (uint32_t i = 1; i <= options.scale.tables; ++i) {
      tables_.push_back(&database.table(table_name(i)));
    }
  }
  ~OltpClient() override { ack_counter_.add(acknowledged_); }

  // Draws the statements in groups. A group accesses one table.
  uint32_t next() override {
    statements_.clear();
    draw_group(kPoint, kPointSelects);
    for (const Kind range : {kSimpleRange, kSumRange, kOrderRange, kDistinctRange}) {
      draw_group(range, kRanges);
    }
    draw_group(kIndexUpdate, kIndexUpdates);
    draw_group(kNonIndexUpdate, kNonIndexUpdates);
    draw_group(kDeleteInsert, kDeleteInserts);
    even_out();
    return 0;
  }

  Status execute(Transaction& txn) override {
    for (const Statement& statement : statements_) {
      if (!found_or_die(execute(txn, statement), "oltp: a row")) return Status::kAbort;
    }
    return Status::kOk;
  }

  // Encodes all statements, also selects, because a recovery executes the whole transaction again.
  std::span<const std::byte> command() override {
    command_.clear();
    CommandFields fields(&command_);
    fields(range_size_);
    for (Statement& statement : statements_) input(statement, fields);
    return command_;
  }
  bool take(uint32_t, std::span<const std::byte> command) override {
    CommandFields fields(command);
    fields(range_size_);
    statements_.clear();
    while (!fields.ended()) {
      Statement statement{};
      input(statement, fields);
      if (!fields.whole() || statement.kind > kDeleteInsert || statement.table >= tables_.size()) {
        return false;
      }
      statements_.push_back(statement);
    }
    return true;
  }

  uint64_t committing() override { return 1; }
  void acknowledged(uint64_t number) override { acknowledged_ += number; }

 private:
  struct Statement {
    Key id;
    uint64_t delta;  // the number that the statement adds to the number in column c
    uint32_t k;      // the column k of the row that kDeleteInsert inserts
    uint16_t table;  // an index into tables_
    Kind kind;
  };

  static void input(Statement& statement, CommandFields& fields) {
    fields(statement.kind, statement.table, statement.id);
    if (statement.kind >= kNonIndexUpdate) fields(statement.delta);
    if (statement.kind == kDeleteInsert) fields(statement.k);
  }

  void draw_group(Kind kind, uint32_t count) {
    const auto table = static_cast<uint16_t>(random_.below(tables_.size()));
    for (uint32_t i = 0; i < count; ++i) {
      Statement statement{draw_id(), 0, 0, table, kind};
      if (kind >= kNonIndexUpdate) statement.delta = random_.next();
      if (kind == kDeleteInsert) statement.k = static_cast<uint32_t>(draw_id());
      statements_.push_back(statement);
    }
  }
  uint64_t draw_id() { return oltp::draw_id(random_, options_.scale.rows, options_.special); }

  // Makes the changes of the numbers in column c add up to 1. So a lost change makes the sum wrong.
  void even_out() {
    uint64_t sum = 0;
    for (const Statement& statement : statements_) sum += statement.delta;
    LJ_ASSERT_IN_TESTS(statements_.back().kind == kDeleteInsert);
    statements_.back().delta += 1 - sum;
  }

  Status execute(Transaction& txn, const Statement& statement) {
    LJ_ASSERT_IN_TESTS(statement.table < tables_.size());
    Table& table = *tables_[statement.table];
    const Row* row;
    Row* changed;
    Status status = Status::kOk;
    switch (statement.kind) {
      case kPoint:
        status = txn.read(table, statement.id, &row);
        if (status == Status::kOk) shown_ += static_cast<uint64_t>(row->c[30]);
        return status;
      case kIndexUpdate:
        status = txn.update(table, statement.id, &changed);
        if (status == Status::kOk) ++changed->k;
        return status;
      case kNonIndexUpdate:
        status = txn.update(table, statement.id, &changed);
        if (status == Status::kOk) add_to_c(changed, statement.id, statement.delta);
        return status;
      case kDeleteInsert: {
        // The delete reads its row first, as a database does to find the row.
        status = txn.read(table, statement.id, &row);
        if (status != Status::kOk) return status;
        Row fresh;
        replace(&fresh, statement.id, *row, statement.k, statement.delta);
        status = txn.erase(table, statement.id);
        if (status != Status::kOk) return status;
        return txn.insert(table, statement.id, fresh);
      }
      default:
        return select_range(txn, statement);
    }
  }

  Status select_range(Transaction& txn, const Statement& statement) {
    const auto range = static_cast<Range>(statement.kind - kSimpleRange);
    const Status status = select_.run(txn, *tables_[statement.table], range, statement.id,
                                      statement.id + range_size_ - 1);
    if (status != Status::kOk) return status;
    shown_ += select_.sum;
    for (const Row* row : select_.rows) shown_ += static_cast<uint64_t>(row->c[30]);
    return status;
  }

  const Options& options_;
  AckCounter& ack_counter_;
  uint64_t acknowledged_ = 0;
  uint32_t range_size_;
  Random random_;
  std::vector<Table*> tables_;
  std::vector<Statement> statements_;  // reused: no allocation per transaction
  RangeSelect select_;
  std::vector<std::byte> command_;
  uint64_t shown_ = 0;  // a sum, so that the compiler cannot drop the reads
};

class Oltp : public Workload {
 public:
  explicit Oltp(const Options& options) : options_(options) {}

  void create_tables(Database& database) override {
    const SecondarySchema by_k{
        .name = "k",
        .key_of = [](Key, const std::byte* row) -> Key { return row_of(row).k; },
        .moves = true};
    for (uint32_t i = 1; i <= scale().tables; ++i) {
      database.create_table(
          {table_name(i), sizeof(Row), IndexKind::kOrdered, scale().rows, {by_k}, columns()});
    }
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    const uint64_t n = scale().rows;
    for (uint32_t i = 1; i <= scale().tables; ++i) {
      Table& table = database.table(table_name(i));
      for (const Key id : part_of(n, part, parts, 1)) {
        Random random(kLoadSeed + i, id);
        Row row;
        load_row(&row, id, static_cast<uint32_t>(draw_id(random, n, options_.special)));
        table.load(id, &row, arena);
      }
    }
  }

  void resume(Database& database) override { ack_counter_.resume(transactions_there(database)); }

  Specification spec() const override {
    char text[400];
    // `row_bytes`: the size of the rows that a transaction logs; `written`: the bytes that change.
    const size_t row_bytes = sizeof(Row) * (kIndexUpdates + kNonIndexUpdates + kDeleteInserts);
    const size_t written = sizeof(Row::k) * kIndexUpdates + sizeof(Row::c) * kNonIndexUpdates +
                           sizeof(Row) * kDeleteInserts;
    std::snprintf(
        text, sizeof text,
        "oltp: %u table%s of %lu rows, %s ids, %u point selects, %u of each range (%u "
        "rows), %u index updates, %u other updates, %u deletes with inserts; %zu B of rows "
        "a transaction, of which it writes %zu B",
        scale().tables, scale().tables == 1 ? "" : "s", scale().rows,
        options_.special ? "special" : "uniform", kPointSelects, kRanges, options_.range_size,
        kIndexUpdates, kNonIndexUpdates, kDeleteInserts, row_bytes, written);
    return {.description = text,
            .expected_bytes = table_bytes(scale().tables * scale().rows, sizeof(Row), 1),
            .types = {{"read-write"}}};
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    return std::make_unique<OltpClient>(options_, database, ack_counter_, worker, seed);
  }

  std::vector<Check> verify(Database& database) override {
    return oltp::verify(database, scale(), ack_counter_);
  }

 private:
  const Scale& scale() const { return options_.scale; }
  const Options options_;
  AckCounter ack_counter_;
};

std::string check_flags() {
  return first_refusal(
      {refuse_outside("oltp_tables", FLAGS_oltp_tables, 1, kMaxTables),
       refuse_outside("oltp_rows", FLAGS_oltp_rows, 1, kMaxRows),
       refuse_unless(FLAGS_oltp_distribution == "special" || FLAGS_oltp_distribution == "uniform",
                     "--oltp_distribution is special or uniform", FLAGS_oltp_distribution),
       FLAGS_oltp_range_size < 1 ? "--oltp_range_size is at least 1" : ""});
}

const WorkloadRegistration registration({
    .name = "oltp",
    .what = "sysbench's oltp_read_write: points, ranges, updates, a delete and an insert",
    .memory = "0.3 kB a row; 0.06 kB more for each index update that finds a new k",
    .load_flags = {"oltp_tables", "oltp_rows", "oltp_distribution"},
    .check_flags = check_flags,
    .make =
        [] {
          return std::make_unique<Oltp>(
              Options{.scale = {.tables = FLAGS_oltp_tables, .rows = FLAGS_oltp_rows},
                      .special = FLAGS_oltp_distribution == "special",
                      .range_size = FLAGS_oltp_range_size});
        },
    .has_commands = true,
});

}  // namespace
}  // namespace logjam::oltp

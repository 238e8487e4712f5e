// sysbench's oltp_read_write (1.0): a transaction has point selects, four kinds of range selects,
// an update of an indexed column, an update of another column, and a delete followed by an insert.
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/workload.h"
#include "workloads/command.h"
#include "workloads/common.h"
#include "workloads/oltp/rows.h"
#include "workloads/random.h"

DEFINE_uint32(oltp_tables, 1, "oltp: tables");
DEFINE_uint64(oltp_rows, 10'000, "oltp: rows of a table");
DEFINE_string(oltp_distribution, "special",
              "oltp: how ids are drawn: special (75 % of them in the middle hundredth, the others "
              "around it; sysbench 1.0's default) or uniform");
DEFINE_uint32(oltp_point_selects, 10, "oltp: point selects in a transaction");
DEFINE_uint32(oltp_ranges, 1,
              "oltp: range queries of each kind in a transaction: select, sum, order by, distinct");
DEFINE_uint32(oltp_range_size, 100, "oltp: rows of a range");
DEFINE_uint32(oltp_index_updates, 1, "oltp: updates of the indexed column in a transaction");
DEFINE_uint32(oltp_non_index_updates, 1, "oltp: updates of another column in a transaction");
DEFINE_uint32(oltp_delete_inserts, 1, "oltp: deletes, each with an insert, in a transaction");

namespace logjam::oltp {
namespace {

constexpr uint32_t kMaxTables = 1000;
constexpr uint64_t kMaxRows = 1'000'000'000;
constexpr uint32_t kMaxStatements = 1000;
constexpr uint64_t kLoadSeed = 0x5b7e57;

struct Options {
  Scale scale;
  bool special = true;
  uint32_t point_selects = 0, ranges = 0, range_size = 0;
  uint32_t index_updates = 0, non_index_updates = 0, delete_inserts = 0;
};

// An id in [1, n].
uint64_t draw_id(Random& random, uint64_t n, bool special) {
  if (!special) return 1 + random.below(n);
  const auto span = static_cast<double>(n - 1);
  if (random.percent(75)) {  // sysbench's rand-spec-res; the middle is its rand-spec-pct = 1 %
    const double middle = span * 0.01;
    return 1 + static_cast<uint64_t>((span - middle) / 2 + random.unit() * (middle + 1));
  }
  double sum = 0;  // the mean of 12 draws: sysbench's rand-spec-iter
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return 1 + static_cast<uint64_t>(sum / 12 * span);
}

enum Kind : uint8_t {
  kPoint,
  kSimpleRange,
  kSumRange,
  kOrderRange,
  kDistinctRange,
  kIndexUpdate,
  kNonIndexUpdate,
  kDeleteInsert,
};

class OltpClient : public Client {
 public:
  OltpClient(const Options& options, Database& database, uint32_t worker, uint64_t seed)
      : options_(options), range_size_(options.range_size), random_(seed, worker) {
    for (uint32_t i = 1; i <= options.scale.tables; ++i) {
      tables_.push_back(&database.table(table_name(i)));
    }
    found_.reserve(options.range_size);
  }

  // The statements of a group access one table, which is drawn for each group.
  uint32_t next() override {
    statements_.clear();
    draw_group(kPoint, options_.point_selects);
    for (const Kind range : {kSimpleRange, kSumRange, kOrderRange, kDistinctRange}) {
      draw_group(range, options_.ranges);
    }
    draw_group(kIndexUpdate, options_.index_updates);
    draw_group(kNonIndexUpdate, options_.non_index_updates);
    draw_group(kDeleteInsert, options_.delete_inserts);
    return 0;
  }

  Status execute(Transaction& txn) override {
    for (const Statement& statement : statements_) {
      if (!there(execute(txn, statement), "oltp: a row")) return Status::kAbort;
    }
    return Status::kOk;
  }

  // The command contains the selects too: recovery executes the whole procedure again.
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

 private:
  struct Statement {
    Key id;
    uint64_t seed;   // of the new text
    uint32_t k;      // of the new row
    uint16_t table;  // in tables_
    Kind kind;
  };

  static void input(Statement& statement, CommandFields& fields) {
    fields(statement.kind, statement.table, statement.id);
    if (statement.kind >= kNonIndexUpdate) fields(statement.seed);
    if (statement.kind == kDeleteInsert) fields(statement.k);
  }

  void draw_group(Kind kind, uint32_t count) {
    const auto table = static_cast<uint16_t>(random_.below(tables_.size()));
    for (uint32_t i = 0; i < count; ++i) {
      Statement statement{draw_id(), 0, 0, table, kind};
      if (kind >= kNonIndexUpdate) statement.seed = random_.next();
      if (kind == kDeleteInsert) statement.k = static_cast<uint32_t>(draw_id());
      statements_.push_back(statement);
    }
  }
  uint64_t draw_id() { return oltp::draw_id(random_, options_.scale.rows, options_.special); }

  Status execute(Transaction& txn, const Statement& statement) {
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
        if (status == Status::kOk) {
          fill_text(changed->c.data(), changed->c.size(), statement.id, statement.seed);
        }
        return status;
      case kDeleteInsert: {
        status = txn.erase(table, statement.id);
        if (status != Status::kOk) return status;
        Row fresh;
        fill(&fresh, statement.id, statement.k, statement.seed);
        return txn.insert(table, statement.id, fresh);
      }
      default:
        return select_range(txn, statement);
    }
  }

  // found_ keeps pointers to rows, which stay valid until the transaction ends.
  Status select_range(Transaction& txn, const Statement& statement) {
    found_.clear();
    const Status status =
        txn.scan(*tables_[statement.table], statement.id, statement.id + range_size_ - 1, false,
                 [this](Key, const std::byte* row) {
                   found_.push_back(reinterpret_cast<const Row*>(row));
                   return true;
                 });
    if (status != Status::kOk) return status;
    if (statement.kind == kOrderRange || statement.kind == kDistinctRange) {
      std::ranges::sort(found_, {}, [](const Row* row) {
        return std::string_view(row->c.data(), row->c.size());
      });
    }
    if (statement.kind == kDistinctRange) {
      const auto same = [](const Row* a, const Row* b) { return a->c == b->c; };
      found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
    }
    for (const Row* row : found_) {
      shown_ += statement.kind == kSumRange ? row->k : static_cast<uint64_t>(row->c[30]);
    }
    return status;
  }

  const Options& options_;
  uint32_t range_size_;
  Random random_;
  std::vector<Table*> tables_;
  std::vector<Statement> statements_;  // like found_ reused: no allocation per transaction
  std::vector<const Row*> found_;
  std::vector<std::byte> command_;
  uint64_t shown_ = 0;  // a sum, so that the compiler cannot drop the reads
};

Key k_of(Key, const std::byte* row) { return reinterpret_cast<const Row*>(row)->k; }

class Oltp : public Workload {
 public:
  explicit Oltp(const Options& options) : options_(options) {}

  void create_tables(Database& database) override {
    for (uint32_t i = 1; i <= scale().tables; ++i) {
      database.create_table({table_name(i),
                             sizeof(Row),
                             IndexKind::kOrdered,
                             scale().rows,
                             {{.name = "k",
                               .kind = IndexKind::kOrdered,
                               .unique = false,
                               .key_of = k_of,
                               .moves = true}},
                             columns()});
    }
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    const uint64_t n = scale().rows;
    for (uint32_t i = 1; i <= scale().tables; ++i) {
      Table& table = database.table(table_name(i));
      for (Key id = n * part / parts + 1; id <= n * (part + 1) / parts; ++id) {
        Random random(kLoadSeed + i, id);
        Row row;
        fill(&row, id, static_cast<uint32_t>(draw_id(random, n, options_.special)), random.next());
        table.load(id, &row, arena);
      }
    }
  }

  std::vector<std::string_view> types() const override { return {"read-write"}; }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    return std::make_unique<OltpClient>(options_, database, worker, seed);
  }

  std::vector<Check> verify(Database& database) override {
    Found found;
    for (const auto& table : database.tables()) {
      found.add(sum_of_parts(Found{}, [&](uint32_t part, uint32_t parts, Found* sum) {
        count_part(*table, part, parts, sum);
      }));
    }
    const uint64_t loaded = scale().tables * scale().rows;
    return {{"every row is there", found.rows == loaded && found.strays == 0,
             std::to_string(found.rows) + " rows, " + std::to_string(loaded) + " loaded, " +
                 std::to_string(found.strays) + " under ids never loaded"},
            {"every row is whole", found.broken.count == 0,
             std::to_string(found.broken.count) + " torn or misplaced" + found.broken.first},
            {"every row is found by k", found.current == found.rows,
             std::to_string(found.current) + " rows posted under their k, of " +
                 std::to_string(found.rows)}};
  }

  std::string describe() const override {
    char text[320];
    std::snprintf(text, sizeof text,
                  "oltp: %u table%s of %llu rows, %s ids, %u point selects, %u of each range (%u "
                  "rows), %u index updates, %u other updates, %u deletes with inserts",
                  scale().tables, scale().tables == 1 ? "" : "s",
                  static_cast<unsigned long long>(scale().rows),
                  options_.special ? "special" : "uniform", options_.point_selects, options_.ranges,
                  options_.range_size, options_.index_updates, options_.non_index_updates,
                  options_.delete_inserts);
    return text;
  }

  uint64_t expected_bytes() const override {
    return table_bytes(scale().tables * scale().rows, sizeof(Row), 1);
  }

 private:
  // By verify().
  struct Found {
    uint64_t rows = 0, strays = 0;
    uint64_t current = 0;  // postings under their row's k
    BrokenRows broken;
    void add(const Found& other) {
      rows += other.rows;
      strays += other.strays;
      current += other.current;
      broken.add(other.broken);
    }
  };

  void count_part(Table& table, uint32_t part, uint32_t parts, Found* sum) const {
    table.for_each_row(part, parts, [&](Key id, const std::byte* bytes) {
      ++sum->rows;
      sum->strays += id < 1 || id > scale().rows;
      if (is_whole(*reinterpret_cast<const Row*>(bytes), id)) return;
      sum->broken.note(
          [&] { return "; first: " + table.schema().name + " " + std::to_string(id); });
    });
    // Of a row's postings one is under its key of now; the others are left from earlier keys.
    table.secondary(kByK).for_each(part, parts, [&](Keyed* entry) {
      const auto& posting = *static_cast<Posting*>(entry);
      sum->current += !posting.tuple->load_version().absent() &&
                      k_of(posting.primary, posting.tuple->row()) == posting.key;
    });
  }

  const Scale& scale() const { return options_.scale; }
  const Options options_;
};

Options options_from_flags() {
  return {.scale = {.tables = FLAGS_oltp_tables, .rows = FLAGS_oltp_rows},
          .special = FLAGS_oltp_distribution == "special",
          .point_selects = FLAGS_oltp_point_selects,
          .ranges = FLAGS_oltp_ranges,
          .range_size = FLAGS_oltp_range_size,
          .index_updates = FLAGS_oltp_index_updates,
          .non_index_updates = FLAGS_oltp_non_index_updates,
          .delete_inserts = FLAGS_oltp_delete_inserts};
}

std::string check_flags() {
  if (FLAGS_oltp_tables < 1 || FLAGS_oltp_tables > kMaxTables) {
    return "--oltp_tables is 1 to " + std::to_string(kMaxTables);
  }
  if (FLAGS_oltp_rows < 1 || FLAGS_oltp_rows > kMaxRows) {
    return "--oltp_rows is 1 to " + std::to_string(kMaxRows);
  }
  if (FLAGS_oltp_distribution != "special" && FLAGS_oltp_distribution != "uniform") {
    return "--oltp_distribution is special or uniform, not \"" + FLAGS_oltp_distribution + "\"";
  }
  if (FLAGS_oltp_range_size < 1) return "--oltp_range_size is at least 1";
  const Options options = options_from_flags();
  uint64_t statements = 0;
  for (const uint32_t count : {options.point_selects, options.ranges, options.index_updates,
                               options.non_index_updates, options.delete_inserts}) {
    statements += count;
  }
  if (statements < 1 || statements > kMaxStatements) {
    return "--oltp_point_selects, _ranges, _index_updates, _non_index_updates and _delete_inserts "
           "add up to 1 to " +
           std::to_string(kMaxStatements);
  }
  return "";
}

const WorkloadRegistration registration({
    .name = "oltp",
    .what = "sysbench's oltp_read_write: points, ranges, updates, a delete and an insert",
    .memory = "0.3 kB a row; 0.06 kB more for each index update that finds a new k",
    .load_flags = {"oltp_tables", "oltp_rows", "oltp_distribution"},
    .check_flags = check_flags,
    .make = [] { return std::make_unique<Oltp>(options_from_flags()); },
});

}  // namespace
}  // namespace logjam::oltp

// YCSB: one table, transactions of point reads, updates, inserts and scans.

#include "platform/fatal.h"
#include "workloads/command.h"
#include "workloads/ycsb/row_chooser.h"

namespace logjam::ycsb {
namespace {

constexpr const char* kTable = "usertable";
constexpr uint64_t kMostOperationsS = 2'000'000;  // operations per second of one worker
// A transaction with an update is kReadWrite. Without an update, it is kInserting if it has an
// insert, else kScanning if it has a scan, else kReadOnly.
enum Type : uint32_t { kReadWrite, kReadOnly, kInserting, kScanning };

struct Shared {
  explicit Shared(const Options& options_in)
      : options(options_in),
        fields(options),
        space{options.records, options.hashed},
        ranks(RowChooser::ranks(options)) {}
  const Options options;
  const Fields fields;
  const KeySpace space;
  const Zipf ranks;
  Inserted inserted;
  Acknowledged acknowledged;
};

// A client sizes the arrays of its input once, so that transactions allocate nothing.
class YcsbClient : public Client {
 public:
  YcsbClient(Shared& shared, Table& table, uint32_t worker, uint32_t workers, uint64_t seed)
      : shared_(shared),
        options_(shared.options),
        table_(table),
        fields_(shared.fields),
        rows_(options_, shared.space, shared.ranks, shared.inserted, workers),
        random_(seed, worker),
        worker_(worker),
        long_rows_(worker == 0 ? options_.long_rows : 0),
        free_(shared.inserted.free(worker)),
        read_below_(share_of_draws(options_.read_ratio)),
        insert_below_(read_below_ + share_of_draws(options_.insert_ratio)),
        scan_below_(insert_below_ + share_of_draws(options_.scan_ratio)),
        operations_(long_rows_ > 0 ? long_rows_ : uint64_t{options_.ahead} * options_.ops),
        current_(operations_),
        new_row_(options_.insert_ratio > 0 ? options_.value_bytes : 0) {
    LJ_ASSERT(worker < platform::kMostWorkers && options_.ops > 0);
  }
  ~YcsbClient() override { shared_.acknowledged.add(acknowledged_); }

  uint32_t next() override {
    if (long_rows_ > 0) return next_long();
    // The previous transaction has committed, so the rows that it inserted exist.
    inserts_ += drawn_inserts_;
    if (drawn_inserts_ > 0) shared_.inserted.publish(worker_, free_.at(inserts_));
    drawn_inserts_ = 0;
    if (drawn_ahead_ == 0) {
      for (uint32_t i = 0; i < options_.ahead; ++i) {
        draw(std::span(operations_).subspan(size_t{i} * options_.ops, options_.ops));
      }
      drawn_ahead_ = options_.ahead;
    }
    first_ = (options_.ahead - drawn_ahead_--) * options_.ops;
    current_ = std::span(operations_).subspan(first_, options_.ops);
    bool has[4] = {};
    for (const Operation& operation : current_) has[operation.kind] = true;
    stamp_ = random_.next();
    scan_length_ = options_.scan_ratio == 0 ? options_.scan_length : 0;
    if (scan_length_ > 0) scan_from_ = rows_.draw(random_);
    complete();
    return has[kUpdate]   ? kReadWrite
           : has[kInsert] ? kInserting
           : has[kScan]   ? kScanning
                          : kReadOnly;
  }

  Status execute(Transaction& txn) override {
    for (uint32_t i = 0; i < current_.size(); ++i) {
      if ((first_ + i) % kPrefetchAhead == 0) prefetch(txn, first_ + i);
      const Operation& operation = current_[i];
      const Status status = operate(txn, operation);
      if (status == Status::kAbort) return status;
      if (status != Status::kOk) {
        platform::fatal("ycsb: row " + std::to_string(operation.row) + " (key " +
                            std::to_string(operation.key) + ")" +
                            (status == Status::kExists ? " is there already" : " is missing"),
                        platform::kExitViolation);
      }
    }
    if (scan_length_ == 0) return Status::kOk;
    return scan(txn, shared_.space.key_of(scan_from_), scan_length_, current_[0].field);
  }

  // Encodes each operation as a word with its kind, field and row. A scan's length is another word.
  std::span<const std::byte> command() override {
    command_ = {stamp_, current_.size(), scan_from_, scan_length_};
    for (const Operation& operation : current_) {
      command_.push_back(uint64_t{operation.kind} << kKindShift |
                         uint64_t{operation.field} << kFieldShift | operation.row);
      if (operation.kind == kScan) command_.push_back(operation.length);
    }
    return std::as_bytes(std::span(command_));
  }
  bool take(uint32_t, std::span<const std::byte> input) override {
    CommandWords words(input);
    stamp_ = words.next();
    operations_.resize(std::min<size_t>(words.next(), input.size() / sizeof(uint64_t)));
    current_ = operations_;
    scan_from_ = words.next();
    scan_length_ = static_cast<uint32_t>(words.next());
    for (Operation& operation : operations_) {
      const uint64_t word = words.next();
      operation.kind = static_cast<Kind>(word >> kKindShift);
      operation.field = static_cast<uint32_t>(word >> kFieldShift & 15);
      operation.row = word & ((uint64_t{1} << kFieldShift) - 1);
      operation.key = shared_.space.key_of(operation.row);
      if (operation.kind == kScan) operation.length = static_cast<uint32_t>(words.next());
      if (operation.field >= fields_.count) return false;
      // Refuses a command from a foreign log to scan a hash index.
      if (operation.kind == kScan && !options_.ordered) return false;
      if (operation.kind == kInsert) new_row_.resize(options_.value_bytes);
    }
    if (scan_length_ > 0 && !options_.ordered) return false;
    complete();
    return words.ended() && !operations_.empty();
  }

  bool is_long() const override { return long_rows_ > 0; }

  // Returns the number of inserted rows and, in a higher bit, whether the transaction updates.
  uint64_t committing() override { return drawn_inserts_ | (updates_ ? kUpdated : 0); }
  void acknowledged(uint64_t number) override {
    acknowledged_.inserts += number & ~kUpdated;
    acknowledged_.updating += (number & kUpdated) != 0;
  }

 private:
  enum Kind : uint8_t { kRead, kUpdate, kInsert, kScan };
  struct Operation {
    uint64_t row = 0;  // the row's number
    Key key = 0;
    uint64_t delta = 0;   // added to the stamp by an update; the seed of an inserted row
    uint32_t field = 0;   // the field's number in the row
    uint32_t length = 0;  // the number of rows of a scan
    Kind kind = kRead;
  };

  // The bits of a command's word: the row's number is below bit kFieldShift.
  static constexpr unsigned kKindShift = 62, kFieldShift = 58;
  static constexpr uint64_t kUpdated = uint64_t{1} << 32;

  // Operations whose rows are prefetched together.
  static constexpr uint32_t kPrefetchAhead = 16;

  static uint64_t share_of_draws(double ratio) { return static_cast<uint64_t>(ratio * 0x1p32); }
  Kind kind_of(uint64_t drawn) const {
    return drawn < read_below_     ? kRead
           : drawn < insert_below_ ? kInsert
           : drawn < scan_below_   ? kScan
                                   : kUpdate;
  }

  // Draws the operations of a transaction.
  void draw(std::span<Operation> operations) {
    rows_.move_hot();
    for (size_t i = 0; i < operations.size(); ++i) {
      Operation& operation = operations[i];
      operation.row = draw_distinct(operations.first(i));
      const uint64_t bits = random_.next();
      operation.kind = kind_of(bits >> 32);
      operation.field = static_cast<uint32_t>((bits & 0xffff) * fields_.count >> 16);
      if (operation.kind == kInsert) {
        operation.row = shared_.space.inserted(free_.at(inserts_ + drawn_inserts_++), worker_);
      } else if (operation.kind == kScan) {
        operation.length = 1 + static_cast<uint32_t>(random_.below(options_.scan_length));
      }
    }
    for (Operation& operation : operations) operation.key = shared_.space.key_of(operation.row);
  }

  // Draws a transaction that updates as many rows as the flag says, which follow each other.
  uint32_t next_long() {
    const uint64_t first = random_.below(options_.records);
    for (uint32_t i = 0; i < long_rows_; ++i) {
      const uint64_t row = (first + i) % options_.records;
      operations_[i] = {.row = row,
                        .key = shared_.space.key_of(row),
                        .field = static_cast<uint32_t>(random_.below(fields_.count)),
                        .kind = kUpdate};
    }
    stamp_ = random_.next();
    complete();
    return kReadWrite;
  }

  // Computes from the input each operation's delta (Fields), drawn_inserts_ and updates_.
  void complete() {
    Operation* last = nullptr;
    uint64_t sum = 0;
    drawn_inserts_ = 0;
    for (uint32_t i = 0; i < current_.size(); ++i) {
      Operation& operation = current_[i];
      operation.delta = mix64(stamp_ + i);
      drawn_inserts_ += operation.kind == kInsert;
      if (operation.kind != kUpdate) continue;
      sum += operation.delta;
      last = &operation;
    }
    updates_ = last != nullptr;
    if (updates_ && !options_.blind()) last->delta += 1 - sum;
  }

  // Draws a row that differs from the rows of the operations `others`. After 64 tries, takes the
  // next loaded row that none of these operations has, because further draws could take long.
  uint64_t draw_distinct(std::span<const Operation> others) {
    LJ_ASSERT_IN_TESTS(others.size() < options_.records);
    constexpr int kTries = 64;
    const auto is_taken = [others](uint64_t row) {
      bool found = false;
      for (const Operation& other : others) found |= other.row == row;
      return found;
    };
    uint64_t row = rows_.draw(random_);
    for (int tries = 0; is_taken(row); ++tries) {
      row = tries < kTries ? rows_.draw(random_) : (row + 1) % options_.records;
    }
    return row;
  }

  // Prefetches the rows of the drawn operations from `from` on, if there are two or more.
  void prefetch(Transaction& txn, size_t from) {
    if (from + 1 >= operations_.size()) return;
    std::array<Key, kPrefetchAhead> keys;
    uint32_t count = 0;
    for (size_t i = from; count < keys.size() && i < operations_.size(); ++i) {
      keys[count++] = operations_[i].key;
    }
    txn.prefetch(table_, {keys.data(), count});
  }

  Status operate(Transaction& txn, const Operation& operation) {
    switch (operation.kind) {
      case kRead:
        return read(txn, operation);
      case kUpdate:
        return update(txn, operation);
      case kInsert:
        fields_.insert(new_row_.data(), operation.key, operation.delta);
        return txn.insert(table_, operation.key, new_row_.data());
      case kScan:
        return scan(txn, operation.key, operation.length, operation.field);
    }
    return Status::kOk;
  }

  // Adds the bytes of the row or of the field to a member, so that the compiler cannot drop reads.
  void look_at(const std::byte* row, uint32_t field) {
    sum_ += options_.read == Read::kRow
                ? sum_field(row, options_.value_bytes)
                : sum_field(row + size_t{field} * fields_.bytes, fields_.bytes);
  }

  Status read(Transaction& txn, const Operation& operation) {
    const std::byte* row;
    const Status status = txn.read(table_, operation.key, &row);
    if (status == Status::kOk) look_at(row, operation.field);
    return status;
  }

  // Scans `length` rows, or fewer at the end of the table.
  Status scan(Transaction& txn, Key from, uint32_t length, uint32_t field) {
    return txn.scan(table_, from, ~Key{0}, false, [&](Key, const std::byte* row) {
      look_at(row, field);
      return --length > 0;
    });
  }

  Status update(Transaction& txn, const Operation& operation) {
    std::byte* row;
    const bool blind = options_.blind();
    const Status status =
        blind ? txn.write(table_, operation.key, &row) : txn.update(table_, operation.key, &row);
    if (status != Status::kOk) return status;
    if (blind) {
      fields_.write(row, operation.key, 0, operation.delta);
      return status;
    }
    if (options_.update != Update::kField) look_at(row, operation.field);
    fields_.add(row, operation.key, operation.field, operation.delta);
    return status;
  }

  Shared& shared_;
  const Options& options_;
  Table& table_;
  const Fields& fields_;
  RowChooser rows_;
  Random random_;
  const uint32_t worker_;
  const uint32_t long_rows_;  // the rows of each transaction; 0: the transactions are short
  const FreeNumbers& free_;
  const uint64_t read_below_, insert_below_, scan_below_;
  uint64_t inserts_ = 0;        // rows inserted by the transactions before the current one
  uint64_t drawn_inserts_ = 0;  // rows that the current transaction inserts

  std::vector<Operation> operations_;  // of the current transaction, and of those drawn with it
  std::span<Operation> current_;       // of the current transaction
  size_t first_ = 0;                   // index of its first operation
  uint32_t drawn_ahead_ = 0;           // transactions that are drawn, and not yet chosen
  std::vector<std::byte> new_row_;
  std::vector<uint64_t> command_;
  uint64_t scan_from_ = 0;    // the first row of the scan at the transaction's end
  uint32_t scan_length_ = 0;  // the number of rows of that scan
  uint64_t stamp_ = 0;
  bool updates_ = false;  // whether the current transaction updates
  Acknowledged::Counts acknowledged_;
  uint64_t sum_ = 0;
};

class Ycsb : public Workload {
 public:
  explicit Ycsb(const Options& options) : shared_(options), options_(shared_.options) {}

  void create_tables(Database& database) override {
    Columns columns;
    columns.key("ycsb_key", [](Key key) { return key; });
    for (uint32_t i = 0; i < shared_.fields.count; ++i) {
      const uint32_t bytes = shared_.fields.bytes;
      columns.bytes("field" + std::to_string(i), size_t{i} * bytes, bytes);
    }
    database.create_table({.name = kTable,
                           .row_bytes = options_.value_bytes,
                           .kind = options_.ordered ? IndexKind::kOrdered : IndexKind::kHash,
                           .expected_rows = options_.records,
                           .secondaries = {},
                           .columns = std::move(columns)});
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    Table& table = database.table(kTable);
    std::vector<std::byte> row(options_.value_bytes);
    const uint64_t end = options_.records * (part + 1) / parts;
    for (uint64_t number = options_.records * part / parts; number < end; ++number) {
      const Key key = shared_.space.key_of(number);
      shared_.fields.load(row.data(), key);
      table.load(key, row.data(), arena);
    }
  }

  void resume(Database& database) override {
    ycsb::resume(database.table(kTable), options_, &shared_.inserted, &shared_.acknowledged);
  }

  Specification spec() const override {
    Specification spec{.description = ycsb::describe(options_),
                       .expected_bytes = table_bytes(options_.records, options_.value_bytes),
                       .types = {{"read-write"}, {"read-only"}, {"insert"}, {"scan"}}};
    spec.growth_bytes_s =
        static_cast<uint64_t>(options_.insert_ratio * static_cast<double>(table_bytes(
                                                          kMostOperationsS, options_.value_bytes)));
    if (options_.insert_ratio == 0 && options_.scan_ratio == 0) spec.types.resize(2);
    const bool writes = options_.updates() || options_.insert_ratio > 0;
    spec.largest = {std::max(writes ? options_.ops : 0, options_.long_rows), options_.value_bytes,
                    (4 + 2 * uint64_t{std::max(options_.ops, options_.long_rows)}) * 8};
    // The shares of types follow from the ratios only if each transaction has one operation.
    if (options_.ops > 1 || options_.long_rows > 0) return spec;
    const double reads = 100 * options_.read_ratio, inserts = 100 * options_.insert_ratio,
                 scans = 100 * options_.scan_ratio;
    const double shares[] = {std::max(0.0, 100 - reads - inserts - scans), reads, inserts, scans};
    for (size_t type = 0; type < spec.types.size(); ++type) {
      spec.types[type].specified = {{.share_pct = shares[type]}};
    }
    return spec;
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    return std::make_unique<YcsbClient>(shared_, database.table(kTable), worker, workers, seed);
  }

  std::vector<Check> verify(Database& database) override {
    return ycsb::verify(database.table(kTable), options_, shared_.acknowledged, any_order_);
  }

  void note_any_order() override { any_order_ = true; }

 private:
  Shared shared_;
  const Options& options_;
  bool any_order_ = false;  // the recovered log does not keep each worker's transactions in order
};

std::vector<WorkloadVariant> table_of_variants() {
  std::vector<WorkloadVariant> table;
  for (const Variant& variant : variants()) {
    table.push_back({"--ycsb_workload=" + std::string(variant.name), variant.what});
  }
  return table;
}

const WorkloadRegistration registration({
    .name = "ycsb",
    .what =
        "point reads, updates, inserts and scans of one table: YCSB's A to F, and papers' mixes",
    .memory = "1.06 kB a row of 1000 B",
    // All flags of a variant: a recovery needs them to describe the run, and verify() needs them to
    // know what the run's transactions did.
    .load_flags = {"ycsb_records", "ycsb_value_bytes", "ycsb_workload", "ycsb_index", "ycsb_ops",
                   "ycsb_ratios", "ycsb_scan_length", "ycsb_update", "ycsb_read",
                   "ycsb_distribution", "ycsb_theta", "ycsb_long_rows"},
    .check_flags = check_flags,
    .make = [] { return std::make_unique<Ycsb>(options_from_flags()); },
    .variants = table_of_variants(),
    .has_commands = true,
});

}  // namespace
}  // namespace logjam::ycsb

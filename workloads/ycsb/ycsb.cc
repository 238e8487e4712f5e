// YCSB: one table, transactions of point reads, updates, inserts and scans.
#include <algorithm>
#include <memory>
#include <vector>

#include "engine/workload.h"
#include "platform/fatal.h"
#include "workloads/command.h"
#include "workloads/common.h"
#include "workloads/random.h"
#include "workloads/ycsb/fields.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/row.h"
#include "workloads/ycsb/verify.h"
#include "workloads/zipf.h"

namespace logjam::ycsb {
namespace {

constexpr const char* kTable = "usertable";
// A transaction with an update is of type read-write, else one with an insert is inserting, else
// one with a scan is scanning, else the transaction is read-only.
enum Type : uint32_t { kReadWrite, kReadOnly, kInserting, kScanning };

// How many rows each worker has inserted: the n-th row of worker w, from 0, has the key
// loaded rows + n * workers + w.
//
// Protocol. A worker stores its count (relaxed) after the transactions that inserted those rows
// have committed. Other workers load the count (relaxed) to draw keys of inserted rows. The count
// publishes no other memory: the rows are reached through the index.
class Inserted {
 public:
  Inserted(uint64_t loaded) : loaded_(loaded), counts_(kMaxWorkers) {}

  Key key_of(uint64_t n, uint32_t worker, uint32_t workers) const {
    return loaded_ + n * workers + worker;
  }
  void publish(uint32_t worker, uint64_t count) {
    counts_[worker]->store(count, platform::memory_order_relaxed);
  }
  // The key of the row with this age; the newest row has age 0. Ages are assigned to workers in
  // turn, as if all had inserted equally many rows. If the worker of an age has too few rows, the
  // key is that of a loaded row.
  Key newest(uint64_t age, uint32_t workers) const {
    const auto worker = static_cast<uint32_t>(age % workers);
    const uint64_t count = counts_[worker]->load(platform::memory_order_relaxed);
    if (age / workers < count) return key_of(count - 1 - age / workers, worker, workers);
    return loaded_ - 1 - age % loaded_;
  }

 private:
  static constexpr uint32_t kMaxWorkers = 1024;
  const uint64_t loaded_;
  std::vector<platform::Padded<platform::atomic<uint64_t>>> counts_;
};

// Draws keys of loaded rows, or of the newest rows. Immutable, so all clients share one.
class KeyChooser {
 public:
  KeyChooser(const Options& options, const Inserted& inserted)
      : records_(options.records),
        distribution_(options.distribution),
        zipf_(options.records, options.theta),
        inserted_(inserted) {}

  Key draw(Random& random, uint32_t workers) const {
    if (distribution_ == Distribution::kUniform) return random.below(records_);
    const uint64_t rank = zipf_.draw(random);
    if (distribution_ == Distribution::kLatest) return inserted_.newest(rank, workers);
    return distribution_ == Distribution::kZipf ? rank : fnv1a(rank) % records_;
  }

 private:
  uint64_t records_;
  Distribution distribution_;
  Zipf zipf_;
  const Inserted& inserted_;
};

// The state shared by all clients.
struct Shared {
  explicit Shared(const Options& options_in)
      : options(options_in), fields(options), inserted(options.records), keys(options, inserted) {}
  const Options options;
  const Fields fields;
  Inserted inserted;
  const KeyChooser keys;
  AckCounter ack_counter;  // rows inserted
};

// The arrays of a client's input are sized once, so that transactions allocate nothing.
class YcsbClient : public Client {
 public:
  YcsbClient(Shared& shared, Table& table, uint32_t worker, uint32_t workers, uint64_t seed)
      : shared_(shared),
        options_(shared.options),
        table_(table),
        fields_(shared.fields),
        random_(seed, worker),
        worker_(worker),
        workers_(workers),
        read_below_(share_of_draws(options_.read_ratio)),
        insert_below_(read_below_ + share_of_draws(options_.insert_ratio)),
        scan_below_(insert_below_ + share_of_draws(options_.scan_ratio)),
        keys_(options_.ops),
        operations_(options_.ops),
        new_row_(options_.insert_ratio > 0 ? options_.value_bytes : 0) {}
  ~YcsbClient() override { shared_.ack_counter.add(acknowledged_inserts_); }

  uint32_t next() override {
    // The previous transaction has committed: the worker calls next() only after that.
    inserts_ += drawn_inserts_;
    if (drawn_inserts_ > 0) shared_.inserted.publish(worker_, inserts_);
    drawn_inserts_ = 0;
    bool has[4] = {};
    for (uint32_t i = 0; i < options_.ops; ++i) {
      keys_[i] = options_.distinct ? draw_distinct(i) : draw();
      const uint64_t bits = random_.next();
      Operation& operation = operations_[i];
      operation.kind = kind_of(bits >> 32);
      operation.offset =
          static_cast<uint32_t>((bits & 0xffff) * fields_.count >> 16) * fields_.bytes;
      has[operation.kind] = true;
      if (operation.kind == kInsert) {
        keys_[i] = shared_.inserted.key_of(inserts_ + drawn_inserts_++, worker_, workers_);
      } else if (operation.kind == kScan) {
        operation.length = 1 + static_cast<uint32_t>(random_.below(options_.scan_length));
      }
    }
    stamp_ = random_.next();
    if (scans_last()) {
      scan_from_ = std::min(draw(), options_.records - options_.scan_length);
    }
    return has[kChange]   ? kReadWrite
           : has[kInsert] ? kInserting
           : has[kScan]   ? kScanning
                          : kReadOnly;
  }

  Status execute(Transaction& txn) override {
    prefetch(0, kPrefetchAhead);
    for (uint32_t i = 0; i < options_.ops; ++i) {
      prefetch(i + kPrefetchAhead, i + kPrefetchAhead + 1);
      const Status status = operate(txn, i);
      if (status == Status::kAbort) return status;
      if (status != Status::kOk) {
        platform::fatal("ycsb: row " + std::to_string(keys_[i]) +
                            (status == Status::kExists ? " is there already" : " is missing"),
                        platform::kExitViolation);
      }
    }
    if (!scans_last()) return Status::kOk;
    return scan(txn, scan_from_, options_.scan_length, operations_[0].offset);
  }

  // The words of a command: the stamp; the number of operations and two flags; with kScansLast, the
  // first key and the length of the scan at the end; for each operation its kind, field and key in
  // one word, and for a scan its length in another word.
  std::span<const std::byte> command() override {
    command_ = {stamp_, options_.ops | (options_.rmw ? kRmw : 0) | (scans_last() ? kScansLast : 0)};
    if (scans_last()) command_.insert(command_.end(), {scan_from_, options_.scan_length});
    for (uint32_t i = 0; i < options_.ops; ++i) {
      const Operation& operation = operations_[i];
      const uint64_t field = operation.offset / fields_.bytes;
      command_.push_back(uint64_t{operation.kind} << kKindShift | field << kFieldShift | keys_[i]);
      if (operation.kind == kScan) command_.push_back(operation.length);
    }
    return std::as_bytes(std::span(command_));
  }
  bool take(uint32_t, std::span<const std::byte> input) override {
    CommandWords words(input);
    stamp_ = words.next();
    const uint64_t how = words.next();
    options_.ops = static_cast<uint32_t>(how);
    options_.rmw = (how & kRmw) != 0;
    options_.scan_ratio = 0;
    options_.scan_length = 0;
    if ((how & kScansLast) != 0) {
      scan_from_ = words.next();
      options_.scan_length = static_cast<uint32_t>(words.next());
    }
    if (uint64_t{options_.ops} * sizeof(uint64_t) > input.size()) return false;
    keys_.resize(options_.ops);
    operations_.resize(options_.ops);
    drawn_inserts_ = 0;
    for (uint32_t i = 0; i < options_.ops; ++i) {
      const uint64_t word = words.next();
      const auto field = static_cast<uint32_t>(word >> kFieldShift & 15);
      keys_[i] = word & ((uint64_t{1} << kFieldShift) - 1);
      operations_[i] = {field * fields_.bytes, 0, static_cast<Kind>(word >> kKindShift)};
      if (operations_[i].kind == kScan) operations_[i].length = static_cast<uint32_t>(words.next());
      drawn_inserts_ += operations_[i].kind == kInsert;
      if (field >= fields_.count) return false;
    }
    return words.ended() && (drawn_inserts_ == 0 || !new_row_.empty());
  }

  uint64_t committing() override { return drawn_inserts_; }
  void acknowledged(uint64_t inserts) override { acknowledged_inserts_ += inserts; }

 private:
  enum Kind : uint8_t { kRead, kChange, kInsert, kScan };
  struct Operation {
    uint32_t offset;  // of the field in the row
    uint32_t length;  // of a scan
    Kind kind;
  };

  // The bits of a command's words. Keys are below bit kFieldShift, since kMaxRecords is 2^40.
  static constexpr unsigned kKindShift = 62, kFieldShift = 58;
  static constexpr uint64_t kRmw = uint64_t{1} << 32, kScansLast = uint64_t{1} << 33;

  // More prefetches at a time would overflow the core's line fill buffers.
  static constexpr uint32_t kPrefetchAhead = 16;

  static uint64_t share_of_draws(double ratio) { return static_cast<uint64_t>(ratio * 0x1p32); }
  Kind kind_of(uint64_t drawn) const {
    return drawn < read_below_     ? kRead
           : drawn < insert_below_ ? kInsert
           : drawn < scan_below_   ? kScan
                                   : kChange;
  }
  bool scans_last() const { return options_.scan_length > 0 && options_.scan_ratio == 0; }

  Key draw() { return shared_.keys.draw(random_, workers_); }

  // Draws a key that differs from the first `taken` ones. If nearly all keys are taken, redrawing
  // could take long, so after some tries the next free key is used instead.
  Key draw_distinct(uint32_t taken) {
    constexpr int kTries = 64;
    const auto is_taken = [this, taken](Key key) {
      bool found = false;
      for (uint32_t i = 0; i < taken; ++i) found |= keys_[i] == key;
      return found;
    };
    Key key = draw();
    for (int tries = 0; is_taken(key); ++tries) {
      key = tries < kTries ? draw() : (key + 1) % options_.records;
    }
    return key;
  }

  void prefetch(uint32_t from, uint32_t to) {
    if (!options_.prefetch) return;
    for (uint32_t i = from; i < std::min(to, options_.ops); ++i) {
      table_.primary().prefetch(keys_[i]);
    }
  }

  Status operate(Transaction& txn, uint32_t i) {
    switch (operations_[i].kind) {
      case kRead:
        return read(txn, i);
      case kChange:
        return change(txn, i);
      case kInsert:
        return insert(txn, i);
      case kScan:
        return scan(txn, keys_[i], operations_[i].length, operations_[i].offset);
    }
    return Status::kOk;
  }

  // A sum over the part of a row that is read: the whole row, or the operation's field.
  uint64_t sum(const std::byte* row, uint32_t offset) const {
    return options_.reads_rows ? sum_field(row, options_.value_bytes)
                               : sum_field(row + offset, fields_.bytes);
  }

  // The sum goes into a member, so that the compiler cannot drop the reads.
  Status read(Transaction& txn, uint32_t i) {
    const std::byte* row;
    const Status status = txn.read(table_, keys_[i], &row);
    if (status == Status::kOk) sum_ += sum(row, operations_[i].offset);
    return status;
  }

  Status scan(Transaction& txn, Key from, uint32_t length, uint32_t offset) {
    return txn.scan(table_, from, from + length - 1, false,
                    [this, offset](Key, const std::byte* row) {
                      sum_ += sum(row, offset);
                      return true;
                    });
  }

  Status change(Transaction& txn, uint32_t i) {
    std::byte* row;
    uint64_t stamp = stamp_ + i;
    if (!options_.rmw && !options_.by_column) {
      const Status status = txn.write(table_, keys_[i], &row);
      if (status == Status::kOk) fill_field(row, options_.value_bytes, keys_[i], stamp);
      return status;
    }
    const Status status = txn.update(table_, keys_[i], &row);
    if (status == Status::kOk) {
      std::byte* field = row + operations_[i].offset;
      if (options_.rmw) stamp += sum(row, operations_[i].offset);
      const uint32_t number = operations_[i].offset / fields_.bytes;
      fill_field(field, fields_.bytes, fields_.owner(keys_[i], number), stamp);
    }
    return status;
  }

  Status insert(Transaction& txn, uint32_t i) {
    fields_.fill(new_row_.data(), keys_[i], stamp_ + i);
    const std::byte* row = new_row_.data();
    return txn.insert(table_, keys_[i], row);
  }

  Shared& shared_;
  Options options_;
  Table& table_;
  const Fields& fields_;
  Random random_;
  const uint32_t worker_, workers_;
  const uint64_t read_below_, insert_below_, scan_below_;

  std::vector<Key> keys_;
  std::vector<Operation> operations_;
  std::vector<std::byte> new_row_;
  std::vector<uint64_t> command_;
  Key scan_from_ = 0;
  uint64_t stamp_ = 0;
  uint64_t inserts_ = 0;        // rows inserted by the transactions before the current one
  uint64_t drawn_inserts_ = 0;  // rows that the current transaction inserts
  uint64_t acknowledged_inserts_ = 0;
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
    const Fields& fields = shared_.fields;
    std::vector<std::byte> row(options_.value_bytes);
    const uint64_t end = options_.records * (part + 1) / parts;
    for (Key key = options_.records * part / parts; key < end; ++key) {
      for (uint32_t field = 0; field < fields.count; ++field) {
        const uint64_t owner = fields.owner(key, field);
        fill_field(row.data() + field * fields.bytes, fields.bytes, owner, mix64(owner));
      }
      table.load(key, row.data(), arena);
    }
  }

  std::vector<std::string_view> types() const override {
    if (options_.insert_ratio == 0 && options_.scan_ratio == 0) return {"read-write", "read-only"};
    return {"read-write", "read-only", "insert", "scan"};
  }

  // The shares are known where a transaction is one operation.
  std::vector<SpecifiedMix> specified_mix() const override {
    if (options_.ops > 1) return {};
    const double reads = 100 * options_.read_ratio, inserts = 100 * options_.insert_ratio,
                 scans = 100 * options_.scan_ratio;
    const double changes = std::max(0.0, 100 - reads - inserts - scans);
    std::vector<SpecifiedMix> specified_mix = {
        {changes, 100}, {reads, 100}, {inserts, 100}, {scans, 100}};
    specified_mix.resize(types().size());
    return specified_mix;
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    return std::make_unique<YcsbClient>(shared_, database.table(kTable), worker, workers, seed);
  }

  std::vector<Check> verify(Database& database) override {
    return ycsb::verify(database.table(kTable), options_, shared_.ack_counter);
  }

  std::string describe() const override { return ycsb::describe(options_); }

  uint64_t expected_bytes() const override {
    return table_bytes(options_.records, options_.value_bytes);
  }

 private:
  Shared shared_;
  const Options& options_;
};

const WorkloadRegistration registration({
    .name = "ycsb",
    .what = "point reads, updates, inserts and scans of one table: YCSB's A to F, and presets with "
            "longer transactions",
    .memory = "1.06 kB a row of 1000 B",
    .load_flags = {"ycsb_records", "ycsb_value_bytes", "ycsb_preset", "ycsb_workload", "ycsb_index",
                   "ycsb_touch", "ycsb_insert_ratio"},
    .check_flags = check_flags,
    .make = [] { return std::make_unique<Ycsb>(options_from_flags()); },
});

}  // namespace
}  // namespace logjam::ycsb

// YCSB: one table, transactions of point reads and updates, and perhaps a scan.
#include <algorithm>
#include <memory>
#include <vector>

#include "engine/workload.h"
#include "platform/fatal.h"
#include "workloads/random.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/row.h"
#include "workloads/zipf.h"

namespace logjam::ycsb {
namespace {

constexpr const char* kTable = "usertable";
enum Type : uint32_t { kReadWrite, kReadOnly };

// Where in a row an operation works: the row itself, or one column of it.
struct Fields {
  explicit Fields(const Options& options)
      : count(options.by_column ? kColumns : 1), bytes(options.value_bytes / count) {}
  uint64_t owner(Key key, uint32_t field) const { return key * count + field; }

  uint32_t count;
  uint32_t bytes;
};

class KeyChooser {
 public:
  explicit KeyChooser(const Options& options)
      : records_(options.records),
        distribution_(options.distribution),
        zipf_(options.records, options.theta) {}

  Key draw(Random& random) const {
    if (distribution_ == Distribution::kUniform) return random.below(records_);
    const uint64_t rank = zipf_.draw(random);
    return distribution_ == Distribution::kZipf ? rank : fnv1a(rank) % records_;
  }

 private:
  uint64_t records_;
  Distribution distribution_;
  Zipf zipf_;
};

// Input arrays are sized once: no allocation per transaction.
class YcsbClient : public Client {
 public:
  YcsbClient(const Options& options, const KeyChooser& chooser, Table& table, uint32_t worker,
             uint64_t seed)
      : options_(options),
        chooser_(chooser),
        table_(table),
        fields_(options),
        random_(seed, worker),
        read_below_(static_cast<uint64_t>(options.read_ratio * 0x1p32)),
        keys_(options.ops),
        operations_(options.ops) {}

  uint32_t next() override {
    bool writes = false;
    for (uint32_t i = 0; i < options_.ops; ++i) {
      keys_[i] = options_.distinct ? draw_distinct(i) : chooser_.draw(random_);
      const uint64_t bits = random_.next();
      operations_[i].write = (bits >> 32) >= read_below_;
      operations_[i].offset =
          static_cast<uint32_t>((bits & 0xffff) * fields_.count >> 16) * fields_.bytes;
      writes |= operations_[i].write;
    }
    stamp_ = random_.next();
    if (options_.scan_length > 0) {
      scan_from_ = std::min(chooser_.draw(random_), options_.records - options_.scan_length);
    }
    return writes ? kReadWrite : kReadOnly;
  }

  Status execute(Transaction& txn) override {
    prefetch(0, kPrefetchAhead);
    for (uint32_t i = 0; i < options_.ops; ++i) {
      prefetch(i + kPrefetchAhead, i + kPrefetchAhead + 1);
      const Status status = operations_[i].write ? change(txn, i) : read(txn, i);
      if (status == Status::kAbort) return status;
      if (status != Status::kOk) {
        platform::fatal("ycsb: row " + std::to_string(keys_[i]) + " is missing",
                        platform::kExitViolation);
      }
    }
    if (options_.scan_length == 0) return Status::kOk;
    const uint32_t offset = operations_[0].offset;
    return txn.scan(table_, scan_from_, scan_from_ + options_.scan_length - 1, false,
                    [this, offset](Key, const std::byte* row) {
                      sum_ += sum_field(row + offset, fields_.bytes);
                      return true;
                    });
  }

 private:
  struct Operation {
    uint32_t offset;  // of the field touched
    bool write;
  };

  // More would overflow the core's line fill buffers.
  static constexpr uint32_t kPrefetchAhead = 16;

  // Redraws a key that came before. Where nearly all keys are taken that could go on for long, so
  // after some tries the next free key is taken instead.
  Key draw_distinct(uint32_t taken) {
    constexpr int kTries = 64;
    const auto is_taken = [this, taken](Key key) {
      bool found = false;
      for (uint32_t i = 0; i < taken; ++i) found |= keys_[i] == key;
      return found;
    };
    Key key = chooser_.draw(random_);
    for (int tries = 0; is_taken(key); ++tries) {
      key = tries < kTries ? chooser_.draw(random_) : (key + 1) % options_.records;
    }
    return key;
  }

  void prefetch(uint32_t from, uint32_t to) {
    if (!options_.prefetch) return;
    for (uint32_t i = from; i < std::min(to, options_.ops); ++i) {
      table_.primary().prefetch(keys_[i]);
    }
  }

  // sum_ outlives the call, so the compiler cannot drop the reads.
  Status read(Transaction& txn, uint32_t i) {
    const std::byte* row;
    const Status status = txn.read(table_, keys_[i], &row);
    if (status == Status::kOk) sum_ += sum_field(row + operations_[i].offset, fields_.bytes);
    return status;
  }

  Status change(Transaction& txn, uint32_t i) {
    std::byte* row;
    uint64_t stamp = stamp_ + i;
    if (!options_.rmw) {
      const Status status = txn.write(table_, keys_[i], &row);
      if (status == Status::kOk) fill_field(row, options_.value_bytes, keys_[i], stamp);
      return status;
    }
    const Status status = txn.update(table_, keys_[i], &row);
    if (status == Status::kOk) {
      std::byte* field = row + operations_[i].offset;
      stamp += sum_field(field, fields_.bytes);
      const uint32_t number = operations_[i].offset / fields_.bytes;
      fill_field(field, fields_.bytes, fields_.owner(keys_[i], number), stamp);
    }
    return status;
  }

  const Options& options_;
  const KeyChooser& chooser_;
  Table& table_;
  const Fields fields_;
  Random random_;
  const uint64_t read_below_;

  std::vector<Key> keys_;
  std::vector<Operation> operations_;
  Key scan_from_ = 0;
  uint64_t stamp_ = 0;
  uint64_t sum_ = 0;
};

class Ycsb : public Workload {
 public:
  explicit Ycsb(const Options& options) : options_(options), chooser_(options) {}

  void create_tables(Database& database) override {
    database.create_table({.name = kTable,
                           .row_bytes = options_.value_bytes,
                           .kind = options_.ordered ? IndexKind::kOrdered : IndexKind::kHash,
                           .expected_rows = options_.records,
                           .secondaries = {}});
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    Table& table = database.table(kTable);
    const Fields fields(options_);
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

  std::vector<std::string_view> types() const override { return {"read-write", "read-only"}; }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    return std::make_unique<YcsbClient>(options_, chooser_, database.table(kTable), worker, seed);
  }

  std::vector<Check> verify(Database& database) override {
    const Fields fields(options_);
    std::vector<std::byte> scratch(fields.bytes);
    uint64_t rows = 0, strays = 0, broken = 0;
    std::string first;
    database.table(kTable).for_each_row([&](Key key, const std::byte* row) {
      ++rows;
      if (key >= options_.records) ++strays;
      for (uint32_t field = 0; field < fields.count; ++field) {
        const std::byte* at = row + field * fields.bytes;
        const size_t wrong =
            first_wrong_byte(at, fields.bytes, fields.owner(key, field), scratch.data());
        if (wrong == fields.bytes) continue;
        if (broken++ == 0) {
          first = "; first: row " + std::to_string(key) + " from byte " +
                  std::to_string(field * fields.bytes + wrong);
        }
      }
    });
    return {
        {"every row is there", rows == options_.records && strays == 0,
         std::to_string(rows) + " rows, " + std::to_string(options_.records) + " loaded, " +
             std::to_string(strays) + " under keys never loaded"},
        {"every row is whole", broken == 0,
         std::to_string(broken) + " torn or foreign fields in " + std::to_string(rows) + " rows" +
             first},
    };
  }

  std::string describe() const override { return ycsb::describe(options_); }

  // A tuple's header, its padded row, and an index entry with the index's slack.
  uint64_t expected_bytes() const override {
    constexpr uint64_t kIndexEntry = 32;
    return options_.records * (sizeof(Tuple) + (options_.value_bytes + 7) / 8 * 8 + kIndexEntry);
  }

 private:
  const Options options_;
  const KeyChooser chooser_;
};

const WorkloadRegistration registration({
    .name = "ycsb",
    .what = "point reads and updates of one table, optionally a scan; presets a b c f, write-only, "
            "hybrid",
    .memory = "1.06 kB a row of 1000 B",
    .load_flags = {"ycsb_records", "ycsb_value_bytes", "ycsb_preset", "ycsb_index", "ycsb_touch"},
    .check_flags = check_flags,
    .make = [] { return std::make_unique<Ycsb>(options_from_flags()); },
});

}  // namespace
}  // namespace logjam::ycsb

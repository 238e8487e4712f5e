#include "workloads/ycsb/verify.h"

#include <string>

#include "workloads/ycsb/fields.h"

namespace logjam::ycsb {
namespace {

struct Found {
  uint64_t loaded = 0, inserted = 0;  // rows under keys of the load, and under others
  BrokenRows broken;                  // or fields, where rows have several
  void add(const Found& other) {
    loaded += other.loaded;
    inserted += other.inserted;
    broken.add(other.broken);
  }
};

}  // namespace

std::vector<Check> verify(Table& table, const Options& options, const AckCounter& inserts) {
  const Fields fields(options);
  const Found found = sum_of_parts(Found{}, [&](uint32_t part, uint32_t parts, Found* sum) {
    std::vector<std::byte> scratch(fields.bytes);
    table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
      ++(key < options.records ? sum->loaded : sum->inserted);
      for (uint32_t field = 0; field < fields.count; ++field) {
        const std::byte* at = row + field * fields.bytes;
        const size_t wrong =
            first_wrong_byte(at, fields.bytes, fields.owner(key, field), scratch.data());
        if (wrong == fields.bytes) continue;
        sum->broken.note([&] {
          return "; first: row " + std::to_string(key) + " from byte " +
                 std::to_string(field * fields.bytes + wrong);
        });
      }
    });
  });
  const uint64_t rows = found.loaded + found.inserted;
  std::vector<Check> checks = {
      {"every row is there",
       found.loaded == options.records && (found.inserted == 0 || options.insert_ratio > 0),
       std::to_string(rows) + " rows, " + std::to_string(options.records) + " loaded, " +
           std::to_string(found.inserted) + " under keys never loaded"},
      {"every row is whole", found.broken.count == 0,
       std::to_string(found.broken.count) + " torn or foreign fields in " + std::to_string(rows) +
           " rows" + found.broken.first},
  };
  if (options.insert_ratio > 0) {
    inserts.check("every row inserted is there", found.inserted, &checks);
  }
  return checks;
}

}  // namespace logjam::ycsb

// The tables of every workload are described, and the descriptions cover their rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/storage/csv_export.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

// Returns how many bytes of a row are in no column: they are padding, or follow from the others.
uint64_t bytes_without_column(const std::string& table) {
  static const std::map<std::string, uint64_t> known = {
      {"ledger/ledger", 64}, {"ledger/entries", 8}, {"ledger/cells", 32},
      {"ledger/slots", 8},  // hashes
      {"tpcb/branch", 84},   {"tpcb/teller", 76},   {"tpcb/account", 76},
      {"tpcb/history", 22},  {"tpcc/warehouse", 3}, {"tpcc/district", 7},
      {"tpcc/customer", 5},  {"tpcc/order", 1},     {"tpcc/order_line", 4},
      {"tpcc/item", 2},      {"tpcc/stock", 2},
  };
  const auto found = known.find(table);
  return found == known.end() ? 0 : found->second;
}

class EveryTable : public WorkloadTest {};

// Fails if a member is added to a row and forgotten in its description.
TEST_F(EveryTable, HasAColumnForEachByteOfItsRow) {
  for (const WorkloadInfo& info : all_workloads()) {
    for (const Flags& flags : small_scales(info.name)) {
      const gflags::FlagSaver saver;
      set(flags);
      Database database;
      make_workload(info.name)->create_tables(database);
      EXPECT_EQ(undescribed_table(database), "");
      for (const auto& table : database.tables()) {
        const std::string name = std::string(info.name) + "/" + table->schema().name;
        std::set<std::string> names;
        std::vector<bool> covered(table->row_bytes());
        for (const Column& column : table->schema().columns) {
          EXPECT_TRUE(names.insert(column.name).second) << name << " " << column.name;
          ASSERT_LE(column.offset + column.bytes, table->row_bytes()) << name << " " << column.name;
          for (uint32_t i = column.offset; i < column.offset + column.bytes; ++i) {
            EXPECT_FALSE(covered[i]) << name << ", byte " << i << ": " << column.name;
            covered[i] = true;
          }
        }
        EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(covered, false)),
                  bytes_without_column(name))
            << name;
      }
    }
  }
}

}  // namespace
}  // namespace logjam

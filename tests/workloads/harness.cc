#include "tests/workloads/harness.h"

#include <xxhash.h>

namespace logjam {

uint64_t fingerprint(Database& database) {
  uint64_t sum = 0;
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte* row) {
      sum += XXH3_64bits_withSeed(row, table->row_bytes(), key + table->id());
    });
  }
  return sum;
}

void expect_caught(std::string_view workload, uint64_t transactions, std::string_view by,
                   const std::function<void(Database&)>& plant) {
  SCOPED_TRACE(by);
  const auto made = make_workload(workload);
  const auto database = load(*made, 1);
  Outcome outcome;
  run(*made, *database, all_protocols().front(), 1, transactions, 1, outcome);
  expect_consistent(*made, *database);
  plant(*database);
  const auto checks = made->verify(*database);
  const Check* check = find_check(checks, by);
  ASSERT_NE(check, nullptr);
  EXPECT_FALSE(check->passed) << check->detail;
}

}  // namespace logjam

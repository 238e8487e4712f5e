// The documented table of columns has exactly the columns that the commands' rows have.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/row.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

std::vector<std::string> header_of(const std::string& csv) {
  std::ifstream in(csv);
  std::string line;
  std::getline(in, line);
  std::vector<std::string> names;
  std::istringstream cells(line);
  for (std::string name; std::getline(cells, name, ',');) names.push_back(name);
  return names;
}

// Returns a regular expression for each pair "COMMAND COLUMN" of the table.
std::vector<std::string> patterns() {
  std::vector<std::string> all;
  std::istringstream table(column_table());
  const std::regex row(R"(\| `(.*)` \| (.*) \| .* \|)"), star(R"(\*)");
  std::smatch found;
  for (std::string line; std::getline(table, line);) {
    if (!std::regex_match(line, found, row)) continue;
    std::istringstream commands(found[2]);
    for (std::string command; commands >> command;) {
      all.push_back(command + " " + std::regex_replace(found[1].str(), star, ".*"));
    }
  }
  return all;
}

TEST(Columns, AreThoseOfTheRows) {
  const TemporaryDirectory at;
  const std::string log = " --wal_dir=" + at.path_of("log"), small = " --log_buffer_mb=1";
  std::set<std::string> rows;
  for (const std::string& command :
       {"run --workload=tpcb --threads=1 --transactions=50 --log=centr --log_prealloc_mb=1" +
            small + log,
        "recover" + log, "dump" + log,
        "micro --device=discard --threads=1 --transactions=50 --log=aether-cd" + small,
        std::string("micro --threads=1 --transactions=50 --primitive=faa"),
        "device --device=null --seconds=0.001 --wal_dir=" + at.path()}) {
    const std::string name = command.substr(0, command.find(' '));
    const std::string csv = at.path_of(std::to_string(rows.size()) + ".csv");
    ASSERT_EQ(shell("\"$LOGJAM\" " + command + " --csv=" + csv + " 2>&1").status, 0) << command;
    for (const std::string& column : header_of(csv)) rows.insert(name + " " + column);
  }
  for (const std::string& pattern : patterns()) {
    const size_t found = std::erase_if(
        rows, [&](const auto& row) { return std::regex_match(row, std::regex(pattern)); });
    EXPECT_GT(found, 0u) << pattern << " is in no row";
  }
  EXPECT_EQ(rows, std::set<std::string>()) << "not in the table";
}

}  // namespace
}  // namespace logjam

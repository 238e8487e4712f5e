// The table of columns has exactly the columns of all commands' rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "cli/row.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

// Returns "COMMAND COLUMN" for each column of the command's CSV file.
std::set<std::string> header_of(const std::string& command, const std::string& csv) {
  std::ifstream in(csv);
  std::set<std::string> names;
  std::string line;
  EXPECT_TRUE(std::getline(in, line)) << csv;
  for (size_t at = 0; at < line.size();) {
    const size_t comma = std::min(line.find(',', at), line.size());
    names.insert(command + " " + line.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
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
        std::string("micro --threads=1 --transactions=50 --sync=faa"),
        "device --device=null --seconds=0.001 --wal_dir=" + at.path()}) {
    const std::string name = command.substr(0, command.find(' '));
    const std::string csv = at.path_of(std::to_string(rows.size()) + ".csv");
    ASSERT_EQ(shell("\"$LOGJAM\" " + command + " --csv=" + csv + " 2>&1").status, 0) << command;
    rows.merge(header_of(name, csv));
  }
  for (const std::string& row : rows) {
    const size_t space = row.find(' ');
    EXPECT_TRUE(knows_column(row.substr(0, space), row.substr(space + 1))) << row;
  }
  for (const RowColumn& column : all_columns()) {
    if (column.name.find('*') != column.name.npos) continue;
    for (const char* command : {"run", "recover", "dump", "micro", "device"}) {
      const std::string row = std::string(command) + " " + std::string(column.name);
      EXPECT_EQ(knows_column(command, column.name), rows.contains(row)) << row;
    }
  }
}

}  // namespace
}  // namespace logjam

// Tables as CSV files: their text, and when an export is refused.
#include "engine/storage/csv_export.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "platform/fatal.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

struct Name {
  char first[4];
  char last[4];
};

#pragma pack(push, 2)
struct Row {
  int64_t cents;
  uint32_t count;
  int16_t step;
  uint8_t flags[2];
  Name name;
  std::array<char, 3> digits;
  char unused;
};
#pragma pack(pop)

Columns columns() {
  Columns columns;
  columns.key("id", [](Key key) { return key + 1; });
  columns.field("cents", &Row::cents).decimals(2);
  columns.field("count", &Row::count).zero_is_null();
  columns.field("step", &Row::step)
      .fields("flag_", &Row::flags)
      .field("first", &Row::name, &Name::first)
      .field("last", &Row::name, &Name::last)
      .field("digits", &Row::digits)
      .bytes("raw", offsetof(Row, flags), 2);
  return columns;
}

class CsvExport : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  Database database_;
  Arena arena_;

  std::string exported() {
    export_csv(database_, directory_.path());
    std::ifstream in(directory_.path_of("rows.csv"));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Table& make_table() {
    return database_.create_table({"rows", sizeof(Row), IndexKind::kOrdered, 8, {}, columns()});
  }
};

constexpr char kHeader[] = "id,cents,count,step,flag_1,flag_2,first,last,digits,raw\n";

TEST_F(CsvExport, AnEmptyTableIsAHeader) {
  make_table();
  EXPECT_EQ(exported(), kHeader);
}

TEST_F(CsvExport, EveryKindOfColumnHasItsText) {
  Table& table = make_table();
  const Row a{-5, 0, -2, {1, 255}, {{'a', '"', ',', 'b'}, {'x', '\n'}}, {'0', '1', '2'}, 'u'};
  const Row b{123456, 4294967295, 7, {}, {}, {}, 'u'};
  const Row c{-98765432100, 1, 0, {16, 0}, {}, {}, 'u'};
  table.load(0, &a, arena_);
  table.load(1, &b, arena_);
  table.load(~Key{0} - 1, &c, arena_);
  EXPECT_EQ(exported(),
            std::string(kHeader) +
                "1,-0.05,,-2,1,255,\"a\"\",b\",\"x\n\",\"012\",\"01ff\"\n"
                "2,1234.56,4294967295,7,0,0,\"\",\"\",\"\",\"0000\"\n"
                "18446744073709551615,-987654321.00,1,0,16,0,\"\",\"\",\"\",\"1000\"\n");
}

TEST_F(CsvExport, TablesWithoutColumnsAreNamed) {
  make_table();
  EXPECT_EQ(undescribed_table(database_), "");
  database_.create_table({"plain", 8, IndexKind::kHash, 8, {}});
  EXPECT_EQ(undescribed_table(database_),
            "the workload does not describe the columns of its table plain, so the database "
            "cannot be exported");
}

TEST_F(CsvExport, OnlyAnEmptyDirectoryIsClaimed) {
  const std::string fresh = directory_.path_of("a/b");
  EXPECT_EQ(claim_export_directory(fresh), "");
  EXPECT_TRUE(std::filesystem::is_directory(fresh));
  EXPECT_EQ(claim_export_directory(fresh), "");
  std::ofstream(fresh + "/file") << "x";
  EXPECT_EQ(claim_export_directory(fresh), "cannot export to " + fresh + ", which is not empty");
  EXPECT_EQ(claim_export_directory(fresh + "/file"),
            "cannot export to " + fresh + "/file: Not a directory");
  EXPECT_EQ(claim_export_directory("/proc/none"),
            "cannot export to /proc/none: No such file or directory");
}

TEST_F(CsvExport, AFullDiskEndsTheProcess) {
  Table& table = make_table();
  const Row row{};
  for (Key key = 0; key < 1000; ++key) table.load(key, &row, arena_);
  std::filesystem::create_symlink("/dev/full", directory_.path_of("rows.csv"));
  EXPECT_EXIT(export_csv(database_, directory_.path()),
              testing::ExitedWithCode(platform::kExitFailed),
              "cannot write .*/rows.csv: No space left on device");
}

}  // namespace
}  // namespace logjam

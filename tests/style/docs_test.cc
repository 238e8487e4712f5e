// The pages name only what the tree has, and each rule of docs.cc finds a planted wrong name.
#include "tests/style/docs.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cli/row.h"
#include "tests/style/tree.h"

namespace logjam {
namespace {

TEST(Docs, PagesNameOnlyWhatExists) {
  std::map<std::string, std::string> tree;
  for (const std::string& path : lint::files({})) {
    tree[path] = path.starts_with("results/") ? "" : lint::read_file(path);
  }
  lint::TreeNames names(std::move(tree));
  for (const std::string& page : lint::files({".md"})) {
    for (const auto& finding : names.check(page, lint::read_file(page))) {
      ADD_FAILURE() << lint::to_string(finding);
    }
  }
}

TEST(Docs, HaveTheTableOfColumns) {
  EXPECT_NE(lint::read_file("docs/OUTPUT.md").find(column_table()), std::string::npos)
      << "put the output of `logjam help columns` into docs/OUTPUT.md";
}

// Returns the findings on line 2 of the page docs/A.md in a small tree.
std::string findings(const std::string& line) {
  lint::TreeNames names({{"docs/A.md", ""},
                         {"README.md", ""},
                         {"cc/occ.h", "class Occ;\nstruct Base { int left; };"},
                         {"cc/base.h",
                          "class alignas(64) Occ final : public Base<Occ> {\n"
                          "  int commit();  // and abort()\n};"},
                         {"engine/run/run.h", "enum class Phase : int { kLoad };"},
                         {"platform/park.h", "namespace platform { class Parker {}; }"},
                         {"cli/flags.cc", "DEFINE_bool(\n    verify, true, \"\");"},
                         {"scripts/run.py", "add_argument(\"--dry-run\")  # not --wet"},
                         {"tests/cc/occ_test.cc", "TEST(OccTest, Commits) {}"}});
  std::string all;
  for (const auto& finding : names.check("docs/A.md", "First.\n" + line + "\n")) {
    all += lint::to_string(finding) + "\n";
  }
  return all;
}

TEST(Docs, FindsWrongNames) {
  const std::map<std::string, std::string> planted = {
      {"See cc/oc.h.", "docs/A.md:2: there is no cc/oc.h\n"},
      {"`cc/{occ,oc}.h`", "docs/A.md:2: there is no cc/oc.h\n"},
      {"    engine/walk/run.py x", "docs/A.md:2: there is no engine/walk/run.py\n"},
      {"`oc.h` has it", "docs/A.md:2: there is no oc.h\n"},
      {"`walk/`", "docs/A.md:2: there is no walk\n"},
      {"[x](README.md)", "docs/A.md:2: links to docs/README.md, which does not exist\n"},
      {"`Occ::abort`", "docs/A.md:2: cc/base.h declares Occ, but no member abort\n"},
      {"`Oc::commit()`", "docs/A.md:2: no file declares a type Oc\n"},
      {"`platform::Park`", "docs/A.md:2: platform/ names no Park\n"},
      {"`OccTest.Aborts`", "docs/A.md:2: there is no test OccTest.Aborts\n"},
      {"`--elr`", "docs/A.md:2: there is no flag --elr\n"},
      {"    x --verify --wet=1", "docs/A.md:2: there is no flag --wet\n"},
  };
  for (const auto& [line, finding] : planted) EXPECT_EQ(findings(line), finding) << line;
}

TEST(Docs, KnowsNamesThatExist) {
  for (const char* line :
       {"See cc/occ.h, cc/ and `engine/run/`.", "`occ.h`, `run/run.h`, `run/`, `cc/{occ,base}.h`",
        "[x](../README.md#top), [y](https://a.b/c.h), [z](#top), [cc](../cc/)",
        "`Occ::commit()`, `Occ::left`, `Phase::kLoad`, `std::string`, `platform::Parker`",
        "`OccTest.Commits`", "`results/<id>/a.md`, `cc/*.h`, `build/a.md`, oc.h, either/or",
        "    cp cc/occ.h > cc/mine.h", "|---|--|", "`--verify=false`, `--dry-run`, `--pwal_*`",
        "DEFINE_bool(mine, true, \"\") makes --mine"}) {
    EXPECT_EQ(findings(line), "") << line;
  }
}

}  // namespace
}  // namespace logjam

// The English of the whole tree follows the rules of prose.cc, and each rule finds a planted line.
#include "tests/style/prose.h"

#include <gtest/gtest.h>

#include "tests/style/tree.h"

namespace logjam {
namespace {

TEST(Prose, IsPlainInTheWholeTree) {
  for (const std::string& path :
       lint::files({".cc", ".h", ".py", ".sh", ".md", ".toml", ".flags"})) {
    // The rules name what they ban.
    if (path.starts_with("tests/style/prose")) continue;
    for (const auto& finding : lint::check_prose(path, lint::read_file(path))) {
      ADD_FAILURE() << lint::to_string(finding);
    }
  }
}

std::string findings(const std::string& path, const std::string& text) {
  std::string all;
  for (const auto& finding : lint::check_prose(path, text)) all += lint::to_string(finding) + "\n";
  return all;
}

TEST(Prose, FindsBannedPhrases) {
  for (const char* phrase :
       {"the record behind the hole", "so many records", "every so manyth insert", "so much of it",
        "it hangs on the device", "hang on this", "all but for one", "tried in vain", "by turns",
        "Whoever reads it", "of whose bytes"}) {
    EXPECT_NE(findings("docs/a.md", phrase), "") << phrase;
    EXPECT_NE(findings("cc/a.cc", std::string("// ") + phrase), "") << phrase;
    EXPECT_NE(findings("config/a.toml", std::string("why = \"") + phrase + "\""), "") << phrase;
  }
  EXPECT_NE(findings("cc/a.cc", "// What a worker owns.").find("cc/a.cc:1: a statement"),
            std::string::npos);
}

TEST(Prose, KnowsPlainEnglish) {
  for (const char* plain : {"a log that falls behind", "the file left behind", "also many",
                            "but forever", "behindhand", "// What does a log cost?", "somany"}) {
    EXPECT_EQ(findings("docs/a.md", plain), "") << plain;
  }
}

TEST(Prose, FindsFunctionCommentsWithoutAVerb) {
  for (const char* text :
       {"int a;\n// The number of rows.\nsize_t rows() const;\n",
        "int a;\n  // Any thread.\n  void wake(uint64_t at) {\n",
        "int a;\n// Whether it is so.\ntemplate <class T>\nbool is(const T& t);\n",
        "int a;\n// Bytes of a row.\nvirtual uint64_t bytes() = 0;\n"}) {
    EXPECT_NE(findings("cc/a.h", text).find("cc/a.h:2: a function's comment"), std::string::npos)
        << text;
    EXPECT_EQ(findings("tests/cc/a.h", text), "");
  }
}

TEST(Prose, LetsVerbsAndOtherCommentsPass) {
  for (const char* text :
       {"int a;\n// Returns the number of rows.\nsize_t rows() const;\n",
        "int a;\n// The number of rows.\nsize_t rows = 0;\n", "int a;\n// A row.\nstruct Row {\n",
        "// The first lines of a file.\nsize_t rows() const;\n",
        "int a;\n// A section.\n\nsize_t rows() const;\n"}) {
    EXPECT_EQ(findings("cc/a.h", text), "") << text;
  }
  EXPECT_EQ(findings("cc/a.cc", "void f() {\n  // The lock.\n  const Lock held(mutex);\n"), "");
}

}  // namespace
}  // namespace logjam

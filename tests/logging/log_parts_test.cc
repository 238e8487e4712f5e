// The parts that --log_parts names, and which schemes can have them.
#include "logging/log_parts.h"

#include <gtest/gtest.h>

#include "logging/scheme_registry.h"

namespace logjam {
namespace {

constexpr LogParts kOwn = {.unlock = true}, kSome = {.unlock = true, .pace = 8};

TEST(LogPartsTest, AListNamesThem) {
  const std::pair<const char*, LogParts> cases[] = {
      {"", kOwn},
      {"none", {}},
      {"all", kEveryPart},
      {"all,pace:12", {true, true, 8, 12, true}},
      {"chunks,patience:20", {.chunks = true, .patience_us = 20}},
      {"unlock,chunks,patience:8,pace:8,rounds", kEveryPart},
  };
  for (const auto& [text, parts] : cases) {
    EXPECT_EQ(check_log_parts(text, "x", kEveryPart), "") << text;
    EXPECT_EQ(log_parts_of(text, kOwn, kEveryPart), parts) << text;
    EXPECT_EQ(log_parts_of(text_of(parts), kOwn, kEveryPart), parts) << text;
  }
}

TEST(LogPartsTest, WhatASchemeCannotHaveIsRefused) {
  EXPECT_EQ(log_parts_of("all", kOwn, kSome), kSome);
  EXPECT_EQ(check_log_parts("unlock,pace:3", "x", kSome), "");
  EXPECT_EQ(check_log_parts("unlock,chunks", "x", kSome),
            "--log_parts=unlock,chunks: --log=x cannot have the part chunks; of all parts it can "
            "have unlock,pace:8");
  for (const char* wrong :
       {"none,pace:3", "pace", "pace:0", "patience:2000", "unlock:2", "speed"}) {
    EXPECT_NE(check_log_parts(wrong, "x", kEveryPart), "") << wrong;
  }
}

TEST(LogPartsTest, EachSchemeCanHaveItsOwnAndEveryLogCanUnlockFirst) {
  for (const SchemeInfo& scheme : all_schemes()) {
    EXPECT_EQ(check_log_parts(text_of(scheme.parts), scheme.name, scheme.may_have), "");
    EXPECT_TRUE(scheme.may_have.unlock) << scheme.name;
    if (!scheme.traits.logs) continue;
    const bool own_gap = scheme.name == "pwal" || scheme.name == "centr-lockflush";
    EXPECT_EQ(scheme.may_have.pace != 0, !own_gap && !scheme.traits.in_place) << scheme.name;
    EXPECT_EQ(scheme.may_have.chunks, scheme.may_have.patience_us != 0) << scheme.name;
  }
}

}  // namespace
}  // namespace logjam

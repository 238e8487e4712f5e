// Helpers for tests of commands that fail. Such a command throws a platform::CommandError.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string>

#include "platform/fatal.h"

namespace logjam {

// Runs the command. Succeeds if the command ends with `exit_code` and a message in which the
// pattern is found.
inline testing::AssertionResult ends_with(int exit_code, const std::function<void()>& command,
                                          const std::string& pattern) {
  try {
    command();
  } catch (const platform::CommandError& error) {
    if (error.exit_code() == exit_code && std::regex_search(error.what(), std::regex(pattern))) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << error.what() << ", exit code " << error.exit_code() << ", instead of " << pattern;
  }
  return testing::AssertionFailure() << "no error, instead of " << pattern;
}

// For death tests: runs the command, and ends the process as main() does.
inline void as_main(const std::function<void()>& command) {
  try {
    command();
  } catch (const platform::CommandError& error) {
    platform::fatal(error.what(), error.exit_code());
  }
}

#define EXPECT_REFUSED(command, pattern) \
  EXPECT_TRUE(ends_with(                 \
      platform::kExitBadInput, [&] { command; }, pattern))
#define EXPECT_FAILED(command, pattern) \
  EXPECT_TRUE(ends_with(                \
      platform::kExitFailed, [&] { command; }, pattern))

}  // namespace logjam

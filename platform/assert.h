// Assertions: contracts that the program checks while it runs.
//
// LJ_ASSERT(condition) is in every build. LJ_ASSERT_IN_TESTS(condition) is in the builds of the
// sanitizers and of the fuzzers (-DLOGJAM_ASSERTS=1), for a check that would cost a transaction 1 %
// of its instructions or more. Conditions have no side effects. For bad input, see fatal.h.
#pragma once

#include <string>

namespace logjam::platform {

[[noreturn, gnu::cold, gnu::noinline]] void assertion_failed(const char* condition,
                                                             const char* file, int line);
// Ends the process as a failed assertion does, for a mistake in a workload or in a registration.
// The sentence names the table, the value or the file, which no condition can name.
[[noreturn, gnu::cold, gnu::noinline]] void contract_broken(const std::string& sentence);

}  // namespace logjam::platform

#define LJ_ASSERT(...)                                                          \
  (__builtin_expect(!(__VA_ARGS__), 0)                                          \
       ? ::logjam::platform::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__) \
       : void())

#if defined(LOGJAM_ASSERTS)
#define LJ_ASSERT_IN_TESTS(...) LJ_ASSERT(__VA_ARGS__)
#else
#define LJ_ASSERT_IN_TESTS(...) static_cast<void>(sizeof(!(__VA_ARGS__)))
#endif

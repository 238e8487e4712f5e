// Sets flags for a test, including flags of log schemes. The destructor restores all flags.
#pragma once

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <string>

namespace logjam {

class ScopedFlags {
 public:
  void set(const char* name, const std::string& value) {
    EXPECT_NE(gflags::SetCommandLineOption(name, value.c_str()), "") << name << "=" << value;
  }
  void set(const char* name, uint64_t value) { set(name, std::to_string(value)); }

 private:
  gflags::FlagSaver saver_;
};

}  // namespace logjam

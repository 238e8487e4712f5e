#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace logjam {

struct Ended {
  std::string output;  // the script's output on stdout
  int status;          // the script's exit status, or -1 if a signal ended the script
};

// Runs the script. $LOGJAM names the program under test (by default build/logjam).
inline Ended shell(const std::string& script) {
  setenv("LOGJAM", "build/logjam", 0);
  std::FILE* pipe = popen(script.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  Ended ended;
  std::array<char, 4096> chunk;
  for (size_t n; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    ended.output.append(chunk.data(), n);
  }
  const int status = pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

}  // namespace logjam

// A flag file: the check that logjam makes before gflags reads it.
#include "cli/flags.h"

#include <gflags/gflags.h>

#include "tests/fuzz/memory_path.h"

namespace logjam::fuzz {
namespace {

// Returns whether a line of the file asks gflags for more than to set a flag.
bool names_other_sources(std::string_view text) {
  return text.find("env") != text.npos || text.find("flagfile") != text.npos ||
         text.find("undefok") != text.npos;
}

void read_flags(Input input) {
  static auto& memory = *new MemoryPath;
  memory.write(input);
  refuse_bad_flags({"run", "--flagfile=" + memory.path()});
  const std::string text(text_of(input));
  if (names_other_sources(text)) return;
  const gflags::FlagSaver saver;
  require(gflags::ReadFlagsFromString(text, "logjam", false),
          "gflags takes the flags that the check has passed");
}

const FuzzRegistration registration({.name = "flags", .most_bytes = 200, .run = read_flags});

}  // namespace
}  // namespace logjam::fuzz

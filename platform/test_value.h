// Values that only tests set, to make rare moments frequent: --test=NAME:VALUE,... No help text
// shows them. The file that reads such a value defines it, as a constant with static storage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace logjam::platform {

class TestValue {
 public:
  // Registers the name, which outlives the program's run.
  explicit TestValue(std::string_view name);

  // Returns the value that --test gives the name, or 0. Parses the flag: call it once, at
  // construction. Any thread may call it.
  uint64_t get() const;

 private:
  const std::string_view name_;
};

// Returns why --test cannot be used, in one sentence, or an empty string. The main thread calls it.
std::string check_test_values();

}  // namespace logjam::platform

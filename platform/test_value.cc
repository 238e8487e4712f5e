#include "platform/test_value.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <vector>

#include "platform/assert.h"
#include "platform/flag_list.h"

DEFINE_string(test, "", "for tests: values that make rare moments frequent");

namespace logjam::platform {
namespace {

std::vector<ListKey>& keys() {
  static std::vector<ListKey> registered;
  return registered;
}

}  // namespace

TestValue::TestValue(std::string_view name) : name_(name) {
  LJ_ASSERT(std::ranges::find(keys(), name, &ListKey::name) == keys().end());
  constexpr double kMost = 1e15;  // a double holds each whole number up to it
  keys().push_back({name, 0, kMost});
}

uint64_t TestValue::get() const { return static_cast<uint64_t>(listed(FLAGS_test, name_)); }

std::string check_test_values() { return check_list("test", FLAGS_test, keys()); }

}  // namespace logjam::platform

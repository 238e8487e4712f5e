#include "logging/schemes/aether/aether_buffer.h"

#include <gflags/gflags.h>

#include "logging/flag_checks.h"
#include "platform/test_value.h"

DEFINE_uint32(aether_slots, 4, "slots of a consolidation array, of aether-c* and dlog-*");

namespace logjam {

namespace {
const platform::TestValue forced_inserts("aether_force");
}

uint32_t aether_slots() { return FLAGS_aether_slots; }
uint32_t aether_force() { return static_cast<uint32_t>(forced_inserts.get()); }
std::string check_aether_flags() {
  constexpr uint32_t kMaxSlots = 1024;
  return check_range("aether_slots", FLAGS_aether_slots, 1, kMaxSlots);
}

}  // namespace logjam

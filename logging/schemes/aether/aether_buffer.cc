#include "logging/schemes/aether/aether_buffer.h"

#include <gflags/gflags.h>

#include "logging/flag_checks.h"

DEFINE_uint32(carray_slots, 4, "aether-c*, dlog-*: slots of a consolidation array");
DEFINE_uint32(
    carray_force, 0,
    "aether-c*, dlog-*, for tests: each worker consolidates every so manyth insert although "
    "the lock is free; 0: none");

namespace logjam {

uint32_t carray_slots() { return FLAGS_carray_slots; }
uint32_t carray_force() { return FLAGS_carray_force; }
std::string check_carray_flags() {
  constexpr uint32_t kMaxSlots = 1024;
  return check_range("carray_slots", FLAGS_carray_slots, 1, kMaxSlots);
}

}  // namespace logjam

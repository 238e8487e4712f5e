#include "logging/stream/io_unit.h"

#include <gflags/gflags.h>

#include "logging/flag_checks.h"

DEFINE_uint64(io_unit_bytes, 64 << 10,
              "eleda*: largest write; centr-faa, command: where filled bytes are counted; poplar: "
              "length of a segment; a power of 2");

namespace logjam {

uint64_t io_unit_bytes() { return FLAGS_io_unit_bytes; }

std::string check_io_unit() {
  return check_power_of_two("io_unit_bytes", FLAGS_io_unit_bytes, 4 << 10);
}

}  // namespace logjam

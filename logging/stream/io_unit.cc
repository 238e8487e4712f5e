#include "logging/stream/io_unit.h"

#include <gflags/gflags.h>

#include "logging/flag_checks.h"

DEFINE_uint64(
    io_unit_bytes, 0,
    "eleda*: largest write (0: 4 MiB); centr-faa, command: where filled bytes are counted, "
    "poplar: length of a segment (0: 64 KiB); a power of 2");

namespace logjam {

uint64_t io_unit_bytes(uint64_t otherwise) {
  return FLAGS_io_unit_bytes == 0 ? otherwise : FLAGS_io_unit_bytes;
}

std::string check_io_unit() {
  if (FLAGS_io_unit_bytes == 0) return "";
  return check_power_of_two("io_unit_bytes", FLAGS_io_unit_bytes, 4 << 10);
}

}  // namespace logjam

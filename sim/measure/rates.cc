#include <cstring>
#include <string>
#include <vector>

#include "platform/measured_loops.h"
#include "platform/random.h"
#include "sim/measure/chase.h"
#include "sim/measure/costs.h"

namespace logjam::platform {
namespace {

// The lines of a ring that a chase follows. The whole ring would take a second.
constexpr size_t kChasedLines = 512 << 10;

// Copies the first half of the ring to the second half, 4 KiB at a time. Returns the nanoseconds
// per line, where each line is read or written.
double copied_ns(const Ring& ring) {
  constexpr size_t kLines = 64;
  const size_t half = ring.size() / 2;
  size_t place = 0;
  const double ns = ns_of_a_step(half / kLines, [&](size_t pieces) {
    for (size_t i = 0; i < pieces; ++i, place += kLines) {
      std::memcpy(static_cast<void*>(&ring.line(half + place)), &ring.line(place),
                  kLines * kShortestLine);
    }
  });
  return ns / (2 * kLines);
}

// Returns a measurement of lines_per_ns() that ignores the ring, and takes the loop's instructions
// for lines.
auto instruction_ns(void (*loop)(HashTable&, uint64_t), uint64_t instructions_in_a_round) {
  return [=](const Ring&) {
    alignas(kShortestLine) HashTable table;
    for (uint64_t i = 0; i < table.size(); ++i) table[i] = i * kGoldenRatio;
    return ns_of_a_step(512 << 10, [&](size_t rounds) { loop(table, rounds); }) /
           static_cast<double>(instructions_in_a_round);
  };
}

}  // namespace

std::vector<Rate> measured_rates(uint32_t repetitions) {
  const std::vector<int> all = cores_of_the_socket();
  std::vector<Rate> rates;
  for (size_t threads = 1; threads <= all.size(); threads += std::max<size_t>(1, all.size() - 1)) {
    const std::vector<int> cores(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(threads));
    const auto add = [&](const char* what, const std::string& how, double in_a_line, size_t bytes,
                         auto ns_of_a_line) {
      rates.push_back({what, how, static_cast<uint32_t>(threads),
                       1e9 * in_a_line * lines_per_ns(cores, bytes, repetitions, ns_of_a_line)});
    };
    for (size_t chains = 1; chains <= Ring::kStarts; chains *= 2) {
      add("lines", std::to_string(chains) + " in flight", 1, kTableBytes,
          [chains](const Ring& ring) { return ring.chains_ns(chains, kChasedLines); });
    }
    add("bytes", "read in order", kShortestLine, kTableBytes,
        [](const Ring& ring) { return ring.in_order_ns(ring.size()); });
    add("bytes", "copied", kShortestLine, kTableBytes, copied_ns);
    add("instructions", "hash, each waits", 1, kShortestLine * Ring::kStarts,
        instruction_ns(hash_load_and_store, kInstructionsInARound));
    add("instructions", "hash, none waits", 1, kShortestLine * Ring::kStarts,
        instruction_ns(hash_loads_ahead, kInstructionsInARoundAhead));
  }
  return rates;
}

}  // namespace logjam::platform

#include "logging/device/device.h"

#include <charconv>

#include "logging/device/faulty_device.h"
#include "logging/device/file_device.h"
#include "logging/device/null_device.h"
#include "logging/device/nvm_device.h"
#include "logging/device/sim_device.h"
#include "logging/device/sync_device.h"
#include "platform/fatal.h"
#include "platform/host.h"

namespace logjam {
namespace {

constexpr std::string_view kSimPrefix = "sim:";
constexpr std::string_view kNvm = "nvm";
constexpr std::string_view kFaultyPrefix = "faulty:";
constexpr std::string_view kDiscard = "discard";
constexpr std::string_view kAllowed =
    "allowed are file, sync, sim:LATENCY_US[:MB_S], nvm[:NS], null, faulty:<one of these> and "
    "discard";

struct SimParameters {
  double latency_us = 0;
  double mb_per_second = 0;
};

bool parse_number(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc{} && end == text.data() + text.size() && *value >= 0 && *value <= 1e9;
}

bool parse_sim(std::string_view parameters, SimParameters* sim) {
  const size_t colon = parameters.find(':');
  if (!parse_number(parameters.substr(0, colon), &sim->latency_us)) return false;
  return colon == parameters.npos ||
         (parse_number(parameters.substr(colon + 1), &sim->mb_per_second) &&
          sim->mb_per_second > 0);
}

// `nvm` or `nvm:NS`.
bool parse_nvm(std::string_view spec, double* latency_ns) {
  if (spec == kNvm) return true;
  return spec.starts_with(kNvm) && spec.substr(kNvm.size()).starts_with(':') &&
         parse_number(spec.substr(kNvm.size() + 1), latency_ns);
}

std::string_view without_faulty(std::string_view spec) {
  return spec.starts_with(kFaultyPrefix) ? spec.substr(kFaultyPrefix.size()) : spec;
}

}  // namespace

void Device::start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                            uint64_t timeout_ns) {
  start(offset, bytes, sync);
  if (!finished()) wait(timeout_ns);
}

void Device::write_through(uint64_t offset, std::span<const std::byte> bytes) {
  constexpr uint64_t kLookAgainNs = 20'000'000;
  start_and_wait(offset, bytes, Sync::kData, kLookAgainNs);
  while (!finished()) wait(kLookAgainNs);
}

const std::vector<DeviceKind>& all_device_kinds() {
  static const std::vector<DeviceKind> kinds = {
      {"file", "direct I/O with data sync on a preallocated file (io_uring)"},
      {"sync", "synced writes through the page cache"},
      {"sim:LATENCY_US[:MB_S]", "a simulated device of that response time and bandwidth"},
      {"nvm[:NS]",
       "mapped memory, cache-line write-back, a fence and NS ns: persistent on a DAX directory; "
       "elsewhere (best: tmpfs) an emulation that survives a killed process, not a power cut"},
      {"null", "drops the bytes: for experiments on the log buffer"},
      {kDiscard, "drops the bytes without a flush, for `logjam micro` alone: nothing but the ring"},
      {"faulty:<spec>", "loses, tears and reorders what was not synced: for tests"},
  };
  return kinds;
}

std::string check_device_spec(std::string_view spec) {
  if (spec == "file" || spec == "sync") return platform::why_no_disk();
  if (spec == "null" || device_discards(spec)) return "";
  const std::string_view inner = without_faulty(spec);
  if (inner != spec && !inner.starts_with("faulty") && !device_discards(inner)) {
    return check_device_spec(inner);
  }
  double latency_ns = 0;
  if (parse_nvm(spec, &latency_ns)) return "";
  SimParameters sim;
  if (spec.starts_with(kSimPrefix) && parse_sim(spec.substr(kSimPrefix.size()), &sim)) return "";
  std::string why("\"");
  return why.append(spec).append("\" is not a device: ").append(kAllowed);
}

bool device_keeps(std::string_view spec) {
  return without_faulty(spec) != "null" && !device_discards(spec);
}

bool device_discards(std::string_view spec) { return spec == kDiscard; }

bool device_has_segments(std::string_view spec) {
  return without_faulty(spec) == "file" || without_faulty(spec) == "sync";
}

bool device_is_memory(std::string_view spec) {
  double latency_ns = 0;
  return parse_nvm(without_faulty(spec), &latency_ns);
}

std::unique_ptr<Device> open_device(std::string_view spec, const DeviceOptions& options) {
  if (const std::string why = check_device_spec(spec); !why.empty()) platform::refuse(why);
  if (spec == "file") return std::make_unique<FileDevice>(options);
  if (spec == "sync") return std::make_unique<SyncDevice>(options);
  if (spec == "null") return std::make_unique<NullDevice>();
  if (device_discards(spec)) return std::make_unique<DiscardDevice>();
  if (spec.starts_with(kFaultyPrefix)) {
    DeviceOptions late = options;
    late.late = true;
    auto inner = open_device(spec.substr(kFaultyPrefix.size()), late);
    return std::make_unique<FaultyDevice>(std::move(inner), options);
  }
  double latency_ns = 0;
  if (parse_nvm(spec, &latency_ns)) return std::make_unique<NvmDevice>(options, latency_ns);
  SimParameters sim;
  parse_sim(spec.substr(kSimPrefix.size()), &sim);
  return std::make_unique<SimDevice>(options, sim.latency_us, sim.mb_per_second);
}

}  // namespace logjam

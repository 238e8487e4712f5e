// `logjam device` measures the durable writes per second of the device under --wal_dir. A log makes
// each group of commits durable by one write, so this number limits the groups per second of every
// scheme. `logjam machine` measures a profile of this machine.
#include <gflags/gflags.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/row.h"
#include "logging/device/device_registry.h"
#include "logging/device/probe.h"
#include "logging/directory_locks.h"
#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/test_value.h"
#include "sim/measure/costs.h"

namespace logjam {
namespace {

using platform::refuse;

constexpr uint64_t kFileBytes = uint64_t{256} << 20;
constexpr std::array<uint64_t, 5> kBytes = {4 << 10, 16 << 10, 64 << 10, 256 << 10,
                                            Probe::kLargestBytes};
constexpr std::array<uint32_t, 4> kDepths = {1, 2, 4, 8};
constexpr double kSecondsOfAPoint = 0.3;  // the duration of a measurement without --seconds

struct ProbeOptions {
  std::string device, directory;
  double seconds = 0;  // the duration of the measurement of each ProbePoint
  OutputFiles files;
};

ProbeOptions probe_options() {
  refuse_if(check_device_spec(FLAGS_device));
  if (device_traits(FLAGS_device).discards) refuse("--device=" + FLAGS_device + " writes nothing");
  const std::vector<std::string> directories = wal_directories();
  if (directories.size() > 1) refuse("device measures one --wal_dir at a time");
  const bool given = !gflags::GetCommandLineFlagInfoOrDie("seconds").is_default;
  return {.device = FLAGS_device,
          .directory = directories.front(),
          .seconds = given ? FLAGS_seconds : kSecondsOfAPoint,
          .files = output_files()};
}

struct Measured {
  double seconds = 0;
  HistogramSum ticks;
  double writes_s() const { return static_cast<double>(ticks.count()) / seconds; }
  double mb_s(const ProbePoint& of) const {
    return writes_s() * static_cast<double>(of.bytes) * 1e-6;
  }
};

Measured measure(Probe& probe, const ProbePoint& point, double seconds) {
  Histogram latency;
  Measured measured;
  measured.seconds = probe.measure(point, seconds, [&](uint64_t ticks) { latency.record(ticks); });
  measured.ticks.add(latency);
  return measured;
}

Row make_row(const ProbeOptions& options, const ProbePoint& point, const Measured& measured) {
  Row row = {{"device", options.device},
             {"write_bytes", point.bytes},
             {"writes_at_once", point.depth},
             {"one_call", point.one_call},
             {"seconds", number(measured.seconds, 6)},
             {"writes_s", number(measured.writes_s(), 0)},
             {"write_mb_s", number(measured.mb_s(point))}};
  add_latency("write", measured.ticks, &row);
  add_origin(&row);
  return row;
}

const platform::TestValue repetitions("machine_repetitions");

}  // namespace

int device_command() {
  const ProbeOptions options = probe_options();
  const DirectoryLocks locks({options.directory}, DirectoryUse::kWrite);
  options.files.claim(make_row(options, {}, {.seconds = 1, .ticks = {}}));

  const std::string path = options.directory + "/logjam-device.tmp";
  std::vector<Line> lines = {
      {"bytes", "at once", "writes/s", "MB/s", "p50 us", "p99 us", "p99.9 us"}};
  double alone = 0, groups = 0, mb_s = 0;  // the best of all points
  uint32_t groups_at_once = 1;
  std::filesystem::remove(path);  // left by a killed command, or a link to another file
  {
    Probe probe(options.device,
                {.path = path, .preallocate_bytes = kFileBytes, .depth = kDepths.back()});
    const auto try_point = [&](const ProbePoint& point) {
      if (point.depth > probe.depth()) return;
      const Measured measured = measure(probe, point, options.seconds);
      const Row row = make_row(options, point, measured);
      options.files.append(row);
      if (point.depth == 1) alone = std::max(alone, measured.writes_s());
      if (measured.writes_s() > groups) groups_at_once = point.depth;
      groups = std::max(groups, measured.writes_s());
      mb_s = std::max(mb_s, measured.mb_s(point));
      Line& line = lines.emplace_back();
      line = {std::to_string(point.bytes >> 10) + " KiB",
              point.one_call ? "1, in one call" : std::to_string(point.depth)};
      for (const char* column :
           {"writes_s", "write_mb_s", "write_p50_us", "write_p99_us", "write_p999_us"}) {
        line.push_back(text_of(row, column));
      }
    };
    for (const uint64_t bytes : kBytes) {
      try_point({bytes, 1, true});
      for (const uint32_t depth : kDepths) try_point({bytes, depth, false});
    }
  }
  std::filesystem::remove(path);
  print_table(lines);
  std::printf(
      "A log on this device has at most %.0f durable groups a second if it writes one after the\n"
      "other, %.0f with %u writes at a time, and at most %.0f MB/s.\n",
      alone, groups, groups_at_once, mb_s);
  return 0;
}

int machine_command() {
  if (platform::is_simulated()) {
    platform::refuse("`logjam machine` measures a real machine: use build/logjam");
  }
  refuse_if(platform::check_test_values());
  constexpr uint32_t kRepetitions = 9;  // of each measurement; its median is reported
  const auto fewer = static_cast<uint32_t>(repetitions.get());
  std::fputs(platform::measured_profile(fewer != 0 ? fewer : kRepetitions).c_str(), stdout);
  return 0;
}

}  // namespace logjam

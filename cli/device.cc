// `logjam device` measures the card of the disk under --wal_dir: durable writes a second and their
// times, by sync method, size and number of writes at once, beside the facts of the disk. A log
// makes each group of commits durable by one write, so these rates limit the groups per second of
// every scheme. `logjam machine` measures a profile of this machine.
#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/row.h"
#include "logging/device/device_registry.h"
#include "logging/device/disk_card.h"
#include "logging/device/probe.h"
#include "logging/directory_locks.h"
#include "platform/clock.h"
#include "platform/disk_facts.h"
#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/kernel_files.h"
#include "platform/output_file.h"
#include "platform/placement.h"
#include "platform/test_value.h"
#include "sim/measure/costs.h"

namespace logjam {
namespace {

using platform::refuse;

constexpr uint64_t kFileBytes = uint64_t{256} << 20;
constexpr std::array<uint64_t, 5> kBytes = {4 << 10, 16 << 10, 64 << 10, 256 << 10,
                                            Probe::kLargestBytes};
constexpr std::array<uint32_t, 4> kDepths = {1, 2, 4, 8};
constexpr double kSecondsOfAPoint = 0.15;  // the duration of a measurement without --seconds

struct ProbeOptions {
  std::string device, directory;
  std::vector<SyncMethod> methods;  // the first alone, if the device has no sync methods
  double seconds = 0;               // the duration of the measurement of each ProbePoint
  std::string card;                 // the file of --cdf; empty: none
  OutputFiles files;
};

ProbeOptions probe_options() {
  refuse_if(check_device_spec(FLAGS_device));
  const DeviceTraits traits = device_traits(FLAGS_device);
  if (traits.discards) refuse("--device=" + FLAGS_device + " writes nothing");
  const std::vector<std::string> directories = wal_directories();
  if (directories.size() > 1) refuse("device measures one --wal_dir at a time");
  std::vector<SyncMethod> methods = {given_sync().value_or(SyncMethod::kDsync)};
  if (!traits.has_sync_methods && FLAGS_sync != "auto") {
    refuse("--device=" + FLAGS_device + " has no sync methods; leave out --sync");
  }
  if (traits.has_sync_methods && !given_sync()) {
    methods = {SyncMethod::kDsync, SyncMethod::kFdatasync, SyncMethod::kFsync, SyncMethod::kNone};
  }
  const bool given = !gflags::GetCommandLineFlagInfoOrDie("seconds").is_default;
  return {.device = FLAGS_device,
          .directory = directories.front(),
          .methods = methods,
          .seconds = given ? FLAGS_seconds : kSecondsOfAPoint,
          .card = FLAGS_cdf,
          .files = output_files()};
}

// Returns the facts of the disk, which are empty if the device writes to no disk.
platform::DiskFacts disk_of(const ProbeOptions& options) {
  if (!device_traits(options.device).needs_disk) return {};
  return platform::disk_facts(platform::KernelFiles(), options.directory);
}

Row facts_of(const ProbeOptions& options) {
  Row facts;
  add_disks(device_traits(options.device).needs_disk ? std::vector{options.directory}
                                                     : std::vector<std::string>(),
            &facts);
  return facts;
}

struct Measured {
  SyncMethod method;
  ProbePoint point;
  double seconds = 0;
  HistogramSum ticks;
  double writes_s() const { return static_cast<double>(ticks.count()) / seconds; }
  double mb_s() const { return writes_s() * static_cast<double>(point.bytes) * 1e-6; }
};

Measured measure(Probe& probe, SyncMethod method, const ProbePoint& point, double seconds) {
  Histogram latency;
  Measured measured{.method = method, .point = point, .seconds = 0, .ticks = {}};
  measured.seconds = probe.measure(point, seconds, [&](uint64_t ticks) { latency.record(ticks); });
  measured.ticks.add(latency);
  return measured;
}

// The result of the command: the facts, and all points of all methods in the order of the table.
struct Card {
  const ProbeOptions& options;
  const platform::DiskFacts disk = disk_of(options);
  const Row facts = facts_of(options);
  const std::string played = card_title(options.device);
  std::vector<Measured> points;

  bool has_methods() const { return device_traits(options.device).has_sync_methods; }
  std::string name(SyncMethod method) const {
    return has_methods() ? std::string(name_of(method)) : "";
  }
  Row row(const Measured& measured) const;
  // Returns whether a power cut loses no write that the method has made durable.
  bool is_safe(SyncMethod method) const {
    return method != SyncMethod::kNone || (options.device == "file" && keeps_without_sync(disk));
  }
  // Returns the most durable writes a second of the method, one at a time.
  double alone(SyncMethod method) const;
  // Returns the safe method of the most durable writes a second, one at a time.
  SyncMethod fastest() const;
  void print() const;
  DiskCard file() const;
};

Row Card::row(const Measured& measured) const {
  const ProbePoint& point = measured.point;
  Row row = {{"device", options.device},
             {"device_card", played},
             {"sync", name(measured.method)},
             {"write_bytes", point.bytes},
             {"writes_at_once", point.depth},
             {"one_call", point.one_call},
             {"seconds", number(measured.seconds, 6)},
             {"writes_s", number(measured.writes_s(), 0)},
             {"write_mb_s", number(measured.mb_s())}};
  add_latency("write", measured.ticks, &row);
  append(&row, facts);
  add_origin(&row);
  return row;
}

double Card::alone(SyncMethod method) const {
  double most = 0;
  for (const Measured& measured : points) {
    if (measured.method == method && measured.point.depth == 1) {
      most = std::max(most, measured.writes_s());
    }
  }
  return most;
}

SyncMethod Card::fastest() const {
  std::vector<SyncMethod> methods = options.methods;
  if (methods.size() > 1)
    std::erase_if(methods, [&](SyncMethod method) { return !is_safe(method); });
  return *std::ranges::max_element(methods, {}, [&](SyncMethod method) { return alone(method); });
}

void Card::print() const {
  if (!played.empty()) std::printf("%-14s %s\n", "plays", played.c_str());
  for (const auto& [name, value] : facts) {
    if (!value.empty()) std::printf("%-14s %s\n", name.c_str(), value.text().c_str());
  }
  std::vector<Line> lines = {
      {"sync", "bytes", "at once", "writes/s", "MB/s", "p50 us", "p99 us", "p99.9 us"}};
  for (const Measured& measured : points) {
    const ProbePoint& point = measured.point;
    Line& line = lines.emplace_back();
    line = {name(measured.method) + (is_safe(measured.method) ? "" : " (UNSAFE)"),
            std::to_string(point.bytes >> 10) + " KiB",
            point.one_call ? "1, in one call" : std::to_string(point.depth)};
    const Row row = this->row(measured);
    for (const char* column :
         {"writes_s", "write_mb_s", "write_p50_us", "write_p99_us", "write_p999_us"}) {
      line.push_back(text_of(row, column));
    }
  }
  print_table(lines);
  const SyncMethod method = fastest();
  double groups = 0, mb_s = 0;
  uint32_t groups_at_once = 1;
  for (const Measured& measured : points) {
    if (measured.method != method) continue;
    if (measured.writes_s() > groups) groups_at_once = measured.point.depth;
    groups = std::max(groups, measured.writes_s());
    mb_s = std::max(mb_s, measured.mb_s());
  }
  if (options.methods.size() > 1) {
    std::printf("The fastest safe method is %s, by writes one after the other.\n",
                name(method).c_str());
  }
  if (!is_safe(method)) std::printf("UNSAFE: a power cut loses what has been written.\n");
  std::printf(
      "A log on this device has at most %.0f durable groups a second if it writes one after the\n"
      "other, %.0f with %u writes at a time, and at most %.0f MB/s.\n",
      alone(method), groups, groups_at_once, mb_s);
}

// Returns the card that a simulated device plays: the points of the fastest safe method.
DiskCard Card::file() const {
  KeyValues about = {{"device", options.device}, {"sync", name(fastest())}};
  Row more = facts;
  add_origin(&more);
  for (const auto& [name, value] : more) {
    if (!value.empty()) about.emplace_back(name, value.text());
  }
  std::vector<DiskCard::Curve> curves;
  for (const Measured& measured : points) {
    if (measured.method != fastest()) continue;
    DiskCard::Curve& curve = curves.emplace_back();
    curve.bytes = measured.point.bytes;
    curve.depth = measured.point.one_call ? 0 : measured.point.depth;
    const auto us = [](double ticks) { return std::round(ticks * platform::ns_per_tick()) / 1e3; };
    for (size_t i = 0; i < curve.us.size(); ++i) {
      const uint64_t ticks = measured.ticks.percentile(DiskCard::share_of(i));
      curve.us[i] = us(static_cast<double>(ticks));
    }
    curve.mean_us = std::clamp(us(measured.ticks.mean()), curve.us.front(), curve.us.back());
  }
  return {about, curves};
}

const platform::TestValue repetitions("machine_repetitions");

// Prints a line for each pair of at most 64 cores, which are evenly spread over all cores.
void print_hand_offs(uint32_t repetitions) {
  const std::vector<int> cores = platform::allowed_cores();
  const size_t count = std::min(cores.size(), size_t{64});
  const auto place = [&](size_t i) { return static_cast<int>(i * cores.size() / count); };
  std::puts("core,other,ns");
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      const int core = place(i), other = place(j);
      std::printf("%d,%d,%.1f\n", cores[core], cores[other],
                  platform::hand_off_ns(core, other, repetitions));
    }
  }
}

void print_rates(uint32_t repetitions) {
  std::puts("what,how,threads,per_s");
  for (const platform::Rate& rate : platform::measured_rates(repetitions)) {
    std::printf("%s,\"%s\",%u,%.0f\n", rate.what.c_str(), rate.how.c_str(), rate.threads,
                rate.per_s);
  }
}

}  // namespace

int device_command() {
  const ProbeOptions options = probe_options();
  const DirectoryLocks locks({options.directory}, DirectoryUse::kWrite);
  Card card{.options = options, .points = {}};
  Measured none{.method = options.methods.front(), .point = {}, .seconds = 1, .ticks = {}};
  options.files.claim(card.row(none));
  if (!options.card.empty()) {
    claim_replaced("--cdf", options.card, "a card", {DiskCard::kFirstLine});
  }

  const std::string path = options.directory + "/logjam-device.tmp";
  std::filesystem::remove(path);  // left by a killed command, or a link to another file
  for (const SyncMethod method : options.methods) {
    Probe probe(options.device, {.path = path,
                                 .preallocate_bytes = kFileBytes,
                                 .depth = kDepths.back(),
                                 .sync_method = method});
    const auto try_point = [&](const ProbePoint& point) {
      if (point.depth > probe.depth()) return;
      card.points.push_back(measure(probe, method, point, options.seconds));
      options.files.append(card.row(card.points.back()));
    };
    for (const uint64_t bytes : kBytes) {
      try_point({bytes, 1, true});
      for (const uint32_t depth : kDepths) try_point({bytes, depth, false});
    }
  }
  std::filesystem::remove(path);
  card.print();
  if (!options.card.empty()) platform::OutputFile(options.card).write(card.file().encode());
  return 0;
}

int machine_command(const std::string& what) {
  if (!what.empty() && what != "hand-offs" && what != "rates") {
    refuse("machine measures no \"" + what + "\"; allowed are hand-offs and rates");
  }
  if (platform::is_simulated()) {
    platform::refuse("`logjam machine` measures a real machine: use build/logjam");
  }
  refuse_if(platform::check_test_values());
  constexpr uint32_t kRepetitions = 9;  // of each measurement; its median is reported
  const auto fewer = static_cast<uint32_t>(repetitions.get());
  const uint32_t number = fewer != 0 ? fewer : kRepetitions;
  if (what == "hand-offs") {
    print_hand_offs(number);
  } else if (what == "rates") {
    print_rates(number);
  } else {
    std::fputs(platform::measured_profile(number).c_str(), stdout);
  }
  return 0;
}

}  // namespace logjam

#include "workloads/ycsb/options.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

DEFINE_uint64(ycsb_records, 1'000'000, "ycsb: rows in the table");
DEFINE_uint32(ycsb_value_bytes, 1000, "ycsb: bytes of a row, at least 4");
DEFINE_uint32(ycsb_ops, 16, "ycsb: point operations in a transaction");
DEFINE_double(ycsb_read_ratio, 0.5, "ycsb: share of the point operations that only read");
DEFINE_double(ycsb_theta, 0.6, "ycsb: zipfian skew, 0 (uniform) to less than 1");
DEFINE_string(ycsb_distribution, "zipf",
              "ycsb: zipf (key = rank, Gray et al.), scrambled (key = FNV-1a of the rank, as YCSB "
              "does), latest (the newest row is the most popular) or uniform");
DEFINE_string(ycsb_index, "auto",
              "ycsb: hash or ordered primary index; auto is ordered for the hybrid preset and "
              "where rows are inserted (workloads D and E), else hash");
DEFINE_string(ycsb_workload, "",
              "ycsb: A, B, C, D, E or F, YCSB's core workloads: one operation a transaction, "
              "theta 0.99, scrambled (D: latest), reads of rows, updates of one of ten columns, "
              "scans of up to 100 rows; flags given explicitly override it");
DEFINE_double(
    ycsb_insert_ratio, -1,
    "ycsb: share of the operations that insert a row; -1: that of --ycsb_workload, else 0");
DEFINE_double(ycsb_scan_ratio, 0,
              "ycsb: share of the operations that scan 1 to --ycsb_scan_length rows");
DEFINE_string(
    ycsb_preset, "",
    "ycsb: a (50/50), b (95/5), c (reads only), f (50/50 read-modify-write), or Poplar's "
    "write-only (one blind update) and hybrid (one column updated, one scan); flags given "
    "explicitly override the preset");
DEFINE_bool(ycsb_rmw, false, "ycsb: updates read the row first instead of overwriting it blindly");
DEFINE_string(
    ycsb_touch, "auto",
    "ycsb: row (operations read or write all of it) or column (one of ten equal columns); "
    "auto is column for the hybrid preset and for updates of --ycsb_workload, else row");
DEFINE_uint32(ycsb_scan_length, 0,
              "ycsb: rows of a scan at the end of every transaction, or with --ycsb_scan_ratio of "
              "the longest scan; needs the ordered index");
DEFINE_bool(ycsb_distinct, true, "ycsb: the keys of one transaction differ");
DEFINE_bool(ycsb_prefetch, true,
            "ycsb: prefetch the index entries of a transaction's keys, which are known up front");

namespace logjam::ycsb {
namespace {

constexpr uint64_t kMaxRecords = uint64_t{1} << 40;
constexpr uint32_t kMaxValueBytes = 1 << 20;
constexpr uint32_t kMaxOps = 1024;
// The insert ratio shapes the load, and a recovery sets the flags of the log's header. So its value
// says whether it was given.
constexpr double kOfWorkload = -1;

struct Preset {
  std::string_view name;
  double read_ratio;
  bool rmw = false;
  // Poplar's two presets: one operation on uniformly drawn keys (Poplar, section 6.2).
  bool poplar = false;
  uint32_t scan_length = 0;
};
constexpr std::array kPresets = {
    Preset{"a", 0.5},
    Preset{"b", 0.95},
    Preset{"c", 1},
    Preset{"f", 0.5, true},
    Preset{"write-only", 0, false, true},
    Preset{"hybrid", 0, true, true, 10},
};

// Cooper et al., "Benchmarking Cloud Serving Systems with YCSB" (SoCC 2010), table 2. The numbers
// are those of YCSB's workloads/workload[a-f].
struct CoreWorkload {
  std::string_view name;
  double read_ratio;
  double insert_ratio = 0;
  double scan_ratio = 0;
  bool rmw = false;
};
constexpr double kCoreTheta = 0.99;
constexpr uint32_t kCoreScanLength = 100;
constexpr std::array kCoreWorkloads = {
    CoreWorkload{"A", 0.5},
    CoreWorkload{"B", 0.95},
    CoreWorkload{"C", 1},
    CoreWorkload{"D", 0.95, 0.05},
    CoreWorkload{"E", 0, 0.05, 0.95},
    CoreWorkload{"F", 0.5, 0, 0, true},
};

const CoreWorkload* find_core(std::string_view name) {
  const auto* found = std::ranges::find(kCoreWorkloads, name, &CoreWorkload::name);
  return found == kCoreWorkloads.end() ? nullptr : found;
}

const Preset* find_preset(std::string_view name) {
  const auto* found = std::ranges::find(kPresets, name, &Preset::name);
  return found == kPresets.end() ? nullptr : found;
}

bool given(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

uint32_t at_most(uint32_t value, uint64_t bound) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, bound));
}

bool one_of(std::string_view value, std::initializer_list<std::string_view> allowed) {
  return std::ranges::find(allowed, value) != allowed.end();
}

// Options whose flag was not given become those of the core workload. As with presets, the shape of
// the load depends on the flags' values alone, not on whether they were given.
void apply(const CoreWorkload& core, Options* options) {
  if (!given("ycsb_read_ratio")) options->read_ratio = core.read_ratio;
  if (FLAGS_ycsb_insert_ratio == kOfWorkload) options->insert_ratio = core.insert_ratio;
  if (!given("ycsb_scan_ratio")) options->scan_ratio = core.scan_ratio;
  if (!given("ycsb_rmw")) options->rmw = core.rmw;
  if (!given("ycsb_ops")) options->ops = 1;
  if (!given("ycsb_theta")) options->theta = kCoreTheta;
  if (!given("ycsb_scan_length") && core.scan_ratio > 0) options->scan_length = kCoreScanLength;
  if (FLAGS_ycsb_touch == "auto") options->by_column = options->reads_rows = true;
}

Distribution distribution_of(const CoreWorkload* core) {
  if (core != nullptr && !given("ycsb_distribution")) {
    return core->name == "D" ? Distribution::kLatest : Distribution::kScrambled;
  }
  if (FLAGS_ycsb_distribution == "scrambled") return Distribution::kScrambled;
  if (FLAGS_ycsb_distribution == "latest") return Distribution::kLatest;
  return Distribution::kZipf;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %%", share * 100);
  return text;
}

}  // namespace

Options options_from_flags() {
  Options options{
      .records = FLAGS_ycsb_records,
      .value_bytes = FLAGS_ycsb_value_bytes,
      .ops = FLAGS_ycsb_ops,
      .read_ratio = FLAGS_ycsb_read_ratio,
      .insert_ratio = FLAGS_ycsb_insert_ratio == kOfWorkload ? 0 : FLAGS_ycsb_insert_ratio,
      .scan_ratio = FLAGS_ycsb_scan_ratio,
      .theta = FLAGS_ycsb_theta,
      .ordered = FLAGS_ycsb_index == "ordered",
      .rmw = FLAGS_ycsb_rmw,
      .by_column = FLAGS_ycsb_touch == "column",
      .scan_length = FLAGS_ycsb_scan_length,
      .distinct = FLAGS_ycsb_distinct,
      .prefetch = FLAGS_ycsb_prefetch};
  if (const Preset* preset = find_preset(FLAGS_ycsb_preset)) {
    if (!given("ycsb_read_ratio")) options.read_ratio = preset->read_ratio;
    if (!given("ycsb_rmw")) options.rmw = preset->rmw;
    if (!given("ycsb_scan_length")) options.scan_length = preset->scan_length;
    if (!given("ycsb_ops") && preset->poplar) options.ops = 1;
    if (preset->poplar && !given("ycsb_theta") && !given("ycsb_distribution")) options.theta = 0;
    // The shape of the load depends on flag values alone, not on whether they were given: recovery
    // sets all of them from the log's header.
    const bool hybrid = preset->name == "hybrid";
    if (FLAGS_ycsb_index == "auto") options.ordered = hybrid;
    if (FLAGS_ycsb_touch == "auto") options.by_column = hybrid;
  }
  const CoreWorkload* core = find_core(FLAGS_ycsb_workload);
  if (core != nullptr) apply(*core, &options);
  // A table with inserts has an ordered index, since the hash index never grows. The scans of
  // workload E need one too.
  if (FLAGS_ycsb_index == "auto" &&
      (options.insert_ratio > 0 || (core != nullptr && core->scan_ratio > 0))) {
    options.ordered = true;
  }
  // Recovery knows only the flags that shape the load. So the defaults of the other flags must be
  // valid with any number of records.
  if (!given("ycsb_ops")) options.ops = at_most(options.ops, options.records);
  if (!given("ycsb_scan_length"))
    options.scan_length = at_most(options.scan_length, options.records);
  if (options.by_column && !options.reads_rows) options.rmw = true;
  if (FLAGS_ycsb_distribution == "uniform") options.theta = 0;
  if (options.theta > 0) options.distribution = distribution_of(core);
  return options;
}

std::string check_flags() {
  if (!FLAGS_ycsb_preset.empty() && find_preset(FLAGS_ycsb_preset) == nullptr) {
    return "--ycsb_preset is a, b, c, f, write-only or hybrid, not \"" + FLAGS_ycsb_preset + "\"";
  }
  if (!FLAGS_ycsb_workload.empty() && find_core(FLAGS_ycsb_workload) == nullptr) {
    return "--ycsb_workload is A, B, C, D, E or F, not \"" + FLAGS_ycsb_workload + "\"";
  }
  if (!FLAGS_ycsb_workload.empty() && !FLAGS_ycsb_preset.empty()) {
    return "--ycsb_workload and --ycsb_preset say different things: drop one of them";
  }
  if (!one_of(FLAGS_ycsb_distribution, {"zipf", "scrambled", "latest", "uniform"})) {
    return "--ycsb_distribution is zipf, scrambled, latest or uniform, not \"" +
           FLAGS_ycsb_distribution + "\"";
  }
  if (!one_of(FLAGS_ycsb_index, {"auto", "hash", "ordered"})) {
    return "--ycsb_index is hash, ordered or auto, not \"" + FLAGS_ycsb_index + "\"";
  }
  if (!one_of(FLAGS_ycsb_touch, {"auto", "row", "column"})) {
    return "--ycsb_touch is row, column or auto, not \"" + FLAGS_ycsb_touch + "\"";
  }
  if (FLAGS_ycsb_distribution == "uniform" && given("ycsb_theta") && FLAGS_ycsb_theta != 0) {
    return "--ycsb_distribution=uniform has no skew: drop --ycsb_theta, or use zipf or scrambled";
  }
  const Options options = options_from_flags();
  if (options.records < 1 || options.records > kMaxRecords) {
    return "--ycsb_records is 1 to " + std::to_string(kMaxRecords);
  }
  if (options.value_bytes < 4 || options.value_bytes > kMaxValueBytes) {
    return "--ycsb_value_bytes is 4 to " + std::to_string(kMaxValueBytes);
  }
  if (options.ops < 1 || options.ops > kMaxOps) {
    return "--ycsb_ops is 1 to " + std::to_string(kMaxOps);
  }
  if (options.distinct && options.ops > options.records) {
    return "--ycsb_ops cannot exceed --ycsb_records while --ycsb_distinct=true";
  }
  if (!(options.read_ratio >= 0 && options.read_ratio <= 1)) return "--ycsb_read_ratio is 0 to 1";
  if (!(options.insert_ratio >= 0 && options.insert_ratio <= 1)) {
    return "--ycsb_insert_ratio is 0 to 1";
  }
  if (!(options.scan_ratio >= 0 && options.scan_ratio <= 1)) return "--ycsb_scan_ratio is 0 to 1";
  if (options.read_ratio + options.insert_ratio + options.scan_ratio > 1 + 1e-9) {
    return "--ycsb_read_ratio, --ycsb_insert_ratio and --ycsb_scan_ratio (" +
           percent(options.read_ratio) + ", " + percent(options.insert_ratio) + " and " +
           percent(options.scan_ratio) + ") add up to more than 1";
  }
  if (options.scan_ratio > 0 && options.scan_length == 0) {
    return "--ycsb_scan_ratio needs a --ycsb_scan_length";
  }
  if (!(options.theta >= 0 && options.theta < 1)) {
    return "--ycsb_theta is at least 0 and less than 1 (Gray's method has no skew of 1 or more)";
  }
  if (options.by_column && (options.value_bytes % kColumns != 0 || options.value_bytes < 40)) {
    return "--ycsb_touch=column needs --ycsb_value_bytes to be a multiple of 10, and at least 40";
  }
  if (options.by_column && !options.reads_rows && given("ycsb_rmw") && !FLAGS_ycsb_rmw) {
    return "--ycsb_rmw=false overwrites whole rows, --ycsb_touch=column changes a part of one: "
           "drop one of them";
  }
  if (options.scan_length > options.records) {
    return "--ycsb_scan_length cannot exceed --ycsb_records";
  }
  if (FLAGS_ycsb_preset == "hybrid" && !options.ordered) {
    return "--ycsb_preset=hybrid scans: it needs --ycsb_index=ordered";
  }
  if (options.scan_length > 0 && !options.ordered) {
    return "--ycsb_scan_length needs --ycsb_index=ordered";
  }
  return "";
}

std::string describe(const Options& options) {
  char skew[128];
  switch (options.distribution) {
    case Distribution::kUniform:
      std::snprintf(skew, sizeof skew, "uniform keys");
      break;
    case Distribution::kZipf:
      std::snprintf(skew, sizeof skew, "zipfian keys (Gray et al., key = rank) theta %.4g",
                    options.theta);
      break;
    case Distribution::kScrambled:
      std::snprintf(skew, sizeof skew, "scrambled zipfian keys (FNV-1a of the rank) theta %.4g",
                    options.theta);
      break;
    case Distribution::kLatest:
      std::snprintf(skew, sizeof skew, "latest keys theta %.4g", options.theta);
      break;
  }
  char text[512];
  std::snprintf(
      text, sizeof text,
      "ycsb: %llu rows of %u B in %s index, %u operations (%.4g %% reads, updates %s %s), "
      "%s%s",
      static_cast<unsigned long long>(options.records), options.value_bytes,
      options.ordered ? "an ordered" : "a hash", options.ops, options.read_ratio * 100,
      options.rmw ? "read and change" : "overwrite",
      options.by_column ? "one of ten columns" : "the row", skew,
      options.distinct ? ", distinct in a transaction" : "");
  std::string line = text;
  if (options.insert_ratio > 0) line += ", " + percent(options.insert_ratio) + " inserts";
  if (options.scan_ratio > 0) {
    line += ", " + percent(options.scan_ratio) + " scans of up to " +
            std::to_string(options.scan_length) + " rows";
  } else if (options.scan_length > 0) {
    line += ", then a scan of " + std::to_string(options.scan_length) + " rows";
  }
  if (!options.prefetch) line += ", no prefetch";
  return line;
}

}  // namespace logjam::ycsb

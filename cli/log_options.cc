#include <gflags/gflags.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/diagnostics.h"
#include "cli/options.h"
#include "logging/flag_checks.h"
#include "platform/assert.h"
#include "platform/device_irq.h"
#include "platform/disk_facts.h"
#include "platform/fatal.h"
#include "platform/flag_list.h"
#include "platform/host.h"
#include "platform/limits.h"
#include "platform/memory.h"
#include "platform/nearest_name.h"
#include "platform/test_value.h"
#include "platform/thread.h"

namespace logjam {
namespace {

using platform::refuse;

// Sizes of rings and segments that are smaller than flags allow, so that a short run fills them.
const platform::TestValue small_buffer_kb("log_buffer_kb");
const platform::TestValue small_segment_kb("log_segment_kb");

void set_flush(LogConfig* config) {
  constexpr double kMost = 1e12;
  constexpr platform::ListKey kReasons[] = {
      {"txns", 0, kMost}, {"bytes", 0, kMost}, {"us", 0, kMost}};
  refuse_if(platform::check_list("flush", FLAGS_flush, kReasons));
  const auto number = [](const char* key) {
    return static_cast<uint64_t>(platform::listed(FLAGS_flush, key));
  };
  config->flush_txns = number("txns");
  config->flush_bytes = number("bytes");
  config->flush_us = number("us");
  if ((config->flush_txns != 0 || config->flush_bytes != 0) && config->flush_us == 0) {
    refuse("--flush=" + FLAGS_flush +
           " needs us:N as well, or the last transactions would wait "
           "for ever");
  }
}

std::optional<uint32_t> number_in(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void set_gap(LogConfig* config) {
  constexpr uint32_t kMostUs = 1'000'000;
  const std::string_view given = FLAGS_flush_gap_us;
  const std::string flag = "--flush_gap_us=" + FLAGS_flush_gap_us;
  config->chooses_gap = given.starts_with("auto");
  if (given != "auto") {
    const auto number = number_in(given.starts_with("auto:") ? given.substr(5) : given);
    if (!number || *number > kMostUs || (config->chooses_gap && *number == 0)) {
      refuse(flag + " is not auto, auto:N with at least 1 us, or a number, of at most 1000000 us");
    }
    (config->chooses_gap ? config->gap_latency_us : config->flush_gap_us) = *number;
  }
}

LogConfig log_config() {
  LogConfig config;
  set_flush(&config);
  config.workers = FLAGS_threads;
  config.sockets =
      FLAGS_sockets != 0 ? FLAGS_sockets : static_cast<uint32_t>(platform::socket_count());
  config.buffer_bytes = uint64_t{FLAGS_log_buffer_mb} << 20;
  if (const uint64_t small = small_buffer_kb.get()) config.buffer_bytes = small << 10;
  config.flush_help = FLAGS_flush_help;
  config.pinned_workers = workers_are_pinned();
  set_gap(&config);
  config.stripe_bytes = FLAGS_stripe_kb << 10;
  config.io_bytes = FLAGS_io_bytes;
  return config;
}

void set_preallocation(LogOptions* log) {
  const std::string_view given = FLAGS_log_prealloc_mb;
  const size_t colon = given.find(':');
  const auto preallocated = number_in(given.substr(0, colon));
  const auto segment = colon == given.npos ? 0 : number_in(given.substr(colon + 1));
  if (!preallocated || !segment) {
    refuse("--log_prealloc_mb=" + FLAGS_log_prealloc_mb +
           " is not a whole number, or two with a colon between them, such as 256:16");
  }
  log->preallocate_bytes = uint64_t{*preallocated} << 20;
  if (const uint64_t small = small_segment_kb.get(); small != 0 && *preallocated != 0) {
    log->segment_bytes = small << 10;
    log->preallocate_bytes = 2 * log->segment_bytes;
  }
  if (colon == given.npos) return;
  constexpr uint32_t kMostSegmentMb = 1024;
  if (*segment < 1 || *segment > kMostSegmentMb) {
    refuse("--log_prealloc_mb=" + FLAGS_log_prealloc_mb + ": segments are of 1 to 1024 MiB");
  }
  if (!device_traits(FLAGS_device).has_segments || *preallocated == 0) {
    refuse("--log_prealloc_mb=" + FLAGS_log_prealloc_mb + " on --device=" + FLAGS_device +
           ": only a log that is preallocated on device file or sync has segment files");
  }
  log->segment_bytes = uint64_t{*segment} << 20;
}

struct Wanted {
  platform::PlacementPolicy policy = platform::PlacementPolicy::kCompact;
  bool pinned = true;
  std::optional<int> first_core;
};

// Reads --placement: POLICY, POLICY:CORE or none. Refuses other values.
Wanted wanted_placement() {
  Wanted wanted;
  wanted.pinned = FLAGS_placement != "none";
  if (!wanted.pinned) return wanted;
  const size_t colon = std::min(FLAGS_placement.find(':'), FLAGS_placement.size());
  const auto policy = platform::placement_policy(FLAGS_placement.substr(0, colon));
  if (!policy) {
    refuse("--placement=" + FLAGS_placement + " is not a placement" +
           platform::instead_of(FLAGS_placement.substr(0, colon),
                                {"compact", "scatter", "smt", "none"}));
  }
  wanted.policy = *policy;
  if (colon == FLAGS_placement.size()) return wanted;
  const char* core = FLAGS_placement.c_str() + colon + 1;
  char* end = nullptr;
  const int64_t number = std::strtoll(core, &end, 10);
  if (end == core || *end != '\0' || number < 0 || number > std::numeric_limits<int>::max()) {
    refuse("--placement=" + FLAGS_placement + ": the number of a core comes after the colon");
  }
  wanted.first_core = static_cast<int>(number);
  return wanted;
}

}  // namespace

// Sets preemption_helps if busy workers can delay a write for which commits wait. Under
// --commit=sync, workers sleep until the log is durable. Under --commit=async, no commit waits. On
// a device that is memory or keeps nothing, workers delay no write.
platform::WorkerClass::Request worker_class(const LogOptions& log) {
  LJ_ASSERT(log.scheme != nullptr);
  using Wanted = platform::WorkerClass::Wanted;
  static const std::map<std::string, Wanted> classes = {{"auto", Wanted::kAuto},
                                                        {"normal", Wanted::kNormal},
                                                        {"batch", Wanted::kBatch},
                                                        {"idle", Wanted::kIdle}};
  const auto found = classes.find(FLAGS_worker_class);
  if (found == classes.end()) {
    refuse("--worker_class=" + FLAGS_worker_class + " is not a class" +
           platform::instead_of(FLAGS_worker_class, {"auto", "normal", "batch", "idle"}));
  }
  const bool helps = commit_policy() == CommitPolicy::kPipelined && log.scheme->traits.logs &&
                     device_traits(log.device).keeps && !device_traits(log.device).is_memory;
  return {found->second, FLAGS_threads, helps};
}

LogOptions log_options(const SchemeInfo& scheme) {
  refuse_if(platform::check_test_values());
  LogOptions log;
  log.scheme = &scheme;
  log.config = log_config();
  log.device = FLAGS_device;
  log.sync = given_sync();
  if (!log.sync && platform::is_simulated()) log.sync = SyncMethod::kDsync;
  set_preallocation(&log);
  log.io_depth = FLAGS_io_depth;
  log.seed = FLAGS_seed;
  log.overwrite = FLAGS_overwrite;
  refuse_if(scheme.check_flags());
  if (scheme.traits.logs) {
    refuse_if(check_log_parts(FLAGS_log_parts, scheme.name, scheme.may_have));
    log.config.parts = log_parts_of(FLAGS_log_parts, scheme.parts, scheme.may_have);
  }
  refuse_if(check_device_spec(FLAGS_device));
  refuse_if(check_scheme_on_device(scheme, FLAGS_device));
  log.directories = given_directories();
  place_threads(log.directories, commit_policy() == CommitPolicy::kSync);
  if (scheme.stream_count(1, log.config) > 0 && device_traits(FLAGS_device).keeps &&
      log.directories.empty()) {
    refuse("--log=" + FLAGS_log + " on --device=" + FLAGS_device + " needs --wal_dir=DIR[,DIR...]");
  }
  log.card = card_title(FLAGS_device);
  log.header.device = FLAGS_device;
  log.header.log_records = "txn";
  log.header.workers = FLAGS_threads;
  log.header.revision = revision();
  return log;
}

std::optional<SyncMethod> given_sync() {
  std::string flag = "--sync=", given = FLAGS_sync;
  if (const char* fixed = std::getenv("LOGJAM_SYNC"); fixed != nullptr && given == "auto") {
    flag = "LOGJAM_SYNC=", given = fixed;
  }
  const std::optional<SyncMethod> method = sync_method(given);
  if (method || given == "auto") return method;
  std::vector<std::string_view> names = {"auto"};
  for (const std::string_view name : kSyncMethods) names.push_back(name);
  refuse(flag + given + " is not a sync method" + platform::instead_of(given, names));
}

bool keeps_without_sync(const platform::DiskFacts& facts) {
  // Another file system may need a sync to find the bytes again.
  const bool in_place = facts.file_system == "ext4" || facts.file_system == "xfs";
  const bool journals = facts.mount_options.find("data=journal") != std::string::npos;
  return facts.write_cache == "write through" && in_place && !journals;
}

bool syncs_nothing(const LogOptions& log) {
  return log.sync == SyncMethod::kNone && device_traits(log.device).has_sync_methods &&
         log.scheme->traits.logs;
}

std::string unsafe_sync(const LogOptions& log) {
  if (!syncs_nothing(log)) return "";
  const bool is_protected = std::ranges::all_of(log.directories, [](const std::string& directory) {
    return keeps_without_sync(platform::disk_facts({}, directory));
  });
  return log.device == "file" && log.preallocate_bytes != 0 && is_protected ? "" : "sync none";
}

std::vector<std::string> disk_directories(const LogOptions& log) {
  const bool writes = device_traits(log.device).needs_disk && log.scheme->traits.logs;
  return writes ? log.directories : std::vector<std::string>();
}

bool each_write_syncs(const LogOptions& log) {
  return device_traits(log.device).keeps && !syncs_nothing(log);
}

std::string sync_column(const LogOptions& log, const Log& running) {
  const bool is_safe = syncs_nothing(log) && unsafe_sync(log).empty();
  return running.sync_text() + (is_safe ? ": the disk has no volatile cache" : "");
}

LogBuffers log_buffers(const LogOptions& log) {
  LJ_ASSERT(log.scheme != nullptr);
  if (log.scheme->traits.in_place) return {};  // records lie in the device's own memory
  const auto directories = static_cast<uint32_t>(log.directories.size());
  return {log.scheme->stream_count(std::max(directories, 1u), log.config), log.config.buffer_bytes};
}

void refuse_too_large(uint64_t table_bytes, const LogBuffers& buffers) {
  const auto mib = [](uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  // In a simulation, the texts that memory_left() allocates would change later addresses.
  const platform::Limit left =
      platform::is_simulated()
          ? platform::Limit{static_cast<double>(platform::available_bytes()), ""}
          : platform::memory_left();
  if (static_cast<double>(table_bytes + buffers.bytes()) <= left.amount) return;
  std::string needed;
  if (table_bytes != 0) needed = "this scale needs about " + mib(table_bytes);
  if (buffers.count != 0) {
    needed += (needed.empty() ? "" : ", and ") + std::string("the log needs ") +
              mib(buffers.bytes()) + " (" + std::to_string(buffers.count) +
              " buffer(s) of --log_buffer_mb)";
  }
  refuse(needed + ", but only " + mib(static_cast<uint64_t>(left.amount)) +
         " of memory are available" + (left.by.empty() ? "" : ": " + left.by));
}

bool workers_are_pinned() { return wanted_placement().pinned; }

// Gives workers the core that the device interrupts only after all other cores, because the kernel
// finishes writes there. But if each worker waits for its own writes, gives them this core first:
// there the end of a write wakes the waiting worker without an interrupt to another core.
void place_threads(const std::vector<std::string>& directories, bool workers_wait) {
  const Wanted wanted = wanted_placement();
  platform::Placement chosen(platform::this_machine(), wanted.policy, FLAGS_threads);
  if (wanted.first_core) {
    if (!chosen.begin_at(*wanted.first_core)) {
      refuse("--placement=" + FLAGS_placement + ": this process may not use core " +
             std::to_string(*wanted.first_core));
    }
  } else if (!directories.empty()) {
    const int interrupted = platform::interrupt_core(directories.front());
    workers_wait ? chosen.begin_at(interrupted) : chosen.end_at(interrupted);
  }
  platform::use_placement(chosen);
}

std::string placement_text(bool pinned) {
  if (!pinned) return "none: workers are not pinned";
  const std::string why_not = platform::why_not_pinned();
  return why_not.empty() ? platform::placement().text() : "not pinned: " + why_not;
}

}  // namespace logjam

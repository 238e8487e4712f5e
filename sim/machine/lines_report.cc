#include "sim/machine/lines_report.h"

#include <gflags/gflags.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/heap.h"
#include "sim/host_allocator.h"
#include "sim/machine/caches.h"
#include "sim/machine/charge.h"
#include "sim/machine/scheduler.h"
#include "sim/region.h"
#include "sim/symbols.h"

DEFINE_string(
    report, "",
    "what to print when the run has ended; accesses: where accesses were answered that left their "
    "core; lines[:N]: the same, and the N (20) cache lines that cost most, with the memory that "
    "they "
    "are in and the functions that share them");

namespace logjam::sim {

bool reporting_lines = false, reporting_memory = false;

namespace {

// Counts of accesses by the cache or memory that answered, at the report's beginning and end.
struct Answered {
  uint64_t accesses = 0, executed = 0, fetched_ahead = 0;
  AccessCounts counts;
};
Answered begun, ended;
bool has_ended = false;

Answered answered_until_now() {
  return {accesses, executed, fetched_ahead, scheduler().caches().counts()};
}

constexpr size_t kFrames = 8;
using Frames = std::array<uint32_t, kFrames>;  // return addresses: the program is below 4 GiB

struct Allocation {
  size_t bytes = 0;
  Frames frames{};
};
struct Sum {
  uint64_t times = 0;
  Picoseconds waited = 0, latency = 0;

  void add(const Sum& other) {
    times += other.times;
    waited += other.waited;
    latency += other.latency;
  }
};

bool costs_more(const Sum& one, const Sum& other) {
  return one.waited != other.waited ? one.waited > other.waited : one.latency > other.latency;
}
double percent(Picoseconds part, Picoseconds all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}
struct LineSum : Sum {
  std::bitset<kMostCores> cores;
};

template <class Key, class Value>
using HostMap = std::map<Key, Value, std::less<Key>, HostAllocator<std::pair<const Key, Value>>>;
template <class Value>
using HostTable = std::unordered_map<uint64_t, Value, std::hash<uint64_t>, std::equal_to<uint64_t>,
                                     HostAllocator<std::pair<const uint64_t, Value>>>;

HostMap<uintptr_t, Allocation>& allocations() {
  static HostMap<uintptr_t, Allocation> all;
  return all;
}
HostTable<Sum>& by_line_and_site() {
  static HostTable<Sum> all;
  return all;
}
HostTable<LineSum>& by_line() {
  static HostTable<LineSum> all;
  return all;
}

size_t wanted_lines() {
  const size_t colon = FLAGS_report.find(':');
  constexpr size_t kUsual = 20;
  return colon == std::string::npos ? kUsual
                                    : std::strtoul(FLAGS_report.c_str() + colon + 1, nullptr, 10);
}

// Returns the memory that a line is in: a variable, or the function that allocated it.
std::string memory_of(uint32_t line, Symbols& symbols) {
  const auto at = reinterpret_cast<uintptr_t>(address_of(line));
  if (!in_region(address_of(line))) return "variable " + symbols.variable(at);
  auto found = allocations().upper_bound(at + kLineBytes - 1);
  if (found == allocations().begin()) return "a stack, or memory from before the report";
  --found;
  const auto& [begin, allocation] = *found;
  if (at >= begin + allocation.bytes) return "a stack, or memory from before the report";
  std::string site = "?";
  for (const uint32_t frame : allocation.frames) {
    if (frame == 0) break;
    site = symbols.function(frame);
    if (!symbols.serves_others(frame)) break;
  }
  return std::to_string(allocation.bytes) + " B of " + site + " + " +
         std::to_string(at < begin ? 0 : at - begin);
}

struct Site {
  uint32_t address;
  Sum sum;
};

void print_table(const char* title, const std::map<std::string, Sum>& sums, const Sum& all) {
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& one, const auto& other) {
    return costs_more(one.second, other.second);
  });
  if (sorted.size() > wanted_lines()) sorted.resize(wanted_lines());
  std::printf("\n%-6s %8s %12s  %s\n", "wait", "latency", "times", title);
  for (const auto& [name, sum] : sorted) {
    std::printf("%5.1f%% %7.1f%% %12lu  %s\n", percent(sum.waited, all.waited),
                percent(sum.latency, all.latency), sum.times, name.c_str());
  }
}

}  // namespace

void begin_lines_report() { reporting_lines = reporting_memory = true; }

void begin_reported_time() {
  by_line_and_site().clear();
  by_line().clear();
  begun = answered_until_now();
}

void end_reported_time() {
  reporting_lines = false;
  ended = answered_until_now();
  has_ended = true;
}

void record_transfer(const void* site, uint32_t line, uint32_t core, Picoseconds waited,
                     Picoseconds latency) {
  const auto address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(site));
  const Sum transfer{1, waited, latency};
  by_line_and_site()[uint64_t{line} << 32 | address].add(transfer);
  LineSum& all = by_line()[line];
  all.add(transfer);
  all.cores.set(core);
}

void record_allocation(const void* piece, size_t bytes) {
  Allocation& made = allocations()[reinterpret_cast<uintptr_t>(piece)];
  made = {bytes, {}};
  // Every function of the program keeps its frame pointer (-fno-omit-frame-pointer).
  auto* frame = static_cast<void* const*>(__builtin_frame_address(0));
  for (uint32_t& address : made.frames) {
    if (!in_region(frame)) break;
    address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(frame[1]));
    frame = static_cast<void* const*>(*frame);
  }
}

namespace {

void print_accesses() {
  if (!has_ended) ended = answered_until_now();
  const std::pair<const char*, uint64_t AccessCounts::*> rows[] = {
      {"the core's second cache", &AccessCounts::second_level},
      {"its complex's cache", &AccessCounts::shared_cache},
      {"another core", &AccessCounts::other_core},
      {"another complex", &AccessCounts::other_complex},
      {"another socket", &AccessCounts::other_socket},
      {"own memory", &AccessCounts::memory},
      {"remote memory", &AccessCounts::remote_memory},
      {"invalidations", &AccessCounts::upgrades},
      {"waits for a line", &AccessCounts::waits_for_line},
  };
  std::printf("\nAccesses of the workers and log threads, in the %s: %lu. By who answered:\n",
              has_ended ? "measured time" : "whole run", ended.accesses - begun.accesses);
  for (const auto& [name, count] : rows) {
    std::printf("%14lu  %s\n", ended.counts.*count - begun.counts.*count, name);
  }
  std::printf("%14lu  lines of memory among them that the hardware fetched ahead\n",
              ended.fetched_ahead - begun.fetched_ahead);
  std::printf("%14lu  instructions\n", ended.executed - begun.executed);
  std::printf("In the whole run:\n");
  std::printf("%14lu  turns waited for; %lu of them gave other contexts their turn\n",
              scheduler().waits_for_turn(), scheduler().turns_given());
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const double seconds =
      static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) * 1e-6;
  std::printf("%14.1f  million accesses a second of the host's processor time, loading and all\n",
              static_cast<double>(accesses) / seconds * 1e-6);
  const Slabs slabs = slabs_taken();
  std::printf("%14lu  slabs of the heap; their numbers add up to %lu\n", slabs.count, slabs.sum);
}

}  // namespace

void print_lines_report() {
  stop_heap();
  if (!FLAGS_report.empty()) print_accesses();
  if (!reporting_memory) return;
  reporting_lines = reporting_memory = false;
  Symbols symbols;
  std::unordered_map<uint32_t, std::vector<Site>> sites;
  Sum all;
  for (const auto& [key, sum] : by_line_and_site()) {
    sites[static_cast<uint32_t>(key >> 32)].push_back({static_cast<uint32_t>(key), sum});
    symbols.want(static_cast<uint32_t>(key));
    all.add(sum);
  }
  for (const auto& [begin, allocation] : allocations()) {
    for (const uint32_t frame : allocation.frames) symbols.want(frame);
  }
  symbols.resolve();

  std::vector<std::pair<uint32_t, LineSum>> lines(by_line().begin(), by_line().end());
  std::sort(lines.begin(), lines.end(), [](const auto& one, const auto& other) {
    if (costs_more(one.second, other.second)) return true;
    return !costs_more(other.second, one.second) && one.first < other.first;
  });
  std::map<std::string, Sum> by_function, by_memory;
  for (const auto& [line, sum] : lines) {
    std::string memory = memory_of(line, symbols);
    memory = memory.substr(0, memory.rfind(" + "));
    by_memory[memory].add(sum);
    for (const Site& site : sites[line]) by_function[symbols.function(site.address)].add(site.sum);
  }
  std::printf(
      "\nCache lines: all cores together waited %.3f ms for %zu lines from elsewhere, whose "
      "latencies add up to %.3f ms.\n",
      static_cast<double>(all.waited) * 1e-9, lines.size(),
      static_cast<double>(all.latency) * 1e-9);
  print_table("functions that waited", by_function, all);
  print_table("memory that was waited for", by_memory, all);
  std::printf("\n%-6s %8s %12s %6s  the lines that cost most\n", "wait", "latency", "times",
              "cores");
  if (lines.size() > wanted_lines()) lines.resize(wanted_lines());
  for (const auto& [line, sum] : lines) {
    std::printf("%5.1f%% %7.1f%% %12lu %6zu  %p, %s\n", percent(sum.waited, all.waited),
                percent(sum.latency, all.latency), sum.times, sum.cores.count(), address_of(line),
                memory_of(line, symbols).c_str());
    std::vector<Site>& here = sites[line];
    std::sort(here.begin(), here.end(), [](const Site& one, const Site& other) {
      if (costs_more(one.sum, other.sum)) return true;
      return !costs_more(other.sum, one.sum) && one.address < other.address;
    });
    constexpr size_t kSites = 3;
    for (size_t i = 0; i < std::min(kSites, here.size()); ++i) {
      std::printf("%35s %5.1f%% %s\n", "", percent(here[i].sum.waited, sum.waited),
                  symbols.place(here[i].address).c_str());
    }
  }
}

}  // namespace logjam::sim

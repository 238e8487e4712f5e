#include "sim/machine/profile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "platform/fatal.h"
#include "platform/files.h"

namespace logjam::sim {
namespace {

bool always(const Profile&) { return true; }
bool has_one_context(const Profile& p) { return p.contexts == 1; }
bool has_no_l2(const Profile& p) { return p.l2_kib == 0; }
bool has_one_complex(const Profile& p) { return p.complexes == 1; }
bool has_one_socket(const Profile& p) { return p.sockets == 1; }
bool has_one_hop(const Profile& p) {
  const uint32_t differences = (1U << std::bit_ceil(static_cast<uint32_t>(p.sockets))) - 2;
  return (differences & ~one_hop(p.interconnect)) == 0;
}
template <double Profile::*other>
double as(const Profile& p) {
  return p.*other;
}
template <int value>
double is(const Profile&) {
  return value;
}
double a_fifth(const Profile&) { return 0.2; }

constexpr bool kWhole = true, kReal = false;
struct Key {
  const char* name;
  double Profile::*number;
  double least, most;
  bool whole = kReal;
  // If this function returns true, the profile may omit the key. The key's value is then
  // `otherwise`.
  bool (*may_be_left_out)(const Profile&) = [](const Profile&) { return false; };
  double (*otherwise)(const Profile&) = nullptr;
};

#define KEY(name, ...) \
  Key { #name, &Profile::name, __VA_ARGS__ }
constexpr double kMostCycles = 1e6, kMostNs = 1e9, kMostLookAheadNs = 1e4;
constexpr std::array kKeys = {
    KEY(ghz, 0.1, 10),
    KEY(sockets, 1, 8, kWhole),
    KEY(cores, 1, 256, kWhole),
    KEY(complexes, 1, 32, kWhole, always, is<1>),
    KEY(contexts, 1, 8, kWhole),
    KEY(instructions_per_cycle, 0.05, 16),
    KEY(context_share, 0, 1, kReal, has_one_context, is<1>),
    KEY(l1_kib, 1, 1024),
    KEY(l1_ways, 1, 64, kWhole),
    KEY(l2_kib, 0, 65536),
    KEY(l2_ways, 1, 64, kWhole, has_no_l2, is<1>),
    KEY(l2_cycles, 0, kMostCycles, kReal, has_no_l2, is<0>),
    KEY(l3_mib, 0, 4096),
    KEY(l3_ways, 1, 64, kWhole),
    KEY(l3_cycles, 0, kMostCycles),
    KEY(dirty_cycles, 0, kMostCycles),
    KEY(upgrade_cycles, 0, kMostCycles),
    KEY(complex_clean_cycles, 0, kMostCycles, kReal, has_one_complex, as<&Profile::l3_cycles>),
    KEY(complex_dirty_cycles, 0, kMostCycles, kReal, has_one_complex, as<&Profile::dirty_cycles>),
    KEY(complex_upgrade_cycles, 0, kMostCycles, kReal, has_one_complex,
        as<&Profile::upgrade_cycles>),
    KEY(hop_clean_cycles, 0, kMostCycles, kReal, has_one_socket, as<&Profile::l3_cycles>),
    KEY(hop_dirty_cycles, 0, kMostCycles, kReal, has_one_socket, as<&Profile::dirty_cycles>),
    KEY(hop_upgrade_cycles, 0, kMostCycles, kReal, has_one_socket, as<&Profile::upgrade_cycles>),
    KEY(two_hop_clean_cycles, 0, kMostCycles, kReal, has_one_hop, as<&Profile::hop_clean_cycles>),
    KEY(two_hop_dirty_cycles, 0, kMostCycles, kReal, has_one_hop, as<&Profile::hop_dirty_cycles>),
    KEY(two_hop_upgrade_cycles, 0, kMostCycles, kReal, has_one_hop,
        as<&Profile::hop_upgrade_cycles>),
    KEY(memory_cycles, 0, kMostCycles),
    KEY(hop_memory_cycles, 0, kMostCycles, kReal, has_one_socket, as<&Profile::memory_cycles>),
    KEY(two_hop_memory_cycles, 0, kMostCycles, kReal, has_one_hop, as<&Profile::hop_memory_cycles>),
    KEY(memory_gb_s, 0.01, 1e5),
    KEY(rmw_cycles, 0, kMostCycles),
    KEY(fence_cycles, 0, kMostCycles),
    KEY(pause_cycles, 1, kMostCycles),
    KEY(ticks_cycles, 0, kMostCycles),
    KEY(occupancy, 0, 1),
    KEY(hold, 0, 1, kReal, always, a_fifth),
    KEY(nearest_first, 0, 1, kWhole, always, is<0>),
    KEY(read_occupancy_cycles, 0, kMostCycles, kReal, always, is<0>),
    KEY(sharer_cycles, 0, kMostCycles, kReal, always, is<0>),
    KEY(far_atomic_cycles, 0, kMostCycles, kReal, always, is<0>),
    KEY(store_buffer, 1, 1024),
    KEY(store_cycles, 0, 1000, kReal, always, is<4>),
    KEY(overlap, 1, 64),
    KEY(stream_cycles, 0, kMostCycles, kReal, always, as<&Profile::memory_cycles>),
    KEY(stream_store_cycles, 0, kMostCycles, kReal, always, as<&Profile::memory_cycles>),
    KEY(l3_stream_cycles, 0, kMostCycles, kReal, always, as<&Profile::l3_cycles>),
    KEY(lines_ahead, 0, 64, kReal, always, is<0>),
    KEY(lines_noticed, 1, 64, kWhole, always, is<2>),
    KEY(clock_ns, 0, kMostNs),
    KEY(allocation_ns, 0, kMostNs),
    KEY(syscall_ns, 0, kMostNs),
    KEY(context_switch_ns, 0, kMostNs),
    KEY(futex_look_ns, 0, kMostNs, kReal, always, as<&Profile::futex_wait_ns>),
    KEY(futex_wait_ns, 0, kMostNs),
    KEY(futex_wake_ns, 0, kMostNs),
    KEY(wake_busy_ns, 0, kMostNs, kReal, always, is<0>),
    KEY(wake_latency_ns, 0, kMostNs),
    KEY(timer_late_ns, 0, kMostNs),
    KEY(time_slice_us, 1, 1e6),
    KEY(write_back_ns, 0, kMostNs),
    KEY(write_back_line_ns, 0, kMostNs, kReal, always, as<&Profile::write_back_ns>),
    KEY(look_ahead_ns, 0, kMostLookAheadNs, kReal, always, is<0>),
};
#undef KEY

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Sets the number `key` of the profile. Returns what is wrong, or an empty string.
std::string set_number(const std::string& key, const std::string& text, Profile* profile) {
  const auto found =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& one) { return key == one.name; });
  if (found == kKeys.end()) return "\"" + key + "\" is not a key of a machine's profile";
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0) return key + " is a number, not \"" + text + "\"";
  if (!(value >= found->least && value <= found->most)) {
    std::ostringstream limits;
    limits << key << " is between " << found->least << " and " << found->most << ", not " << text;
    return limits.str();
  }
  if (found->whole && value != std::floor(value)) {
    return key + " is a whole number, not " + text;
  }
  profile->*(found->number) = value;
  return "";
}

std::string unquoted(const std::string& text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return "";
  return text.substr(1, text.size() - 2);
}

// Reads one line of the file. Returns its key, or an empty string for a line without a key.
std::string read_line(const std::string& line, const std::string& where, Profile* profile) {
  const std::string text = trimmed(line);
  if (text.empty() || text.front() == '#') return "";
  const size_t equals = text.find('=');
  if (equals == std::string::npos) platform::refuse(where + "a line is \"key = value  # source\"");
  std::string key = trimmed(text.substr(0, equals));
  const bool quoted = key == "name" || key == "interconnect";
  const size_t open = quoted ? text.find('"', equals) : equals;
  const size_t hash = text.find('#', quoted ? text.find('"', open + 1) : equals);
  const std::string value = trimmed(text.substr(equals + 1, hash - equals - 1));
  if (quoted) {
    (key == "name" ? profile->name : profile->interconnect) = unquoted(value);
    return key;
  }
  if (hash == std::string::npos || trimmed(text.substr(hash + 1)).empty()) {
    platform::refuse(where + key + " has no source after it (\"# source\")");
  }
  const std::string why = set_number(key, value, profile);
  if (!why.empty()) platform::refuse(where + why);
  return key;
}

std::filesystem::path path_of(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".toml")) return name;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / ".." / "config" /
         "machines" / (name + ".toml");
}

}  // namespace

uint32_t one_hop(const std::string& interconnect) {
  if (interconnect == "full" || interconnect == "hub") return 0b11111110;
  if (interconnect == "square") return 0b00010110;
  return interconnect == "chassis" ? 0b00001110 : 0;
}

Profile read_profile(const std::string& name, const std::string& changes) {
  const std::filesystem::path path = path_of(name);
  std::string text;
  const int error = platform::read_file(path, &text);
  if (error == ENOENT) {
    platform::refuse("--machine=" + name + ": there is no file " + path.string());
  }
  if (error != 0) {
    platform::refuse("--machine=" + name + ": " + path.string() +
                     " cannot be read: " + platform::error_text(error));
  }
  std::istringstream in(text);
  Profile profile{};
  profile.file = path.stem();
  std::set<std::string> seen;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = path.string() + ":" + std::to_string(++number) + ": ";
    const std::string key = read_line(line, where, &profile);
    if (!key.empty() && !seen.insert(key).second) platform::refuse(where + key + " comes twice");
  }
  if (profile.name.empty()) platform::refuse(path.string() + " has no name");
  if (one_hop(profile.interconnect) == 0) {
    platform::refuse(path.string() +
                     ": interconnect is \"full\", \"hub\", \"square\" or \"chassis\"");
  }
  std::istringstream list(changes);
  for (std::string change; std::getline(list, change, ',');) {
    const size_t equals = std::min(change.find('='), change.size());
    const std::string value = equals < change.size() ? change.substr(equals + 1) : "";
    const std::string why = set_number(change.substr(0, equals), value, &profile);
    if (!why.empty()) platform::refuse("--set: " + why);
    seen.insert(change.substr(0, equals));
  }
  for (const Key& key : kKeys) {
    if (seen.contains(key.name)) continue;
    if (!key.may_be_left_out(profile)) platform::refuse(path.string() + " has no key " + key.name);
    profile.*(key.number) = key.otherwise(profile);
  }
  return profile;
}

}  // namespace logjam::sim

#include "sim/machine/profile.h"

#include <algorithm>
#include <array>
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

struct Key {
  const char* name;
  double Profile::*number;
  double least, most;
  bool whole = false;
};

#define LOGJAM_KEY(name, least, most) \
  Key { #name, &Profile::name, least, most }
#define LOGJAM_COUNT(name, most) \
  Key { #name, &Profile::name, 1, most, true }
constexpr double kMostCycles = 1e6, kMostNs = 1e9, kMostLookAheadNs = 1e4;
constexpr std::array kKeys = {
    LOGJAM_KEY(ghz, 0.1, 10),
    LOGJAM_COUNT(sockets, 8),
    LOGJAM_COUNT(cores, 256),
    LOGJAM_COUNT(complexes, 32),
    LOGJAM_COUNT(contexts, 8),
    LOGJAM_KEY(instructions_per_cycle, 0.05, 16),
    LOGJAM_KEY(context_share, 0, 1),
    LOGJAM_KEY(l1_kib, 1, 1024),
    LOGJAM_COUNT(l1_ways, 64),
    LOGJAM_KEY(l2_kib, 0, 65536),
    LOGJAM_COUNT(l2_ways, 64),
    LOGJAM_KEY(l2_cycles, 0, kMostCycles),
    LOGJAM_KEY(l3_mib, 0, 4096),
    LOGJAM_COUNT(l3_ways, 64),
    LOGJAM_KEY(l3_cycles, 0, kMostCycles),
    LOGJAM_KEY(dirty_cycles, 0, kMostCycles),
    LOGJAM_KEY(upgrade_cycles, 0, kMostCycles),
    LOGJAM_KEY(complex_clean_cycles, 0, kMostCycles),
    LOGJAM_KEY(complex_dirty_cycles, 0, kMostCycles),
    LOGJAM_KEY(complex_upgrade_cycles, 0, kMostCycles),
    LOGJAM_KEY(hop_clean_cycles, 0, kMostCycles),
    LOGJAM_KEY(hop_dirty_cycles, 0, kMostCycles),
    LOGJAM_KEY(hop_upgrade_cycles, 0, kMostCycles),
    LOGJAM_KEY(two_hop_clean_cycles, 0, kMostCycles),
    LOGJAM_KEY(two_hop_dirty_cycles, 0, kMostCycles),
    LOGJAM_KEY(two_hop_upgrade_cycles, 0, kMostCycles),
    LOGJAM_KEY(memory_cycles, 0, kMostCycles),
    LOGJAM_KEY(hop_memory_cycles, 0, kMostCycles),
    LOGJAM_KEY(two_hop_memory_cycles, 0, kMostCycles),
    LOGJAM_KEY(memory_gb_s, 0.01, 1e5),
    LOGJAM_KEY(rmw_cycles, 0, kMostCycles),
    LOGJAM_KEY(fence_cycles, 0, kMostCycles),
    LOGJAM_KEY(pause_cycles, 1, kMostCycles),
    LOGJAM_KEY(ticks_cycles, 0, kMostCycles),
    LOGJAM_KEY(occupancy, 0, 1),
    LOGJAM_KEY(hold, 0, 1),
    Key{"nearest_first", &Profile::nearest_first, 0, 1, true},
    LOGJAM_KEY(read_occupancy_cycles, 0, kMostCycles),
    LOGJAM_KEY(sharer_cycles, 0, kMostCycles),
    LOGJAM_KEY(far_atomic_cycles, 0, kMostCycles),
    LOGJAM_KEY(store_buffer, 1, 1024),
    LOGJAM_KEY(store_cycles, 0, 1000),
    LOGJAM_KEY(overlap, 1, 64),
    LOGJAM_KEY(stream_cycles, 0, kMostCycles),
    LOGJAM_KEY(stream_store_cycles, 0, kMostCycles),
    LOGJAM_KEY(l3_stream_cycles, 0, kMostCycles),
    LOGJAM_KEY(lines_ahead, 0, 64),
    LOGJAM_COUNT(lines_noticed, 64),
    LOGJAM_KEY(clock_ns, 0, kMostNs),
    LOGJAM_KEY(allocation_ns, 0, kMostNs),
    LOGJAM_KEY(syscall_ns, 0, kMostNs),
    LOGJAM_KEY(context_switch_ns, 0, kMostNs),
    LOGJAM_KEY(futex_look_ns, 0, kMostNs),
    LOGJAM_KEY(futex_wait_ns, 0, kMostNs),
    LOGJAM_KEY(futex_wake_ns, 0, kMostNs),
    LOGJAM_KEY(wake_busy_ns, 0, kMostNs),
    LOGJAM_KEY(wake_latency_ns, 0, kMostNs),
    LOGJAM_KEY(timer_late_ns, 0, kMostNs),
    LOGJAM_KEY(time_slice_us, 1, 1e6),
    LOGJAM_KEY(write_back_ns, 0, kMostNs),
    LOGJAM_KEY(write_back_line_ns, 0, kMostNs),
    LOGJAM_KEY(look_ahead_ns, 0, kMostLookAheadNs),
};
#undef LOGJAM_KEY
#undef LOGJAM_COUNT

// A key that a profile may leave out, if `applies` is true of the machine. It then is `number`.
struct Default {
  double Profile::*key;
  bool (*applies)(const Profile&);
  double (*number)(const Profile&);
};
bool always(const Profile&) { return true; }
bool has_one_context(const Profile& p) { return p.contexts == 1; }
bool has_no_l2(const Profile& p) { return p.l2_kib == 0; }
bool has_one_complex(const Profile& p) { return p.complexes == 1; }
bool has_one_socket(const Profile& p) { return p.sockets == 1; }
bool has_one_hop(const Profile& p) { return p.interconnect == "full" || p.sockets <= 2; }
template <double Profile::*other>
double as(const Profile& p) {
  return p.*other;
}
template <int value>
double is(const Profile&) {
  return value;
}
double a_fifth(const Profile&) { return 0.2; }
constexpr std::array kDefaults = {
    // in the order of the keys
    Default{&Profile::complexes, always, is<1>},
    Default{&Profile::context_share, has_one_context, is<1>},
    Default{&Profile::l2_ways, has_no_l2, is<1>},
    Default{&Profile::l2_cycles, has_no_l2, is<0>},
    Default{&Profile::complex_clean_cycles, has_one_complex, as<&Profile::l3_cycles>},
    Default{&Profile::complex_dirty_cycles, has_one_complex, as<&Profile::dirty_cycles>},
    Default{&Profile::complex_upgrade_cycles, has_one_complex, as<&Profile::upgrade_cycles>},
    Default{&Profile::hop_clean_cycles, has_one_socket, as<&Profile::l3_cycles>},
    Default{&Profile::hop_dirty_cycles, has_one_socket, as<&Profile::dirty_cycles>},
    Default{&Profile::hop_upgrade_cycles, has_one_socket, as<&Profile::upgrade_cycles>},
    Default{&Profile::two_hop_clean_cycles, has_one_hop, as<&Profile::hop_clean_cycles>},
    Default{&Profile::two_hop_dirty_cycles, has_one_hop, as<&Profile::hop_dirty_cycles>},
    Default{&Profile::two_hop_upgrade_cycles, has_one_hop, as<&Profile::hop_upgrade_cycles>},
    Default{&Profile::hop_memory_cycles, has_one_socket, as<&Profile::memory_cycles>},
    Default{&Profile::two_hop_memory_cycles, has_one_hop, as<&Profile::hop_memory_cycles>},
    Default{&Profile::hold, always, a_fifth},
    Default{&Profile::nearest_first, always, is<0>},
    Default{&Profile::read_occupancy_cycles, always, is<0>},
    Default{&Profile::sharer_cycles, always, is<0>},
    Default{&Profile::far_atomic_cycles, always, is<0>},
    Default{&Profile::store_cycles, always, is<4>},
    Default{&Profile::stream_cycles, always, as<&Profile::memory_cycles>},
    Default{&Profile::stream_store_cycles, always, as<&Profile::memory_cycles>},
    Default{&Profile::l3_stream_cycles, always, as<&Profile::l3_cycles>},
    Default{&Profile::lines_ahead, always, is<0>},
    Default{&Profile::lines_noticed, always, is<2>},
    Default{&Profile::futex_look_ns, always, as<&Profile::futex_wait_ns>},
    Default{&Profile::wake_busy_ns, always, is<0>},
    Default{&Profile::write_back_line_ns, always, as<&Profile::write_back_ns>},
    Default{&Profile::look_ahead_ns, always, is<0>},
};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Sets the number `key` of the profile. Returns what is wrong, or an empty text.
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

// Reads one line. Returns its key, or an empty text for a line without a key.
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
  if (profile.interconnect != "full" && profile.interconnect != "square") {
    platform::refuse(path.string() + ": interconnect is \"full\" or \"square\"");
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
    const auto found = std::ranges::find(kDefaults, key.number, &Default::key);
    if (found == kDefaults.end() || !found->applies(profile)) {
      platform::refuse(path.string() + " has no key " + key.name);
    }
    profile.*(key.number) = found->number(profile);
  }
  return profile;
}

}  // namespace logjam::sim

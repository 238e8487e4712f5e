#include <gflags/gflags.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/row.h"
#include "engine/protocol.h"
#include "engine/workload.h"
#include "logging/device/device_registry.h"
#include "logging/scheme_registry.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"

namespace logjam {
namespace {

template <class Infos, class Make>
void print_all(Line heading, const Infos& infos, const Make& make) {
  std::vector<Line> lines = {std::move(heading)};
  for (const auto& info : infos) {
    Line line;
    for (std::string_view cell : make(info)) line.emplace_back(cell);
    lines.push_back(std::move(line));
  }
  print_table(lines);
}

using Cells = std::vector<std::string_view>;

void list_schemes() {
  print_all({"SCHEME (--log)", "DEVICE", "STREAMS", "BUFFER", "SEQUENCE", "FLUSHED BY", "SAFE WHEN",
             "CUT", "SOURCE"},
            all_schemes(), [](const SchemeInfo& s) {
              return Cells{s.name,      s.traits.in_place ? "nvm" : "any",
                           s.streams,   s.buffer,
                           s.sequence,  s.flushed_by,
                           s.safe_when, s.cut,
                           s.source};
            });
}

void list_protocols() {
  print_all({"PROTOCOL (--cc)", "WHAT"}, all_protocols(), [](const ProtocolInfo& p) {
    return Cells{p.name, p.what};
  });
}

void list_workloads() {
  print_all({"WORKLOAD (--workload)", "MEMORY", "WHAT"}, all_workloads(),
            [](const WorkloadInfo& w) {
              return Cells{w.name, w.memory, w.what};
            });
}

void list_variants() {
  std::vector<std::pair<std::string_view, WorkloadVariant>> variants;
  for (const WorkloadInfo& workload : all_workloads()) {
    for (const WorkloadVariant& variant : workload.variants) {
      variants.emplace_back(workload.name, variant);
    }
  }
  print_all({"VARIANT", "OF", "WHAT"}, variants, [](const auto& of) {
    return Cells{of.second.flag, of.first, of.second.what};
  });
}

void list_devices() {
  std::deque<std::string> forms;  // cells are views
  print_all({"DEVICE (--device)", "WHAT"}, all_devices(), [&forms](const DeviceKind& d) {
    return Cells{forms.emplace_back(d.form()), d.what};
  });
}

// The lists, in the order in which `logjam list` prints them all.
constexpr std::pair<std::string_view, void (*)()> kLists[] = {{"schemes", list_schemes},
                                                              {"protocols", list_protocols},
                                                              {"workloads", list_workloads},
                                                              {"variants", list_variants},
                                                              {"devices", list_devices}};

template <class Texts>
Value texts(const Texts& texts) {
  return list_of(std::vector<Value>(texts.begin(), texts.end()));
}

template <class Infos, class ToRow>
std::string all_of(const Infos& infos, const ToRow& to_row) {
  std::vector<std::string> items;
  for (const auto& info : infos) items.push_back(to_json(to_row(info)));
  return json_array(items);
}

std::string_view name_of(NumberDrawn drawn) {
  switch (drawn) {
    case NumberDrawn::kBefore:
      return "before";
    case NumberDrawn::kBeforeWithoutHole:
      return "before, without a hole";
    default:
      return "after";
  }
}

Row scheme_row(const SchemeInfo& scheme) {
  const LogTraits& traits = scheme.traits;
  const StreamCount streams = stream_count_of(scheme);
  return {
      {"name", scheme.name},
      {"device", traits.in_place ? "nvm" : "any"},
      {"streams", scheme.streams},
      {"buffer", scheme.buffer},
      {"sequence", scheme.sequence},
      {"flushed_by", scheme.flushed_by},
      {"safe_when", scheme.safe_when},
      {"cut", scheme.cut},
      {"source", scheme.source},
      {"differs", scheme.differs},
      {"logs", traits.logs},
      {"in_place", traits.in_place},
      {"commands", traits.commands},
      {"number_drawn", name_of(traits.number_drawn)},
      {"stream_count", Value("", to_json({{"base", streams.base},
                                          {"per_directory", streams.per_directory},
                                          {"per_worker", streams.per_worker},
                                          {"per_socket", streams.per_socket}}))},
      {"unsafe", scheme.unsafe()},
      {"recovery_flags", texts(scheme.recovery_flags)},
  };
}

Row workload_row(const WorkloadInfo& workload) {
  std::vector<std::string> variants;
  for (const WorkloadVariant& variant : workload.variants) variants.push_back(variant.flag);
  return {{"name", workload.name},
          {"memory", workload.memory},
          {"what", workload.what},
          {"variants", texts(variants)},
          {"load_flags", texts(workload.load_flags)},
          {"keeps_history", workload.keeps_history}};
}

Row device_row(const DeviceKind& device) {
  // A device that wraps another one has that device's traits, and none of its own.
  const auto trait = [&](bool has) { return device.wraps ? Value() : Value(has); };
  return {{"name", device.name},
          {"spec", device.form()},
          {"what", device.what},
          {"keeps", trait(device.traits.keeps)},
          {"memory", trait(device.traits.is_memory)},
          {"discards", trait(device.traits.discards)}};
}

// Returns an object with an array for each of "schemes", "protocols", "workloads", "variants" and
// "devices" that is `wanted`.
std::string list_as_json(const std::function<bool(const char*)>& wanted) {
  std::vector<std::pair<std::string, std::string>> members;
  if (wanted("schemes")) members.emplace_back("schemes", all_of(all_schemes(), scheme_row));
  if (wanted("protocols")) {
    members.emplace_back("protocols", all_of(all_protocols(), [](const ProtocolInfo& protocol) {
                           return Row{{"name", protocol.name}, {"what", protocol.what}};
                         }));
  }
  if (wanted("workloads")) {
    members.emplace_back("workloads", all_of(all_workloads(), workload_row));
  }
  if (wanted("variants")) {
    std::vector<std::string> variants;
    for (const WorkloadInfo& workload : all_workloads()) {
      for (const WorkloadVariant& variant : workload.variants) {
        variants.push_back(
            to_json({{"flag", variant.flag}, {"workload", workload.name}, {"what", variant.what}}));
      }
    }
    members.emplace_back("variants", json_array(variants));
  }
  if (wanted("devices")) members.emplace_back("devices", all_of(all_devices(), device_row));
  return json_object(members);
}

}  // namespace

int list_command(const std::string& what) {
  const auto wanted = [&](std::string_view name) { return what.empty() || what == name; };
  if (std::ranges::none_of(kLists, [&](const auto& list) { return wanted(list.first); })) {
    std::vector<std::string_view> names;
    for (const auto& [name, print] : kLists) names.push_back(name);
    platform::refuse("\"" + what + "\" cannot be listed" + platform::instead_of(what, names));
  }
  if (const OutputFiles files = output_files(); !files.json.empty()) {
    files.claim_json();
    files.append_json(list_as_json(wanted));
    return 0;
  }
  for (const auto& [name, print] : kLists) {
    if (wanted(name)) print();
  }
  return 0;
}

StreamCount stream_count_of(const SchemeInfo& scheme) {
  const auto count = [&](uint32_t directories, uint32_t workers, uint32_t sockets) {
    LogConfig config;
    config.workers = workers;
    config.sockets = sockets;
    return scheme.stream_count(directories, config);
  };
  const uint32_t least = count(1, 1, 1);
  LJ_ASSERT(count(2, 1, 1) >= least && count(1, 2, 1) >= least && count(1, 1, 2) >= least);
  StreamCount streams;
  streams.per_directory = count(2, 1, 1) - least;
  streams.per_worker = count(1, 2, 1) - least;
  streams.per_socket = count(1, 1, 2) - least;
  streams.base = least - streams.per_directory - streams.per_worker - streams.per_socket;
  return streams;
}

}  // namespace logjam

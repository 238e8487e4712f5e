#include <gflags/gflags.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/list_json.h"
#include "cli/row_files.h"
#include "cli/table.h"
#include "engine/protocol.h"
#include "engine/workload.h"
#include "logging/device/device_registry.h"
#include "logging/scheme_registry.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"

DECLARE_string(json);

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

}  // namespace

int list_command(const std::string& what) {
  const auto wanted = [&](std::string_view name) { return what.empty() || what == name; };
  if (std::ranges::none_of(kLists, [&](const auto& list) { return wanted(list.first); })) {
    std::vector<std::string_view> names;
    for (const auto& [name, print] : kLists) names.push_back(name);
    platform::refuse("\"" + what + "\" cannot be listed" + platform::instead_of(what, names));
  }
  if (!FLAGS_json.empty()) {
    claim_json_file();
    append_json(list_as_json(wanted));
    return 0;
  }
  for (const auto& [name, print] : kLists) {
    if (wanted(name)) print();
  }
  return 0;
}

}  // namespace logjam

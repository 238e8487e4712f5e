#include <gflags/gflags.h>

#include "cli/commands.h"
#include "cli/list_json.h"
#include "cli/placement.h"
#include "cli/row_files.h"
#include "cli/table.h"
#include "engine/protocol.h"
#include "engine/workload.h"
#include "logging/device/device_registry.h"
#include "logging/scheme_registry.h"
#include "platform/fatal.h"

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

}  // namespace

int list_command(const std::string& what) {
  if (what == "machine") return list_machine();
  if (what == "placement") return list_placement();
  const bool all = what.empty();
  bool known = all;
  const auto wanted = [&](const char* name) {
    known = known || what == name;
    return all || what == name;
  };
  const auto refuse_unknown = [&] {
    if (known) return;
    platform::refuse(
        "\"" + what +
        "\" cannot be listed; schemes, protocols, workloads, variants, devices, machine "
        "and placement can");
  };
  if (!FLAGS_json.empty()) {
    const std::string json = list_as_json(wanted);
    refuse_unknown();
    refuse_json_file();
    append_json(json);
    return 0;
  }
  using Cells = std::vector<std::string_view>;
  if (wanted("schemes")) {
    print_all({"SCHEME (--log)", "DEVICE", "STREAMS", "BUFFER", "SEQUENCE", "FLUSHED BY",
               "SAFE WHEN", "CUT", "SOURCE"},
              all_schemes(), [](const SchemeInfo& s) {
                return Cells{s.name,      s.traits.in_place ? "nvm" : "any",
                             s.streams,   s.buffer,
                             s.sequence,  s.flushed_by,
                             s.safe_when, s.cut,
                             s.source};
              });
  }
  if (wanted("protocols")) {
    print_all({"PROTOCOL (--cc)", "WHAT"}, all_protocols(), [](const ProtocolInfo& p) {
      return Cells{p.name, p.what};
    });
  }
  if (wanted("workloads")) {
    print_all({"WORKLOAD (--workload)", "MEMORY", "WHAT"}, all_workloads(),
              [](const WorkloadInfo& w) {
                return Cells{w.name, w.memory, w.what};
              });
  }
  if (wanted("variants")) {
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
  if (wanted("devices")) {
    std::deque<std::string> forms;  // cells are views
    print_all({"DEVICE (--device)", "WHAT"}, all_devices(), [&forms](const DeviceKind& d) {
      return Cells{forms.emplace_back(d.form()), d.what};
    });
  }
  refuse_unknown();
  return 0;
}

}  // namespace logjam

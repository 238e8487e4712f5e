#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/row.h"
#include "engine/protocol.h"
#include "engine/workload.h"
#include "logging/device/device_registry.h"
#include "logging/scheme_registry.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/most_workers.h"
#include "platform/nearest_name.h"
#include "platform/placement.h"

namespace logjam {
namespace {

// One list: its rows, which --json prints with all columns, and the columns in the printed table.
struct List {
  std::string_view name;
  std::vector<Row> rows;
  std::vector<std::pair<std::string, std::string_view>> shown;  // heading, and name of the column
};

template <class Texts>
Value texts(const Texts& texts) {
  return list_of(std::vector<Value>(texts.begin(), texts.end()));
}

template <class Infos, class ToRow>
std::vector<Row> rows_of(const Infos& infos, const ToRow& to_row) {
  std::vector<Row> rows;
  for (const auto& info : infos) rows.push_back(to_row(info));
  return rows;
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
                                          {"per_group", streams.per_group},
                                          {"group", streams.group},
                                          {"per_socket", streams.per_socket}}))},
      {"unsafe", scheme.unsafe()},
      {"parts", text_of(scheme.parts)},
      {"may_have", text_of(scheme.may_have)},
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
          {"keeps_history", workload.keeps_history},
          {"has_commands", workload.has_commands}};
}

Row device_row(const DeviceKind& device) {
  // A device that wraps another device has the traits of the wrapped device, and none of its own.
  const auto trait = [&](bool has) { return device.wraps ? Value() : Value(has); };
  return {{"name", device.name},
          {"spec", device.form()},
          {"what", device.what},
          {"keeps", trait(device.traits.keeps)},
          {"memory", trait(device.traits.is_memory)},
          {"discards", trait(device.traits.discards)}};
}

std::vector<Row> variant_rows() {
  std::vector<Row> rows;
  for (const WorkloadInfo& workload : all_workloads()) {
    for (const WorkloadVariant& variant : workload.variants) {
      rows.push_back({{"flag", variant.flag}, {"workload", workload.name}, {"what", variant.what}});
    }
  }
  return rows;
}

Row protocol_row(const ProtocolInfo& protocol) {
  return {{"name", protocol.name},
          {"what", protocol.what},
          {"serializable", protocol.serializable},
          {"serial_in_commit_order", protocol.serial_in_commit_order}};
}

// Returns all lists, in the order in which `logjam list` prints them.
std::vector<List> lists() {
  return {{"schemes",
           rows_of(all_schemes(), scheme_row),
           {{"SCHEME (--log)", "name"},
            {"DEVICE", "device"},
            {"STREAMS", "streams"},
            {"BUFFER", "buffer"},
            {"SEQUENCE", "sequence"},
            {"FLUSHED BY", "flushed_by"},
            {"SAFE WHEN", "safe_when"},
            {"CUT", "cut"},
            {"SOURCE", "source"}}},
          {"protocols",
           rows_of(all_protocols(), protocol_row),
           {{"PROTOCOL (--cc)", "name"}, {"WHAT", "what"}}},
          {"workloads",
           rows_of(all_workloads(), workload_row),
           {{"WORKLOAD (--workload)", "name"}, {"MEMORY", "memory"}, {"WHAT", "what"}}},
          {"variants", variant_rows(), {{"VARIANT", "flag"}, {"OF", "workload"}, {"WHAT", "what"}}},
          {"devices",
           rows_of(all_devices(), device_row),
           {{"DEVICE (--device)", "spec"}, {"WHAT", "what"}}}};
}

// Returns where each policy puts --threads workers, on this machine or on that of --topology.
List placements() {
  const auto machine = FLAGS_topology.empty() ? platform::this_machine()
                                              : platform::Topology::described(FLAGS_topology);
  if (!machine) {
    platform::refuse("--topology=\"" + FLAGS_topology + "\" is neither a synthetic topology of " +
                     "hwloc, such as \"pack:2 numa:1 core:8 pu:2\", nor its XML file");
  }
  const auto row = [&](platform::PlacementPolicy policy) -> Row {
    const platform::Placement placement(*machine, policy, FLAGS_threads);
    std::vector<Value> numbers;
    for (uint32_t worker = 0; worker < FLAGS_threads; ++worker) {
      numbers.push_back(number(placement.of(worker).number, 0));
    }
    return {{"name", platform::name_of(policy)},
            {"nodes", platform::ranges_of(placement.nodes_of_workers())},
            {"workers", placement.text()},
            {"contexts", list_of(numbers)}};
  };
  return {"placement",
          rows_of(platform::kPlacementPolicies, row),
          {{"NODES", "nodes"}, {"PLACEMENT (--placement)", "workers"}}};
}

void print(const List& list) {
  std::vector<Line> lines(1);
  for (const auto& [heading, column] : list.shown) lines[0].push_back(heading);
  for (const Row& row : list.rows) {
    Line& line = lines.emplace_back();
    for (const auto& [heading, column] : list.shown) line.push_back(text_of(row, column));
  }
  print_table(lines);
}

struct ListOptions {
  std::vector<List> wanted;
  OutputFiles files;
};

// Refuses a flag that another list reads. `list` alone prints all lists except the placements.
void refuse_flags_of_other_lists(const std::string& what) {
  for (const auto& flag : own_flags()) {
    const bool of_scheme = flag.filename.starts_with("logging/");
    const bool of_placement = flag.name == "threads" || flag.name == "topology";
    const bool reads =
        of_scheme ? what.empty() || what == "schemes" : !of_placement || what == "placement";
    if (flag.is_default || reads) continue;
    platform::refuse("--" + flag.name + " is a flag of `list " +
                     (of_scheme ? "schemes" : "placement") + "`, not of `list" +
                     (what.empty() ? "" : " ") + what + "`");
  }
}

ListOptions list_options(const std::string& what) {
  refuse_flags_of_other_lists(what);
  if (what == "placement") return {.wanted = {placements()}, .files = output_files()};
  std::vector<List> wanted = lists();
  std::vector<std::string_view> names;
  for (const List& list : wanted) names.push_back(list.name);
  names.emplace_back("placement");
  if (!what.empty()) std::erase_if(wanted, [&](const List& list) { return list.name != what; });
  if (wanted.empty()) {
    platform::refuse("\"" + what + "\" cannot be listed" + platform::instead_of(what, names));
  }
  return {.wanted = std::move(wanted), .files = output_files()};
}

}  // namespace

int list_command(const std::string& what) {
  const ListOptions options = list_options(what);
  if (options.files.json.empty()) {
    std::ranges::for_each(options.wanted, print);
    return 0;
  }
  options.files.claim_json();
  std::vector<std::pair<std::string, std::string>> arrays;
  for (const List& list : options.wanted) {
    std::vector<std::string> rows;
    std::ranges::transform(list.rows, std::back_inserter(rows), to_json);
    arrays.emplace_back(list.name, json_array(rows));
  }
  options.files.append_json(json_object(arrays));
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
  streams.per_socket = count(1, 1, 2) - least;
  while (streams.group < platform::kMostWorkers && count(1, streams.group + 1, 1) == least) {
    ++streams.group;
  }
  streams.per_group = count(1, streams.group + 1, 1) - least;
  if (streams.per_group == 0) streams.group = 1;
  streams.base = least - streams.per_directory - streams.per_group - streams.per_socket;
  return streams;
}

}  // namespace logjam

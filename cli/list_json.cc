#include "cli/list_json.h"

#include <vector>

#include "cli/json.h"
#include "cli/row.h"
#include "cli/row_files.h"
#include "engine/protocol.h"
#include "engine/workload.h"
#include "logging/device/device_registry.h"

namespace logjam {
namespace {

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

}  // namespace

StreamCount stream_count_of(const SchemeInfo& scheme) {
  const auto count = [&](uint32_t directories, uint32_t workers, uint32_t sockets) {
    LogConfig config;
    config.workers = workers;
    config.sockets = sockets;
    return scheme.stream_count(directories, config);
  };
  const uint32_t least = count(1, 1, 1);
  StreamCount streams;
  streams.per_directory = count(2, 1, 1) - least;
  streams.per_worker = count(1, 2, 1) - least;
  streams.per_socket = count(1, 1, 2) - least;
  streams.base = least - streams.per_directory - streams.per_worker - streams.per_socket;
  return streams;
}

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

}  // namespace logjam

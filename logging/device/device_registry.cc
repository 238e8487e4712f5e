#include "logging/device/device_registry.h"

#include <charconv>

#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/text.h"

namespace logjam {
namespace {

std::string_view name_of(std::string_view spec) { return spec.substr(0, spec.find(':')); }
std::string_view parameters_of(std::string_view spec) { return spec.substr(name_of(spec).size()); }
// Returns the spec of the device that `spec` wraps.
std::string_view wrapped(std::string_view spec) { return spec.substr(name_of(spec).size() + 1); }

bool accepted(std::string_view spec) {
  const DeviceKind* kind = find_device(spec);
  return kind != nullptr && kind->accepts(parameters_of(spec)) &&
         (!kind->wraps || accepted(wrapped(spec)));
}

}  // namespace

const DeviceKind* find_device(std::string_view spec) { return Devices::find(name_of(spec)); }

std::string check_device_spec(std::string_view spec) {
  if (accepted(spec)) return device_traits(spec).needs_disk ? platform::why_no_disk() : "";
  return "\"" + std::string(spec) + "\" is not a device: allowed are " +
         platform::join(all_devices(), ", ", &DeviceKind::form);
}

DeviceTraits device_traits(std::string_view spec) {
  const DeviceKind* kind = find_device(spec);
  if (kind == nullptr) return {};
  return kind->wraps && accepted(spec) ? device_traits(wrapped(spec)) : kind->traits;
}

std::unique_ptr<Device> open_device(std::string_view spec, const DeviceOptions& options) {
  if (const std::string why = check_device_spec(spec); !why.empty()) platform::refuse(why);
  std::unique_ptr<Device> device = find_device(spec)->open(parameters_of(spec), options);
  device->traits_ = device_traits(spec);
  return device;
}

bool take_number(std::string_view* given, double* number) {
  if (!given->starts_with(':')) return false;
  const char* const end = given->data() + given->size();
  const auto [rest, error] = std::from_chars(given->data() + 1, end, *number);
  *given = {rest, static_cast<size_t>(end - rest)};
  return error == std::errc{} && *number >= 0 && *number <= 1e9;
}

}  // namespace logjam

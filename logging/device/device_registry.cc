#include "logging/device/device_registry.h"

#include <charconv>
#include <vector>

#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/nearest_name.h"
#include "platform/text.h"

namespace logjam {
namespace {

std::string_view name_of(std::string_view spec) { return spec.substr(0, spec.find(':')); }
std::string_view parameters_of(std::string_view spec) { return spec.substr(name_of(spec).size()); }
std::string_view wrapped(std::string_view spec) { return spec.substr(name_of(spec).size() + 1); }

// Returns whether `given` names the file of a card. A path that begins like a number needs a slash.
bool names_card(const DeviceKind& kind, std::string_view given) {
  return kind.plays_cards && given.size() >= 2 &&
         (std::string_view("0123456789+-.:").find(given[1]) == std::string_view::npos ||
          given.find('/') != std::string_view::npos);
}

// Reads the card that `given` names. Returns an empty string, or in one sentence why not.
std::string read_card(std::string_view given, DiskCard* card) {
  return card->read(std::string(given.substr(1)));
}

bool accepted(std::string_view spec) {
  const DeviceKind* kind = find_device(spec);
  if (kind == nullptr) return false;
  const std::string_view given = parameters_of(spec);
  DiskCard card;
  if (names_card(*kind, given)) return read_card(given, &card).empty();
  return kind->accepts(given) && (!kind->wraps || accepted(wrapped(spec)));
}

// Returns which part of `given` is wrong. `given` are parameters that `kind` does not accept.
std::string wrong_part(const DeviceKind& kind, std::string_view given) {
  if (kind.wraps) {
    if (given.size() < 2) return "the device that it wraps is missing";
    const std::string inner(given.substr(1));
    return kind.accepts(given) ? check_device_spec(inner)
                               : std::string(kind.name) + " cannot wrap \"" + inner + "\"";
  }
  if (names_card(kind, given)) {
    DiskCard card;
    return read_card(given, &card);
  }
  // The form has the names of the parameters. Parameters in brackets may be left out.
  std::string last;
  for (size_t at = kind.parameters.find(':'); at != std::string_view::npos;
       at = kind.parameters.find(':', at + 1)) {
    const size_t end = kind.parameters.find_first_of("[]:", at + 1);
    last = kind.parameters.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    if (given.empty()) return last + " is missing";
    const std::string_view part = given.substr(1, given.find(':', 1) - 1);
    double number = 0;
    std::string_view rest = given.substr(0, 1 + part.size());
    if (!take_number(&rest, &number) || !rest.empty()) {
      return last + " is a number from 0 to 1e9, without a unit, not \"" + std::string(part) + "\"";
    }
    given.remove_prefix(1 + part.size());
    if (given.empty()) return last + " cannot be " + std::string(part);
  }
  return last.empty() ? "it has no parameters" : "nothing can follow " + last;
}

}  // namespace

const DeviceKind* find_device(std::string_view spec) { return Devices::find(name_of(spec)); }

std::string check_device_spec(std::string_view spec) {
  if (accepted(spec)) return device_traits(spec).needs_disk ? platform::why_no_disk() : "";
  const std::string refused = "--device=" + std::string(spec) + " is not a device";
  if (const DeviceKind* kind = find_device(spec)) {
    return refused + ": " + wrong_part(*kind, parameters_of(spec)) + " (" + kind->form() + ")";
  }
  std::vector<std::string_view> names;
  for (const DeviceKind& kind : all_devices()) names.push_back(kind.name);
  if (const auto nearest = platform::nearest_name(name_of(spec), names); !nearest.empty()) {
    return refused + "; did you mean " + find_device(nearest)->form() + "?";
  }
  return refused + "; allowed are " + platform::join(all_devices(), ", ", &DeviceKind::form);
}

DeviceTraits device_traits(std::string_view spec) {
  const DeviceKind* kind = find_device(spec);
  if (kind == nullptr) return {};
  return kind->wraps && accepted(spec) ? device_traits(wrapped(spec)) : kind->traits;
}

std::string_view unwrapped(std::string_view spec) {
  const DeviceKind* kind = find_device(spec);
  return kind != nullptr && kind->wraps && accepted(spec) ? unwrapped(wrapped(spec)) : spec;
}

DiskCard card_of(std::string_view given) {
  DiskCard card;
  if (const std::string why = read_card(given, &card); !why.empty()) platform::refuse(why);
  return card;
}

std::string card_title(std::string_view spec) {
  const std::string_view inner = unwrapped(spec), given = parameters_of(inner);
  const DeviceKind* kind = find_device(inner);
  return kind != nullptr && names_card(*kind, given) ? card_of(given).title() : "";
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

// The registry of devices. Each device registers its kind in its own file.
//
// A *spec* chooses a device: the name of its kind and perhaps parameters, `sim:100:1200`. The kind
// `faulty` wraps another device, whose spec is its parameter: `faulty:sim:100`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logging/device/device.h"
#include "logging/device/disk_card.h"
#include "platform/registry.h"

namespace logjam {

struct DeviceKind {
  std::string_view name;        // the spec up to its first colon
  std::string_view parameters;  // their form, as `logjam list` shows it: ":LATENCY_US[:MB_S]"
  std::string_view what;        // for `logjam list`
  DeviceTraits traits = {};
  // Its parameter is the spec of another device, whose traits it has.
  bool wraps = false;
  bool plays_cards = false;  // the file of a card may take the place of the parameters
  // Returns whether `given`, the rest of a spec after the name, has parameters of this kind.
  bool (*accepts)(std::string_view given) = [](std::string_view given) { return given.empty(); };
  // Opens a device with the parameters `given`. Ends the process with one sentence if it cannot.
  std::unique_ptr<Device> (*open)(std::string_view given, const DeviceOptions& options);

  // Returns the form of its specs, for people: "sim:LATENCY_US[:MB_S]".
  std::string form() const {
    const std::string it(name);
    return it + std::string(parameters) + (plays_cards ? " or " + it + ":CARD" : "");
  }
};

using Devices = platform::Registry<DeviceKind>;
using DeviceRegistration = Devices::Registration;
inline const std::vector<DeviceKind>& all_devices() { return Devices::all(); }
const DeviceKind* find_device(std::string_view spec);

// Returns in one sentence why `spec` cannot be opened on this machine, or an empty string.
std::string check_device_spec(std::string_view spec);

// Returns the traits of the device that `spec` names, or the default traits if there is none.
DeviceTraits device_traits(std::string_view spec);

// Returns the spec of the innermost device: `sync` of `faulty:sync`.
std::string_view unwrapped(std::string_view spec);

// Returns the card that the parameters `given` of a device name. Refuses a file that is no card.
DiskCard card_of(std::string_view given);
// Returns the title of the card that the device `spec` plays, or "" if it plays none.
std::string card_title(std::string_view spec);

// Opens `spec`. Refuses if it is not a device or cannot be opened.
std::unique_ptr<Device> open_device(std::string_view spec, const DeviceOptions& options);

// Takes ":NUMBER", with a number from 0 to 1e9, off the beginning of `given`. Returns false, with
// `given` undefined, if `given` begins otherwise.
bool take_number(std::string_view* given, double* number);

template <class Kind>
std::unique_ptr<Device> open_plain(std::string_view, const DeviceOptions& options) {
  return std::make_unique<Kind>(options);
}

}  // namespace logjam

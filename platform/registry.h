// The registry of one kind of choice: schemes, protocols, workloads. Static objects fill it before
// main() begins, in an order that the linker chooses. Later, any thread may read it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/assert.h"

namespace logjam::platform {

// `Info` has a member `name`, and perhaps `file`, which is set to the registration's source file.
template <class Info>
class Registry {
 public:
  // The source file of a choice has a static Registration for each name of the choice.
  struct Registration {
    // Registers `info`, from the caller's `file`. (Clang 14 has no std::source_location.)
    explicit Registration(Info info, [[maybe_unused]] const char* file = __builtin_FILE()) {
      if (const Info* first = find(info.name)) {
        std::string both = file;
        if constexpr (requires { first->file; }) both = std::string(first->file) + " and " + both;
        contract_broken("two registrations have the name " + std::string(info.name) + ": " + both);
      }
      if constexpr (requires { info.file; }) info.file = file;
      entries().insert(std::ranges::upper_bound(entries(), info.name, {}, &Info::name),
                       std::move(info));
    }
  };

  // Returns all entries, in the order of their names.
  static const std::vector<Info>& all() { return entries(); }
  static const Info* find(std::string_view name) {
    const auto found = std::ranges::find(entries(), name, &Info::name);
    return found == entries().end() ? nullptr : &*found;
  }

 private:
  static std::vector<Info>& entries() {
    static std::vector<Info> entries;
    return entries;
  }
};

}  // namespace logjam::platform

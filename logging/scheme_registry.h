// The registry of log schemes, with all that is known of a scheme before it is constructed.
#pragma once

#include <functional>

#include "logging/log_scheme.h"
#include "logging/recovery_rule.h"
#include "logging/stream/flush_gap.h"
#include "platform/registry.h"

namespace logjam {

struct SchemeInfo {
  std::string_view name;  // --log
  // Shown with each output row and figure: how the scheme differs from its source; or empty.
  std::string_view differs = {};
  // Said of a run with more workers than cores: why its rate says little of the scheme; or empty.
  std::string_view oversubscribed = {};
  // The choices that define a scheme, as texts for `logjam list`.
  std::string_view streams = {}, buffer = {}, sequence = {}, flushed_by = {}, safe_when = {},
                   cut = {}, source = {};
  LogTraits traits = {};
  LogParts parts = {};  // the scheme's own
  LogParts may_have = {.unlock = true};
  RecoveryRule recovery = {};
  std::function<uint32_t(uint32_t directories, const LogConfig& config)> stream_count = {};
  std::function<std::unique_ptr<LogScheme>(const LogConfig&)> construct = {};
  // Returns why the scheme's flags cannot be used, in one sentence, or "" if they can.
  std::function<std::string()> check_flags = [] { return std::string(); };
  // Returns why acknowledged transactions may be lost (R8), for every output row, or "".
  std::function<std::string()> unsafe = [] { return std::string(); };
  // The scheme's flags on which `recovery` depends: recovery takes them from the log.
  std::vector<std::string_view> recovery_flags = {};
  // The flags of other files that the scheme reads. The scheme owns the flags of its own file.
  std::vector<std::string_view> flags = {};
  std::string_view file = {};  // the source file of the scheme; SchemeRegistration sets it

  std::unique_ptr<LogScheme> make(LogConfig config) const {
    if (!config.parts) config.parts = parts;
    const LogParts& chosen = *config.parts;
    config.traits = traits;
    config.traits.fills_after_unlock = chosen.unlock;
    if (chosen.pace != 0 || chosen.rounds) {
      config.pacer = std::make_shared<FlushPacer>(chosen.pace, chosen.rounds);
    }
    return construct(config);
  }
};

// A scheme's file holds one static SchemeRegistration for each name.
using Schemes = platform::Registry<SchemeInfo>;
using SchemeRegistration = Schemes::Registration;
inline const std::vector<SchemeInfo>& all_schemes() { return Schemes::all(); }
inline const SchemeInfo* find_scheme(std::string_view name) { return Schemes::find(name); }

// Most schemes use these functions for `stream_count` and `construct`.

inline uint32_t one_stream(uint32_t, const LogConfig&) { return 1; }
inline uint32_t stream_per_directory(uint32_t directories, const LogConfig&) { return directories; }
inline uint32_t stream_per_worker(uint32_t, const LogConfig& config) { return config.workers; }
inline void fill_in(std::string_view& text, std::string_view usual) {
  if (text.empty()) text = usual;
}
template <class Scheme>
std::unique_ptr<LogScheme> construct(const LogConfig& config) {
  return std::make_unique<Scheme>(config);
}

}  // namespace logjam

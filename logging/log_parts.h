// The parts of a log that belong to no scheme's algorithm (--log_parts). A scheme has parts of its
// own, and may have others. A comparison of schemes gives all of them the same parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace logjam {

struct LogParts {
  // A transaction installs its rows and, with early lock release, unlocks them before it copies its
  // record into the hole, as Silo's implementation does. Proof in docs/DECISIONS.md.
  bool unlock = false;
  bool chunks = false;       // buffer chunks of adaptive length (schemes/common/chunk_length.h)
  uint32_t patience_us = 0;  // how long a write waits for records that are being filled
  uint32_t pace = 0;         // the least time between two writes, in costs of a write (FlushPacer)
  bool rounds = false;       // streams begin their writes together (FlushPacer)

  bool operator==(const LogParts&) const = default;
};

inline constexpr LogParts kEveryPart = {true, true, 8, 8, true};

// Returns the parts in the form of --log_parts, or "none".
std::string text_of(const LogParts& parts);
// Returns why a scheme named `scheme` that may have `possible` cannot have the parts `text`
// (--log_parts), in one sentence, or "".
std::string check_log_parts(std::string_view text, std::string_view scheme,
                            const LogParts& possible);
// Returns the parts that `text` names, for which check_log_parts() returns "". An empty text names
// the scheme's `own` parts.
LogParts log_parts_of(std::string_view text, const LogParts& own, const LogParts& possible);

}  // namespace logjam

// A target gives an input of a fuzzer to a parser. tests/fuzz/replaced/driver.cc runs targets for
// libFuzzer. tests/fuzz/corpus_test.cc runs targets with the files of the corpus.
//
// A target may call platform::fatal(), which only ends the run of the present input. A target fails
// if a signal, a sanitizer's report, another exception or require() ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/random.h"
#include "platform/registry.h"

namespace logjam::fuzz {

using Input = std::span<const std::byte>;

struct FuzzTarget {
  std::string_view name;
  size_t most_bytes = 0;  // the size of the longest input
  void (*run)(Input input) = nullptr;
  // Corrects the checksums of a mutated input, and may mutate it further. Null if inputs have no
  // checksums.
  void (*mend)(std::vector<std::byte>& input, platform::SplitMix64& random) = nullptr;
  bool keeps_memory = false;  // later inputs use the same database
};

// The file of a target has one static FuzzRegistration for each name of the target.
using FuzzTargets = platform::Registry<FuzzTarget>;
using FuzzRegistration = FuzzTargets::Registration;

// If `holds` is false, prints `what` and ends the process by a signal.
void require(bool holds, const std::string& what);

// Frees the memory of all arenas. No database may exist when it is called. Has an effect only in a
// fuzzer's build: the program's own arenas keep their memory until the process ends.
void free_arenas();

inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}
inline Input bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Splits an input into parts, from its beginning. After the end of the input, parts are zeros.
class Parts {
 public:
  explicit Parts(Input input) : left_(input) {}
  uint8_t byte() { return static_cast<uint8_t>(number(1)); }
  // Returns the next `bytes` bytes, at most 8, as a number.
  uint64_t number(size_t bytes);
  // Returns the next `bytes` bytes, or all remaining bytes if fewer remain.
  Input take(size_t bytes);
  // Returns the text up to the next line break, and skips the line break.
  std::string_view line();
  Input rest() const { return left_; }

 private:
  Input left_;
};

// Writes the checksum of the text block (logging/format/text_block.h) that begins at `begin`. Adds
// an end to the block if it has no end.
void mend_text_block(std::vector<std::byte>& input, size_t begin = 0);

}  // namespace logjam::fuzz

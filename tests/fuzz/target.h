// A target: a parser, and what an input of a fuzzer is to it. tests/fuzz/replaced/driver.cc runs
// targets for libFuzzer, and tests/fuzz/corpus_test.cc runs them with the files of the corpus.
//
// A target lets platform::fatal() end it. It fails by a signal, a sanitizer's report, an exception,
// or require().
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
  size_t most_bytes = 0;  // of an input
  void (*run)(Input input) = nullptr;
  // Makes the checksums in a mutated input right again, and may change it more. Null: the input has
  // none.
  void (*mend)(std::vector<std::byte>& input, platform::SplitMix64& random) = nullptr;
  bool keeps_memory = false;  // a database outlives the input
};

// A target's file holds one static FuzzRegistration for each name.
using FuzzTargets = platform::Registry<FuzzTarget>;
using FuzzRegistration = FuzzTargets::Registration;

// Ends the process by a signal unless `holds`. `what` says what must hold.
void require(bool holds, const std::string& what);

// Frees what all arenas have allocated; no database lives any more. Only the arenas of a fuzzer's
// build can do so: the real ones keep their memory until the process ends.
void free_arenas();

inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}
inline Input bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Takes the parts of an input, from its beginning. Past the end there are zeros.
class Parts {
 public:
  explicit Parts(Input input) : left_(input) {}
  uint8_t byte() { return static_cast<uint8_t>(number(1)); }
  // Returns the next `bytes` bytes, at most 8, as a number.
  uint64_t number(size_t bytes);
  // Returns the next `bytes` bytes, or what is left of them.
  Input take(size_t bytes);
  // Returns the text up to the next line break, which it passes over.
  std::string_view line();
  Input rest() const { return left_; }

 private:
  Input left_;
};

// Gives a text block (logging/format/text_block.h) that begins at `begin` its checksum, and an end
// if it has none.
void mend_text_block(std::vector<std::byte>& input, size_t begin = 0);

}  // namespace logjam::fuzz

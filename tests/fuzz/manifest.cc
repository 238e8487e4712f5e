// The manifest of a log, and the header of a log file.
#include "logging/format/manifest.h"

#include <memory>

#include "logging/format/log_file.h"
#include "tests/fuzz/target.h"

namespace logjam::fuzz {
namespace {

void read_manifest(Input input) {
  Manifest manifest;
  if (!manifest.decode(std::string(text_of(input))).empty()) return;
  const std::string text = manifest.encode();
  Manifest again;
  require(again.decode(text).empty(), "a manifest that was read can be read again");
  require(again.encode() == text, "a manifest that was read again is the same");
  manifest.remove_unfinished();
  for (const Checkpoint& checkpoint : manifest.checkpoints) {
    require(checkpoint.complete, "no unfinished checkpoint is left");
  }
}

void read_header(Input input) {
  std::vector<std::byte> block(input.begin(), input.end());
  block.resize(kLogHeaderBytes);
  LogFileHeader header;
  if (!header.decode(block).empty()) return;
  stored_sdl(block, header.run);
  require(header.stripe < header.stripes, "a file is one of its stream's stripes");
  LogFileHeader again;
  const std::vector<std::byte> encoded = header.encode();
  require(again.decode(encoded).empty(), "a header that was read can be read again");
  require(again.lines() == header.lines(), "a header that was read again is the same");
}

void mend_text(std::vector<std::byte>& input, platform::SplitMix64&) { mend_text_block(input); }

const FuzzRegistration registration(
    {.name = "manifest", .most_bytes = 4096, .run = read_manifest, .mend = mend_text});
const FuzzRegistration header_registration(
    {.name = "header", .most_bytes = 2048, .run = read_header, .mend = mend_text});

}  // namespace
}  // namespace logjam::fuzz

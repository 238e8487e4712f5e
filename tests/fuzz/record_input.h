// A log of records as an input of a fuzzer.
//
//   input := shape (32 bytes), the bytes of each stream
//
// The shape says which scheme's rule is used, how many streams there are and how long each is, how
// they lie in files, and where a recovery begins and ends to read them.
#pragma once

#include <vector>

#include "logging/format/log_files.h"
#include "logging/scheme_registry.h"
#include "tests/fuzz/byte_files.h"
#include "tests/fuzz/target.h"

namespace logjam::fuzz {

// The largest input with records.
inline constexpr size_t kMostRecordBytes = 4096;

struct RecordInput {
  explicit RecordInput(Input input);

  // Returns the files of the log, which it adds to `disk`.
  LogFiles add_files(ByteFiles* disk) const;

  static constexpr size_t kShapeBytes = 32;
  static constexpr size_t kMostStreams = 4;
  static constexpr uint64_t kRun = 0x1234;

  const SchemeInfo* scheme;
  bool merged, reads_little;
  uint32_t stripes;
  uint64_t segment_bytes;
  std::vector<StreamStart> starts;
  std::vector<uint64_t> ends;  // empty: none
  std::vector<Input> streams;  // each begins at position 0
};

// Makes the records of an input valid again, after it may have changed, copied or removed one.
void mend_records(std::vector<std::byte>& input, platform::SplitMix64& random);

}  // namespace logjam::fuzz

// What the log reader found at the end of a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace logjam {

struct StreamTail {
  uint64_t bytes = 0;           // the length of the valid records, from the start, without a gap
  uint64_t last_sequence = 0;   // the number of the last valid record, 0 if there is none
  uint64_t last_watermark = 0;  // the number of the last valid watermark record, 0 if none
  uint64_t records = 0;         // how many valid records there are
  // The bodies of the stream's watermark records, one body after the other. Each element has those
  // of one batch, and is shared because tails are copied.
  std::vector<std::shared_ptr<const std::vector<uint64_t>>> watermark_words;
  std::string why;  // what ended the stream: "end of log", "torn, stale or corrupt record at ..."
};
using StreamTails = std::vector<StreamTail>;  // by stream

}  // namespace logjam

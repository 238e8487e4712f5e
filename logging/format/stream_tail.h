// The end of a stream as the log reader found it, and whether a crash can have put the end there.
//
// A crash tears the tail of a stream: any part of the bytes that were not durable may be lost. No
// crash touches bytes that were durable once. Each valid record vouches for how far its own stream
// was durable (logging/format/record.h), even if the record lies after the stream's end. The body
// of a watermark record also vouches for other streams. A StreamStart, and an SDL in a header
// (logging/format/log_file.h), each vouch for their own stream. A stream that ends before a
// position that is vouched for is *damaged*. A stream is also damaged if it ends where a segment
// file is missing or too short although the next one exists (logging/format/segments.h). If nothing
// vouches for the lost bytes, a damaged stream looks like a torn stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace logjam {

// The record at `position` of `stream` says that stream S was durable up to `durable`. S is the
// voucher's index in StreamTail::vouchers.
struct Voucher {
  uint64_t durable = 0;
  uint64_t position = 0;
  uint32_t stream = 0;
};

// Where a recovery begins to read a stream: a checkpoint has the records before `position`.
struct StreamStart {
  uint64_t position = 0;  // the beginning of a record, or the stream's end
  // The records from `durable` on, also future records, have sequence numbers above this number.
  uint64_t sequence = 0;
  // The stream was durable up to this position, the end of a record; 0 if that is not known.
  uint64_t durable = 0;
};

struct StreamTail {
  StreamStart start;           // where the reader began
  uint64_t bytes = 0;          // the end of the valid records, which follow the start without a gap
  uint64_t last_sequence = 0;  // the sequence number of the last valid record, 0 if there is none
  uint64_t last_watermark = 0;  // the largest number of a valid watermark record, 0 if none
  uint64_t records = 0;
  // The stream's watermark records that have a body: for each the largest number of a watermark
  // record up to it, and then a word for each stream. An element has the watermark records of one
  // batch, and is shared because tails are copied. RecoveryRule::forget drops elements.
  std::vector<std::shared_ptr<const std::vector<uint64_t>>> watermarks;
  bool goes_on = false;  // valid records follow the end that the reader was given (LogFiles::ends)
  std::string why;       // why the stream ended: "end of log", "torn, ..."; empty before the end
  std::string lost;      // names the lost file at which the stream ends; no crash explains the loss

  // If the stream was once durable up to this position, a valid record at `bytes` is lost. The
  // position is the end of the lost record, or of its header if the header is lost, too.
  uint64_t durable_record_end = ~uint64_t{0};
  uint64_t stored_sdl = 0;  // the SDL in the header of the stream's first file, or 0
  // By stream: the voucher with the largest position in this stream's valid records, which may lie
  // after the end. Empty if there are no vouchers.
  std::vector<Voucher> vouchers;

  // Returns the largest sequence number N such that, by `start` alone, no record up to N is
  // missing. Records up to start.sequence lie before start.durable. So none of these records is
  // missing if the stream is valid up to start.durable.
  uint64_t complete_from_start() const { return bytes < start.durable ? 0 : start.sequence; }
};
using StreamTails = std::vector<StreamTail>;  // by stream

// Returns one sentence that says which streams are damaged, where, and which record vouches for the
// lost bytes; or an empty string if a crash explains the ends of all streams.
std::string find_damage(const StreamTails& tails);

}  // namespace logjam

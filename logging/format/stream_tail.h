// The end of a stream as the log reader found it, and whether a crash can have put the end there.
//
// A crash tears the tail of a stream: any part of the bytes that were not durable may be lost. It
// never touches bytes that were durable once. Valid records vouch for how far streams were durable
// (logging/format/durable_lag.h). Each record vouches for its own stream, even if it lies after the
// stream's end. The body of a watermark record vouches for other streams too, and a StreamStart for
// its own, as does an SDL in its header (logging/format/log_file.h). A stream that ends before a
// position that is vouched for is *damaged*. A stream is also damaged if it ends where a segment
// file is missing or too short although the next one exists (logging/format/segments.h). If nothing
// vouches for the lost bytes, a damaged stream cannot be distinguished from a torn one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace logjam {

// The statement of the record at `position` of stream `stream`, that some stream was durable up to
// `durable`.
struct Voucher {
  uint64_t durable = 0;
  uint64_t position = 0;
  uint32_t stream = 0;
};

// Where a recovery begins to read a stream. The recovery does not read the records before
// `position`, because it has their contents from a checkpoint.
struct StreamStart {
  uint64_t position = 0;  // the beginning of a record, or the stream's end
  // Every record of the stream that begins at `durable` or later has a larger number, also each
  // that is yet to be written.
  uint64_t sequence = 0;
  // The end of a record up to which the stream was durable; 0 if that is not known.
  uint64_t durable = 0;
};

struct StreamTail {
  StreamStart start;           // where the reader began
  uint64_t bytes = 0;          // the end of the valid records, which follow the start without a gap
  uint64_t last_sequence = 0;  // the number of the last valid record, 0 if there is none
  uint64_t last_watermark = 0;  // the number of the last valid watermark record, 0 if none
  uint64_t records = 0;         // the number of valid records
  // The stream's watermark records that have a body: for each its number and then its words, one
  // for each stream. An element has the records of one batch, and is shared because tails are
  // copied. RecoveryRule::forget drops elements.
  std::vector<std::shared_ptr<const std::vector<uint64_t>>> watermarks;
  // Whether valid records follow the end that the reader was given (LogFiles::ends).
  bool goes_on = false;
  // Why the stream ended: "end of log", "torn, stale or corrupt record at ...". Empty until then.
  std::string why;
  // Names the file whose loss ended the stream: it is missing or too short, and no crash explains
  // that. Empty if there is no such file.
  std::string lost;

  // If the stream was durable up to this position, it had a valid record at `bytes`: the whole
  // record lies before this position; or its header does, and what is there now is not a header.
  uint64_t durable_record_end = ~uint64_t{0};
  // The SDL in the header of the stream's first file, 0 if there is none.
  uint64_t stored_sdl = 0;
  // By stream: the voucher for the largest position, among this stream's valid records, before and
  // after its end. Empty if there are no vouchers.
  std::vector<Voucher> vouchers;

  // Returns a number up to which the stream lacks no record, derived from its start alone. Records
  // with numbers up to start.sequence lie before start.durable, so none of them is missing if the
  // stream is valid up to start.durable.
  uint64_t complete_from_start() const { return bytes < start.durable ? 0 : start.sequence; }
};
using StreamTails = std::vector<StreamTail>;  // by stream

// Returns one sentence that says which streams are damaged, where, and which record vouches for the
// lost bytes. Returns an empty string if a crash explains where all streams end.
std::string find_damage(const StreamTails& tails);

}  // namespace logjam

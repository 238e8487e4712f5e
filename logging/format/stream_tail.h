// What the log reader found at the end of a stream, and whether a crash can have put the end there.
//
// A crash tears the tail of a stream: what was not durable is lost, in any part. It never touches
// what was durable once. Valid records vouch for how far streams were durable
// (logging/format/durable_lag.h): those of a stream for the stream itself, also where they lie
// behind its end; the bodies of watermark records for other streams too. A stream that ends before
// a position that is vouched for is *damaged*. So is one that ends where a segment file is missing
// or too short although the next one is there (logging/format/segments.h). A StreamStart vouches
// for its stream, too. A stream that has lost bytes for which nothing vouches cannot be told from a
// torn one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace logjam {

// A stream was durable up to `durable`, says the record at `position` of stream `stream`.
struct Voucher {
  uint64_t durable = 0;
  uint64_t position = 0;
  uint32_t stream = 0;
};

// Where a recovery begins to read a stream. What lies before `position` is not read, because the
// recovery has it from elsewhere (a checkpoint).
struct StreamStart {
  uint64_t position = 0;  // the beginning of a record, or the stream's end
  // The stream has, or will have, no record up to this number behind `durable`.
  uint64_t sequence = 0;
  // The end of a record up to which the stream was durable; 0, if that is not known.
  uint64_t durable = 0;
};

struct StreamTail {
  StreamStart start;            // where the reader began
  uint64_t bytes = 0;           // up to here the records are valid, from the start, without a gap
  uint64_t last_sequence = 0;   // the number of the last valid record, 0 if there is none
  uint64_t last_watermark = 0;  // the number of the last valid watermark record, 0 if none
  uint64_t records = 0;         // how many valid records there are
  // The stream's watermark records that have a body: of each its number and then its words, a word
  // for each stream. Each element has those of one batch, and is shared because tails are copied.
  std::vector<std::shared_ptr<const std::vector<uint64_t>>> watermarks;
  std::string why;  // what ended the stream: "end of log", "torn, stale or corrupt record at ..."
  // Which of its files is missing or too short, where no crash explains that and the stream ends
  // there. Empty if there is none.
  std::string lost;

  // A stream that was durable up to here had a valid record at `bytes`: either all of that record
  // lies before this position, or its header does, which is not one.
  uint64_t durable_record_end = ~uint64_t{0};
  // By stream: the voucher for the largest position, among this stream's valid records, in front of
  // and behind its end. Empty if there is none.
  std::vector<Voucher> vouchers;

  // Returns a number up to which the stream lacks no record, as its start alone tells. Records up
  // to start.sequence lie before start.durable, so none of them is missing if the stream is valid
  // up to there.
  uint64_t complete_from_start() const { return bytes < start.durable ? 0 : start.sequence; }
};
using StreamTails = std::vector<StreamTail>;  // by stream

// Returns the sum of all streams' bytes.
uint64_t total_bytes(const StreamTails& tails);

// Returns one sentence that says which streams are damaged, where, and what vouches for what is
// lost. Returns an empty string if a crash explains where the streams end.
std::string find_damage(const StreamTails& tails);

}  // namespace logjam

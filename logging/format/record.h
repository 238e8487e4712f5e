// The record format, on one page.
//
// A stream is a file: one 4096-byte block of text about the run (logging/format/log_file.h), then
// the records without gaps. A record's length is a multiple of 8 bytes.
//
//   record  := header (32 bytes) body
//   body    := write*                                       kinds kTransaction, kOperation
//   write   := table u16, op u8, image u8, image_bytes u32, key u64,
//              after image [image_bytes rounded up to 8]    unless op is kErase
//              before image [same size]                     if image is kBeforeAndAfter
//   image   := the row, or if image is kRanges:
//              version u64, range*                          logging/format/range_image.h
//   body    := type u16, rows u16, input_bytes u32,
//              input [input_bytes rounded up to 8]          kind kCommand
//
// If a record has the flag kVector, its body ends with an LSN vector, a list of words (VectorWord).
//
// A range image (--log_records=txn,range) says which version of the row it changes. The transaction
// has read this version, so its records never carry kWriteOnly. Inserts, blind writes, and rows
// that are not longer than their range image are logged as rows.
//
// kTransaction holds all writes of one transaction (--log_records=txn). With --log_records=op a
// transaction is one kBegin, one kOperation for each write, and one kCommit, with the same `txn`
// and in one stream. Recovery uses the transaction if it uses the transaction's kCommit, which has
// the sequence number. All records of a transaction that read nothing carry kWriteOnly. Beyond a
// point in the log, some schemes recover only transactions that read nothing (Poplar, section 5).
//
// kCommand holds a transaction's type and input, as its workload encodes them, in place of its
// writes. Recovery executes all commands again in the log's order, which writes the same values.
// `rows` is the number of rows that the transaction changed. If the repeated execution changes
// another number of rows, it took another path, which is an error.
//
// kWatermark belongs to no transaction. Schemes with several streams write watermark records. A
// watermark record without a body states that every later record of its stream has a larger
// sequence number than this one. With a body, the record has a word for each stream
// (WatermarkWord): a position, whose meaning the scheme defines (dlog's tails). A kPadding record
// fills space.
//
// The checksum is XXH3-64 over the rest of the record, seeded with the run's number and the
// record's position (R6). The check fails for bytes of an earlier run or lap of the ring buffer,
// and for bytes that were moved within the file.
//
// Evidence of durability. Each record says roughly how far its stream was durable when the record's
// hole was reserved: the record has an upper bound of its *durable lag*, its position minus the
// stream's durable position. A valid record vouches for all bytes of its stream before the record's
// position minus this bound. These bytes were durable once, so no crash can have torn them. A
// stream that ends before their end is damaged (stream_tail.h). A code of 5 bits stores the bound:
//
//   0       nothing is known (a lag of 16 GiB or more)
//   c > 0   the lag is at most (2^(c-1) - 1) * 16 bytes: 0, 16, 48, 112, ...
//
// Any thread may call any function here. One thread at a time may use an object.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "platform/assert.h"

namespace logjam {

inline constexpr uint32_t kLagCodeBits = 5;
inline constexpr uint64_t kMostLagCode = (1 << kLagCodeBits) - 1;

// Returns the code of the durable lag of `position`, if the stream was durable up to `durable`.
constexpr uint64_t lag_code(uint64_t position, uint64_t durable) {
  const uint64_t lag = durable < position ? position - durable : 0;
  const auto code = static_cast<uint64_t>(std::bit_width((lag + 15) / 16)) + 1;
  return code <= kMostLagCode ? code : 0;
}
// Returns the position up to which the stream was certainly durable, 0 if nothing is known.
constexpr uint64_t vouched_position(uint64_t position, uint64_t code) {
  if (code == 0) return 0;
  const uint64_t bound = ((uint64_t{1} << (code - 1)) - 1) * 16;
  return position > bound ? position - bound : 0;
}

// A word of a watermark record's body: a position in a stream, and the code of its durable lag.
struct WatermarkWord {
  static constexpr uint32_t kPositionBits = 56;

  static constexpr uint64_t encode(uint64_t position, uint64_t durable) {
    LJ_ASSERT(position >> kPositionBits == 0);
    return position | lag_code(position, durable) << kPositionBits;
  }
  static constexpr uint64_t position(uint64_t word) {
    return word & ((uint64_t{1} << kPositionBits) - 1);
  }
  static constexpr uint64_t vouched(uint64_t word) {
    return vouched_position(position(word), word >> kPositionBits & kMostLagCode);
  }
};
enum class RecordKind : uint8_t {
  kVoid = 1,  // a hole without content: recovery skips it
  kTransaction = 2,
  kBegin = 3,
  kOperation = 4,
  kCommit = 5,
  kWatermark = 6,
  kPadding = 7,
  kCommand = 8,
};

// RecordHeader::flags. Bits 1 to 5 are the code of the record's durable lag. Either all records of
// a transaction carry kClosed, or no record does.
inline constexpr uint8_t kWriteOnly = 1;
inline constexpr uint32_t kLagShift = 1;
inline constexpr uint8_t kLagMask = kMostLagCode << kLagShift;
inline constexpr uint8_t kClosed = 1 << 6;  // see min_cut_or_closed() in recovery_rule.h
inline constexpr uint8_t kVector = 1 << 7;

struct RecordHeader {
  uint64_t checksum;
  uint64_t sequence;
  uint64_t txn;    // worker << 48 | the count of the worker's transactions
  uint32_t bytes;  // the length of the whole record, a multiple of 8
  RecordKind kind;
  uint8_t flags;
  uint16_t writes;
};
static_assert(sizeof(RecordHeader) == 32);

inline constexpr unsigned kWorkerShift = 48;
inline uint32_t worker_of(const RecordHeader& record) {
  return static_cast<uint32_t>(record.txn >> kWorkerShift);
}

enum class WriteOp : uint8_t { kUpdate = 1, kInsert = 2, kErase = 3 };
enum class WriteImage : uint8_t { kAfter = 1, kBeforeAndAfter = 2, kRanges = 3 };

struct WriteHeader {
  uint16_t table;
  WriteOp op;
  WriteImage image;
  uint32_t image_bytes;  // the length of a row of the table, or of the range image
  uint64_t key;
};
static_assert(sizeof(WriteHeader) == 16);

// One write. The pointers are borrowed.
struct LoggedWrite {
  WriteHeader header;
  const std::byte* after = nullptr;   // image_bytes bytes; null for kErase
  const std::byte* before = nullptr;  // image_bytes bytes; null unless kBeforeAndAfter

  bool has_ranges() const { return header.image == WriteImage::kRanges; }
  std::span<const std::byte> image() const {
    LJ_ASSERT_IN_TESTS(after != nullptr);
    return {after, header.image_bytes};
  }
};

struct CommandHeader {
  uint16_t type;  // an index into Workload::types()
  uint16_t rows;
  uint32_t input_bytes;
};
static_assert(sizeof(CommandHeader) == 8);

// A command. Its input is borrowed.
struct LoggedCommand {
  uint16_t type = 0;
  uint16_t rows = 0;
  std::span<const std::byte> input;
};

inline constexpr uint32_t kMostWrites = 65535;              // in a record
inline constexpr uint64_t kMostRecordBytes = ~uint32_t{7};  // RecordHeader::bytes has 32 bits

constexpr uint32_t padded_row(uint32_t row_bytes) { return (row_bytes + 7) & ~uint32_t{7}; }

constexpr uint32_t encoded_bytes(const WriteHeader& header) {
  const uint32_t images = (header.op == WriteOp::kErase ? 0 : 1) +
                          (header.image == WriteImage::kBeforeAndAfter ? 1 : 0);
  return sizeof(WriteHeader) + images * padded_row(header.image_bytes);
}

constexpr uint64_t encoded_bytes(const LoggedCommand& command) {
  return sizeof(CommandHeader) + ((command.input.size() + 7) & ~uint64_t{7});
}

uint64_t record_checksum(const RecordHeader& header, uint64_t run, uint64_t position);

// Computes record_checksum() of a record that is not in memory as a whole.
class ChecksumInPieces {
 public:
  ChecksumInPieces(uint64_t run, uint64_t position);
  ~ChecksumInPieces();
  // Adds the record's next bytes. The first call adds the bytes after RecordHeader::checksum.
  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the position up to which the record at `position` says that its stream was durable, or 0.
inline uint64_t vouched_position(const RecordHeader& header, uint64_t position) {
  return vouched_position(position, (header.flags & kLagMask) >> kLagShift);
}

inline std::span<const uint64_t> watermark_body(const RecordHeader& header) {
  return {reinterpret_cast<const uint64_t*>(&header + 1),
          (header.bytes - sizeof(RecordHeader)) / sizeof(uint64_t)};
}

// One entry of the LSN vector with which a record's body may end: a stream, and a position in it.
// Recovery uses the record only if that stream has all its records up to the position.
//
//   bits 0 to 46    the position / 8
//   bits 47 to 62   the stream
//   bit 63          another entry lies before this one
//
// The vector is read backwards from the record's last word, so it needs no length.
struct VectorWord {
  static constexpr uint32_t kPositionBits = 47, kStreamBits = 16;
  static constexpr uint64_t kMore = uint64_t{1} << (kPositionBits + kStreamBits);

  static constexpr uint64_t encode(uint32_t stream, uint64_t position, bool more) {
    LJ_ASSERT(position % 8 == 0 && position / 8 >> kPositionBits == 0);
    LJ_ASSERT(stream >> kStreamBits == 0);
    return position / 8 | uint64_t{stream} << kPositionBits | (more ? kMore : 0);
  }
  static constexpr uint32_t stream(uint64_t word) {
    return static_cast<uint32_t>(word >> kPositionBits & ((1 << kStreamBits) - 1));
  }
  static constexpr uint64_t position(uint64_t word) {
    return (word & ((uint64_t{1} << kPositionBits) - 1)) * 8;
  }
};

// Returns the words of the record's LSN vector, which point into the record; or no words.
inline std::span<const uint64_t> vector_of(const RecordHeader& header) {
  if ((header.flags & kVector) == 0) return {};
  const std::span<const uint64_t> body = watermark_body(header);
  size_t count = body.empty() ? 0 : 1;
  while (count < body.size() && (body[body.size() - count] & VectorWord::kMore) != 0) ++count;
  return body.last(count);
}

// Iterates over the writes of a record whose checksum is correct.
class RecordBody {
 public:
  // Borrows the record, which outlives this object.
  explicit RecordBody(const RecordHeader& header);
  // Fills `write`, whose pointers point into the record. Returns false at the end, and if the body
  // contradicts itself (well_formed()).
  bool next(LoggedWrite* write);
  bool well_formed() const { return well_formed_; }

 private:
  const std::byte* next_;
  const std::byte* end_;
  uint16_t left_;
  bool well_formed_ = true;
};

// Reads the body of a kCommand record whose checksum is correct. Returns false if the body
// contradicts itself. The command's input points into the record.
bool read_command(const RecordHeader& header, LoggedCommand* command);

}  // namespace logjam

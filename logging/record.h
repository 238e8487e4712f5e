// The record format, on one page.
//
// A stream is a file: one 4096-byte block of text about the run (logging/log_file.h), then records,
// each a multiple of 8 bytes, one after the other.
//
//   record  := header (32 bytes) body
//   body    := write*                                       kinds kTransaction, kOperation
//   write   := table u16, op u8, image u8, row_bytes u32, key u64,
//              after image [row_bytes rounded up to 8]      unless op is kErase
//              before image [same size]                     if image is kBeforeAndAfter
//   body    := type u16, rows u16, input_bytes u32,
//              input [input_bytes rounded up to 8]          kind kCommand
//
// kTransaction holds all writes of one transaction (--log_records=txn). With --log_records=op a
// transaction is kBegin, one kOperation for each write, kCommit, with the same `txn`, all in one
// stream; it counts if its kCommit does, with that record's sequence number. All records of a
// transaction that read nothing carry kWriteOnly: some schemes may use them where others depend on
// what is lost (Poplar, section 5).
//
// kCommand holds what a transaction was asked to do, not what it wrote: its type and input, as its
// workload encodes them. Executing all commands again, in the log's order, writes the same; `rows`
// tells how many rows this one changed, so that an execution that went another way is noticed.
//
// kMark belongs to no transaction: what a scheme with several streams says about this one. Without
// a body: whatever the stream holds behind it has a larger sequence number, and what it holds of
// numbers up to the mark's is before it. Its body, if any, is words of the scheme's (dlog's tails).
// kPadding is space that nobody needed, its bytes mean nothing.
//
// The checksum is XXH3-64 over the record behind it, seeded with the run and the record's position:
// bytes of an earlier run, of an earlier lap of the ring buffer, or moved from elsewhere in the
// file do not pass, so a position needs no field of its own (R6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace logjam {

enum class RecordKind : uint8_t {
  kVoid = 1,  // a hole nobody filled: skip it
  kTransaction = 2,
  kBegin = 3,
  kOperation = 4,
  kCommit = 5,
  kMark = 6,
  kPadding = 7,
  kCommand = 8,
};

// RecordHeader::flags.
inline constexpr uint8_t kWriteOnly = 1;
inline constexpr uint8_t kKnownRecordFlags = kWriteOnly;

struct RecordHeader {
  uint64_t checksum;
  uint64_t sequence;
  uint64_t txn;    // worker << 48 | that worker's count
  uint32_t bytes;  // of the whole record, a multiple of 8
  RecordKind kind;
  uint8_t flags;
  uint16_t writes;  // in the body
};
static_assert(sizeof(RecordHeader) == 32);

enum class WriteOp : uint8_t { kUpdate = 1, kInsert = 2, kErase = 3 };
enum class WriteImage : uint8_t { kAfter = 1, kBeforeAndAfter = 2 };

struct WriteHeader {
  uint16_t table;
  WriteOp op;
  WriteImage image;
  uint32_t row_bytes;
  uint64_t key;
};
static_assert(sizeof(WriteHeader) == 16);

// One write, as the encoder takes it and the decoder gives it. Pointers are borrowed.
struct LoggedWrite {
  WriteHeader header;
  const std::byte* after = nullptr;   // row_bytes; null for kErase
  const std::byte* before = nullptr;  // row_bytes; null unless kBeforeAndAfter
};

struct CommandHeader {
  uint16_t type;  // an index into Workload::types()
  uint16_t rows;
  uint32_t input_bytes;
};
static_assert(sizeof(CommandHeader) == 8);

// A command, as the encoder takes it and read_command() gives it. The input is borrowed.
struct LoggedCommand {
  uint16_t type = 0;
  uint16_t rows = 0;
  std::span<const std::byte> input;
};

constexpr uint32_t padded_row(uint32_t row_bytes) { return (row_bytes + 7) & ~uint32_t{7}; }

constexpr uint32_t encoded_bytes(const WriteHeader& header) {
  const uint32_t images = (header.op == WriteOp::kErase ? 0 : 1) +
                          (header.image == WriteImage::kBeforeAndAfter ? 1 : 0);
  return sizeof(WriteHeader) + images * padded_row(header.row_bytes);
}

constexpr uint64_t encoded_bytes(const LoggedCommand& command) {
  return sizeof(CommandHeader) + ((command.input.size() + 7) & ~uint64_t{7});
}

// Fills one hole front to back: header fields, writes or a command, then seal().
class RecordWriter {
 public:
  RecordWriter(std::byte* hole, uint32_t bytes, RecordKind kind, uint64_t sequence, uint64_t txn,
               uint8_t flags = 0);
  void add(const LoggedWrite& write);
  void add(const LoggedCommand& command);
  // Computes the checksum. The hole must be full, but for kVoid, kMark and kPadding records.
  void seal(uint64_t run, uint64_t position);

 private:
  std::byte* hole_;
  std::byte* next_;
};

// The words of a kMark.
inline std::span<const uint64_t> mark_body(const RecordHeader& header) {
  return {reinterpret_cast<const uint64_t*>(&header + 1),
          (header.bytes - sizeof(RecordHeader)) / sizeof(uint64_t)};
}

uint64_t record_checksum(const RecordHeader& header, uint64_t run, uint64_t position);

// Walks the body of a record whose checksum has passed. next() is false at the end or at a body
// that contradicts itself (well_formed() then tells).
class RecordBody {
 public:
  explicit RecordBody(const RecordHeader& header);
  bool next(LoggedWrite* write);
  bool well_formed() const { return well_formed_; }

 private:
  const std::byte* next_;
  const std::byte* end_;
  uint16_t left_;
  bool well_formed_ = true;
};

// The body of a kCommand record whose checksum has passed; false if it contradicts itself.
bool read_command(const RecordHeader& header, LoggedCommand* command);

}  // namespace logjam

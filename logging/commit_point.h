// The values that a committing transaction and the log exchange.
//
// A transaction's *sequence number* is larger than every sequence number that the transaction read
// or overwrote. The initial load's rows have the number 0. Papers call it LSN, SSN, GSN or TID.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace logjam {

// The bits of a sequence number. A tuple's version word has two more bits (cc/commit_log.cc).
inline constexpr uint32_t kSequenceBits = 62;

// The dependencies of a transaction, known at its serialization point.
struct Dependencies {
  uint64_t max_read = 0;         // largest sequence number read, 0 if none
  uint64_t max_overwritten = 0;  // largest sequence number overwritten, 0 if none
  uint64_t max_war = 0;  // largest sequence number of a reader of an overwritten row, 0 if none
  // Largest sequence number read that belongs to another worker. 0 if there is none, or if sequence
  // numbers do not contain the worker (LogTraits::worker_bits).
  uint64_t max_foreign = 0;
  // The LSN vector of the rows read and overwritten (row_vectors.h), by stream; null if no vector
  // was gathered. If the transaction commits, reserve() turns this vector into the transaction's.
  uint64_t* vector = nullptr;
  bool reads = false;   // false only if the transaction wrote without reading anything
  bool commits = true;  // false: a later record commits the transaction (kPart)

  // Returns the largest sequence number that the transaction depends on. The transaction's own
  // sequence number is larger (R3, R4).
  uint64_t max_number() const { return std::max(max_read, max_overwritten); }
};

// Stands for the position of a record that has no position in its stream yet. When the record gets
// a position, place_records() in format/record_writer.h seals the record.
inline constexpr uint64_t kPlacedLater = ~uint64_t{0};

// A sequence number and a *hole*: `bytes` contiguous bytes in a log buffer, 8-byte aligned. The
// worker owns the hole until it publishes the reservation.
struct LogReservation {
  uint64_t sequence = 0;
  uint64_t position = 0;      // byte offset of the hole in its stream, or kPlacedLater
  uint64_t durable = 0;       // how far the stream was durable when the hole was reserved
  std::byte* hole = nullptr;  // null when the scheme logs nothing
  uint32_t bytes = 0;
  uint32_t stream = 0;
  uint8_t flags = 0;  // kClosed (logging/format/record.h), or 0
  // The words with which the record's body must end (VectorWord in logging/format/record.h). The
  // words are part of `bytes`. They are valid until the worker's next reserve().
  std::span<const uint64_t> vector = {};
  uint64_t waited_ticks = 0;  // how long the worker waited for room in the log buffer
};

enum class RecordRole : uint8_t {
  kPart,  // a later record commits the transaction (--log_records=op)
  kCommit,
  kVoid,  // recovery skips the record: the validation failed after the hole was reserved
};
constexpr bool commits(RecordRole role) { return role == RecordRole::kCommit; }

// The point in the log that an acknowledgement waits for. The scheme makes the point and says
// whether the point is durable (LogScheme::is_durable).
struct CommitPoint {
  enum class Scope : uint8_t {
    kNone,         // durable at once
    kStream,       // stream `index` is durable up to `sequence`
    kEveryStream,  // every stream is durable up to `sequence`
    kDependencies  // entry `sequence` of worker `index`'s dependency queue is met
  };
  // The commit points in a worker's queue become durable in order (Poplar's Qwr and Qww).
  static constexpr uint32_t kQueues = 2;

  uint64_t sequence = 0;  // an LSN (byte position) or another sequence number, as the scheme counts
  uint32_t index = 0;     // the number of the stream, or of the worker
  Scope scope = Scope::kNone;
  uint8_t queue = 0;  // below kQueues

  static constexpr CommitPoint in_stream(uint32_t stream, uint64_t sequence, uint8_t queue = 0) {
    return {sequence, stream, Scope::kStream, queue};
  }
  static constexpr CommitPoint in_every_stream(uint64_t sequence, uint8_t queue = 0) {
    return {sequence, 0, Scope::kEveryStream, queue};
  }
  static constexpr CommitPoint in_dependency_queue(uint32_t worker, uint64_t entry) {
    return {entry, worker, Scope::kDependencies, 0};
  }
};

}  // namespace logjam

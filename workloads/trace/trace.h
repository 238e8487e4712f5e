// A trace: initial rows and transactions in a CSV file. The workload `trace` replays it, and
// `run --record` writes it. docs/WORKLOADS.md describes the file for its authors.
//
//   op,table,key,to,size,value,time_us,session
//   table,accounts,,,16,ordered      rows of 16 bytes, in an index of this kind
//   row,accounts,7,,,00ff            an initial row, whose other bytes are zeros
//   begin,,,,,,1250.5,3              a transaction, its time and its session
//   get,accounts,7
//   scan,accounts,5,9,100            the rows of the keys 5 to 9, at most 100 of them
//   put,accounts,8,,10               a row that begins with 10 bytes of logjam's choice
//   commit
//
// The first line names the columns, in any order; a line may end early. An operation outside of
// begin and commit is a transaction of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/storage/tuple.h"

namespace logjam::trace {

enum class Kind : uint8_t {
  kGet,     // reads a row, or its first bytes
  kPut,     // writes a row without reading it, whether the table has the row or not
  kUpdate,  // reads a row that the table has, and writes it
  kInsert,  // writes a row that the table does not have
  kDelete,  // erases a row that the table has
  kScan,    // reads the rows of a range of keys
};

// The first bytes of a row; its other bytes are zeros.
struct Value {
  static constexpr uint32_t kWholeRow = ~uint32_t{0};
  uint64_t at = 0;       // in Trace::bytes; if `made_up`, the seed of the bytes
  uint32_t bytes = 0;    // or kWholeRow
  bool made_up = false;  // logjam chooses the bytes
};

struct Operation {
  Kind kind = Kind::kGet;
  uint16_t table = 0;  // an index into Trace::tables
  Key key = 0;         // of a scan: the first key
  Key to = 0;          // of a scan: the last key
  uint64_t most = 0;   // of a scan: the most rows; of a get: the bytes of the row that it reads
  Value value;         // of a put, an update and an insert
};

struct InitialRow {
  Key key = 0;
  Value value;
  uint64_t line = 0;
};

struct TracedTable {
  std::string name;
  uint32_t row_bytes = 0;
  uint64_t line = 0;  // the first that names the table
  bool ordered = false, described = false, inserted = false;
  uint64_t inserts = 0;               // the operations that may add a row
  std::vector<InitialRow> rows = {};  // sorted by key, each key once
};

struct TracedTransaction {
  uint64_t end = 0;  // the index of the first operation of the next transaction
  uint64_t time_ns = 0;
  uint64_t session = 0;
  uint64_t line : 63 = 0;  // of its begin
  uint64_t writes : 1 = 0;
};

struct Trace {
  std::vector<TracedTable> tables;
  std::vector<TracedTransaction> transactions;
  std::vector<Operation> operations;
  std::vector<std::byte> bytes;
  bool has_times = false, has_sessions = false;

  std::span<const Operation> operations_of(uint64_t transaction) const {
    const uint64_t begin = transaction == 0 ? 0 : transactions[transaction - 1].end;
    return std::span(operations).subspan(begin, transactions[transaction].end - begin);
  }
  // Fills all of `row`. Any thread may call it.
  void fill(const Value& value, std::span<std::byte> row) const;
};

inline constexpr uint32_t kMostRowBytes = 1 << 20;
inline constexpr size_t kMostTables = 1000;

// Sets `*trace` to the trace in `text`. Returns an empty string, or in one sentence what is wrong
// with the first wrong line. After an error `*trace` has any value.
std::string parse(std::string_view text, Trace* trace);

}  // namespace logjam::trace

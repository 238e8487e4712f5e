// The four range queries of sysbench's oltp_read_write, over ids in [from, to].
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/transaction.h"
#include "workloads/oltp/rows.h"

namespace logjam::oltp {

enum class Range : uint8_t {
  kSimple,    // SELECT c
  kSum,       // SELECT SUM(k)
  kOrder,     // SELECT c ... ORDER BY c
  kDistinct,  // SELECT DISTINCT c ... ORDER BY c
};

// Executes the range queries of one client. Reused for all of them, so that queries allocate
// nothing.
class RangeSelect {
 public:
  explicit RangeSelect(uint32_t expected_rows) { rows_.reserve(expected_rows); }

  Status run(Transaction& txn, Table& table, Range range, Key from, Key to) {
    rows_.clear();
    sum_ = 0;
    const Status status = txn.scan(table, from, to, false, [this](Key, const std::byte* row) {
      rows_.push_back(reinterpret_cast<const Row*>(row));
      return true;
    });
    if (status != Status::kOk) return status;
    if (range == Range::kSum) {
      for (const Row* row : rows_) sum_ += row->k;
    } else if (range != Range::kSimple) {
      const auto c_of = [](const Row* row) {
        return std::string_view(row->c.data(), row->c.size());
      };
      std::ranges::sort(rows_, {}, c_of);
      const auto same = [&](const Row* a, const Row* b) { return c_of(a) == c_of(b); };
      if (range == Range::kDistinct) {
        rows_.erase(std::unique(rows_.begin(), rows_.end(), same), rows_.end());
      }
    }
    return status;
  }

  // Returns the rows whose c the last query returned, in its order. They stay valid until the
  // transaction ends.
  const std::vector<const Row*>& rows() const { return rows_; }
  // Returns the result of a kSum query.
  uint64_t sum() const { return sum_; }

 private:
  std::vector<const Row*> rows_;
  uint64_t sum_ = 0;
};

}  // namespace logjam::oltp

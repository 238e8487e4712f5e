// Threads write logs, and then each log loses a part of its end. Recovery must use no record that
// depends on a missing record, and must use every record that could have been acknowledged.
#include <map>
#include <mutex>

#include "logging/row_vectors.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint32_t kLogs = 3, kWorkers = 6;
constexpr uint64_t kEach = 300, kRows = 8;
constexpr size_t kWatermarkWords = 1 + kLogs;  // words of each watermark in a StreamTail

struct Row {
  std::mutex lock;
  uint64_t writer = 0, number = 0;
};
struct Transaction {
  Published published;
  uint64_t read[2];              // transactions that wrote the two rows that it read
  std::vector<uint64_t> needs;   // by log: the position up to which the log must be durable
  std::vector<uint64_t> record;  // the record's bytes in the log
};

class ClosedCut : public ScriptedLog, public testing::WithParamInterface<const char*> {
 protected:
  // Runs transactions. Each transaction reads two rows and writes one of these rows.
  void run(uint32_t worker) {
    RowVectors* const vectors = scheme().parts().row_vectors;
    std::mt19937_64 random(worker);
    for (uint64_t i = 1; i <= kEach; ++i) {
      const uint64_t txn = worker * kEach + i, first = random() % (kRows - 1),
                     second = first + 1 + random() % (kRows - 1 - first);
      const std::scoped_lock hold(rows_[first].lock, rows_[second].lock);
      std::vector<uint64_t> vector(vectors == nullptr ? 0 : kLogs);
      if (vectors != nullptr) {
        for (const uint64_t one : {first, second}) vectors->gather(&rows_[one], vector);
      }
      Dependencies deps{.max_read = std::max(rows_[first].number, rows_[second].number),
                        .vector = vectors == nullptr ? nullptr : vector.data(),
                        .reads = true};
      for (const uint64_t one : {first, second}) {
        const uint64_t foreign = reads(scheme(), worker, rows_[one].number).max_foreign;
        deps.max_foreign = std::max(deps.max_foreign, foreign);
      }
      const Published one = publish_record(*log_, worker, txn, 64, deps);
      EXPECT_GT(one.sequence, deps.max_read);
      // No sync record says what a transaction of `rfa` needs.
      if (vectors == nullptr && !has_sync_records()) vector.assign(kLogs, ~uint64_t{0});
      by_txn_[txn] = {one, {rows_[first].writer, rows_[second].writer}, vector, {}};
      Row& written = rows_[random() % 2 == 0 ? first : second];
      if (vectors != nullptr) vectors->raise(&written, vector);
      written.writer = txn;
      written.number = one.sequence;
      scheme().poll(worker);
      if (i % 50 == 0) scheme().wait_durable(worker, one.point);
    }
  }
  // Notes each transaction's record, and the ends of the log's records. If a transaction has no
  // vector, it needs the tails in the next sync record.
  void read(uint32_t s) {
    LogReader reader({stream_file(options_, s)});
    uint64_t last = 0, most = 0;
    for (RecordBatch batch; reader.next(&batch);) {
      for (size_t i = 0; i < batch.records.size(); ++i) {
        const RecordHeader& header = *batch.records[i];
        const auto* const words = reinterpret_cast<const uint64_t*>(&header);
        const std::span all(words, header.bytes / sizeof(uint64_t));
        ends_[s].push_back(batch.positions[i] + header.bytes);
        if (header.kind == RecordKind::kTransaction) {
          last = header.txn;
          by_txn_[last].record.assign(all.begin(), all.end());
        } else if (header.kind == RecordKind::kWatermark) {
          most = std::max(most, header.sequence);
          numbers_[s][ends_[s].back()] = most;
          if (watermark_body(header).size() != kLogs) continue;
          watermark_ends_[s].push_back(ends_[s].back());
          if (!by_txn_[last].needs.empty()) continue;
          for (const uint64_t word : all.subspan(sizeof(RecordHeader) / sizeof(uint64_t))) {
            by_txn_[last].needs.push_back(WatermarkWord::position(word));
          }
        }
      }
    }
    for (const auto& batch : reader.tail().watermarks) {
      watermarks_[s].insert(watermarks_[s].end(), batch->begin(), batch->end());
    }
  }
  static bool has_sync_records() { return std::string_view(GetParam()).starts_with("dlog"); }
  bool used(uint64_t txn, const Cut& cut) const {
    const auto& [published, read, needs, record] = by_txn_[txn];
    return published.position + published.bytes <= cut.bytes[published.stream] &&
           options_.scheme->recovery.survives(*reinterpret_cast<const RecordHeader*>(record.data()),
                                              cut);
  }

  std::vector<Row> rows_ = std::vector<Row>(kRows);
  std::vector<Transaction> by_txn_ = std::vector<Transaction>(kWorkers * kEach + 1);
  // `watermark_ends_` and `watermarks_` have the watermark records with a body. `numbers_` has all
  // ends of watermark records, and the largest number of a watermark record up to there.
  std::vector<uint64_t> ends_[kLogs], watermark_ends_[kLogs], watermarks_[kLogs];
  std::map<uint64_t, uint64_t> numbers_[kLogs];
};

TEST_P(ClosedCut, LacksNothingWhereverEachLogEnds) {
  options_ = log_options_of_many(*find_scheme(GetParam()), directory_, "sync", kWorkers, kLogs);
  flags_.set("test", "aether_force:3");
  open();
  log_->start();
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([this, worker] { run(worker); });
  }
  for (std::thread& thread : threads) thread.join();
  log_->drain();
  for (uint32_t s = 0; s < kLogs; ++s) {
    read(s);
    // A descheduled worker that keeps an anchor's lock leaves a log with few anchors.
    EXPECT_FALSE(watermark_ends_[s].empty());
  }
  const bool has_vectors = scheme().parts().row_vectors != nullptr;
  std::mt19937_64 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<StreamTail> tails(kLogs);
    std::vector<uint64_t> left;
    for (uint32_t s = 0; s < kLogs; ++s) {
      const size_t records = random() % (ends_[s].size() + 1);
      left.push_back(tails[s].bytes = records == 0 ? 0 : ends_[s][records - 1]);
      const auto after = numbers_[s].upper_bound(left[s]);
      tails[s].last_watermark = after == numbers_[s].begin() ? 0 : std::prev(after)->second;
      const auto kept = std::ranges::upper_bound(watermark_ends_[s], left[s]);
      const size_t words = static_cast<size_t>(kept - watermark_ends_[s].begin()) * kWatermarkWords;
      tails[s].watermarks = {std::make_shared<const std::vector<uint64_t>>(
          watermarks_[s].begin(), watermarks_[s].begin() + static_cast<ptrdiff_t>(words))};
    }
    const Cut cut = options_.scheme->recovery.cut(tails);
    for (uint64_t txn = 1; txn < by_txn_.size(); ++txn) {
      const bool is_used = used(txn, cut);
      for (const uint64_t read : by_txn_[txn].read) {
        ASSERT_TRUE(read == 0 || !is_used || used(read, cut))
            << txn << " is used, and " << read << " that it read from is not: " << cut.why;
      }
      bool safe = true;
      for (uint32_t s = 0; s < kLogs; ++s) {
        safe = safe && by_txn_[txn].needs[s] <= (has_vectors ? cut.bytes[s] : left[s]);
      }
      ASSERT_TRUE(is_used || !safe) << txn << " was acknowledged: " << cut.why;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ClosedCut, testing::Values("dlog-s", "dlog-r", "rfa", "taurus"),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace logjam

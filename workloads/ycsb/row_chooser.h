// RowChooser: draws the numbers of existing rows. As in YCSB, they may be loaded or inserted rows.
#pragma once

#include "platform/clock.h"
#include "workloads/ycsb/rows.h"

namespace logjam::ycsb {

// Draws rows for one client. All clients share `inserted`. Rows that workers of an earlier process
// inserted are drawn like the rows of the present `workers` workers.
class RowChooser {
 public:
  RowChooser(const Options& options, const KeySpace& space, const Zipf& ranks,
             const Inserted& inserted, uint32_t workers)
      : space_(space),
        inserted_(inserted),
        distribution_(options.distribution),
        // YCSB draws numbers from 0 to the expected number of rows, which is one number too many:
        // rows count from 0, so the row `slots_` - 1 never exists.
        slots_(options.records + options.expected_inserts + 1),
        zipf_(ranks),
        hot_ticks_(platform::ns_to_ticks(options.hot_moves_s * 1e9)),
        hot_begin_(hot_ticks_ == 0 ? 0 : platform::ticks()),
        counts_(std::max(workers, inserted.workers())) {}

  // Returns the ranks with which each client's RowChooser begins.
  static Zipf ranks(const Options& options) {
    const bool scrambled = options.distribution == Distribution::kScrambled;
    return Zipf(scrambled ? kScrambledRanks : options.records, options.theta);
  }

  // Lets other rows be popular if it is time (--ycsb_hot). Call it before each transaction.
  void move_hot() {
    if (hot_ticks_ == 0) return;
    const uint64_t moves = (platform::ticks() - hot_begin_) / hot_ticks_;
    shift_ = moves * kScrambledRanks;
    if (distribution_ == Distribution::kZipf && moves != 0) {
      shift_ = ycsb_hash(moves) % space_.records;
    }
  }

  uint64_t draw(Random& random) {
    switch (distribution_) {
      case Distribution::kUniform:
        return random.below(space_.records);
      case Distribution::kZipf:
        return shifted(zipf_.draw(random));
      case Distribution::kScrambled:
        return draw_scrambled(random);
      case Distribution::kLatest:
        return draw_latest(random);
    }
    return 0;
  }

 private:
  // The number of ranks that YCSB draws from (ScrambledZipfianGenerator.ITEM_COUNT). It does not
  // depend on the number of rows, because otherwise the popular rows would change with each insert.
  static constexpr uint64_t kScrambledRanks = 10'000'000'000;

  uint64_t shifted(uint64_t rank) const {
    return shift_ == 0 ? rank : (rank + shift_) % space_.records;
  }

  // Draws a loaded row or an expected insert, until it has drawn a row that exists, as YCSB does
  // (CoreWorkload.nextKeynum). Expected inserts belong to the workers in turn.
  uint64_t draw_scrambled(Random& random) {
    const uint64_t workers = counts_.size();
    while (true) {
      const uint64_t slot = ycsb_hash(zipf_.draw(random) + shift_) % slots_;
      if (slot < space_.records) return slot;
      const uint64_t later = slot - space_.records;
      const auto worker = static_cast<uint32_t>(later % workers);
      if (later / workers < inserted_.count(worker)) {
        return space_.inserted(later / workers, worker);
      }
    }
  }

  uint64_t draw_latest(Random& random) {
    uint64_t rows = space_.records;
    for (uint32_t worker = 0; worker < counts_.size(); ++worker) {
      rows += counts_[worker] = inserted_.count(worker);
    }
    zipf_.grow(rows);
    return newest(space_, counts_, zipf_.draw(random));
  }

  const KeySpace space_;
  const Inserted& inserted_;
  const Distribution distribution_;
  const uint64_t slots_;
  Zipf zipf_;
  const uint64_t hot_ticks_, hot_begin_;  // the time between two moves, 0: none; the first time
  uint64_t shift_ = 0;                    // of the ranks, since the last move
  std::vector<uint64_t> counts_;  // for kLatest: each worker's number of inserts at the last draw
};

}  // namespace logjam::ycsb

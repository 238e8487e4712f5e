// The lines on stderr that a person watches during a load and a run. They are not part of the
// result. The main thread calls both classes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/run/worker.h"

namespace logjam {

using Workers = std::vector<std::unique_ptr<Worker>>;

class LoadingBar {
 public:
  explicit LoadingBar(uint64_t expected_bytes) : expected_bytes_(expected_bytes) {}
  // Redraws the bar if it has grown by a cell.
  void show(uint64_t loaded_bytes);
  void end();

 private:
  const uint64_t expected_bytes_;
  int drawn_ = -1;
};

class ProgressLine {
 public:
  explicit ProgressLine(const Workers& workers);
  // Prints a line if a second has passed since the last line.
  void print_if_due(uint64_t now_ns);
  // Clears the line.
  void end();

 private:
  struct Totals {
    uint64_t transactions = 0, aborts = 0, bytes = 0;
    HistogramSum commit;
  };
  Totals totals() const;

  const Workers& workers_;
  uint64_t begun_ns_, shown_ns_;
  Totals last_;
};

}  // namespace logjam

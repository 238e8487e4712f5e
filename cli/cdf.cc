#include "cli/cdf.h"

#include <gflags/gflags.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "cli/row_files.h"
#include "platform/clock.h"
#include "platform/fatal.h"

DEFINE_string(cdf, "", "write commit latency's distribution to this file");

namespace logjam {

void refuse_cdf_file() {
  if (!FLAGS_cdf.empty()) refuse_unwritable("cdf", FLAGS_cdf);
}

void write_cdf(const HistogramSum& ticks) {
  if (FLAGS_cdf.empty()) return;
  std::vector<double> fractions;
  for (int percent = 2; percent < 95; percent += 2) fractions.push_back(percent / 100.0);
  for (const double tail : {0.95, 0.96, 0.98, 0.99, 0.995, 0.999, 1.0}) fractions.push_back(tail);
  FILE* file = std::fopen(FLAGS_cdf.c_str(), "we");
  if (file == nullptr) platform::fatal("cannot write " + FLAGS_cdf + ": " + strerror(errno));
  bool written = std::fprintf(file, "fraction,latency_us\n") > 0;
  if (ticks.count() == 0) fractions.clear();  // of nothing there is no distribution
  for (const double fraction : fractions) {
    const uint64_t at = fraction == 1 ? ticks.max() : ticks.percentile(fraction);
    written = written &&
              std::fprintf(file, "%.3f,%.1f\n", fraction, platform::ticks_to_ns(at) * 1e-3) > 0;
  }
  if (std::fclose(file) != 0 || !written) {
    platform::fatal("cannot write " + FLAGS_cdf + ": " + strerror(errno));
  }
}

}  // namespace logjam

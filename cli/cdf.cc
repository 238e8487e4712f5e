#include "cli/cdf.h"

#include <gflags/gflags.h>

#include <vector>

#include "cli/output_claim.h"
#include "platform/clock.h"
#include "platform/output_file.h"
#include "platform/text.h"

DEFINE_string(cdf, "", "write commit latency's distribution to this file");

namespace logjam {
namespace {

constexpr char kHeader[] = "fraction,latency_us\n";

}  // namespace

void claim_cdf_file() {
  if (FLAGS_cdf.empty()) return;
  claim_replaced("--cdf", FLAGS_cdf, "a distribution of latencies", {kHeader});
}

void write_cdf(const HistogramSum& ticks) {
  if (FLAGS_cdf.empty()) return;
  std::vector<double> fractions;
  for (int percent = 2; percent < 95; percent += 2) fractions.push_back(percent / 100.0);
  for (const double tail : {0.95, 0.96, 0.98, 0.99, 0.995, 0.999, 1.0}) fractions.push_back(tail);
  platform::OutputFile file(FLAGS_cdf);
  file.write(kHeader);
  if (ticks.count() == 0) fractions.clear();  // of nothing there is no distribution
  for (const double fraction : fractions) {
    const uint64_t at = fraction == 1 ? ticks.max() : ticks.percentile(fraction);
    file.write(platform::with_decimals(fraction, 3) + "," +
               platform::with_decimals(platform::ticks_to_ns(at) * 1e-3, 1) + "\n");
  }
}

}  // namespace logjam

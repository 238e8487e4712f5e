// The distribution of commit latency, as --cdf writes it: a CSV file with 1,000 rows, the share of
// all commits and the latency that so many do not exceed. The main thread calls these functions.
// They do nothing without --cdf.
#pragma once

#include "engine/stats/histogram.h"

namespace logjam {

// Ends the process (kExitBadInput) unless the file can be written.
void refuse_cdf_file();
// Writes the file anew. Ends the process if that fails.
void write_cdf(const HistogramSum& ticks);

}  // namespace logjam

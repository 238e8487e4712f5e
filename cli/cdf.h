// The distribution of commit latency, as --cdf writes it: a CSV file with a row for every second
// percent of the commits, and for 95, 99, 99.5, 99.9 and 100 %. A row holds that share of all
// commits, and the latency that this share does not exceed. The main thread calls these functions.
// They do nothing without --cdf.
#pragma once

#include "engine/stats/histogram.h"

namespace logjam {

// Ends the process (kExitBadInput) unless the file can be replaced.
void claim_cdf_file();
// Writes the file anew. Ends the process if that fails.
void write_cdf(const HistogramSum& ticks);

}  // namespace logjam

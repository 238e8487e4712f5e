// The value of --rate: a number of transactions a second, or profile:FILE, whose lines say from
// when on which rate is offered, or think_us:N for a closed loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/run_options.h"

namespace logjam {

// Returns why the value cannot be used, in one sentence, or "". Reads no file.
std::string check_rate(const std::string& given);
// Returns the mean think time of a checked value; 0: none.
uint64_t think_ns_of(const std::string& given);
// Returns the rates of a checked value; none for 0 or a think time. Reads the FILE, and refuses a
// bad one.
std::vector<RateStep> rates_of(const std::string& given);

}  // namespace logjam

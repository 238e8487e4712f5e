// The value of --rate: a number of transactions a second, or profile:FILE, whose lines say from
// when on which rate is offered.
#pragma once

#include <string>
#include <vector>

#include "engine/run_options.h"

namespace logjam {

// Returns why the value cannot be used, in one sentence, or "". Reads no file.
std::string check_rate(const std::string& given);
// Returns the rates of a checked value; none for 0. Reads the FILE, and refuses a bad one.
std::vector<RateStep> rates_of(const std::string& given);

}  // namespace logjam

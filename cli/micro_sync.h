// `logjam micro --sync`: atomic operations and locks in place of log inserts.
#pragma once

#include <string>

#include "workloads/sync/sync.h"

namespace logjam {

// Returns whether --sync was given. The main thread calls this function and the next ones.
bool sync_wanted();
// Runs the benchmark and writes its row. Refuses all flags that are about a log. Returns the exit
// status.
int micro_sync();

// Sets kind, lines and pause from KIND[:LINES[:PAUSE_NS]]. Returns an empty string, or why they
// are refused, in one sentence.
std::string parse_sync(const std::string& given, sync::Options* options);

}  // namespace logjam

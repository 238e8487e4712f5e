// The report of `logjam run`: its row, and printed lines that are not in the row. Only the main
// thread may call these functions.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/row.h"
#include "engine/run/run.h"
#include "engine/storage/database.h"
#include "logging/log.h"
#include "platform/kernel_files.h"
#include "platform/output_file.h"

namespace logjam {

// Returns the row of a run. `verified` is the result of the workload's checks, or empty.
Row make_row(const Settings& settings, const Workload& workload, const RunResult& result,
             const std::string& verified);

// Prints a line for each check. Returns whether all have passed.
bool print_checks(const std::vector<Check>& checks);
// Prints the count, share and success rate of each transaction type, and the shares that
// Workload::shares() returns. After each number, prints the value in the workload's specification.
void print_types(const Workload& workload, const RunResult& result);
// Prints the number of rows of each table, and about how much memory the tables take.
void print_row_counts(Database& database);
// Prints notes for readers of the row, such as that acknowledged transactions may be lost.
void print_notes(const Settings& settings, const Workload& workload, const RunResult& result);

// Returns a sentence for each property of the machine that a reader of the row must know (the
// column `cautions`). Call it when the workers have ended.
std::vector<std::string> cautions_about_machine(const LogOptions& log);
// Returns a sentence if the time stamp counter, which measures latencies, may not be steady: the
// processor does not promise this, and the kernel does not use the counter. Otherwise returns "".
std::string caution_about_clock(const platform::KernelFiles& kernel = {});
// Returns a sentence for each hash index that has far more entries than its creator expected.
std::vector<std::string> cautions_about_indexes(Database& database);

// The file of `run --timeline`: a CSV row for each sample. Each row is written when its sample is
// taken, so a killed run leaves all earlier rows. One thread at a time calls a TimelineFile.
class TimelineFile {
 public:
  // Refuses unless the file can be replaced.
  static void claim(const std::string& path);

  TimelineFile(const std::string& path, const RunOptions& options);
  void write(const TimelineSample& sample);

 private:
  platform::OutputFile file_;
  // Whether acknowledgements show the log's lag. They do not under --commit=async, because it
  // acknowledges transactions that are not durable.
  const bool knows_lag_;
  const bool open_loop_;
};

}  // namespace logjam

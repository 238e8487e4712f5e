// The file of `run --timeline`: a CSV row for each sample. Each row is written at once, so that a
// run that is killed leaves its time line. One thread at a time calls a TimelineFile.
#pragma once

#include <string>

#include "engine/run/run.h"
#include "platform/output_file.h"

namespace logjam {

class TimelineFile {
 public:
  // Ends the process (kExitBadInput) unless the file can be replaced.
  static void claim(const std::string& path);

  // Replaces the file.
  TimelineFile(const std::string& path, CommitPolicy commit);
  void write(const TimelineSample& sample);

 private:
  platform::OutputFile file_;
  // Under --commit=async an acknowledged transaction may not be durable, so acknowledgements do not
  // show the log's lag.
  const bool knows_lag_;
};

}  // namespace logjam

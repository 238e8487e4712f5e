// Records the transactions of a run, of any workload, as a trace (workloads/trace/trace.h).
//
// The file has the tables, the rows that they have when the workers start, and each committed
// transaction: a transaction that writes where the order of its writes puts it, and a transaction
// that only reads where it is acknowledged. So if one worker replays the file, it leaves the same
// rows. Aborted attempts and rolled-back transactions are not recorded. A read through a secondary
// index becomes a get of each row found, because a trace has no secondary indexes.
//
// Recording costs time: a worker encodes its rows, and writes them to the file while it holds the
// locks of its transaction. So the recorded run is slower than a run without --record.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/workload.h"
#include "platform/mutex.h"
#include "platform/output_file.h"
#include "platform/thread_annotations.h"

namespace logjam::trace {

// The first line of a recorded file.
inline constexpr std::string_view kRecordedColumns = "op,table,key,to,size,value,time_us\n";

// Returns the temporary name of the file `path`. The file has this name until keep() is called.
std::string unfinished_trace(const std::string& path);

// The file of a recording. A write that fails ends the process with one sentence.
//
// Protocol. A worker calls append() at the serialization point of its transaction, with its rows
// locked (CommitObserver). So of two transactions that write a row, the first writer's text comes
// first. The mutex protects the file.
class Recording {
 public:
  // Refuses if the file cannot be created.
  explicit Recording(std::string path);
  // Removes the file, unless keep() was called.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Writes the tables and their rows. No transaction runs during the call.
  void write_rows(Database& database);
  // Appends lines. Any thread may call it.
  void append(std::string_view lines) LJ_EXCLUDES(mutex_);
  // Gives the file its final name, and returns an empty string, or in one sentence why it cannot.
  // Call it after the last append().
  std::string keep();

 private:
  const std::string path_;
  platform::mutex mutex_;
  std::optional<platform::OutputFile> file_ LJ_GUARDED_BY(mutex_);  // empty after keep()
};

// Returns a workload that runs `workload` and appends its transactions to `recording`, which
// outlives the result. Times count from this call.
std::unique_ptr<Workload> recorded(std::unique_ptr<Workload> workload, Recording& recording);

}  // namespace logjam::trace

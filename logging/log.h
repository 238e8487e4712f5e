// A running log: the devices and their files, the scheme on top of them, and its flusher threads.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logging/device/device_registry.h"
#include "logging/format/log_file.h"
#include "logging/log_directories.h"
#include "logging/scheme_registry.h"
#include "platform/thread.h"

namespace logjam {

struct LogOptions {
  const SchemeInfo* scheme = nullptr;
  std::vector<std::string> directories;  // --wal_dir: one for each stream, or for each stripe
  bool overwrite = false;                // --overwrite: a log in the directories may be replaced
  std::string device;                    // --device
  uint64_t preallocate_bytes = 0;        // --log_prealloc_mb, per stream
  uint32_t io_depth = 1;                 // --io_depth, per file
  // Of each segment file, where the device has them; 0: segment_bytes_for(preallocate_bytes).
  uint64_t segment_bytes = 0;
  uint64_t seed = 1;
  uint64_t record_bytes = 0;  // records that the scheme must be able to take
  LogConfig config;           // Log fills in devices, stripes and run
  LogFileHeader header;       // Log fills in scheme, device, run, streams, stripes and segments
  // Called when nothing of the log itself can be refused any more, and an earlier log is still
  // whole: a run opens its other output files then.
  std::function<void()> before_replace = [] {};
  int (*sync)(int fd) = fdatasync;           // for tests: see DeviceOptions
  std::function<void()> after_step = [] {};  // for tests: see LogDirectories::replace()
};

// Returns why the scheme cannot write to `device`, in one sentence, or an empty string if it can.
std::string check_scheme_on_device(const SchemeInfo& scheme, std::string_view device);

// Returns how long the segments are of a log file of which so much is preallocated: a quarter of
// it, from 1 to 64 MiB, and 0, which means no segments, if nothing is.
uint64_t segment_bytes_for(uint64_t preallocate_bytes);

class Log {
 public:
  // Locks the directories until it is destroyed, opens (creates or recycles) the files, and writes
  // and syncs their headers. Refuses what cannot be used before it changes anything; any other
  // failure ends the process with one sentence. One thread makes the log and calls start(), drain()
  // and stop().
  explicit Log(LogOptions options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  LogScheme& scheme() { return *scheme_; }
  uint32_t streams() const { return options_.header.streams; }
  uint64_t run() const { return options_.header.run; }
  const LogFileHeader& header() const { return options_.header; }
  const std::vector<Device*>& devices() const { return options_.config.devices; }  // for tests

  // Returns the socket to whose cores the flushers of all streams in that directory keep, or
  // kNoSocket if they do not all keep to one. `directory` is a number in LogOptions::directories.
  int socket_of_directory(uint32_t directory) const;
  // Any thread, while the log runs: no recovery will read stream s before `positions[s]`, up to
  // which the stream is durable. The files' bytes before that are used again or given back.
  void release(const std::vector<uint64_t>& positions);

  // Starts the flusher threads; on `discard` there are none.
  void start();
  // Waits until everything published is durable. Called when no worker publishes any more.
  void drain();
  // Ends the flusher threads, which write the end of the log, and closes the scheme. The destructor
  // calls it too.
  void stop();

 private:
  void write_headers();

  LogOptions options_;
  std::unique_ptr<LogDirectories> directories_;  // null if the device keeps nothing
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<LogScheme> scheme_;
  std::vector<platform::thread> flushers_;
  platform::atomic<bool> draining_{false};
  platform::atomic<bool> stopping_{false};
};

}  // namespace logjam

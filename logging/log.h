// A running log: the devices and their files, the scheme on top of them, and its flusher threads.
#pragma once

#include <functional>
#include <optional>

#include "logging/device/device_registry.h"
#include "logging/device/sync_choice.h"
#include "logging/log_directories.h"
#include "logging/scheme_registry.h"
#include "platform/memory.h"
#include "platform/thread.h"

namespace logjam {

struct LogOptions {
  const SchemeInfo* scheme = nullptr;
  std::vector<std::string> directories;  // --wal_dir: one for each stream, or for each stripe
  bool overwrite = false;                // --overwrite: a log in the directories may be replaced
  // --continue: the log that the run continues, whose directories are `directories`; or null.
  const ContinuedLog* continued = nullptr;
  bool history = false;  // whether the run keeps a history
  std::string device;    // --device
  // --sync, if the device has sync methods; nothing: SyncChoice chooses for each directory.
  std::optional<SyncMethod> sync = SyncMethod::kDsync;
  std::string card;                // the title of the card that the device plays, or ""
  uint64_t preallocate_bytes = 0;  // --log_prealloc_mb, per stream
  uint32_t io_depth = 1;           // --io_depth, per file
  // The length of a segment file, if the device has segments. If 0, segment_bytes_for() chooses it.
  uint64_t segment_bytes = 0;
  uint64_t seed = 1;
  uint64_t record_bytes = 0;  // the length of the largest record that the run writes
  LogConfig config;           // the Log sets `devices`, `stripes` and `run`
  // The Log sets `scheme`, `device`, `log`, `run`, `ordinal`, `streams`, `stripes` and segments.
  LogFileHeader header;
  // Called with the new run's header, after almost every check that may refuse, and before the
  // earlier log is touched. Here a run makes its other output files, under temporary names.
  std::function<void(const LogFileHeader&)> before_replace = [](const LogFileHeader&) {};
  // Called when the new run is in the manifest: then the other output files get their final names.
  std::function<void()> replaced = [] {};
  std::function<void()> after_step = [] {};  // for tests: see LogDirectories::replace()
};

// Returns one sentence that says why the scheme cannot write to `device`, or "" if it can.
std::string check_scheme_on_device(const SchemeInfo& scheme, std::string_view device);

// Returns the length of the segments of a log file that preallocates `preallocate_bytes`: a quarter
// of these bytes, but at least 1 and at most 64 MiB. If these bytes are 0, returns 0 (no segments).
uint64_t segment_bytes_for(uint64_t preallocate_bytes);

struct LogLayout {
  std::string why_not;  // why the log cannot be laid out, in one sentence; empty if it can
  uint32_t streams = 0;
  uint32_t stripes = 1;            // files of each stream
  uint64_t preallocate_bytes = 0;  // of each file
  uint64_t segment_bytes = 0;      // of each segment file; 0: the files have no segments
  bool has_files = false;          // false: files of an earlier run stay as they are

  uint32_t files() const { return streams * stripes; }
};

LogLayout layout_of(const LogOptions& options);

class Log {
 public:
  // Locks the directories until the log is destroyed, opens (creates or recycles) the files, and
  // writes and syncs their headers. Refuses unusable options before it changes anything. Any other
  // failure ends the process. One thread makes the log and calls start(), drain() and stop().
  explicit Log(LogOptions options);
  ~Log();

  LogScheme& scheme() { return *scheme_; }
  uint32_t streams() const { return options_.header.streams; }
  uint64_t run() const { return options_.header.run; }
  const LogFileHeader& header() const { return options_.header; }
  // Returns the log's manifest, or null if the device keeps nothing. Any thread may change it.
  LogManifest* manifest() { return directories_ == nullptr ? nullptr : &directories_->manifest(); }
  // Returns the sync methods of the directories, as "dsync"; "" if the device has none.
  std::string sync_text() const;
  // Returns by which interface of the kernel the devices write, or "" (Device::io).
  std::string_view io() const { return devices_.empty() ? "" : devices_.front()->io(); }
  const std::vector<Device*>& devices() const { return options_.config.devices; }  // for tests

  // Returns the socket on which all flushers of a directory's streams run. If they run on several
  // sockets, returns kNoSocket. `directory` is an index in LogOptions::directories.
  int socket_of_directory(uint32_t directory) const;
  // Allows the files to reuse or free the bytes of each stream s before `positions[s]`. These bytes
  // are durable, and no recovery needs them. Any thread may call it while the log runs.
  void release(const std::vector<uint64_t>& positions);

  // Ends the process if a directory of the log was moved. Any thread may call it.
  void fail_if_moved() const {
    if (directories_ != nullptr) directories_->fail_if_moved();
  }

  void start();  // on `discard` there are no flusher threads
  // Waits until all published records are durable. No worker may publish after the call.
  void drain();
  // Ends the flusher threads, which write the end of the log, and closes the scheme.
  void stop();
  // Returns how many threads the log has started: flushers, and those of its devices. Call it after
  // stop().
  uint32_t threads() const;

 private:
  void describe(const LogLayout& layout);
  void choose_sync(const LogLayout& layout);
  void open(const LogLayout& layout);
  void write_headers();

  LogOptions options_;
  std::unique_ptr<LogDirectories> directories_;  // null if the device keeps nothing
  std::vector<SyncChoice> choices_;              // one for each directory, if --sync=auto
  std::vector<SyncMethod> methods_;              // of each directory; empty if the device has none
  const platform::MirroredMemory header_block_{kLogHeaderBytes};  // LogConfig::header_block
  std::unique_ptr<LogScheme> scheme_;
  // Destroyed before the scheme: a device waits for its writes, which read the scheme's buffers.
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<platform::thread> flushers_;
  uint32_t started_ = 0;  // flushers that start() has started
  platform::atomic<bool> draining_{false};
  platform::atomic<bool> stopping_{false};
};

}  // namespace logjam

// A running log: devices, their files, the scheme on top of them and its flusher threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logging/device/device.h"
#include "logging/log_file.h"
#include "logging/log_scheme.h"
#include "platform/thread.h"

namespace logjam {

struct LogOptions {
  const SchemeInfo* scheme = nullptr;
  std::vector<std::string> directories;  // --log_dir: for one stream each, or striped over
  std::string device;                    // --device
  uint64_t preallocate_bytes = 0;        // --log_prealloc_mb, per stream
  uint64_t seed = 1;
  LogConfig config;      // devices and stripes are filled in by Log
  LogFileHeader header;  // so are scheme, device, run, streams and stripes
};

// Why the scheme cannot be on that device, in one sentence; empty if it can.
std::string check_scheme_on_device(const SchemeInfo& scheme, std::string_view device);

class Log {
 public:
  // Opens (creates or recycles) the files, writes and syncs their headers. Failures end the process
  // with a sentence.
  explicit Log(LogOptions options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  LogScheme& scheme() { return *scheme_; }
  uint64_t run() const { return options_.header.run; }
  const std::vector<Device*>& devices() const { return options_.config.devices; }  // for tests

  void start();  // flusher threads
  // Waits until all that is published is durable. Call when no worker publishes any more.
  void drain();
  void stop();

 private:
  LogOptions options_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<LogScheme> scheme_;
  std::vector<platform::thread> flushers_;
  platform::atomic<bool> draining_{false};
  platform::atomic<bool> stopping_{false};
};

}  // namespace logjam

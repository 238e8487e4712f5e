#include "logging/log.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "logging/format/log_file.h"
#include "logging/format/record.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/memory.h"
#include "platform/spin.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr uint64_t kDrainLookNs = 100'000;
constexpr int kLastFlushes = 10;

}  // namespace

std::string check_scheme_on_device(const SchemeInfo& scheme, std::string_view device) {
  constexpr uint32_t kSeveral = 2;  // workers, sockets and directories
  const LogConfig several{.workers = kSeveral, .sockets = kSeveral};
  if (device_traits(device).discards && scheme.stream_count(kSeveral, several) > 1) {
    return "--device=discard has no flusher, on which the several streams of --log=" +
           std::string(scheme.name) + " depend; --device=null has one";
  }
  if (!scheme.traits.in_place || device_traits(device).is_memory) return "";
  return "--log=" + std::string(scheme.name) +
         " persists its records in place and needs "
         "--device=nvm[:NS], not --device=" +
         std::string(device);
}

uint64_t segment_bytes_for(uint64_t preallocate_bytes) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  if (preallocate_bytes == 0) return 0;
  return std::clamp(preallocate_bytes / 4 / kMiB * kMiB, kMiB, 64 * kMiB);
}

LogLayout layout_of(const LogOptions& options) {
  const SchemeInfo& scheme = *options.scheme;
  const bool keeps = device_traits(options.device).keeps;
  const auto& directories = options.directories;
  const auto directory_count = static_cast<uint32_t>(directories.size());
  LogLayout layout;
  layout.why_not = check_scheme_on_device(scheme, options.device);
  if (!layout.why_not.empty()) return layout;
  layout.streams = scheme.stream_count(std::max(directory_count, 1u), options.config);
  if (layout.streams != 0) {
    if (keeps && directories.empty()) {
      layout.why_not = "--log=" + std::string(scheme.name) + " needs --wal_dir";
      return layout;
    }
    if (layout.streams == 1 && !scheme.traits.in_place) {
      layout.stripes = std::max(directory_count, 1u);
    } else if (directory_count > layout.streams) {
      layout.why_not = "--log=" + std::string(scheme.name) + " writes " +
                       std::to_string(layout.streams) +
                       " stream(s), not striped: name no more log directories than that";
      return layout;
    }
  }
  layout.preallocate_bytes = options.preallocate_bytes / layout.stripes;
  if (device_traits(options.device).has_segments && layout.preallocate_bytes != 0) {
    layout.segment_bytes = options.segment_bytes != 0 ? options.segment_bytes
                                                      : segment_bytes_for(layout.preallocate_bytes);
  }
  layout.has_files = keeps && layout.files() != 0;
  return layout;
}

Log::Log(LogOptions options) : options_(std::move(options)) {
  const LogLayout layout = layout_of(options_);
  if (!layout.why_not.empty()) platform::refuse(layout.why_not);
  if (layout.has_files) {
    directories_ = std::make_unique<LogDirectories>(options_.directories, options_.continued,
                                                    options_.overwrite);
  }
  describe(layout);
  choose_sync(layout);
  open(layout);
  scheme_ = options_.scheme->make(options_.config);
  const uint64_t most = std::min(scheme_->max_record_bytes(), kMostRecordBytes);
  if (layout.streams != 0 && options_.record_bytes > most) {
    platform::refuse("records of " + std::to_string(options_.record_bytes) + " bytes exceed the " +
                     std::to_string(most) + " that " +
                     (most == kMostRecordBytes ? "a record can have"
                                               : "the log buffer can take: raise --log_buffer_mb"));
  }
  options_.before_replace(options_.header);
  if (directories_ != nullptr) {
    directories_->replace(
        options_.header, options_.history, [this] { write_headers(); }, options_.replaced,
        options_.after_step);
  } else {
    options_.replaced();
  }
  for (const SyncChoice& choice : choices_) choice.remember();
}

void Log::describe(const LogLayout& layout) {
  LogFileHeader& header = options_.header;
  header.scheme = options_.scheme->name;
  header.device = options_.device;
  header.streams = layout.streams;
  header.stripes = options_.config.stripes = layout.stripes;
  header.stripe_bytes = options_.config.stripe_bytes;
  header.segment_bytes = layout.segment_bytes;
  header.run = options_.config.run =
      directories_ != nullptr ? directories_->new_run() : platform::random_number();
  if (directories_ != nullptr) {
    header.log = directories_->log();
    header.ordinal = directories_->ordinal();
  }
  const std::vector<std::byte> block = header.encode();  // refuses flags that do not fit
  std::memcpy(header_block_.data(), block.data(), block.size());
  options_.config.header_block = {header_block_.data(), block.size()};
}

void Log::choose_sync(const LogLayout& layout) {
  if (!layout.has_files || !device_traits(options_.device).has_sync_methods) return;
  for (const std::string& directory : options_.directories) {
    if (!options_.sync) choices_.emplace_back(options_.device, directory);
    methods_.push_back(options_.sync ? *options_.sync : choices_.back().method());
  }
}

std::string Log::sync_text() const {
  std::vector<std::string_view> names;
  for (const SyncMethod method : methods_) {
    if (std::ranges::find(names, name_of(method)) == names.end()) names.push_back(name_of(method));
  }
  return platform::join(names, " ");
}

void Log::open(const LogLayout& layout) {
  std::vector<std::string> paths(layout.files());
  if (directories_ != nullptr) {
    paths = log_file_paths(directories_->directories_of_run(), layout.streams, layout.stripes);
    const uint64_t segments =
        layout.segment_bytes == 0
            ? 0
            : (layout.preallocate_bytes + layout.segment_bytes - 1) / layout.segment_bytes;
    directories_->will_open(paths, layout.segment_bytes, segments);
  }
  for (uint32_t file = 0; file < paths.size(); ++file) {
    const SyncMethod method =
        methods_.empty() ? SyncMethod::kDsync : methods_[file % methods_.size()];
    devices_.push_back(open_device(options_.device, {.path = paths[file],
                                                     .preallocate_bytes = layout.preallocate_bytes,
                                                     .seed = options_.seed + file,
                                                     .depth = options_.io_depth,
                                                     .segment_bytes = layout.segment_bytes,
                                                     .sync_method = method}));
    options_.config.devices.push_back(devices_.back().get());
  }
}

// Writes each header, and zeros after the header, so that a log without records ends cleanly.
void Log::write_headers() {
  LogFileHeader header = options_.header;
  const platform::MirroredMemory aligned(2 * kLogHeaderBytes);
  for (uint32_t file = 0; file < devices_.size(); ++file) {
    header.stream = file / header.stripes;
    header.stripe = file % header.stripes;
    const std::vector<std::byte> block = header.encode();
    std::memcpy(aligned.data(), block.data(), block.size());
    devices_[file]->write_through(0, {aligned.data(), 2 * kLogHeaderBytes});
    options_.after_step();
  }
}

Log::~Log() { stop(); }

void Log::release(const std::vector<uint64_t>& positions) {
  LJ_ASSERT(positions.size() == streams());
  const Stripes stripes{options_.header.stripes, options_.header.stripe_bytes};
  for (uint32_t file = 0; file < devices_.size(); ++file) {
    const uint64_t position = positions[file / stripes.devices];
    devices_[file]->release(stripes.file_end(file % stripes.devices, position));
  }
}

int Log::socket_of_directory(uint32_t directory) const {
  const auto directories = static_cast<uint32_t>(options_.directories.size());
  std::set<int> sockets;
  for (uint32_t file = directory; file < devices_.size(); file += directories) {
    sockets.insert(scheme_->flusher_socket(file / options_.config.stripes));
  }
  return sockets.size() == 1 ? *sockets.begin() : platform::kNoSocket;
}

void Log::start() {
  LJ_ASSERT(flushers_.empty() && !stopping_.load());
  if (device_traits(options_.device).discards) return;
  for (uint32_t flusher = 0; flusher < scheme_->flushers(); ++flusher) {
    flushers_.emplace_back([this, flusher] {
      const platform::ThreadRole::Scope role(platform::log_role);
      platform::name_this_thread(scheme_->flusher_name(flusher));
      platform::favour_this_thread();
      platform::SpinWait::preempt_awaited(options_.config.preemptible_workers);
      platform::pin_to_socket(scheme_->flusher_socket(flusher));
      while (!stopping_.load(platform::memory_order_acquire)) {
        scheme_->flush(flusher, draining_.load(platform::memory_order_acquire));
      }
      // Writes the last records, and the watermark record after them. The number of flushes is
      // bounded, because the device `faulty` may never finish a write.
      for (int i = 0; i < kLastFlushes; ++i) {
        scheme_->flush(flusher, true);
        if (i > 0 && scheme_->idle()) break;
      }
    });
  }
  started_ = scheme_->flushers();
}

void Log::drain() {
  const platform::ThreadRole::Scope role(platform::log_role);
  draining_.store(true, platform::memory_order_release);
  while (!scheme_->idle()) {
    if (flushers_.empty()) {
      for (uint32_t flusher = 0; flusher < scheme_->flushers(); ++flusher) {
        scheme_->flush(flusher, true);
      }
    } else {
      platform::sleep_ns(kDrainLookNs);
    }
  }
  draining_.store(false, platform::memory_order_release);
}

void Log::stop() {
  stopping_.store(true, platform::memory_order_release);
  for (platform::thread& flusher : flushers_) flusher.join();
  flushers_.clear();
  scheme_->close();
}

uint32_t Log::threads() const {
  LJ_ASSERT(flushers_.empty());
  uint32_t all = started_;
  for (const auto& device : devices_) all += device->threads();
  return all;
}

}  // namespace logjam

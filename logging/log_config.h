// The configuration of a log scheme.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "logging/log_parts.h"
#include "platform/placement.h"

namespace logjam {

class Device;
class FlushPacer;

// When a transaction draws its sequence number under OCC.
enum class NumberDrawn : uint8_t {
  kAfterValidation,    // with the hole, when the transaction is certain to commit
  kBefore,             // with the hole; the record becomes void if the validation fails
  kBeforeWithoutHole,  // EarlyNumbers::draw_number(); a failed validation logs nothing
};

// The properties of a scheme that the engine must know. All but one depend on the scheme's name
// alone.
struct LogTraits {
  NumberDrawn number_drawn = NumberDrawn::kAfterValidation;
  bool fills_after_unlock = false;  // LogParts::unlock; filled in by SchemeInfo::make
  // If true, records hold commands (logging/format/record.h) instead of values. Recovery executes
  // the commands in log order. So the log order must be the serialization order, also for a
  // transaction that reads a row and the transaction that overwrites this row.
  bool commands = false;
  // If false, nothing is logged, and commits are durable at once by definition (scheme `none`).
  bool logs = true;
  // If true and the device is memory, workers fill records in this memory, and a flush only writes
  // the records' cache lines back. Otherwise a flush copies the records from a ring in DRAM.
  bool fills_device_memory = false;
  // The number of low bits of a sequence number that contain the number of the record's worker.
  uint32_t worker_bits = 0;
  // If true, workers persist records in place: the device is memory (`nvm`), and has no stripes.
  bool in_place = false;
};

// The settings that several schemes read. A scheme's file defines and reads the scheme's own flags.
struct LogConfig {
  uint32_t workers = 1;
  uint32_t sockets = 1;
  uint64_t run = 0;                  // seeds record checksums; filled in by Log
  uint64_t buffer_bytes = 64 << 20;  // --log_buffer_mb, per stream
  uint64_t io_bytes = 4 << 20;       // --io_bytes: the largest write (at least one block)
  uint64_t flush_txns = 0;           // --flush=txns:N; 0: no criterion
  uint64_t flush_bytes = 0;          // --flush=bytes:N; 0: no criterion
  uint64_t flush_us = 0;             // --flush=us:N; 0: no criterion
  // --flush_gap_us: the time between two writes while workers are busy.
  uint64_t flush_gap_us = 0;
  bool chooses_gap = false;            // the run chooses the gap (logging/stream/flush_gap.h)
  uint64_t gap_latency_us = 0;         // --flush_gap_us=auto:N, the mean latency; 0: none is given
  bool flush_help = true;              // --flush_help: workers may do the work of a late flusher
  std::optional<LogParts> parts = {};  // --log_parts; SchemeInfo::make fills in the scheme's own
  std::shared_ptr<FlushPacer> pacer = {};  // of all streams; filled in by SchemeInfo::make
  // Whether log threads preempt workers at once (--worker_class). If so, busy workers do not write.
  bool preemptible_workers = false;
  bool pinned_workers = true;  // false: --placement=none
  // The longest sleep of a worker, in case a wake-up is lost. No code relies on this bound: in
  // tests it is so long that a test with a lost wake-up hangs.
  uint64_t safety_timeout_ns = 20'000'000;
  // How long a flusher naps while workers flush. A thread that needs the flusher sooner must wake
  // the flusher. In tests the nap is an hour, so a test with a lost wake-up hangs.
  uint64_t nap_ns = 1'000'000;
  // `stripes` devices for each stream. The Log owns the devices, which outlive the scheme.
  std::vector<Device*> devices = {};
  // The header of stream 0's first file, in the Log's memory, aligned for the device.
  std::span<std::byte> header_block = {};
  // Whether each flush stores SDL in `header_block` (StreamState::store_sdl): only with one stream.
  bool store_sdl = false;
  uint32_t stripes = 1;
  uint64_t stripe_bytes = uint64_t{512} << 10;  // --stripe_kb
  LogTraits traits = {};                        // filled in by SchemeInfo::make

  // Returns the socket of the worker's core. If the machine does not have `sockets` sockets,
  // divides the workers equally among `sockets` pretended sockets.
  uint32_t socket_of(uint32_t worker) const {
    LJ_ASSERT(sockets != 0);
    const bool real = sockets == static_cast<uint32_t>(platform::socket_count());
    const int core = static_cast<int>(worker);
    if (real) return static_cast<uint32_t>(platform::socket_of_core(core)) % sockets;
    return static_cast<uint32_t>(uint64_t{worker} * sockets / workers);
  }
};

}  // namespace logjam

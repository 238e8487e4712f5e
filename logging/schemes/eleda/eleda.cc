// ELEDA's log: LSN by fetch-add, and a thread that finds SBL, the position up to which the log is
// filled without a hole (ELEDA, section 4). The three schemes find SBL in different ways:
//
//   eleda         with a grasshopper that hops over full ranges and crawls record by record
//   eleda-crawl   like eleda, but without hopping, h-lists and H-index (section 6.5.4)
//   eleda-bitmap  with a bit for each byte and a linear scan, one bit per step (section 6.5.4).
//                 Workers set eight bits at a time, by a store. With --test=eleda_bitmap_bits:8 the
//                 scan reads eight bits per step. With the value 1 in place of 8, workers set each
//                 bit by an atomic `or`.
//
// The I/O unit (section 4.3, Fig. 18) is the largest write, --io_bytes. Writes do not overlap. If
// the log grows by more than a unit during a write, the writes fall behind. Then the workers'
// pipelines are full, and their depth determines the commit latency. The paper's settings are in
// `config/papers/eleda.flags`: units of 64 KiB, a thread that only advances SBL (the ELEDA worker),
// and a thread that flushes up to SBL and stores SDL on the device (the ELEDA flusher).
#include <gflags/gflags.h>

#include "logging/flag_checks.h"
#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/eleda/bitmap.h"
#include "logging/schemes/eleda/grasshopper.h"
#include "platform/test_value.h"

DEFINE_uint64(eleda_hop_bytes, 4 << 20, "bytes of the ranges that SBL hops over; a power of 2");
DEFINE_bool(eleda_store_sdl, false,
            "after each flush store SDL on the device, with a write of its own");

namespace logjam {
namespace {

const platform::TestValue bitmap_bits("eleda_bitmap_bits");

template <class Tracker, class... TrackerOptions>
std::unique_ptr<LogScheme> with(LogConfig config, const TrackerOptions&... tracker_options) {
  config.store_sdl = FLAGS_eleda_store_sdl;
  return std::make_unique<FetchAddScheme<Tracker>>(config, tracker_options...);
}
template <bool kHops>
std::unique_ptr<LogScheme> with_grasshopper(const LogConfig& config) {
  return with<Grasshopper<kHops>>(config, FLAGS_eleda_hop_bytes);
}
std::unique_ptr<LogScheme> with_bitmap(const LogConfig& config) {
  switch (bitmap_bits.get()) {
    case 1:
      return with<Bitmap<1, 1>>(config);
    case 8:
      return with<Bitmap<8, 8>>(config);
    default:
      return with<Bitmap<1, 8>>(config);
  }
}

std::string check_flags() {
  return check_power_of_two("eleda_hop_bytes", FLAGS_eleda_hop_bytes, 1 << 10);
}

SchemeInfo info(std::string_view name, std::string_view buffer, std::string_view flushed_by,
                std::string_view source,
                std::unique_ptr<LogScheme> (*construct)(const LogConfig&)) {
  return fetch_add_scheme({
      .name = name,
      .differs =
          "without --eleda_store_sdl, SDL is not stored on the device after each flush (section "
          "4.3), because recovery finds the end of the log by its checksums",
      .buffer = buffer,
      .flushed_by = flushed_by,
      .source = source,
      .construct = construct,
      .check_flags = check_flags,
  });
}

const SchemeRegistration hops(info("eleda", "fetch-add + grasshopper: hops and crawls",
                                   "grasshopper worker or who asks, then leader or daemon",
                                   "ELEDA Alg. 1", with_grasshopper<true>));
const SchemeRegistration crawls(info("eleda-crawl", "fetch-add + grasshopper that only crawls",
                                     "grasshopper worker or who asks, then leader or daemon",
                                     "ELEDA 6.5.4", with_grasshopper<false>));
const SchemeRegistration scans(info("eleda-bitmap", "fetch-add + linear scan of a bitmap",
                                    "scanning thread or who asks, then leader or daemon",
                                    "ELEDA 6.5.4", with_bitmap));

}  // namespace
}  // namespace logjam

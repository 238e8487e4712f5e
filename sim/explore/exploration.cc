// Most of platform/exploration.h, for the simulated build.
#include "platform/exploration.h"

#include <utility>

#include "sim/explore/explored_heap.h"
#include "sim/explore/explorer.h"
#include "sim/explore/mapped_files.h"

namespace logjam::platform {
namespace {

sim::Explorer* waits_to_begin = nullptr;

}  // namespace

bool explores() { return true; }

void explore(const Schedule& schedule, const std::function<void()>& body) {
  auto* explorer = new sim::Explorer(schedule);  // never destroyed: fibers may still wait
  sim::begin_schedule_in_heap();
  sim::forget_mappings();
  sim::put_kernel(explorer);
  waits_to_begin = schedule.from_start ? nullptr : explorer;
  if (schedule.from_start) explorer->begin();
  body();
  explorer->end();
  explorer->crash_at_end();
  schedule.ended(explorer->result());
}

void begin_steps() {
  if (waits_to_begin != nullptr) std::exchange(waits_to_begin, nullptr)->begin();
}

void maybe_crash() {
  constexpr uint64_t kTimes = 4;
  if (sim::Explorer* explorer = sim::Explorer::now_exploring()) {
    explorer->maybe_crash(kTimes, false);
  }
}

bool forbid(const void* at, size_t bytes) {
  if (sim::freed_bits == nullptr) return false;
  if (sim::exploring != nullptr) sim::exploring->commit_all();
  sim::note_freed(at, bytes);
  return true;
}

void note_transfer(const void* at, size_t bytes, bool stores) {
  if (sim::data_races == nullptr || sim::exploring == nullptr) return;
  sim::exploring->watch(__builtin_return_address(0), at, bytes,
                        stores ? sim::DataRaces::Kind::kStore : sim::DataRaces::Kind::kLoad);
}

ExploredCall::ExploredCall() : explored_(sim::Explorer::now_exploring() != nullptr) {
  if (explored_) sim::Explorer::now_exploring()->file_call(false);
  // A call of the file system is one step, so the accesses to memory in the call are not steps.
  before_ = sim::exploring;
  sim::exploring = nullptr;
}
ExploredCall::~ExploredCall() {
  sim::exploring = static_cast<sim::Explorer*>(before_);
  if (explored_) sim::Explorer::now_exploring()->file_call(true);
}

}  // namespace logjam::platform

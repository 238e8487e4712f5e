#include "sim/explore/explorer.h"

#include <algorithm>
#include <utility>

#include "platform/assert.h"
#include "platform/fatal.h"
#include "sim/explore/explored_heap.h"
#include "sim/region.h"

namespace logjam::sim {

Explorer* exploring = nullptr;
bool explorer_runs = false;
Explorer* Explorer::begun_ = nullptr;

Explorer::Explorer(const platform::Schedule& schedule, std::unique_ptr<Order> order)
    : schedule_(schedule),
      random_(schedule.seed),
      crash_random_(~schedule.seed),
      order_(std::move(order)) {
  if (order_ == nullptr) {
    order_ = schedule.recorded ? make_recorded_order(schedule.turns)
                               : make_order(schedule.order, random_);
  }
  if (order_ == nullptr) platform::refuse("\"" + schedule.order + "\" is not an order of steps");
  LJ_ASSERT(!schedule.watches_races || !schedule.late_stores);
  threads_.push_back(std::make_unique<Thread>());
  threads_.back()->fiber = current_;
  result_.order = order_->name();
  if (schedule_.watches_races) races_ = std::make_unique<DataRaces>(schedule_.weakened);
}

Explorer::~Explorer() { end(); }

void Explorer::begin() {
  LJ_ASSERT(begun_ == nullptr);
  const Unexplored free;
  begun_ = this;
  data_races = races_.get();
  if (schedule_.mean_crash_steps != 0 && !schedule_.recorded) {
    crash_at_ = 1 + crash_random_.next() % (2 * schedule_.mean_crash_steps);
  }
  begin_turn(self());
}

void Explorer::end() {
  if (begun_ != this) return;
  begun_ = nullptr;
  if (races_ != nullptr) result_.weakened = races_->weakened_operations();
  data_races = nullptr;
}

bool Explorer::is_on_stack(const void* at) const {
  return current_->stack_begin <= at && at < current_->stack_end;
}

void Explorer::step(const void* site, const void* at) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  ++result_.steps;
  // Addresses of the host differ between runs, so they count as 0.
  const uintptr_t address = line_of(at) == kNoLine ? 0 : reinterpret_cast<uintptr_t>(at);
  result_.hash ^= reinterpret_cast<uintptr_t>(site) + (address << 24);
  result_.hash = (result_.hash ^ result_.hash >> 29) * kOdd + current_->id + 1;
  Thread& thread = self();
  if (site != nullptr) thread.sites[thread.sites_noted++ % thread.sites.size()] = site;
  if (result_.steps >= next_event_) event();
}

void Explorer::touch(const void* site, const void* at) {
  step(site, at);
  if (!is_freed(at)) return;
  const Unexplored free;
  fail(current_->name + " uses memory that was freed");
}

void Explorer::event() {
  const Unexplored free;
  if (result_.steps >= schedule_.most_steps) {
    fail("the schedule has not ended after " + std::to_string(result_.steps) + " steps" +
         longest_wait_in_words());
  }
  if (result_.steps >= crash_at_) {
    crash_at_ = schedule_.recorded
                    ? kNever
                    : result_.steps + 1 + crash_random_.next() % (2 * schedule_.mean_crash_steps);
    if (!schedule_.recorded || is_recorded_crash(false, true)) crash(false, true);
  }
  if (result_.steps >= turn_end_) give_turn(false);
  next_event_ = std::min({turn_end_, crash_at_, schedule_.most_steps});
}

void Explorer::access(const void* site, void* at, size_t bytes, Access kind) {
  if (kind == Access::kPrefetch || line_of(at) == kNoLine || is_on_stack(at)) return;
  kind == Access::kStore ? store(site, at, bytes) : touch(site, at);
  if (races_ == nullptr) return;
  watch(site, at, bytes, kind == Access::kStore ? DataRaces::Kind::kStore : DataRaces::Kind::kLoad);
}

void Explorer::store(const void* site, void* at, size_t bytes) {
  touch(site, at);
  const Unexplored free;
  Thread& thread = self();
  if (!schedule_.late_stores || bytes > StoreBuffer::kLargest) {
    commit_all();
    return landed(thread);
  }
  if (thread.stores.note(at, bytes)) landed(thread);
}

void Explorer::atomic_store(const void* site, void* at, size_t bytes,
                            bool sequentially_consistent) {
  // A store to the fiber's own stack is visible at once, because other fibers get this memory
  // later. Stores keep their order, so all earlier stores of the fiber become visible first.
  sequentially_consistent || is_on_stack(at) ? read_modify_write(site, at) : store(site, at, bytes);
}

void Explorer::read_modify_write(const void* site, const void* at) {
  touch(site, at);
  commit_all();
  landed(self());
}

void Explorer::fence() {
  step(nullptr, nullptr);
  if (!schedule_.drops_fences) commit_all();
}

bool Explorer::is_on_a_stack(const void* at) const {
  return std::ranges::any_of(threads_, [at](const auto& thread) {
    return thread->fiber->stack_begin <= at && at < thread->fiber->stack_end;
  });
}

void Explorer::watch(const void* site, const void* at, size_t bytes, DataRaces::Kind kind) {
  LJ_ASSERT(races_ != nullptr);
  if (line_of(at) == kNoLine || is_on_a_stack(at)) return;
  const Unexplored free;
  const auto race = races_->access(current_->id, site, at, bytes, kind);
  if (race) fail(race_in_words(*race));
}

void Explorer::done(const void* site, const void* at, size_t bytes, Operation operation,
                    int order) {
  LJ_ASSERT(races_ != nullptr);
  if (exploring != nullptr)
    watch(site, at, bytes,
          operation == Operation::kLoad ? DataRaces::Kind::kAtomicLoad
                                        : DataRaces::Kind::kAtomicStore);
  const Unexplored free;
  switch (operation) {
    case Operation::kLoad:
      return races_->loaded(current_->id, site, at, order);
    case Operation::kStore:
      return races_->stored(current_->id, site, at, order);
    case Operation::kModify:
      return races_->modified(current_->id, site, at, order);
  }
}

void Explorer::file_call(bool returned) {
  commit_all();
  if (returned) ++returned_calls_;
  const uint64_t last = returned_calls_;
  if (schedule_.late_disk) be_late();
  // If another thread's call has returned meanwhile, the other thread relies on the steps of that
  // call. After a crash the disk must then have these steps, and all steps before them. So the
  // crash does not count as a crash in this thread's call.
  constexpr uint64_t kFileCallCrashes = 32;  // one file call in this number crashes
  maybe_crash(kFileCallCrashes, returned && last == returned_calls_);
  step(nullptr, nullptr);
}

void Explorer::commit_all() {
  Thread& thread = self();
  if (thread.stores.size() == 0) return;
  thread.stores.commit_all();
  landed(thread);
}

}  // namespace logjam::sim

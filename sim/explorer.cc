#include "sim/explorer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "platform/fatal.h"
#include "sim/region.h"
#include "sim/symbols.h"

namespace logjam::sim {

Explorer* exploring = nullptr;
Explorer* Explorer::begun_ = nullptr;

namespace {

constexpr Picoseconds kBegin = 1'000'000'000'000;  // engines take the time 0 for "never"
constexpr Picoseconds kStepTime = 10'000;
constexpr Picoseconds kSpinTime = 1'000'000;  // of a round if all who could go on only spin
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
// How often those that spin go on before a timer ends, and how often again if there is none.
constexpr uint64_t kMostQuietRounds = 16, kMostIdleRounds = 2'000;
// The order is put aside one time in this number: a timer ends early, a store that could be late
// lands, a file call is the last one before a crash.
constexpr uint64_t kEarlyTimers = 64, kEarlyStores = 4, kFileCallCrashes = 32;

}  // namespace

Explorer::Explorer(const platform::Schedule& schedule)
    : schedule_(schedule), random_(schedule.seed), order_(make_order(schedule.order, random_)) {
  if (order_ == nullptr) platform::refuse("\"" + schedule.order + "\" is not an order of steps");
  threads_.push_back(std::make_unique<Thread>());
  threads_.back()->fiber = current_;
  result_.order = order_->name();
}

Explorer::~Explorer() { end(); }

void Explorer::begin() {
  begun_ = this;
  turn_end_ = order_->turn_end(current_->id, result_.steps);
  if (schedule_.mean_crash_steps != 0) {
    crash_at_ = 1 + random_.next() % (2 * schedule_.mean_crash_steps);
  }
  next_event_ = std::min({turn_end_, crash_at_, schedule_.most_steps});
}

void Explorer::end() {
  if (begun_ == this) begun_ = nullptr;
}

bool Explorer::is_on_stack(const void* at) const {
  return current_->stack_begin <= at && at < current_->stack_end;
}

void Explorer::step(const void* site, const void* at) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  ++result_.steps;
  result_.hash ^= reinterpret_cast<uintptr_t>(site) + (reinterpret_cast<uintptr_t>(at) << 24);
  result_.hash = (result_.hash ^ result_.hash >> 29) * kOdd + current_->id;
  if (result_.steps >= next_event_) event();
}

void Explorer::event() {
  const Unexplored free;
  if (result_.steps >= schedule_.most_steps) {
    fail("the schedule has not ended after " + std::to_string(result_.steps) + " steps");
  }
  if (result_.steps >= crash_at_) {
    crash_at_ = result_.steps + 1 + random_.next() % (2 * schedule_.mean_crash_steps);
    crash(false);
  }
  if (result_.steps >= turn_end_) give_turn();
  next_event_ = std::min({turn_end_, crash_at_, schedule_.most_steps});
}

void Explorer::access(const void* site, void* at, size_t bytes, Access kind) {
  if (kind == Access::kPrefetch || line_of(at) == kNoLine || is_on_stack(at)) return;
  step(site, at);
  if (kind != Access::kStore) return;
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
  if (sequentially_consistent) return read_modify_write(site, at);
  access(site, at, bytes, Access::kStore);
}

void Explorer::read_modify_write(const void* site, const void* at) {
  step(site, at);
  commit_all();
  landed(self());
}

void Explorer::fence() {
  step(nullptr, nullptr);
  commit_all();
}

void Explorer::file_call(bool returned) {
  commit_all();
  maybe_crash(kFileCallCrashes, returned);
  step(nullptr, nullptr);
}

void Explorer::maybe_crash(uint64_t times, bool in_a_file_call) {
  if (schedule_.mean_crash_steps == 0 || random_.next() % times != 0) return;
  const Unexplored free;
  crash(in_a_file_call);
}

void Explorer::before_free() { commit_all(); }

void Explorer::commit_all() {
  Thread& thread = self();
  if (thread.stores.size() == 0) return;
  thread.stores.commit_all();
  landed(thread);
}

void Explorer::crash(bool in_a_file_call) {
  if (result_.crashes < schedule_.most_crashes) judge_crash(in_a_file_call);
}

void Explorer::crash_at_end() {
  if (schedule_.mean_crash_steps != 0) judge_crash(false);
}

void Explorer::judge_crash(bool in_a_file_call) {
  const uint32_t number = result_.crashes++;
  const pid_t child = fork();
  if (child < 0) platform::fatal("the explorer cannot fork a process that crashes");
  if (child == 0) {
    // Of the other fibers nothing goes on. What judges has a kernel of its own.
    platform::Schedule plain;
    plain.order = "turns";
    begun_ = nullptr;
    auto* calm = new Explorer(plain);
    put_kernel(calm);
    _exit(schedule_.judge(number, in_a_file_call));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  result_.judged = WIFEXITED(status) ? WEXITSTATUS(status) : platform::kExitFailed;
  if (result_.judged != 0) schedule_.ended(result_);
}

void Explorer::fail(const std::string& what) {
  result_.what = what + threads_in_words();
  schedule_.ended(result_);
}

// Returns a line for each thread: what it does, and where it is.
std::string Explorer::threads_in_words() const {
  constexpr size_t kMostFrames = 24, kMostShown = 8;
  Symbols symbols;
  for (const auto& thread : threads_) {
    for (const uint32_t at : stack_of(*thread->fiber, kMostFrames)) symbols.want(at);
  }
  symbols.resolve();
  std::string words;
  for (const auto& thread : threads_) {
    if (thread->state == State::kEnded) continue;
    words += "\n  " + (thread->fiber->name.empty() ? "thread " + std::to_string(thread->fiber->id)
                                                   : thread->fiber->name);
    words += thread->state == State::kReady           ? " can go on"
             : thread->state == State::kSpinning      ? " spins"
             : thread->timer != 0 && !thread->patient ? " sleeps"
                                                      : " waits";
    size_t shown = 0;
    for (const uint32_t at : stack_of(*thread->fiber, kMostFrames)) {
      if (symbols.serves_others(at) || ++shown > kMostShown) continue;
      words += (shown == 1 ? " in " : ", called by ") + symbols.function(at);
    }
  }
  return words;
}

void Explorer::give_turn() {
  Thread& from = self();
  const uint64_t drawn = random_.next();
  // All, none, or some of them.
  const uint64_t all = from.stores.size();
  uint64_t visible = drawn / kEarlyStores % (all + 1);
  if (drawn % kEarlyStores == 0) visible = all;
  if (drawn % kEarlyStores == 1) visible = 0;
  if (visible != 0) landed(from);
  from.stores.commit(visible);
  from.stores.take_back();
  Fiber* to = next();
  if (to != current_) ++result_.switches;
  switch_to(to);
  Thread& now = self();
  now.stores.put_back();
  now.round = stores_ - now.landed;
}

// Returns the fiber that goes on. The late stores of all fibers are taken back.
Fiber* Explorer::next() {
  for (;;) {
    if (collect_enabled()) {
      const uint64_t drawn = random_.next();
      if (drawn % kEarlyTimers == 0 && fire_timer()) continue;
      const size_t chosen = order_->choose(enabled_, current_->id, result_.steps);
      Thread& thread = *threads_[enabled_[chosen]];
      thread.state = State::kReady;
      turn_end_ = order_->turn_end(thread.fiber->id, result_.steps);
      next_event_ = std::min({turn_end_, crash_at_, schedule_.most_steps});
      return thread.fiber;
    }
    if (drain_stores()) continue;
    // A spin may end after some rounds, or after a time. It takes less time than a sleep.
    if (spin_on()) continue;
    if (fire_timer()) {
      quiet_rounds_ = 0;
      continue;
    }
    // Threads of the log may sleep until their timeout before they see that they are to stop.
    if (!worker_waits() && fire_timer(true)) continue;
    if (!spins()) fail("all threads wait, and no timer runs");
    if (++idle_rounds_ == kMostIdleRounds) fail("all threads spin, and none stores anything");
    quiet_rounds_ = 0;
  }
}

bool Explorer::spins() const {
  return std::ranges::any_of(threads_,
                             [](const auto& thread) { return thread->state == State::kSpinning; });
}

// Lets those that spin go on, although no store has landed, unless that was without effect too
// often. Returns whether it did.
bool Explorer::spin_on() {
  if (stores_ != quiet_stores_) quiet_rounds_ = idle_rounds_ = 0;
  quiet_stores_ = stores_;
  if (!spins() || quiet_rounds_++ == kMostQuietRounds) return false;
  jumped_ += kSpinTime;
  for (const auto& thread : threads_) {
    if (thread->state == State::kSpinning) thread->seen = kNever;
  }
  return true;
}

bool Explorer::collect_enabled() {
  enabled_.clear();
  for (const auto& thread : threads_) {
    if (thread->state == State::kReady ||
        (thread->state == State::kSpinning && thread->seen != stores_ - thread->landed)) {
      enabled_.push_back(thread->fiber->id);
    }
  }
  return !enabled_.empty();
}

// Ends the wait that ends first. Returns whether there was one.
bool Explorer::fire_timer(bool patient) {
  Thread* first = nullptr;
  for (const auto& thread : threads_) {
    if (thread->state != State::kWaiting || thread->timer == 0) continue;
    if (thread->patient != patient) continue;
    if (first == nullptr || thread->timer < first->timer) first = thread.get();
  }
  if (first == nullptr) return false;
  if (first->timer > now()) jumped_ += first->timer - now();
  first->state = State::kReady;
  first->fiber->waits_on = nullptr;
  return true;
}

bool Explorer::worker_waits() const {
  return std::ranges::any_of(threads_, [](const auto& thread) {
    return thread->state == State::kWaiting && thread->fiber->name.starts_with("worker");
  });
}

// Makes one late store of each fiber visible. Returns whether there was one.
bool Explorer::drain_stores() {
  bool any = false;
  for (const auto& thread : threads_) {
    if (thread->stores.size() == 0) continue;
    thread->stores.drain_one();
    landed(*thread);
    any = true;
  }
  return any;
}

void Explorer::block(State state, Picoseconds timeout, bool patient) {
  Thread& thread = self();
  thread.state = state;
  thread.patient = patient;
  thread.timer = timeout == 0 ? 0 : now() + timeout;
  thread.asked = ++waits_;
  thread.seen = thread.round;
  give_turn();
}

void Explorer::enter(Fiber* fiber) {
  exploring = begun_ == this ? this : nullptr;
  execute_body(fiber);
  exploring = nullptr;
  // Its last stores may still be late.
  if (begun_ == this) step(nullptr, nullptr);
  commit_all();
  self().state = State::kEnded;
  fiber->ended = true;
  for (Fiber* joiner : fiber->joiners) threads_[joiner->id]->state = State::kReady;
}

Fiber* Explorer::after_end() { return next(); }

Fiber* Explorer::spawn(std::function<void()> body) {
  const Unexplored free;
  commit_all();
  Fiber* fiber = make_fiber(std::move(body));
  threads_.push_back(std::make_unique<Thread>());
  threads_.back()->fiber = fiber;
  return fiber;
}

Picoseconds Explorer::now() const { return kBegin + jumped_ + result_.steps * kStepTime; }

void Explorer::yield() {
  commit_all();
  pause();
}

void Explorer::pause() {
  const Unexplored free;
  order_->gives_way(current_->id);
  block(State::kSpinning, 0);
}

void Explorer::sleep(Picoseconds time) {
  const Unexplored free;
  commit_all();
  block(State::kWaiting, std::max<Picoseconds>(time, 1));
}

void Explorer::join(Fiber* fiber) {
  const Unexplored free;
  commit_all();
  if (fiber->ended) return;
  fiber->joiners.push_back(current_);
  block(State::kWaiting, 0);
}

void Explorer::before_wait() {
  step(nullptr, nullptr);
  commit_all();
}

void Explorer::wait(const void* address, Picoseconds timeout) {
  const Unexplored free;
  commit_all();
  current_->waits_on = address;
  constexpr Picoseconds kNanosecond = 1000;
  block(State::kWaiting, timeout, timeout / kNanosecond > schedule_.longest_timeout_ns);
}

void Explorer::wake(const void* address, uint32_t most) {
  step(nullptr, address);
  commit_all();
  const Unexplored free;
  for (; most > 0; --most) {
    Thread* first = nullptr;
    for (const auto& thread : threads_) {
      if (thread->state != State::kWaiting || thread->fiber->waits_on != address) continue;
      if (first == nullptr || thread->asked < first->asked) first = thread.get();
    }
    if (first == nullptr) return;
    first->state = State::kReady;
    first->fiber->waits_on = nullptr;
  }
}

}  // namespace logjam::sim

// The part of the explorer that chooses the fiber that goes on, and lets fibers wait.
#include <algorithm>
#include <utility>

#include "platform/assert.h"
#include "sim/explore/explorer.h"

namespace logjam::sim {
namespace {

constexpr Picoseconds kBegin = 1'000'000'000'000;  // engines take the time 0 for "never"
constexpr Picoseconds kStepTime = 10'000;
// How far the clock advances in a round in which all ready threads only spin.
constexpr Picoseconds kSpinTime = 1'000'000;
// Spinning threads get at most kMostQuietRounds rounds before the next timer ends. If no timer is
// left, they get the same number of rounds again. The explorer reports a hang after kMostIdleRounds
// such repetitions.
constexpr uint64_t kMostQuietRounds = 16, kMostIdleRounds = 2'000;
// The explorer reports a hang if this number of timers end without a step between them.
constexpr uint64_t kMostTimers = 1'000;

}  // namespace

void Explorer::begin_turn(Thread& thread) {
  turn_began_ = result_.steps;
  turn_end_ = order_->turn_end(thread.fiber->id, result_.steps);
  const auto& crash = schedule_.crash;
  if (crash && crash->thread == thread.fiber->id && crash->steps >= thread.steps) {
    crash_at_ = result_.steps + crash->steps - thread.steps;
  } else if (schedule_.recorded) {
    crash_at_ = kNever;
  }
  next_event_ = std::min({turn_end_, crash_at_, schedule_.most_steps});
}

void Explorer::end_turn(Thread& thread, bool waits) {
  order_->turn_over(thread.fiber->id, result_.steps, waits, others_go_on());
  thread.steps += result_.steps - turn_began_;
  thread.stopped = result_.steps;
  turn_ = {.thread = thread.fiber->id, .steps = thread.steps, .waits = waits};
}

void Explorer::give_turn(bool waits) {
  Thread& from = self();
  end_turn(from, waits);
  const uint64_t visible = order_->visible(from.stores.size());
  LJ_ASSERT(visible <= from.stores.size());
  turn_.late = static_cast<uint32_t>(from.stores.size() - visible);
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

// Records the turn that is over. `next` is the thread whose turn begins.
void Explorer::note_turn(const Thread& next) {
  turn_.next = next.fiber->id;
  if (schedule_.records) result_.turns.push_back(turn_);
  if (!order_->follows_record() || turn_.next == turn_.thread) return;
  constexpr size_t kMostFrames = 24, kMostShown = 200;
  if (shown_turns_.size() == kMostShown) return;
  shown_turns_.push_back(turn_);
  turn_stacks_.push_back(stack_of(*threads_[turn_.thread]->fiber, kMostFrames));
}

// Returns the fiber that goes on. Call it when take_back() has removed all fibers' late stores.
Fiber* Explorer::next() {
  for (;;) {
    if (collect_enabled()) {
      if (order_->ends_a_timer() && fire_timer()) {
        ++turn_.timers;
        continue;
      }
      const size_t chosen = order_->choose(enabled_, current_->id, result_.steps);
      LJ_ASSERT(chosen < enabled_.size());
      Thread& thread = *threads_[enabled_[chosen]];
      thread.state = State::kReady;
      note_turn(thread);
      begin_turn(thread);
      return thread.fiber;
    }
    if (drain_stores()) continue;
    // Lets spinning fibers go on before a timer ends, because a spin may end after some rounds.
    if (spin_on()) continue;
    if (fire_timer()) {
      quiet_rounds_ = 0;
      timers_ = result_.steps == timer_steps_ ? timers_ + 1 : 0;
      timer_steps_ = result_.steps;
      if (timers_ < kMostTimers) continue;
    }
    // While no worker waits, ends patient timers too: a thread of the log may sleep until its
    // timeout before it notices a stop or new work.
    if (!worker_waits() && fire_timer(true)) continue;
    if (timers_ >= kMostTimers) fail("only the main thread's timer runs");
    if (!spins()) fail("all threads wait, and no timer runs");
    if (++idle_rounds_ == kMostIdleRounds) fail("all threads spin, and none stores anything");
    quiet_rounds_ = 0;
  }
}

bool Explorer::spins() const {
  return std::ranges::any_of(threads_,
                             [](const auto& thread) { return thread->state == State::kSpinning; });
}

// Lets the spinning fibers go on although no store has become visible. If kMostQuietRounds such
// rounds in a row had no effect, returns false instead.
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

// Ends the wait with the earliest timer. Considers only the patient timers if `patient`, and only
// the other timers otherwise. Returns whether there was such a timer.
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

// Makes one late store of each fiber visible. Returns whether any fiber had a late store.
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

// Makes some calls of the file system take time. The seed and the thread's number of calls choose
// these calls, so that a repeated schedule has the same late calls.
void Explorer::be_late() {
  constexpr uint64_t kOneIn = 8, kMostSteps = 4096;
  const Unexplored free;
  const uint64_t drawn = platform::mix_bits(
      schedule_.seed + platform::mix_bits((uint64_t{current_->id} << 32) + ++self().calls));
  if (drawn % kOneIn == 0) {
    block(State::kWaiting, (1 + drawn / kOneIn % kMostSteps) * kStepTime);
  }
}

void Explorer::block(State state, Picoseconds timeout, bool patient) {
  LJ_ASSERT(state == State::kWaiting || state == State::kSpinning);
  Thread& thread = self();
  thread.state = state;
  thread.patient = patient;
  thread.timer = timeout == 0 ? 0 : now() + timeout;
  thread.asked = ++waits_;
  thread.seen = thread.round;
  give_turn(true);
}

void Explorer::enter(Fiber* fiber) {
  exploring = begun_ == this ? this : nullptr;
  explorer_runs = false;
  execute_body(fiber);
  exploring = nullptr;
  // Takes a step, at which other fibers may run before the last stores of this fiber are visible.
  if (begun_ == this) step(nullptr, nullptr);
  commit_all();
  self().state = State::kEnded;
  fiber->ended = true;
  for (Fiber* joiner : fiber->joiners) threads_[joiner->id]->state = State::kReady;
}

Fiber* Explorer::after_end() {
  const Unexplored free;
  end_turn(self(), true);
  return next();
}

Fiber* Explorer::spawn(std::function<void()> body) {
  const Unexplored free;
  commit_all();
  Fiber* fiber = make_fiber(std::move(body));
  if (races_ != nullptr) races_->started(current_->id, fiber->id);
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
  LJ_ASSERT(fiber != current_);
  const Unexplored free;
  commit_all();
  if (!fiber->ended) {
    fiber->joiners.push_back(current_);
    block(State::kWaiting, 0);
  }
  if (races_ != nullptr) races_->joined(current_->id, fiber->id);
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
  step(nullptr, nullptr);
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

#include "sim/machine/scheduler.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "platform/assert.h"
#include "platform/fatal.h"

namespace logjam::sim {

Cpu* running = nullptr;
Picoseconds horizon = 0;
Caches* warmed = nullptr;
bool measured = false;

namespace {

constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();
// Clocks begin at a second: engines take the time 0 for "never".
constexpr Picoseconds kBegin = 1'000'000'000'000;
constexpr Picoseconds kIssueWindow = 1'000'000;  // the period over which stalls are added up
constexpr Picoseconds kSkew = 1'000'000;  // contexts begin within this time, except with seed 1
constexpr Picoseconds kObserverPause = 1'000'000;  // the time of one spin of the observer

// Returns the latest clock with which `one` still goes before `other` in the order of contexts.
Picoseconds last_before(const Cpu& one, const ClockHeap::Entry& other) {
  return one.number < other.number ? other.now : other.now - 1;
}
ClockHeap::Entry entry_of(Cpu& cpu) { return {cpu.now, cpu.number, &cpu}; }

uint32_t observer_socket = 0;

}  // namespace

uint32_t socket_here() { return running == nullptr ? observer_socket : running->core->socket; }

int observe_from(int socket) {
  const uint32_t before = observer_socket;
  if (socket >= 0) observer_socket = static_cast<uint32_t>(socket);
  return static_cast<int>(before);
}

Scheduler::Scheduler(const Machine& machine)
    : machine_(machine),
      caches_(machine),
      jitter_(machine.seed),
      cores_(static_cast<uint32_t>(machine.profile.sockets * machine.profile.cores)),
      heap_(machine.contexts + size_t{1}) {
  for (uint32_t context = 0; context < machine.contexts; ++context) {
    cpus_.push_back(std::make_unique<Cpu>(context, &caches_.core(machine.core_of(context))));
  }
  cpus_.push_back(std::make_unique<Cpu>(machine.contexts, nullptr));
  // Another seed starts the contexts at other times, so the threads interleave differently.
  for (auto& cpu : cpus_) cpu->now = kBegin + (machine.seed == 1 ? 0 : jitter_.next() % kSkew);
  current_->name = "observer";
  current_->cpu = cpus_.back().get();
  current_->cpu->fiber = current_;
  horizon = kNever;
  warmed = &caches_;
}

Fiber* Scheduler::spawn(std::function<void()> body) {
  const Uncharged free;
  spend_in_kernel(machine_.syscall);
  Fiber* fiber = make_fiber(std::move(body));
  make_ready(fiber, now(), machine_.wake_latency);
  return fiber;
}

void Scheduler::enter(Fiber* fiber) {
  running = fiber->cpu;
  execute_body(fiber);
  running = nullptr;
  fiber->ended = true;
  --fiber->cpu->fibers;
  for (Fiber* joiner : fiber->joiners) make_ready(joiner, fiber->cpu->now, machine_.wake_latency);
  leave_cpu();
}

void Scheduler::push(Cpu* cpu) { heap_.push(entry_of(*cpu)); }

// Takes the context with the earliest clock from the heap. Returns its fiber, and sets `horizon`.
Fiber* Scheduler::next() {
  for (;;) {
    fire_timers();
    if (heap_.empty()) {
      platform::fatal("all virtual threads wait for each other: a wake-up was lost");
    }
    if (Fiber* fiber = let_run(*heap_.pop())) return fiber;
  }
}

// Returns the same as next() after push(&cpu), with one walk through the heap.
Fiber* Scheduler::next_after(Cpu& cpu) {
  const ClockHeap::Entry entry = entry_of(cpu);
  if (heap_.empty() || timer_goes_first() || entry.goes_before(heap_.first())) {
    heap_.push(entry);
    return next();
  }
  Fiber* fiber = let_run(*heap_.replace_first(entry));
  return fiber != nullptr ? fiber : next();
}

// Returns the fiber of a context that has left the heap, and sets `horizon`. If another fiber of
// this context is to run instead, puts the context back into the heap and returns null.
Fiber* Scheduler::let_run(Cpu& cpu) {
  if (machine_.checks_itself) check(cpu);
  if (!cpu.ready.empty() && (cpu.preempt || cpu.now >= cpu.slice_end)) {
    ++usage_.switches_taken;
    rotate(cpu, cpu.preempt);
    push(&cpu);
    return nullptr;
  }
  if (cpu.core == nullptr) {
    warmed = measured && only_the_observer_is_left() ? nullptr : &caches_;
  } else if (warmed != nullptr) {
    caches_.fill_shared_caches();
    warmed = nullptr;
  }
  horizon = heap_.empty() ? kNever : last_before(cpu, heap_.first()) + machine_.look_ahead;
  if (!heap_.empty() && heap_.first().cpu->fiber != nullptr) {
    heap_.first().cpu->fiber->prefetch_registers();
  }
  if (!timers_.empty()) horizon = std::min(horizon, timers_.top().at - 1);
  if (!cpu.ready.empty()) horizon = std::min(horizon, cpu.slice_end);
  return cpu.fiber;
}

bool Scheduler::only_the_observer_is_left() const {
  return std::ranges::all_of(cpus_, [](const auto& cpu) { return cpu->fibers == 0; });
}

// Ends the process if a clock has gone back since the last check, or the heap is out of order.
void Scheduler::check(Cpu& cpu) {
  if (cpu.now < cpu.checked || current_->cpu->now < current_->cpu->checked) {
    platform::fatal("the simulation is wrong: a context's clock has gone back");
  }
  cpu.checked = cpu.now;
  current_->cpu->checked = current_->cpu->now;
  const bool ordered = heap_.is_ordered([&](const ClockHeap::Entry& entry) {
    return entry.now == entry.cpu->now && !entry.goes_before(entry_of(cpu));
  });
  if (!ordered) platform::fatal("the simulation is wrong: contexts run out of order");
}

bool Scheduler::timer_goes_first() const {
  return !timers_.empty() && (heap_.empty() || timers_.top().at <= heap_.first().now);
}

void Scheduler::fire_timers() {
  while (timer_goes_first()) {
    const Timer timer = timers_.top();
    timers_.pop();
    Fiber* fiber = timer.fiber;
    if (!fiber->waiting || fiber->waits != timer.wait) continue;
    if (fiber->waits_on != nullptr) {
      const auto found = waiters_.find(fiber->waits_on);
      LJ_ASSERT(found != waiters_.end());
      found->second.erase(std::ranges::find(found->second, fiber));
      if (found->second.empty()) waiters_.erase(found);
    }
    make_ready(fiber, timer.at, 0);
  }
}

// Puts the fiber at the front of the context's queue, but after favoured fibers.
void Scheduler::put_first(Cpu& cpu, Fiber* fiber) {
  const auto place =
      std::ranges::find_if(cpu.ready, [](const Fiber* one) { return !one->favoured; });
  cpu.ready.insert(place, fiber);
}

// Runs the next fiber of the context's queue. The running fiber goes to the end of the queue. If it
// is `preempted` by a favoured fiber, it goes to the front instead, after the favoured fibers.
void Scheduler::rotate(Cpu& cpu, bool preempted) {
  LJ_ASSERT(!cpu.ready.empty());
  Fiber* before = cpu.fiber;
  start_next(cpu, preempted ? machine_.wake_busy : 0);
  preempted ? put_first(cpu, before) : cpu.ready.push_back(before);
}

// Switches the context to the first fiber of its queue, at the price of a switch plus `more`.
void Scheduler::start_next(Cpu& cpu, Picoseconds more) {
  cpu.fiber = cpu.ready.front();
  cpu.ready.pop_front();
  cpu.preempt = false;
  take_for_kernel(cpu, machine_.context_switch + more);
  cpu.slice_end = cpu.now + machine_.time_slice;
}

// Takes the current fiber from its context, and lets the next fiber of the context's queue run.
void Scheduler::leave_cpu() {
  Cpu& cpu = *current_->cpu;
  LJ_ASSERT(cpu.fiber == current_);
  ++usage_.switches_given;
  cpu.fiber = nullptr;
  if (cpu.ready.empty()) return set_busy(cpu, false);
  start_next(cpu, 0);
  push(&cpu);
}

void Scheduler::block() {
  current_->waiting = true;
  leave_cpu();
  switch_to(next());
}

Cpu* Scheduler::place(const Fiber& fiber) {
  if (fiber.pinned) return fiber.cpu;
  const auto allowed = [&](const Cpu& cpu) {
    return fiber.pinned_socket < 0 ||
           machine_.socket_of(cpu.number) == static_cast<uint32_t>(fiber.pinned_socket);
  };
  if (fiber.cpu != nullptr && fiber.cpu->fiber == nullptr && allowed(*fiber.cpu)) return fiber.cpu;
  const uint32_t socket = fiber.cpu == nullptr ? 0 : machine_.socket_of(fiber.cpu->number);
  // Of busy contexts, one with few other threads is better, then the last context of the thread,
  // then one of the same socket.
  const auto load = [&](const Cpu& cpu) {
    const bool own = &cpu == fiber.cpu;
    return std::tuple(cpu.fibers - (own ? 1 : 0), !own, machine_.socket_of(cpu.number) != socket);
  };
  Cpu* idle = nullptr;
  Cpu* least = nullptr;
  // Looks at the last context first: workers are pinned from the first context up, so the last
  // contexts are the most likely to be idle.
  for (uint32_t context = machine_.contexts; context-- > 0;) {
    Cpu& cpu = *cpus_[context];
    if (!allowed(cpu)) continue;
    if (cpu.fiber == nullptr) {
      if (machine_.socket_of(context) == socket) return &cpu;
      if (idle == nullptr) idle = &cpu;
    } else if (least == nullptr || load(cpu) < load(*least)) {
      least = &cpu;
    }
  }
  LJ_ASSERT(idle != nullptr || least != nullptr);
  return idle != nullptr ? idle : least;
}

void Scheduler::assign(Fiber* fiber, Cpu* cpu) {
  if (fiber->cpu != nullptr) --fiber->cpu->fibers;
  ++cpu->fibers;
  fiber->cpu = cpu;
}

void Scheduler::make_ready(Fiber* fiber, Picoseconds at, Picoseconds latency) {
  LJ_ASSERT(!fiber->ended);
  fiber->waiting = false;
  ++fiber->waits;
  if (fiber->cpu == nullptr || fiber->cpu->core != nullptr) assign(fiber, place(*fiber));
  Cpu& cpu = *fiber->cpu;
  if (cpu.fiber == nullptr) {
    cpu.fiber = fiber;
    cpu.now = std::max(cpu.now, at + (cpu.core == nullptr ? 0 : jittered(latency)));
    cpu.slice_end = cpu.now + machine_.time_slice;
    set_busy(cpu, true);
    push(&cpu);
    horizon = std::min(horizon, last_before(*current_->cpu, entry_of(cpu)) + machine_.look_ahead);
    return;
  }
  if (fiber->favoured) {
    put_first(cpu, fiber);
    cpu.preempt |= !cpu.fiber->favoured;
  } else {
    cpu.ready.push_back(fiber);
  }
  if (&cpu == current_->cpu) horizon = std::min(horizon, cpu.preempt ? 0 : cpu.slice_end);
}

// Returns the latency, changed by up to 10 %, at random from the seed. A real kernel never takes
// the same time twice, and runs with different seeds must differ.
Picoseconds Scheduler::jittered(Picoseconds latency) {
  constexpr uint64_t kPercent = 100, kLeastPercent = 90, kSpread = 21;
  return latency * (kLeastPercent + jitter_.next() % kSpread) / kPercent;
}

void Scheduler::set_busy(Cpu& cpu, bool busy) {
  if (cpu.core == nullptr) return;
  if (busy) {
    cpu.busy_since = cpu.now;
  } else {
    cpu.busy += cpu.now - cpu.busy_since;
  }
  cpu.issues = busy ? 1 : 0;
  cpu.window_begin = cpu.now;
  cpu.stalled = 0;
  share_issue_slots(cpu.core->number);
}

void Scheduler::add_stall(Cpu& cpu, Picoseconds time) {
  cpu.stalled += time;
  const Picoseconds window = cpu.now - cpu.window_begin;
  if (window < kIssueWindow) return;
  cpu.issues = 1 - static_cast<double>(std::min(cpu.stalled, window)) / static_cast<double>(window);
  cpu.window_begin = cpu.now;
  cpu.stalled = 0;
  share_issue_slots(cpu.core->number);
}

void Scheduler::share_issue_slots(uint32_t core) {
  double all = 0;
  for (uint32_t context = core; context < machine_.contexts; context += cores_) {
    all += cpus_[context]->issues;
  }
  for (uint32_t context = core; context < machine_.contexts; context += cores_) {
    Cpu& cpu = *cpus_[context];
    cpu.per_instruction = machine_.per_instruction(all - cpu.issues);
  }
}

Kernel::Usage Scheduler::usage() const {
  Usage all = usage_;
  for (const auto& cpu : cpus_) {
    if (cpu->core == nullptr) continue;
    all.busy += cpu->busy + (cpu->fiber == nullptr ? 0 : cpu->now - cpu->busy_since);
  }
  return all;
}

void Scheduler::visible() {
  const Uncharged free;
  Cpu& cpu = *current_->cpu;
  ++waits_for_turn_;
  for (; cpu.now > horizon || cpu.preempt; ++turns_given_) switch_to(next_after(cpu));
}

void Scheduler::spend(Picoseconds time) {
  Cpu& cpu = *current_->cpu;
  if (cpu.core == nullptr) return;
  cpu.now += time;
  if (cpu.now > horizon) visible();
}

void Scheduler::take_for_kernel(Cpu& cpu, Picoseconds time) {
  cpu.now += time;
  if (cpu.core != nullptr) usage_.kernel += time;
}

void Scheduler::spend_in_kernel(Picoseconds time) {
  if (current_->cpu->core != nullptr) usage_.kernel += time;
  spend(time);
}

void Scheduler::yield() {
  const Uncharged free;
  Cpu& cpu = *current_->cpu;
  if (cpu.core == nullptr) return pause();
  take_for_kernel(cpu, machine_.syscall);
  if (!cpu.ready.empty()) {
    ++usage_.switches_given;
    rotate(cpu, false);
  }
  switch_to(next_after(cpu));
}

void Scheduler::pause() {
  Cpu& cpu = *current_->cpu;
  cpu.now += cpu.core == nullptr ? kObserverPause : machine_.pause;
  if (cpu.core != nullptr) note_stall(cpu, machine_.pause);
  if (cpu.now > horizon) visible();
}

void Scheduler::sleep(Picoseconds time) {
  const Uncharged free;
  Cpu& cpu = *current_->cpu;
  Picoseconds at = cpu.now + time;
  if (cpu.core != nullptr) {
    take_for_kernel(cpu, machine_.syscall);
    at += machine_.timer_late;
  }
  timers_.push({at, timers_made_++, current_, current_->waits});
  current_->waits_on = nullptr;
  block();
}

void Scheduler::join(Fiber* fiber) {
  const Uncharged free;
  LJ_ASSERT(fiber != current_);
  if (fiber->ended) return;
  fiber->joiners.push_back(current_);
  current_->waits_on = nullptr;
  block();
}

void Scheduler::before_wait() {
  spend_in_kernel(machine_.futex_look);
  visible();
}

void Scheduler::wait(const void* address, Picoseconds timeout) {
  const Uncharged free;
  if (timeout != 0) {
    timers_.push(
        {now() + timeout + machine_.timer_late, timers_made_++, current_, current_->waits});
  }
  LJ_ASSERT(address != nullptr);
  waiters_[address].push_back(current_);
  current_->waits_on = address;
  take_for_kernel(*current_->cpu, machine_.futex_wait - machine_.futex_look);
  block();
}

void Scheduler::wake(const void* address, uint32_t most) {
  const Uncharged free;
  const Picoseconds called = now();
  spend_in_kernel(waiters_.contains(address) ? machine_.futex_wake : machine_.syscall);
  const auto found = waiters_.find(address);
  if (found == waiters_.end()) return;
  std::deque<Fiber*>& waiters = found->second;
  const Picoseconds spent = std::min(now() - called, machine_.wake_latency);
  for (; most > 0 && !waiters.empty(); --most) {
    Fiber* fiber = waiters.front();
    waiters.pop_front();
    make_ready(fiber, now(), machine_.wake_latency - spent);
  }
  if (waiters.empty()) waiters_.erase(found);
}

void Scheduler::pin(uint32_t context) {
  const Uncharged free;
  if (observing()) return;
  current_->pinned = true;
  Cpu* to = cpus_[context % machine_.contexts].get();
  move_to(to->core->socket, to);
}

void Scheduler::pin_to_socket(uint32_t socket) {
  const Uncharged free;
  if (observing()) return;
  current_->pinned_socket = static_cast<int>(socket);
  Cpu* here = current_->cpu;
  move_to(socket, machine_.socket_of(here->number) == socket ? here : nullptr);
}

// Makes `socket` the home of the current fiber's stack, and moves the fiber to the context `to`. If
// `to` is null, place() chooses a context. May switch fibers.
void Scheduler::move_to(uint32_t socket, Cpu* to) {
  Fiber* fiber = current_;
  set_home(fiber->stack_begin, static_cast<size_t>(fiber->stack_end - fiber->stack_begin), socket);
  if (to == fiber->cpu) return;
  const Picoseconds at = now();
  leave_cpu();
  if (to != nullptr) assign(fiber, to);
  make_ready(fiber, at, machine_.context_switch);
  switch_to(next());
}

}  // namespace logjam::sim

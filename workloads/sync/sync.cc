// Protocol. Only the thread of a Caller uses the Caller's members, except for the two counts, which
// the thread writes and the main thread reads (relaxed; a reading may be slightly old). The
// measured operation writes a shared word, and orders nothing (relaxed).
#include "workloads/sync/sync.h"

#include <algorithm>
#include <array>

#include "engine/run/benchmark_threads.h"
#include "platform/counter.h"
#include "platform/placement.h"
#include "platform/random.h"
#include "platform/thread.h"
#include "workloads/sync/locks.h"

namespace logjam::sync {
namespace {

// Executes the atomic operation `kKind` on a shared word. A call returns whether it succeeded.
template <Kind kKind>
class WordCall {
 public:
  using Line = platform::Padded<platform::atomic<uint64_t>>;
  explicit WordCall(bool) {}

  bool operator()(Line& line) {
    auto& word = *line;
    if constexpr (kKind == Kind::kFaa) {
      word.fetch_add(1, memory_order_relaxed);
    } else if constexpr (kKind == Kind::kSwap) {
      word.exchange(turn_ ^= 1, memory_order_relaxed);
    } else if constexpr (kKind == Kind::kLoad) {
      seen_ = word.load(memory_order_relaxed);
    } else if constexpr (kKind == Kind::kCas) {
      uint64_t expected = turn_;
      turn_ ^= 1;
      return word.compare_exchange_strong(expected, turn_, memory_order_relaxed);
    } else if constexpr (kKind == Kind::kCasFaa) {
      uint64_t expected = word.load(memory_order_relaxed);
      while (!word.compare_exchange_strong(expected, expected + 1, memory_order_relaxed)) {
        expected = word.load(memory_order_relaxed);
      }
    } else {
      static_assert(kKind == Kind::kTasOnce);
      if (word.exchange(1, memory_order_relaxed) != 0) return false;
      word.store(0, memory_order_relaxed);
    }
    return true;
  }

 private:
  uint64_t turn_ = 0;
  uint64_t seen_ = 0;
};

// A lock, and its data in another cache line. A call executes one critical section.
template <class Lock>
class LockCall {
 public:
  struct Line {
    alignas(platform::kCacheLine) Lock lock;
    alignas(platform::kCacheLine) uint64_t data LJ_GUARDED_BY(lock) = 0;
    // Returns the data. Call it after all threads are joined.
    uint64_t final_data() const LJ_NOT_ANALYSED { return data; }
  };
  explicit LockCall(bool crowded) : crowded_(crowded) {}

  bool operator()(Line& line) {
    line.lock.lock(handle_, Wait(crowded_));
    ++line.data;
    line.lock.unlock(handle_);
    return true;
  }

 private:
  const bool crowded_;
  typename Lock::Handle handle_;
};

template <class Call>
class alignas(platform::kCacheLine) Caller {
 public:
  Caller(uint32_t id, const Options& options, std::vector<typename Call::Line>& lines,
         BenchmarkControl& control)
      : id_(id),
        options_(options),
        lines_(lines),
        control_(control),
        pause_ticks_(platform::ns_to_ticks(options.pause_ns)),
        random_(platform::mix_bits(options.seed + id)) {}

  void run() {
    if (options_.pin) platform::pin_to_core(static_cast<int>(id_));
    platform::name_this_thread("sync-" + std::to_string(id_));
    const bool crowded = options_.threads > static_cast<uint32_t>(platform::core_count());
    // Each thread makes its own Handle, so that the Handle is in the memory of the thread's socket.
    const auto call = std::make_unique<Call>(crowded);
    control_.gate.made_and_await_start();
    uint64_t made = 0;
    while (!control_.stop.load(memory_order_relaxed) &&
           (options_.calls == 0 || made < options_.calls)) {
      if (!(*call)(next_line())) failed.add();
      calls.set(++made);
      if (pause_ticks_ != 0) platform::spin_ticks(pause_ticks_);
    }
    control_.ended.fetch_add(1, memory_order_relaxed);
    if (options_.pin) platform::look_at_pin(static_cast<int>(id_));
  }

  platform::Counter calls, failed;

 private:
  typename Call::Line& next_line() {
    if (lines_.size() == 1) return lines_[0];
    constexpr int kRandomBits = 31;
    const size_t line = random_.next() * lines_.size() >> kRandomBits;
    LJ_ASSERT_IN_TESTS(line < lines_.size());
    return lines_[line];
  }

  const uint32_t id_;
  const Options& options_;
  std::vector<typename Call::Line>& lines_;
  BenchmarkControl& control_;
  const uint64_t pause_ticks_;
  platform::Lcg random_;
};

// The time of one moment, and the counts up to this moment.
struct Reading {
  uint64_t ns = 0, failed = 0;
  std::vector<uint64_t> calls;  // by thread
  platform::ProcessUse usage;
};

template <class Call>
Result drive(const Options& options) {
  platform::ns_per_tick();  // calibrates the clock now, not during the run
  BenchmarkControl control;
  // As in David et al., the main thread makes the lines, so they are in its socket's memory.
  std::vector<typename Call::Line> lines(options.lines);
  std::vector<std::unique_ptr<Caller<Call>>> callers;
  for (uint32_t id = 0; id < options.threads; ++id) {
    callers.push_back(std::make_unique<Caller<Call>>(id, options, lines, control));
  }
  const auto read = [&] {
    Reading reading;
    for (const auto& caller : callers) {
      reading.calls.push_back(caller->calls.value());
      reading.failed += caller->failed.value();
    }
    reading.usage = platform::process_use();
    reading.ns = platform::now_ns();
    return reading;
  };
  const auto [before, after] =
      run_benchmark(callers, control, options.warmup_seconds, options.seconds, read);

  Result result;
  result.seconds = static_cast<double>(after.ns - before.ns) * 1e-9;
  result.failed = after.failed - before.failed;
  std::vector<uint64_t> calls = after.calls;
  for (uint32_t id = 0; id < options.threads; ++id) {
    calls[id] -= before.calls[id];
    result.calls += calls[id];
  }
  result.least_calls = *std::ranges::min_element(calls);
  result.most_calls = *std::ranges::max_element(calls);
  result.usage = after.usage.since(before.usage);
  if constexpr (requires { lines[0].final_data(); }) {
    for (const auto& caller : callers) result.lost += caller->calls.value();
    for (const auto& line : lines) result.lost -= line.final_data();
  }
  return result;
}

// The names of the kinds and their functions, in the order of Kind.
struct KindInfo {
  std::string_view name;
  Result (*run)(const Options& options);
};
constexpr std::array<KindInfo, 11> kKinds = {{{"faa", drive<WordCall<Kind::kFaa>>},
                                              {"cas", drive<WordCall<Kind::kCas>>},
                                              {"cas-faa", drive<WordCall<Kind::kCasFaa>>},
                                              {"swap", drive<WordCall<Kind::kSwap>>},
                                              {"load", drive<WordCall<Kind::kLoad>>},
                                              {"tas-once", drive<WordCall<Kind::kTasOnce>>},
                                              {"tas", drive<LockCall<TasLock>>},
                                              {"ticket", drive<LockCall<TicketLock<false>>>},
                                              {"ticket-backoff", drive<LockCall<TicketLock<true>>>},
                                              {"mcs", drive<LockCall<McsLock>>},
                                              {"clh", drive<LockCall<ClhLock>>}}};

}  // namespace

std::optional<Kind> kind_named(std::string_view name) {
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (kKinds[kind].name == name) return static_cast<Kind>(kind);
  }
  return std::nullopt;
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, run] : kKinds) names.push_back(name);
  return names;
}

bool is_lock(Kind kind) { return kind >= Kind::kTas; }

Result measure(const Options& options) {
  LJ_ASSERT(options.lines > 0 && options.threads > 0);
  return kKinds.at(static_cast<size_t>(options.kind)).run(options);
}

}  // namespace logjam::sync

// The synchronization benchmark (David, Guerraoui, Trigonakis: "Everything you always wanted to
// know about synchronization but were afraid to ask", SOSP 2013): the number of operations on
// shared cache lines that threads make per second, without a log and without an engine.
//
// Atomic operations (section 5.4, Figure 4): each thread repeats one operation on a shared word. A
// thread pauses after each operation, so that it does not repeat the operation in its own cache.
// Locks (section 6.1, Figures 5, 7 and 8): each thread takes a random lock, reads and writes a
// cache line of data that belongs to the lock, and releases the lock. If there is only one lock,
// the thread then pauses.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "platform/host.h"

namespace logjam::sync {

enum class Kind : uint8_t {
  kFaa,      // fetch-and-add
  kCas,      // compare-and-swap of 0 to 1 and of 1 to 0 in turn; a failure counts as a call
  kCasFaa,   // fetch-and-add by compare-and-swap, which a call repeats until it succeeds
  kSwap,     // exchange
  kLoad,     // load
  kTasOnce,  // test-and-set, which clears the word after a success; a failure counts as a call
  kTas,      // this kind and all following kinds are locks
  kTicket,
  kTicketBackOff,
  kMcs,
  kClh,
};

std::optional<Kind> kind_named(std::string_view name);
std::vector<std::string_view> kind_names();
bool is_lock(Kind kind);

struct Options {
  Kind kind = Kind::kFaa;
  uint32_t lines = 1;   // the number of shared words or of locks
  double pause_ns = 0;  // after each call
  uint32_t threads = 1;
  double warmup_seconds = 0;
  double seconds = 1;
  uint64_t calls = 0;  // a thread ends after this number of calls; 0: only time ends the run
  uint64_t seed = 1;
  bool pin = true;  // pin thread i to core i
};

struct Result {
  double seconds = 0;  // all fields but `lost` are about the measured phase only
  uint64_t calls = 0, failed = 0;
  uint64_t least_calls = 0, most_calls = 0;  // by a single thread
  platform::ProcessUse usage;
  // The number of critical sections of the whole run whose writes were lost; 0 if the lock works.
  uint64_t lost = 0;
};

Result measure(const Options& options);

}  // namespace logjam::sync

// Data-parallel loops: the parts of some work are forked, run side by side, and joined. oneTBB runs
// them (tbb_tasks.h); only platform/ includes it.
//
// These loops are for work that computes: loading, applying a log, checking. Threads that block on
// devices or live as long as a run are platform::threads.
//
// Protocol. What the caller did before the call happens before each part, and what a part did
// happens before the call returns: oneTBB orders both by spawning and joining tasks. Parts are not
// ordered among themselves. libtbb is not instrumented for ThreadSanitizer, which therefore sees
// none of its orders. parallel.cc tells ThreadSanitizer of these two edges, and of no others.
//
// Any thread may call any function of this file, also from inside a part. The caller works on
// parts, too. Bodies must not throw: an exception that leaves one ends the process.
#pragma once

#include <cstdint>
#include <span>

#include "platform/function_ref.h"

namespace logjam::platform {

// Calls body(part) once for each part below `parts`, at most `threads` at a time, and returns when
// all have returned. Parts begin in no particular order. oneTBB may give the call fewer threads
// than it asks for, down to the caller alone, so a part must not wait for another part of the same
// call.
void parallel_for_parts(uint32_t parts, uint32_t threads,
                        FunctionRef<void(uint32_t)> body) noexcept;

// Calls body(part) for each part, with as many threads as parts. Part `part` runs on a core of NUMA
// node node_of(part) (as node_of_core() counts): the node where the part writes most, or touches
// memory first. Parts run on any core if the machine has one NUMA node, or if oneTBB cannot tell
// nodes apart (it needs its library libtbbbind, a package of its own in Debian). The caller's
// thread may be bound to a node during the call; afterwards it may use its own cores again.
void parallel_for_parts_by_node(uint32_t parts, FunctionRef<int(uint32_t)> node_of,
                                FunctionRef<void(uint32_t)> body) noexcept;

// Sorts `words` in ascending order, with at most `threads` threads.
void parallel_sort(std::span<uint64_t> words, uint32_t threads);

}  // namespace logjam::platform

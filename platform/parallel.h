// Data-parallel loops for work that computes: the parts of some work are forked, run side by side,
// and joined. oneTBB runs them (tbb_tasks.h). Threads that block are platform::threads.
//
// Protocol. The caller's accesses before the call happen before each part, and each part happens
// before the end of the call: oneTBB orders both by spawning and joining tasks. Parts are not
// ordered among themselves. ThreadSanitizer sees no order that libtbb makes, because libtbb is not
// instrumented. So parallel.cc tells ThreadSanitizer of these two orders, and of no others.
//
// Any thread may call any function of this file, also from inside a part. The caller works on
// parts, too. An exception that leaves a body ends the process.
#pragma once

#include <cstdint>
#include <span>

#include "platform/function_ref.h"

namespace logjam::platform {

// Calls body(part) once for each part below `parts`, at most `threads` at a time, and waits for
// all. Parts begin in no particular order. oneTBB may give the call fewer threads, or only the
// caller. So a part must not wait for another part of the call.
void parallel_for_parts(uint32_t parts, uint32_t threads,
                        FunctionRef<void(uint32_t)> body) noexcept;

// Calls body(part) for each part, with as many threads as parts. Part `part` runs on a core of NUMA
// node node_of(part) (as node_of_core() counts): the node where the part writes most, or touches
// memory first. Parts run on any core if the machine has one NUMA node, or without oneTBB's library
// libtbbbind (a package of its own in Debian). The caller's thread may be bound to a node during
// the call.
void parallel_for_parts_by_node(uint32_t parts, FunctionRef<int(uint32_t)> node_of,
                                FunctionRef<void(uint32_t)> body) noexcept;

void parallel_sort(std::span<uint64_t> words, uint32_t threads);

}  // namespace logjam::platform

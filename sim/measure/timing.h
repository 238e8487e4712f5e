// Measuring on a machine that other programs may disturb: the median of several repetitions, each
// short enough that most of them run undisturbed. Any thread may call any function of this file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/clock.h"
#include "platform/thread.h"

namespace logjam::platform {

// Returns 0 if there are no values; of an even number of values, the upper one of the middle two.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class Body>
double median_of(uint32_t repetitions, Body&& body) {
  std::vector<double> values;
  for (uint32_t i = 0; i < repetitions; ++i) values.push_back(body());
  return median_of(std::move(values));
}

template <class Body>
double ns_of(Body&& body) {
  const uint64_t begun = now_ns();
  body();
  return static_cast<double>(now_ns() - begun);
}

// Returns the nanoseconds of one of `total` equal steps. body(n) makes the next n steps. Takes the
// median of parts of 1024 steps: a long run is interrupted somewhere, but most parts are not.
template <class Body>
double ns_of_a_step(size_t total, Body&& body) {
  constexpr size_t kPart = 1024;
  std::vector<double> parts;
  for (size_t done = 0; done < total; done += kPart) {
    const size_t steps = std::min(kPart, total - done);
    parts.push_back(ns_of([&] { body(steps); }) / static_cast<double>(steps));
  }
  return median_of(std::move(parts));
}

// Runs body() on a new thread, on core number `core` of pin_to_core(), and waits for its end.
template <class Body>
void run_on(int core, Body&& body) {
  thread runner([&] {
    pin_to_core(core);
    body();
  });
  runner.join();
}

// Hides a value from the compiler, which then cannot leave out or fold the computation.
template <class T>
inline void opaque(T& value) {
  asm volatile("" : "+r"(value));
}

}  // namespace logjam::platform

// A rule of `tide` says up to which number the records of a stream are complete, when a watermark
// takes its place: no record of a smaller or equal number will lie after the watermark. The rules
// are RingOrder, AnnouncedNumbers, ScannedNumbers and EndedEpochs, each in its file. The schemes
// with these rules differ in nothing else.
//
// A rule has these functions, in which `take_place` takes the record's place in the stream, and
// returns it:
//
//   reserve(stream, worker, above, take_place)
//                Returns a number larger than `above`, which is at least the worker's last number,
//                and the place. The rule chooses which of the two comes first.
//   publish(worker, number)
//                The worker has filled and handed over the record with this number.
//   begin_watermark(stream, last)
//                Returns the number that the stream's next watermark can have if no record is open.
//                `last` is the number of the stream's last watermark.
//   complete(stream, goal)
//                Returns the number that a watermark may have that takes its place after this call.
//                `goal` is what begin_watermark() has returned. A caller that is not content waits,
//                and asks again.
//
// Only the thread of `worker` calls the first two. One thread at a time calls the last two for a
// stream, under the lock of the stream's watermarks. The compiler checks that a rule has these
// functions. An int stands for the place.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

namespace logjam {

// The workers of each stream.
using WorkersOfStreams = std::vector<std::vector<uint32_t>>;

template <typename Rule>
concept WatermarkRule = std::constructible_from<Rule, uint32_t, WorkersOfStreams> &&
    requires(Rule rule, uint32_t index, uint64_t number, int (*take_place)()) {
  { rule.reserve(index, index, number, take_place) } -> std::same_as<std::pair<uint64_t, int>>;
  { rule.publish(index, number) } -> std::same_as<void>;
  { rule.begin_watermark(index, number) } -> std::same_as<uint64_t>;
  { rule.complete(index, number) } -> std::same_as<uint64_t>;
};

}  // namespace logjam

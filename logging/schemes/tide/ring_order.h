// The rule of `tide`: the order of the ring says which numbers a watermark includes.
//
// Protocol.
//   the worker                                  the thread that writes stream s
//   W1  takes the record's place (acquire)      L1  raises the floor of s to F
//   W2  draws a number above the floor          L2  takes the watermark's place (release)
//
// Claim: each record of s with a number up to F lies before the watermark of F. Proof: let a record
// lie after the watermark. Then W1 comes after L2 in the order of places. Places are taken by
// read-modify-writes of one word, so W1 acquires from L2, and W2 loads F or a later floor. Hence
// the number exceeds F. A record may also lie in a buffer that its worker has taken before L2: then
// it lies before the watermark, whatever its number is.
//
// Workers announce nothing, and the writing thread reads no worker's number.
#pragma once

#include <utility>

#include "logging/schemes/common/floors.h"
#include "logging/schemes/tide/watermark_rule.h"

namespace logjam {

class RingOrder {
 public:
  RingOrder(uint32_t /*workers*/, const WorkersOfStreams& streams)
      : floors_(static_cast<uint32_t>(streams.size())) {}

  template <class TakePlace>
  auto reserve(uint32_t stream, uint32_t /*worker*/, uint64_t above, const TakePlace& take_place) {
    const auto place = take_place();
    return std::pair(std::max(above, floors_.of(stream)) + 1, place);
  }
  void publish(uint32_t /*worker*/, uint64_t /*number*/) {}

  uint64_t begin_watermark(uint32_t stream, uint64_t /*last*/) { return floors_.raise(stream); }
  uint64_t complete(uint32_t /*stream*/, uint64_t goal) { return goal; }

 private:
  Floors floors_;
};

}  // namespace logjam

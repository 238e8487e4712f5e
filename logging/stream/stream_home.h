// Where a stream is at home: the socket and the NUMA node of the workers that write to it. Its ring
// lies there, and its flusher runs there. A stream that is written from several sockets is at home
// on none, and its ring is interleaved over their nodes. This file also counts the workers that
// write to a stream.
#pragma once

#include <cstdint>

#include "logging/log_config.h"
#include "platform/memory.h"
#include "platform/placement.h"

namespace logjam {

// Which workers write to a stream.
enum class Writers : uint8_t {
  kRoundRobin,  // worker i writes to stream i modulo the number of streams; all workers write to
                // a stream that is no worker's (the stream of watermarks)
  kOfSocket,    // the workers of socket s write to stream s (LogConfig::socket_of)
  kAll,         // all workers write to each stream
};

struct StreamHome {
  uint32_t writers = 0;  // how many workers write to it: none, if its socket has no workers
  int socket = platform::kNoSocket;
  int node = platform::kEveryNode;  // as platform::place() takes it
};

// Returns the home of stream number `stream`. Where workers are not pinned, no stream is at home
// anywhere. Called by the main thread, when the threads of the run have their places.
StreamHome home_of(const LogConfig& config, uint32_t stream, Writers writers);

}  // namespace logjam

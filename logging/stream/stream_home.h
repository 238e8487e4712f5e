// Where a stream is at home: the socket and the NUMA node of the workers that write to it. Its ring
// lies there, and its flusher runs there. A stream that is written from several sockets is at home
// on none, and its ring is interleaved over their nodes. Here is also how many workers write to it.
#pragma once

#include <cstdint>

#include "logging/log_config.h"
#include "platform/memory.h"
#include "platform/placement.h"

namespace logjam {

// Which workers write to a stream.
enum class Writers : uint8_t {
  kByTurns,   // worker i writes to stream i modulo the number of streams; all workers write to
              // one that no worker has (of watermarks)
  kOfSocket,  // the workers of a socket to the stream of that number (LogConfig::socket_of)
  kAll,
};

struct StreamHome {
  uint32_t writers = 0;  // none, for a socket without workers
  int socket = platform::kNoSocket;
  int node = platform::kEveryNode;  // as platform::place() takes it
};

// The main thread calls it, when the threads of the run have their places. Where workers are not
// pinned, no stream is at home anywhere.
StreamHome home_of(const LogConfig& config, uint32_t stream, Writers writers);

}  // namespace logjam

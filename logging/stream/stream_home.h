// Where a stream is at home: the socket and the NUMA node of the workers that write to it. Its ring
// lies there, and its flusher runs there. A stream that is written from several sockets is at home
// on no socket, and its ring is interleaved over the nodes of these sockets.
#pragma once

#include <cstdint>
#include <vector>

#include "logging/log_config.h"
#include "platform/memory.h"
#include "platform/placement.h"

namespace logjam {

enum class Writers : uint8_t {
  kDealt,     // dealt by streams_of_workers(); all workers write to the stream of watermarks
  kOfSocket,  // the workers of socket s write to stream s (LogConfig::socket_of)
  kAll,       // all workers write to each stream
};

struct StreamHome {
  uint32_t writers = 0;  // how many workers write to the stream; 0 if its socket has no workers
  int socket = platform::kNoSocket;
  int node = platform::kEveryNode;  // as platform::place() takes it
};

// Returns the stream of each worker. Each stream gets an equal share of the workers, in the order
// of their sockets, so that a stream's cache lines seldom move between sockets. If workers are not
// pinned, worker i has stream i % `streams`. With a stream for each worker, worker i has stream i.
std::vector<uint32_t> streams_of_workers(const LogConfig& config, uint32_t streams);

// Returns the home of stream number `stream`, which is no socket if workers are not pinned. The
// main thread calls this function when the threads of the run have been placed.
StreamHome home_of(const LogConfig& config, uint32_t stream, Writers writers);

}  // namespace logjam

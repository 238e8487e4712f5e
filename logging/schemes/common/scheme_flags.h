// The flags that several schemes read. Any thread may call any function.
#pragma once

#include <cstdint>
#include <string>

namespace logjam {

// Returns whether schemes acknowledge as their papers do, where that is unsafe (--ack=unsafe).
bool acknowledges_unsafely();
std::string check_ack_flag();   // for SchemeInfo::check_flags
std::string unsafe_ack_flag();  // for SchemeInfo::unsafe

// Returns --pwal_ngroup, the number of commits that a worker flushes together; if the flag is 0,
// returns the paper's number, 16.
uint64_t pwal_ngroup();

uint64_t poplar_segment_bytes();
std::string check_segment_flag();  // for SchemeInfo::check_flags

uint32_t aether_slots();
// Returns the value of --test=aether_force:n: every n-th insert of a worker joins a group even if
// the lock is free, so that tests see groups. 0 forces no insert.
uint32_t aether_force();
std::string check_aether_flags();  // for SchemeInfo::check_flags

}  // namespace logjam

// The flags that several schemes read. Any thread may call any function.
#pragma once

#include <cstdint>
#include <string>

namespace logjam {

// --ack: whether schemes acknowledge as their papers do, where that is unsafe in this engine.

// Returns whether --ack=unsafe was given.
bool acknowledges_unsafely();
// Returns why --ack cannot be used, in one sentence, or an empty string. For
// SchemeInfo::check_flags.
std::string check_ack_flag();
// Returns "--ack=unsafe" if it was given, and otherwise an empty string. For SchemeInfo::unsafe.
std::string unsafe_ack_flag();

// Returns how many commits a worker flushes together, in the two schemes of P-WAL's paper:
// --pwal_ngroup, or the paper's 16 if the flag is 0.
uint64_t pwal_ngroup();

// Returns --aether_slots: the number of slots of each consolidation array.
uint32_t aether_slots();
// Returns the value of --test=aether_force:n: with it, every n-th insert of a worker joins a group
// even if the lock is free, so that tests see groups. 0 forces no insert.
uint32_t aether_force();
// Returns why --aether_slots cannot be used, in one sentence, or an empty string. For
// SchemeInfo::check_flags.
std::string check_aether_flags();

}  // namespace logjam

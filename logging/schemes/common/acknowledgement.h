// --ack: whether schemes acknowledge as their papers do, where that is unsafe in this engine.
#pragma once

#include <string>

namespace logjam {

// Returns whether --ack=unsafe was given. Any thread may call it.
bool acknowledges_unsafely();
// Returns why --ack cannot be used, in one sentence, or an empty string. For
// SchemeInfo::check_flags.
std::string check_ack_flag();
// Returns "--ack=unsafe" if it was given, and otherwise an empty string. For SchemeInfo::unsafe.
std::string unsafe_ack_flag();

}  // namespace logjam

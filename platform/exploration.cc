#include "platform/exploration.h"

#include "platform/assert.h"
#include "platform/fatal.h"

namespace logjam::platform {

bool explores() { return false; }
void explore(const Schedule&, const std::function<void()>&) {
  fatal("only the simulated build explores");
}
void begin_steps() {}
void begin_coverage(const std::string&) {}
uint64_t blocks_covered() { return 0; }
void maybe_crash() {}
bool forbid(const void*, size_t) { return false; }
void for_each_mapping(const std::function<void(int, const std::byte*)>&) {}
void note_transfer(const void*, size_t, bool) {}
ExploredCall::ExploredCall() : explored_(false) {}
ExploredCall::~ExploredCall() { LJ_ASSERT(!explored_ && before_ == nullptr); }

}  // namespace logjam::platform

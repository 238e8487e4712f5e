#include "logging/schemes/common/handoff_lock.h"

#include "platform/test_value.h"

namespace logjam {

namespace {
const platform::TestValue sleeps_at_once("lock_sleeps_at_once");
}

bool HandoffLock::waiters_sleep_at_once() { return sleeps_at_once.get() != 0; }

}  // namespace logjam

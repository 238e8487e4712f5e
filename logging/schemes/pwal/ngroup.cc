#include "logging/schemes/pwal/ngroup.h"

#include <gflags/gflags.h>

DEFINE_uint64(pwal_ngroup, 0,
              "commits that a worker of pwal or centr-lockflush flushes together; 0: 16, but in "
              "pwal a worker that waits flushes at once, and no worker flushes where log threads "
              "preempt workers");

namespace logjam {

uint64_t pwal_ngroup() {
  constexpr uint64_t kPublished = 16;
  return FLAGS_pwal_ngroup != 0 ? FLAGS_pwal_ngroup : kPublished;
}

}  // namespace logjam

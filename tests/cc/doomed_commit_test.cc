// OCC commits that have waited for a write lock, while the row that they have read was changed.
#include <gtest/gtest.h>

#include "tests/cc/script.h"

namespace logjam {
namespace {

// Returns whether T1 commits. T1 has changed a row, and waits for its lock. The holder of the lock
// unlocks it with a newer version if `changes`, else with the old one.
bool commits_after_a_wait(World& world, bool changes) {
  world.load_tens(*world.hash, 20);
  Actor t1(world);
  t1.add(*world.hash, 10, 1);
  Tuple& tuple = *world.hash->find_or_create(10, world.arena);
  const Version before = tuple.load_version();
  tuple.version.store(before.word() | Version::kLocked);
  t1.context.acknowledge_durable = [&] {
    tuple.version.store(Version(before.sequence() + changes, false).word());
  };
  const bool committed = t1.commit();
  EXPECT_FALSE(tuple.load_version().locked());
  return committed;
}

// A void record would take as long as a good one, while others wait for the locks.
TEST(DoomedCommit, LeavesNoVoidRecordAndAWaitAloneDoomsNoCommit) {
  for (const NumberDrawn drawn :
       {NumberDrawn::kAfterValidation, NumberDrawn::kBefore, NumberDrawn::kBeforeWithoutHole}) {
    for (const bool changes : {false, true}) {
      World world("occ", {.number_drawn = drawn});
      EXPECT_EQ(commits_after_a_wait(world, changes), !changes);
      EXPECT_EQ(world.log.entries.size(), changes ? 0u : 1u) << static_cast<int>(drawn);
    }
  }
}

}  // namespace
}  // namespace logjam

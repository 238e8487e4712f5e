// The points of a run at which the ledger may kill its own process.
#include <gtest/gtest.h>

#include <csignal>

#include "proof/ledger/client.h"

namespace logjam::ledger {
namespace {

TEST(CrashPointDeathTest, KillsAfterTheGivenNumberOfAcknowledgements) {
  Acknowledged acknowledged(1);
  CrashPoint point(acknowledged, 3, 0);
  point.on_acknowledgement(make_id(0, 1));
  point.on_acknowledgement(make_id(0, 2));
  EXPECT_EXIT(point.on_acknowledgement(make_id(0, 3)), testing::KilledBySignal(SIGKILL), "");
}

TEST(CrashPointDeathTest, KillsWhenAnAcknowledgementComesBeforeThatOfItsDependency) {
  Acknowledged acknowledged(2);
  CrashPoint mine(acknowledged, 0, 1), other(acknowledged, 0, 1);
  mine.note_dependency(make_id(0, 1), make_id(1, 7));
  EXPECT_EXIT(mine.on_acknowledgement(make_id(0, 1)), testing::KilledBySignal(SIGKILL), "");
}

TEST(CrashPoint, SparesAcknowledgementsThatComeInOrder) {
  Acknowledged acknowledged(2);
  CrashPoint mine(acknowledged, 0, 1), other(acknowledged, 0, 1);
  mine.note_dependency(make_id(0, 1), make_id(1, 7));  // acknowledged before 0:1
  mine.note_dependency(make_id(0, 2), 0);              // depends on the initial load
  mine.note_dependency(make_id(0, 3), make_id(0, 2));  // depends on the worker's own transaction
  mine.note_dependency(make_id(0, 4), make_id(1, 9));  // the commit of 0:4 is refused
  mine.on_refusal(make_id(0, 4));
  other.on_acknowledgement(make_id(1, 7));
  for (uint64_t count = 1; count <= 4; ++count) mine.on_acknowledgement(make_id(0, count));
}

}  // namespace
}  // namespace logjam::ledger

// The progress that the threads of a recovery report to each other.
#include "engine/recovery/recovery_progress.h"

#include <gtest/gtest.h>

#include "logging/recovery_rule.h"

namespace logjam {
namespace {

// A stream waits while another stream is less ahead. A stream that has ended reads no more, so
// waiting for it would last until all other streams have ended.
TEST(RecoveryProgress, AStreamDoesNotWaitForOneThatHasEnded) {
  const RecoveryRule rule = first_gap();
  RecoveryProgress progress(rule, 2);
  progress.report_ahead(0, 100);
  progress.report_ahead(1, 50);
  EXPECT_TRUE(progress.others_are_less_ahead(0));
  EXPECT_FALSE(progress.others_are_less_ahead(1));
  progress.report_read(1, StreamTail{}, true);
  EXPECT_FALSE(progress.others_are_less_ahead(0));
}

}  // namespace
}  // namespace logjam

// A worker that sleeps and does not lead relies on its scheme's flushers.
#include "tests/forwarding_scheme.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

class RelyOnFlushers : public ScriptedLog, public testing::WithParamInterface<const char*> {};

// A flusher leaves its work to a recent leader, unless a worker relies on the flushers.
TEST_P(RelyOnFlushers, TheNextStepOfAFlusherFlushes) {
  options_ = log_options_of_many(*find_scheme(GetParam()), directory_, "sync", 2, 2);
  open();
  const auto step = [this] {
    for (uint32_t s = 0; s < streams(); ++s) scheme().flush(s, false);
  };
  scheme().wait_durable(0, publish(0).point);
  const Published left = publish(0);
  step();
  EXPECT_FALSE(durable(left)) << "the flusher did not leave it to the worker";

  scheme().wait_durable(0, left.point);
  const Published relied_on = publish(0);
  scheme().rely_on_flushers(true);
  step();
  scheme().rely_on_flushers(false);
  EXPECT_TRUE(durable(relied_on));
}

INSTANTIATE_TEST_SUITE_P(Streams, RelyOnFlushers, testing::Values("centr", "poplar"));

TEST(ParkUntilDurable, AWorkerThatParksUntilItsNextArrivalReliesOnThem) {
  struct Recorder final : ForwardingScheme {
    Recorder() : ForwardingScheme(1) {}
    bool is_durable(const CommitPoint&) const override {
      relied_when_it_parked = relies;
      return true;
    }
    void rely_on_flushers(bool begins) override { relies = begins; }

    bool relies = false;
    mutable bool relied_when_it_parked = false;
  };
  Recorder scheme;
  scheme.park_until_durable(0, CommitPoint::in_stream(0, 1), 1);
  EXPECT_TRUE(scheme.relied_when_it_parked);
  EXPECT_FALSE(scheme.relies);
}

}  // namespace
}  // namespace logjam

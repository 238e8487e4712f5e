// The sequence number of a durable position in all schedules with few preemptions.
#include "logging/schemes/common/durable_sequence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

// The pairs are (10, 1), (20, 2) and (30, 3). The first two are recorded at the beginning, the
// third by a thread that then makes the stream durable up to 20. Other threads ask for the number
// of the positions 10 and 20, and of the durable position. Checked: an answer is at least the
// number that the position stands for, and no number of a pair that nobody has reached; end() is
// the end of the pair, or of a later one.
class AsksBesideARecord {
 public:
  explicit AsksBesideARecord(uint32_t askers) : askers_(askers) {
    shared_->pairs.record(10, 1);
    shared_->pairs.record(20, 2);
  }
  std::vector<Body> threads() {
    const Body records = [this] {
      shared_->pairs.record(30, 3);
      shared_->durable.store(20, platform::memory_order_release);
    };
    std::vector<Body> all = {records, [this] { ask(10, 1); }, [this] { ask(20, 2); }};
    all.resize(1 + askers_);
    return all;
  }
  std::string wrong() {
    ask(20, 2);
    if (shared_->pairs.at(30) != 3) wrong_ = "the last pair is lost";
    return wrong_;
  }

 private:
  struct Shared {
    DurableSequence pairs;
    platform::atomic<uint64_t> durable{0};
  };

  void ask(uint64_t position, uint64_t sequence) {
    const uint64_t durable = shared_->durable.load(platform::memory_order_acquire);
    answer(shared_->pairs.at(durable), durable / 10);
    answer(shared_->pairs.at(position), sequence);
  }
  void answer(uint64_t answered, uint64_t least) {
    if (answered < least) wrong_ = "a thread does not see that its position is durable";
    if (answered > 2) wrong_ = "a pair counts before it is reached";
    if (shared_->pairs.end() < answered * 10) wrong_ = "the end of a pair is late";
  }

  const uint32_t askers_;
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  const char* wrong_ = "";
};

TEST(DurableSequenceSteps, AThreadThatAsksGetsTheNumberOfItsPosition) {
  search_all<AsksBesideARecord>(2, 1u);
  search_all<AsksBesideARecord>(1, 2u);
}

}  // namespace
}  // namespace logjam::sim

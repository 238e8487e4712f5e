// The rules of `tide` and of its ablations, in all schedules with few preemptions.
#include <gtest/gtest.h>

#include <array>

#include "logging/schemes/tide/announced_numbers.h"
#include "logging/schemes/tide/ended_epochs.h"
#include "logging/schemes/tide/ring_order.h"
#include "logging/schemes/tide/scanned_numbers.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr const char* kLater = "a record lies after a watermark that covers its number";

enum class Look : uint8_t { kBeforeThePlace, kAfterThePlace };
enum class Withdraw : uint8_t { kAfterThePlace, kBeforeThePlace };

// A worker writes records, while another thread puts watermarks into the same stream. Checked: a
// record with a number up to a watermark's lies before the watermark. When no record is open, two
// watermarks include all numbers.
template <class Rule, Look look = Look::kBeforeThePlace,
          Withdraw withdraw = Withdraw::kAfterThePlace>
class RecordsAndWatermarks {
 public:
  std::vector<Body> threads() {
    return {[this] {
              for (Placed& record : records_) write(&record);
            },
            [this] {
              for (Placed& watermark : watermarks_) put(&watermark);
            }};
  }
  std::string wrong() {
    Placed last;
    for (int i = 0; i < 2; ++i) put(&last);
    for (const Placed& record : records_) {
      for (const Placed& watermark : watermarks_) {
        if (record.number <= watermark.number && record.place > watermark.place) {
          return kLater;
        }
      }
      if (record.number > last.number) return "no record is open, and a watermark is held back";
    }
    return "";
  }

 private:
  struct Placed {
    uint64_t number = 0, place = 0;
  };
  struct Shared {
    Rule rule{1, {{0}}};
    platform::atomic<uint64_t> next{0};  // the places of the stream
  };

  void write(Placed* record) {
    Rule& rule = shared_->rule;
    const auto [number, place] = rule.reserve(0, 0, last_number_, [&] {
      if (withdraw == Withdraw::kBeforeThePlace) rule.publish(0, last_number_);
      return shared_->next.fetch_add(1, platform::memory_order_acquire);
    });
    *record = {number, place};
    last_number_ = number;
    rule.publish(0, number);
  }
  void put(Placed* watermark) {
    Rule& rule = shared_->rule;
    const uint64_t goal = rule.begin_watermark(0, last_watermark_);
    const auto number = [&] { return last_watermark_ = rule.complete(0, goal); };
    if (look == Look::kBeforeThePlace) watermark->number = number();
    watermark->place = shared_->next.fetch_add(1, platform::memory_order_release);
    if (look == Look::kAfterThePlace) watermark->number = number();
  }

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  std::array<Placed, 2> records_, watermarks_;
  uint64_t last_number_ = 0, last_watermark_ = 0;
};

template <class Program>
void expect_wrong() {
  const std::string found = first_wrong<Program>(2);
  EXPECT_EQ(found.substr(0, found.find(" in")), kLater) << found;
}

TEST(WatermarkRulesSteps, AWatermarkIncludesNoLaterRecord) {
  search_all<RecordsAndWatermarks<RingOrder>>(3);
  search_all<RecordsAndWatermarks<AnnouncedNumbers>>(3);
  search_all<RecordsAndWatermarks<ScannedNumbers>>(3);
  search_all<RecordsAndWatermarks<EndedEpochs>>(3);
}

TEST(WatermarkRulesSteps, ALookAfterThePlaceOfTheWatermarkIsTooLate) {
  expect_wrong<RecordsAndWatermarks<AnnouncedNumbers, Look::kAfterThePlace>>();
  expect_wrong<RecordsAndWatermarks<ScannedNumbers, Look::kAfterThePlace>>();
  expect_wrong<RecordsAndWatermarks<EndedEpochs, Look::kAfterThePlace>>();
}

TEST(WatermarkRulesSteps, ARecordIsOpenUntilItHasAPlace) {
  constexpr auto kLook = Look::kBeforeThePlace;
  constexpr auto kWithdraw = Withdraw::kBeforeThePlace;
  expect_wrong<RecordsAndWatermarks<AnnouncedNumbers, kLook, kWithdraw>>();
  expect_wrong<RecordsAndWatermarks<ScannedNumbers, kLook, kWithdraw>>();
  expect_wrong<RecordsAndWatermarks<EndedEpochs, kLook, kWithdraw>>();
}

TEST(WatermarkRulesSteps, AnnouncementsNeedTheirFences) {
  expect_wrong<WithoutFences<RecordsAndWatermarks<AnnouncedNumbers>>>();
  expect_wrong<WithoutFences<RecordsAndWatermarks<EndedEpochs>>>();
}

// Draws the number before the place, as other rules do, and announces nothing.
class NumberBeforePlace {
 public:
  NumberBeforePlace(uint32_t /*workers*/, const WorkersOfStreams& /*streams*/) {}

  template <class TakePlace>
  auto reserve(uint32_t stream, uint32_t, uint64_t above, const TakePlace& take_place) {
    const uint64_t number = std::max(above, floors_.of(stream)) + 1;
    return std::pair(number, take_place());
  }
  void publish(uint32_t, uint64_t) {}
  uint64_t begin_watermark(uint32_t stream, uint64_t) { return floors_.raise(stream); }
  uint64_t complete(uint32_t, uint64_t goal) { return goal; }

 protected:
  Floors floors_{1};
};

// Announces a number that is drawn already.
class AnnouncedTooLate : public NumberBeforePlace {
 public:
  using NumberBeforePlace::NumberBeforePlace;

  template <class TakePlace>
  auto reserve(uint32_t stream, uint32_t, uint64_t above, const TakePlace& take_place) {
    const uint64_t number = std::max(above, floors_.of(stream)) + 1;
    open_.announce(number, [&] { return number; });
    return std::pair(number, take_place());
  }
  void publish(uint32_t, uint64_t) { open_.withdraw(); }
  uint64_t begin_watermark(uint32_t stream, uint64_t) {
    const uint64_t floor = floors_.raise(stream);
    platform::full_fence();
    return floor;
  }
  uint64_t complete(uint32_t, uint64_t goal) { return std::min(goal, open_.look() - 1); }

 private:
  AnnouncedNumber open_;
};

TEST(WatermarkRulesSteps, RingOrderNeedsThePlaceBeforeTheNumber) {
  expect_wrong<RecordsAndWatermarks<NumberBeforePlace>>();
}

TEST(WatermarkRulesSteps, ANumberIsAnnouncedBeforeItIsDrawn) {
  expect_wrong<RecordsAndWatermarks<AnnouncedTooLate>>();
}

}  // namespace
}  // namespace logjam::sim

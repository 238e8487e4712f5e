// TATP's checks find planted errors. The checks of acknowledged changes are tested on the Workload
// object of the run. All other checks are tested on an object without clients, as after a recovery.
#include <gtest/gtest.h>

#include <functional>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"
#include "workloads/tatp/tatp.h"

namespace logjam {
namespace {

using namespace tatp;

class TatpVerifyTest : public WorkloadTest {
 protected:
  TatpVerifyTest() { set(small_scale("tatp")); }
};

Key first(Table& table) {
  Key least = ~Key{0};
  table.for_each_row([&](Key key, const std::byte*) { least = std::min(least, key); });
  return least;
}

template <class Row>
void seal(Key key, Row* row) {
  row->seal = seal_of(key, *row);
}

Posting& posting_of(Tables& tables, Key s_id) {
  Posting* found = nullptr;
  tables.subscriber.secondary(kBySubNbr).for_each([&](Keyed* entry) {
    auto* posting = static_cast<Posting*>(entry);
    if (posting->primary == s_id) found = posting;
  });
  return *found;
}

TEST_F(TatpVerifyTest, FindsPlantedErrors) {
  const PlantedErrors<Tables> planted = {
      {"subscribers are those", [](Tables& t) { erase(t.subscriber, 7); }},
      {"subscribers are those", [](Tables& t) { row<Subscriber>(t.subscriber, 7).hex[3] ^= 1; }},
      {"subscribers are those", [](Tables& t) { row<Subscriber>(t.subscriber, 7).bit[0] ^= 1; }},
      {"subscribers are those",
       [](Tables& t) { row<Subscriber>(t.subscriber, 7).vlr_location ^= 1; }},
      {"subscribers are those", [](Tables& t) { ++row<Subscriber>(t.subscriber, 7).updates; }},
      {"subscribers are those",
       [](Tables& t) {
         auto& changed = row<Subscriber>(t.subscriber, 7);
         changed.bit[0] = 2;
         seal(7, &changed);
       }},
      {"each subscriber is found", [](Tables& t) { posting_of(t, 7).key ^= 1; }},
      {"each subscriber is found",  // the count and the keys stay valid
       [](Tables& t) {
         posting_of(t, 7).key = posting_of(t, 8).key;
         posting_of(t, 7).primary = 8;
       }},
      {"each subscriber is found",
       [](Tables& t) { posting_of(t, 7).tuple = posting_of(t, 8).tuple; }},
      {"access_info",
       [](Tables& t) { row<AccessInfo>(t.access_info, first(t.access_info)).data1 ^= 1; }},
      {"access_info", [](Tables& t) { erase(t.access_info, first(t.access_info)); }},
      {"special facilities",
       [](Tables& t) {
         row<SpecialFacility>(t.special_facility, first(t.special_facility)).is_active ^= 1;
       }},
      {"special facilities",
       [](Tables& t) {
         row<SpecialFacility>(t.special_facility, first(t.special_facility)).data_a ^= 1;
       }},
      {"UpdateSubscriberData",
       [](Tables& t) {
         const Key key = first(t.special_facility);
         auto& ahead = row<SpecialFacility>(t.special_facility, key);
         ++ahead.updates;
         seal(key, &ahead);
       }},
      {"call forwardings have",
       [](Tables& t) {
         const Key key = first(t.call_forwarding);
         auto& changed = row<CallForwarding>(t.call_forwarding, key);
         changed.end_time = 25;
         seal(key, &changed);
       }},
      {"call forwardings have",
       [](Tables& t) {
         const Key key = first(t.call_forwarding);
         auto& changed = row<CallForwarding>(t.call_forwarding, key);
         changed.numberx = digits_of(101);
         seal(key, &changed);
       }},
      {"call forwardings have",
       [](Tables& t) {
         auto& changed = row<CallForwarding>(t.call_forwarding, first(t.call_forwarding));
         changed.numberx = digits_of(changed.numberx == digits_of(5) ? 6 : 5);
       }},
      {"call forwardings: loaded",
       [](Tables& t) { erase(t.call_forwarding, first(t.call_forwarding)); }},
  };
  expect_each_caught("tatp", 100, planted);
}

// Updates a subscriber. `before` is the worker's previous update.
void update_location(OneWorker& worker, Client& client, Key s_id, PreviousUpdate before) {
  ASSERT_EQ(worker.execute(client, kUpdateLocation, digits_of(s_id), 99u, before), Status::kOk);
}

TEST_F(TatpVerifyTest, FindsALostUpdateAfterARecovery) {
  OneClient one("tatp");
  auto& [workload, database, worker, client] = one;
  Tables tables(*database);
  update_location(worker, *client, 11, {});
  const Subscriber before = row<Subscriber>(tables.subscriber, 11);
  update_location(worker, *client, 11, {11, 1});
  update_location(worker, *client, 12, {11, 2});
  const auto recovered = make_workload("tatp");
  expect_consistent(*recovered, *database);

  row<Subscriber>(tables.subscriber, 11) = before;
  const auto checks = recovered->verify(*database);
  const Check* check = find_check(checks, "no update is lost before one that is there");
  ASSERT_NE(check, nullptr);
  EXPECT_FALSE(check->passed);
  EXPECT_EQ(check->detail,
            "1 lost; first: row 11 has 1 updates, and the worker that updated row 12 had made its "
            "number 2");
  EXPECT_EQ(failing(*recovered, *database).size(), 1u) << "no other check can see it";
}

TEST_F(TatpVerifyTest, FindsAHalfAppliedUpdateAfterARecovery) {
  for (const bool first_half : {true, false}) {
    OneClient one("tatp");
    auto& [workload, database, worker, client] = one;
    Tables tables(*database);
    const Key key = first(tables.special_facility), s_id = subscriber_of(key);
    const Subscriber subscriber = row<Subscriber>(tables.subscriber, s_id);
    const SpecialFacility facility = row<SpecialFacility>(tables.special_facility, key);
    ASSERT_EQ(worker.execute(*client, kUpdateSubscriberData, s_id, type_of(key), uint8_t{1},
                             uint8_t{77}, PreviousUpdate{}),
              Status::kOk);
    if (first_half) {
      row<SpecialFacility>(tables.special_facility, key) = facility;
    } else {
      row<Subscriber>(tables.subscriber, s_id) = subscriber;
    }
    const auto recovered = make_workload("tatp");
    EXPECT_EQ(failing(*recovered, *database),
              (std::vector<std::string>{"UpdateSubscriberData updated both of its rows"}));
  }
}

TEST_F(TatpVerifyTest, FindsLostAcknowledgedUpdates) {
  OneClient one("tatp");
  auto& [workload, database, worker, client] = one;
  Tables tables(*database);
  const Subscriber before = row<Subscriber>(tables.subscriber, 10);
  update_location(worker, *client, 10, {});
  client.reset();
  expect_consistent(*workload, *database);
  row<Subscriber>(tables.subscriber, 10) = before;
  EXPECT_EQ(failing(*workload, *database),
            (std::vector<std::string>{"subscribers count every update"}));
}

}  // namespace
}  // namespace logjam

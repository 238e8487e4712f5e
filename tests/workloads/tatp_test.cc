#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"
#include "workloads/tatp/client.h"

namespace logjam {
namespace {

using namespace tatp;

class TatpTest : public WorkloadTest {
 protected:
  TatpTest() { set(small_scale("tatp")); }
};

TEST_F(TatpTest, RefusesBadFlagsInOneSentence) {
  const auto refusal = [](const Flags& flags) { return refusal_of("tatp", flags); };
  EXPECT_EQ(refusal({}), "");
  for (const TypeInfo& type : kTypeInfos) {
    EXPECT_EQ(refusal({{"tatp_only", std::string(type.name)}}), "");
  }
  EXPECT_EQ(refusal({{"tatp_subscribers", "0"}}), "--tatp_subscribers is 1 to 1000000000");
  EXPECT_NE(refusal({{"tatp_only", "updatelocation"}}).find("UpdateLocation"), std::string::npos);
}

TEST_F(TatpTest, PopulationFollowsTheSpecification) {
  set({{"tatp_subscribers", "20000"}});
  const auto workload = make_workload("tatp");
  const auto database = load(*workload, 2);
  Tables tables(*database);
  const auto share = [](uint64_t part, uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  EXPECT_EQ(tables.subscriber.count_rows(), 20'000u);
  EXPECT_NEAR(share(tables.access_info.count_rows(), 20'000), 2.5, 0.05);
  const uint64_t facilities = tables.special_facility.count_rows();
  EXPECT_NEAR(share(facilities, 20'000), 2.5, 0.05);
  EXPECT_NEAR(share(tables.call_forwarding.count_rows(), 20'000), 3.75, 0.1);
  uint64_t active = 0;
  std::map<Key, uint32_t> by_subscriber, by_facility;
  each<SpecialFacility>(tables.special_facility, [&](Key key, const SpecialFacility& row) {
    active += row.is_active;
    ++by_subscriber[subscriber_of(key)];
    by_facility[key] = 0;
  });
  EXPECT_NEAR(share(active, facilities), 0.85, 0.01);
  std::map<uint32_t, uint64_t> counts;
  for (const auto& [s_id, count] : by_subscriber) ++counts[count];
  for (const uint32_t count : {1, 2, 3, 4}) EXPECT_NEAR(share(counts[count], 20'000), 0.25, 0.015);
  each<CallForwarding>(tables.call_forwarding, [&](Key key, const CallForwarding& row) {
    ++by_facility.at(facility_of(key));
    EXPECT_GT(row.end_time, start_of(key));
    EXPECT_LE(row.end_time, start_of(key) + 8);
  });
  counts.clear();
  for (const auto& [facility, count] : by_facility) ++counts[count];
  for (const uint32_t count : {0, 1, 2, 3}) {
    EXPECT_NEAR(share(counts[count], facilities), 0.25, 0.01);
  }
  EXPECT_EQ(row<Subscriber>(tables.subscriber, 123).sub_nbr,
            (Digits{'0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '1', '2', '3'}));
}

// The share of transactions that find their row follows from the population. The specification's
// share for GetNewDestination, 23.9 %, does not: see the test below.
TEST_F(TatpTest, MixAndSuccessRatesFollowTheSpecification) {
  set({{"tatp_subscribers", "20000"}});
  for (uint32_t type = 0; type < kTypeInfos.size(); ++type) {
    if (type == kGetNewDestination) continue;
    set({{"tatp_only", std::string(kTypeInfos[type].name)}});
    const auto workload = make_workload("tatp");
    const auto database = load(*workload, 1);
    Outcome outcome;
    run(*workload, *database, all_protocols().front(), 1, 4'000, 1, outcome);
    const double success = 100 - static_cast<double>(outcome.misses) / 40;
    EXPECT_NEAR(success, kTypeInfos[type].success_pct, 3) << kTypeInfos[type].name;
    EXPECT_EQ(outcome.commits, 4'000u);
    expect_consistent(*workload, *database);
  }
  set({{"tatp_only", ""}});
  const auto workload = make_workload("tatp");
  const auto database = load(*workload, 1);
  const auto client = workload->make_client(*database, 0, 1, 1);
  std::map<uint32_t, double> drawn;
  for (int i = 0; i < 100'000; ++i) drawn[client->next()] += 0.001;
  for (uint32_t type = 0; type < kTypeInfos.size(); ++type) {
    EXPECT_NEAR(drawn[type], kTypeInfos[type].share_pct, 0.5) << kTypeInfos[type].name;
  }
}

// The share of GetNewDestination's possible inputs that find a row, in percent, counted in the
// tables.
double destinations(Tables& tables, uint64_t subscribers) {
  std::map<Key, std::array<uint8_t, kStarts>> ends;  // by active facility
  each<SpecialFacility>(tables.special_facility, [&](Key key, const SpecialFacility& row) {
    if (row.is_active != 0) ends[key] = {};
  });
  each<CallForwarding>(tables.call_forwarding, [&](Key key, const CallForwarding& row) {
    const auto found = ends.find(facility_of(key));
    if (found != ends.end()) found->second[start_of(key) / 8] = row.end_time;
  });
  double good = 0;  // inputs with a row that starts by start_time and ends after end_time
  for (const auto& [facility, by_start] : ends) {
    uint8_t latest = 0;
    for (const uint8_t end : by_start) {
      latest = std::max(latest, end);
      if (latest > 0) good += latest - 1;
    }
  }
  return 100 * good / (static_cast<double>(subscribers) * kTypes * kStarts * 24);
}

// The specification's 23.9 % does not follow from its own population, which gives 15 %. Inserted
// forwardings have end times in [1, 24]. After they have replaced the loaded ones, the share is
// 19 %.
TEST_F(TatpTest, SuccessOfGetNewDestinationFollowsFromThePopulation) {
  set({{"tatp_subscribers", "20000"}, {"tatp_uniform", "true"}});
  set({{"tatp_only", "GetNewDestination"}});
  const auto workload = make_workload("tatp");
  const auto database = load(*workload, 1);
  Tables tables(*database);
  const double expected = destinations(tables, 20'000);
  EXPECT_NEAR(expected, 15, 1);
  Outcome outcome;
  run(*workload, *database, all_protocols().front(), 1, 20'000, 1, outcome);
  EXPECT_NEAR(100 - static_cast<double>(outcome.misses) / 200, expected, 1);

  set({{"tatp_subscribers", "500"}, {"tatp_only", ""}});
  const auto few = make_workload("tatp");
  const auto churned = load(*few, 1);
  Tables churned_tables(*churned);
  run(*few, *churned, all_protocols().front(), 1, 400'000, 1, outcome);
  EXPECT_NEAR(destinations(churned_tables, 500), 19, 2);
}

TEST_F(TatpTest, SubscribersAreDrawnByNuRandOrUniformly) {
  set({{"tatp_subscribers", "100000"}, {"tatp_only", "UpdateLocation"}});
  for (const bool uniform : {false, true}) {
    set({{"tatp_uniform", uniform ? "true" : "false"}});
    const auto workload = make_workload("tatp");
    const auto database = load(*workload, 2);
    Tables tables(*database);
    Outcome outcome;
    run(*workload, *database, all_protocols().front(), 1, 30'000, 1, outcome);
    uint64_t touched = 0;
    each<Subscriber>(tables.subscriber, [&](Key s_id, const Subscriber& row) {
      touched += row.vlr_location != Person(s_id, 100'000).subscriber.vlr_location;
    });
    // Uniform draws reach 100,000 (1 - e^-0.3) subscribers.
    if (uniform) {
      EXPECT_NEAR(static_cast<double>(touched), 25'918, 300);
    } else {
      EXPECT_LT(touched, 22'000u);
    }
  }
}

// Forwardings are inserted and deleted at the same rate, and a deleted one can be inserted again.
TEST_F(TatpTest, TheNumberOfForwardingsIsStable) {
  set({{"tatp_subscribers", "50"}});
  for (const ProtocolInfo& protocol : all_protocols()) {
    const auto workload = make_workload("tatp");
    const auto database = load(*workload, 1);
    Tables tables(*database);
    Outcome outcome;
    run(*workload, *database, protocol, 3, 5'000, 1, outcome);
    EXPECT_GT(outcome.misses, 15'000u / 5);
    EXPECT_NEAR(static_cast<double>(tables.call_forwarding.count_rows()), 187, 60);
    expect_consistent(*workload, *database);
  }
}

TEST_F(TatpTest, VerifyFindsPlantedErrors) {
  const auto first = [](Table& table) {
    Key least = ~Key{0};
    table.for_each_row([&](Key key, const std::byte*) { least = std::min(least, key); });
    return least;
  };
  const std::vector<std::pair<std::string, std::function<void(Tables&)>>> planted = {
      {"subscribers are those", [](Tables& t) { erase(t.subscriber, 7); }},
      {"subscribers are those", [](Tables& t) { row<Subscriber>(t.subscriber, 7).bit[0] = 2; }},
      {"subscribers are those", [](Tables& t) { row<Subscriber>(t.subscriber, 7).hex[3] ^= 1; }},
      {"access_info",
       [&](Tables& t) { row<AccessInfo>(t.access_info, first(t.access_info)).data1 ^= 1; }},
      {"access_info", [&](Tables& t) { erase(t.access_info, first(t.access_info)); }},
      {"special facilities",
       [&](Tables& t) {
         row<SpecialFacility>(t.special_facility, first(t.special_facility)).is_active ^= 1;
       }},
      {"call forwardings have",
       [&](Tables& t) {
         row<CallForwarding>(t.call_forwarding, first(t.call_forwarding)).end_time = 25;
       }},
      {"call forwardings have",
       [&](Tables& t) {
         row<CallForwarding>(t.call_forwarding, first(t.call_forwarding)).numberx = digits_of(101);
       }},
      {"call forwardings: loaded",
       [&](Tables& t) { erase(t.call_forwarding, first(t.call_forwarding)); }},
  };
  for (const auto& [caught_by, plant] : planted) {
    expect_caught("tatp", 100, caught_by, [&plant = plant](Database& database) {
      Tables tables(database);
      plant(tables);
    });
  }
}

}  // namespace
}  // namespace logjam

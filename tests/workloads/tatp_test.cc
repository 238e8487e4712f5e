// TATP's transactions, input and population. tatp_verify_test.cc tests the checks of TATP.
#include "workloads/tatp/tatp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>

#include "tests/workloads/chi_square.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

using namespace tatp;

class TatpTest : public WorkloadTest {
 protected:
  TatpTest() { set(small_scale("tatp")); }
};

uint64_t number_of(const Digits& digits) { return std::stoull(std::string(digits.data(), 15)); }

// Expects uniform values below `values` in the columns of one byte with the prefix `prefix`.
void expect_uniform_bytes(Table& table, const char* prefix, size_t values) {
  std::vector<uint64_t> counts(values);
  table.for_each_row([&](Key, const std::byte* row) {
    for (const Column& column : table.schema().columns) {
      if (column.name.starts_with(prefix)) ++counts.at(std::to_integer<size_t>(row[column.offset]));
    }
  });
  expect_uniform(counts, prefix);
}

TEST_F(TatpTest, PopulationFollowsTheSpecification) {
  constexpr uint64_t kSubscribers = 20'000;
  set({{"tatp_subscribers", "20000"}});
  const auto workload = make_workload("tatp");
  const auto database = load(*workload, 2);
  Tables tables(*database);

  uint64_t people = 0, msc_upper = 0, vlr_upper = 0;
  each<Subscriber>(tables.subscriber, [&](Key s_id, const Subscriber& row) {
    ++people;
    EXPECT_EQ(number_of(row.sub_nbr), s_id);
    EXPECT_TRUE(s_id >= 1 && s_id <= kSubscribers);
    EXPECT_TRUE(row.msc_location >= 1 && row.vlr_location >= 1);
    msc_upper += row.msc_location >> 31;
    vlr_upper += row.vlr_location >> 31;
  });
  EXPECT_EQ(people, kSubscribers);
  expect_share(msc_upper, people, 0.5, "upper half of msc_location");
  expect_share(vlr_upper, people, 0.5, "upper half of vlr_location");
  expect_uniform_bytes(tables.subscriber, "bit_", 2);
  expect_uniform_bytes(tables.subscriber, "hex_", 16);
  expect_uniform_bytes(tables.subscriber, "byte2_", 256);
  expect_uniform_bytes(tables.access_info, "data1", 256);
  expect_uniform_bytes(tables.access_info, "data2", 256);
  expect_uniform_bytes(tables.special_facility, "error_cntrl", 256);
  expect_uniform_bytes(tables.special_facility, "data_a", 256);

  // access_info and special_facility: one to four rows per subscriber, and equally frequent types.
  const auto expect_one_to_four = [&](const std::map<Key, uint32_t>& of_subscriber,
                                      const std::vector<uint64_t>& of_type, const char* what) {
    std::vector<uint64_t> counts(4);
    for (const auto& [s_id, count] : of_subscriber) ++counts.at(count - 1);
    EXPECT_EQ(of_subscriber.size(), kSubscribers) << what;
    expect_uniform(counts, what);
    expect_uniform(of_type, what);
  };
  const auto is_letters = [](const auto& field) {
    return std::ranges::all_of(field, [](char c) { return c >= 'A' && c <= 'Z'; });
  };
  std::map<Key, uint32_t> of_subscriber;
  std::vector<uint64_t> of_type(kTypes);
  each<AccessInfo>(tables.access_info, [&](Key key, const AccessInfo& row) {
    ++of_subscriber[subscriber_of(key)];
    ++of_type.at(type_of(key) - 1);
    EXPECT_TRUE(is_letters(row.data3) && is_letters(row.data4));
  });
  expect_one_to_four(of_subscriber, of_type, "access_info");

  of_subscriber.clear();
  of_type.assign(kTypes, 0);
  std::map<Key, uint32_t> of_facility;
  uint64_t active = 0;
  each<SpecialFacility>(tables.special_facility, [&](Key key, const SpecialFacility& row) {
    ++of_subscriber[subscriber_of(key)];
    ++of_type.at(type_of(key) - 1);
    of_facility[key] = 0;
    EXPECT_LE(row.is_active, 1);
    active += row.is_active;
    EXPECT_TRUE(is_letters(row.data_b));
  });
  expect_one_to_four(of_subscriber, of_type, "special_facility");
  expect_share(active, of_facility.size(), 0.85, "is_active");

  std::vector<uint64_t> of_start(kStarts), upper(2);
  each<CallForwarding>(tables.call_forwarding, [&](Key key, const CallForwarding& row) {
    ASSERT_TRUE(of_facility.contains(facility_of(key))) << "a foreign key";
    ++of_facility[facility_of(key)];
    ++of_start.at(start_of(key) / 8);
    const uint64_t number = number_of(row.numberx);
    ASSERT_TRUE(number >= 1 && number <= kSubscribers);
    ++upper.at(number > kSubscribers / 2);
  });
  std::vector<uint64_t> counts(kStarts + 1);
  for (const auto& [facility, count] : of_facility) ++counts.at(count);
  expect_uniform(counts, "call forwardings of a facility");
  expect_uniform(of_start, "start_time");
  expect_uniform(upper, "numberx");
}

TEST_F(TatpTest, EndTimesAreTheKitsOrTheTexts) {
  for (const auto& kind : {std::pair{"kit", 24}, {"text", 8}}) {
    const char* const name = kind.first;
    const int longest = kind.second;
    set({{"tatp_subscribers", "5000"}, {"tatp_end_times", name}});
    const auto workload = make_workload("tatp");
    const auto database = load(*workload, 2);
    std::vector<uint64_t> lengths(static_cast<size_t>(longest));
    each<CallForwarding>(Tables(*database).call_forwarding,
                         [&](Key key, const CallForwarding& row) {
                           ASSERT_GT(row.end_time, start_of(key));
                           ASSERT_LE(row.end_time - start_of(key), longest) << name;
                           ++lengths[row.end_time - start_of(key) - 1];
                         });
    expect_uniform(lengths, name);
    expect_consistent(*workload, *database);
  }
}

// Makes the input of `count` transactions of the type. Calls `show` with the first fields of each
// command. The tuple `Fields` has the types of these fields.
template <class Fields, class Show>
void draw(const char* type, uint64_t count, const Show& show) {
  ASSERT_FALSE(gflags::SetCommandLineOption("tatp_only", type).empty());
  const auto workload = make_workload("tatp");
  const auto database = load(*workload, 1);
  const auto client = workload->make_client(*database, 0, 1, 1);
  for (uint64_t i = 0; i < count; ++i) {
    client->next();
    Fields fields;
    CommandFields decode(client->command());
    std::apply([&](auto&... field) { decode(field...); }, fields);
    ASSERT_TRUE(decode.whole());
    std::apply(show, fields);
  }
}

TEST_F(TatpTest, SubscribersAreDrawnByNuRandOrUniformly) {
  constexpr uint64_t kSubscribers = 1000, kDraws = 300'000, kA = 65535;
  set({{"tatp_subscribers", "1000"}});
  std::vector<double> exact(kSubscribers);  // NURand(65535, 1, 1000)
  for (uint64_t a = 0; a <= kA; ++a) {
    for (uint64_t x = 1; x <= kSubscribers; ++x) exact[(a | x) % kSubscribers] += 1;
  }
  for (double& probability : exact) probability /= static_cast<double>((kA + 1) * kSubscribers);
  for (const char* uniform : {"0", "1"}) {
    set({{"test", std::string("tatp_uniform:") + uniform}});
    std::vector<uint64_t> drawn(kSubscribers), forwarded_to(kSubscribers);
    draw<std::tuple<Digits>>("UpdateLocation", kDraws,
                             [&](const Digits& sub_nbr) { ++drawn.at(number_of(sub_nbr) - 1); });
    draw<std::tuple<Digits, uint32_t, uint32_t, uint8_t, Digits>>(
        "InsertCallForwarding", kDraws,
        [&](const Digits&, uint32_t, uint32_t, uint8_t, const Digits& numberx) {
          ++forwarded_to.at(number_of(numberx) - 1);
        });
    if (uniform == std::string("1")) {
      expect_uniform(drawn, "s_id");
      expect_uniform(forwarded_to, "numberx");
    } else {
      expect_follows(drawn, exact, "s_id");
      expect_follows(forwarded_to, exact, "numberx");
    }
  }
}

TEST_F(TatpTest, InputFollowsTheSpecification) {
  std::vector<uint64_t> kinds(kTypes), bits(2), data_a(256), starts(kStarts), ends(24), upper(2);
  draw<std::tuple<Key, uint32_t, uint8_t, uint8_t>>(
      "UpdateSubscriberData", 100'000, [&](Key, uint32_t kind, uint8_t bit, uint8_t data) {
        ++kinds.at(kind - 1);
        ++bits.at(bit);
        ++data_a.at(data);
      });
  draw<std::tuple<Digits, uint32_t>>("UpdateLocation", 100'000,
                                     [&](const Digits&, uint32_t location) {
                                       ASSERT_GE(location, 1u);
                                       ++upper.at(location >> 31);
                                     });
  draw<std::tuple<Digits, uint32_t, uint32_t, uint8_t>>(
      "InsertCallForwarding", 100'000, [&](const Digits&, uint32_t, uint32_t start, uint8_t end) {
        ASSERT_EQ(start % 8, 0u);
        ++starts.at(start / 8);
        ++ends.at(end - 1u);
      });
  expect_uniform(kinds, "sf_type");
  expect_uniform(bits, "bit_1");
  expect_uniform(data_a, "data_a");
  expect_uniform(upper, "vlr_location");
  expect_uniform(starts, "start_time");
  expect_uniform(ends, "end_time");
}

// Returns the fraction of all possible inputs of GetNewDestination that find a row in the tables.
double destinations(Tables& tables, uint64_t subscribers) {
  std::map<Key, std::array<uint8_t, kStarts>> ends;  // of each active facility's forwardings
  each<SpecialFacility>(tables.special_facility, [&](Key key, const SpecialFacility& row) {
    if (row.is_active != 0) ends[key] = {};
  });
  each<CallForwarding>(tables.call_forwarding, [&](Key key, const CallForwarding& row) {
    const auto found = ends.find(facility_of(key));
    if (found != ends.end()) found->second[start_of(key) / 8] = row.end_time;
  });
  double good = 0;  // the number of inputs that find a row
  for (const auto& [facility, by_start] : ends) {
    uint8_t latest = 0;
    for (const uint8_t end : by_start) {
      latest = std::max(latest, end);
      if (latest > 0) good += std::min(latest - 1, 24);
    }
  }
  return good / (static_cast<double>(subscribers) * kTypes * kStarts * 24);
}

// The success rate of each type follows from the tables. For the expected population the rates are
// the specification's 62.5 and 31.25 %.
TEST_F(TatpTest, SuccessRatesFollowFromTheTables) {
  constexpr uint64_t kSubscribers = 5000, kDraws = 20'000;
  set({{"tatp_subscribers", "5000"}, {"test", "tatp_uniform:1"}});
  for (uint32_t type = 0; type < kTypeInfos.size(); ++type) {
    const std::string name(kTypeInfos[type].name);
    set({{"tatp_only", name}});
    const auto workload = make_workload("tatp");
    const auto database = load(*workload, 1);
    Tables tables(*database);
    const auto typed = static_cast<double>(kSubscribers * kTypes);
    const auto facilities = static_cast<double>(tables.special_facility.count_rows());
    const auto calls = static_cast<double>(tables.call_forwarding.count_rows());
    const std::array<double, kTypeInfos.size()> exact = {
        1,
        destinations(tables, kSubscribers),
        static_cast<double>(tables.access_info.count_rows()) / typed,
        facilities / typed,
        1,
        (facilities - calls / kStarts) / typed,
        calls / kStarts / typed};
    OneWorker worker(*database);
    const auto client = workload->make_client(*database, 0, 1, 1);
    uint64_t good = 0;
    for (uint64_t i = 0; i < kDraws; ++i) {
      client->next();
      good += worker.rehearse(*client) == Status::kOk;
    }
    expect_share(good, kDraws, exact[type], name);
    if (type == kGetNewDestination) continue;
    EXPECT_NEAR(100 * exact[type], kTypeInfos[type].success_pct, 1) << name;
  }
}

// The expected rates are exact averages over all inputs and all possible rows of a facility.
// The specification publishes 23.9 %. The end times that its program loads give 24.2 %. Inserted
// rows have end times in [1, 24]; as these rows replace the loaded rows, the rate falls to 19.1 %.
// The end times of the specification's text, start_time + [1, 8], give 14.8 %.
TEST_F(TatpTest, SuccessOfGetNewDestinationFollowsFromTheEndTimes) {
  for (const auto& [name, exact] : {std::pair{"kit", 0.24227}, std::pair{"text", 0.14788}}) {
    set({{"tatp_subscribers", "20000"}, {"tatp_end_times", name}});
    const auto workload = make_workload("tatp");
    const auto database = load(*workload, 1);
    Tables tables(*database);
    EXPECT_NEAR(destinations(tables, 20'000), exact, 0.006) << name;
  }
  set({{"tatp_subscribers", "500"}, {"test", "tatp_uniform:1"}, {"tatp_end_times", "kit"}});
  const auto workload = make_workload("tatp");
  const auto database = load(*workload, 1);
  Tables tables(*database);
  Outcome outcome;
  run(*workload, *database, all_protocols().front(), 1, 400'000, 1, outcome);
  EXPECT_NEAR(destinations(tables, 500), 0.19087, 0.03);
}

// Each write makes the changes of the specification, and updates the counts that verify() needs. A
// write changes nothing if it finds no row, or if the key of its insert exists already.
TEST_F(TatpTest, WritesDoWhatTheyShouldOrRollBack) {
  OneClient one("tatp");
  Tables tables(*one.database);
  Key with = 0, without = 0;  // a subscriber with a facility of type 2, and one without
  for (Key s_id = 100; s_id > 0; --s_id) {
    const bool has = tables.special_facility.primary().find(typed_key(s_id, 2), nullptr) != nullptr;
    (has ? with : without) = s_id;
  }
  ASSERT_TRUE(with != 0 && without != 0);
  const PreviousUpdate before{3, 4};  // a field of each command, which the write copies to the row
  const uint64_t as_loaded = fingerprint(*one.database);

  EXPECT_EQ(one.worker.execute(*one.client, kUpdateSubscriberData, without, 2u, uint8_t{1},
                               uint8_t{77}, before),
            Status::kRollback);
  EXPECT_EQ(fingerprint(*one.database), as_loaded) << "bit_1 keeps its value";

  Subscriber subscriber = row<Subscriber>(tables.subscriber, with);
  SpecialFacility facility = row<SpecialFacility>(tables.special_facility, typed_key(with, 2));
  const auto bit = static_cast<uint8_t>(1 - subscriber.bit[0]);
  const auto data_a = static_cast<uint8_t>(facility.data_a + 1);
  EXPECT_EQ(one.worker.execute(*one.client, kUpdateSubscriberData, with, 2u, bit, data_a, before),
            Status::kOk);
  subscriber.bit[0] = bit;
  subscriber.updates = subscriber.data_updates = 1;
  subscriber.previous = before;
  subscriber.seal = seal_of(with, subscriber);
  facility.data_a = data_a;
  facility.updates = 1;
  facility.seal = seal_of(typed_key(with, 2), facility);
  const auto expect_rows = [&] {
    const auto& now = row<Subscriber>(tables.subscriber, with);
    EXPECT_EQ(std::memcmp(&now, &subscriber, sizeof now), 0);
    const auto& other = row<SpecialFacility>(tables.special_facility, typed_key(with, 2));
    EXPECT_EQ(std::memcmp(&other, &facility, sizeof other), 0);
  };
  expect_rows();

  EXPECT_EQ(
      one.worker.execute(*one.client, kUpdateLocation, digits_of(with), 0xabcdu, PreviousUpdate{}),
      Status::kOk);
  subscriber.vlr_location = 0xabcd;
  subscriber.updates = 2;
  subscriber.previous = {};
  subscriber.seal = seal_of(with, subscriber);
  expect_rows();

  const Key call = forwarding_key(typed_key(with, 2), 8);
  const auto is_there = [&] {
    Keyed* entry = tables.call_forwarding.primary().find(call, nullptr);
    return entry != nullptr && !Table::tuple_of(entry)->load_version().absent();
  };
  const auto erase_it = [&] {
    return one.worker.execute(*one.client, kDeleteCallForwarding, digits_of(with), 2u, 8u);
  };
  const auto insert_it = [&](Key s_id) {
    return one.worker.execute(*one.client, kInsertCallForwarding, digits_of(s_id), 2u, 8u,
                              uint8_t{23}, digits_of(50));
  };
  if (is_there()) {
    EXPECT_EQ(erase_it(), Status::kOk);
  }
  EXPECT_EQ(erase_it(), Status::kRollback);
  EXPECT_EQ(insert_it(without), Status::kRollback) << "no such facility";
  EXPECT_FALSE(is_there());
  EXPECT_EQ(insert_it(with), Status::kOk);
  const CallForwarding& now = row<CallForwarding>(tables.call_forwarding, call);
  EXPECT_EQ(now.end_time, 23);
  EXPECT_EQ(now.numberx, digits_of(50));
  EXPECT_EQ(insert_it(with), Status::kRollback) << "the key is taken";
  EXPECT_EQ(erase_it(), Status::kOk);
  EXPECT_FALSE(is_there());
  expect_consistent(*make_workload("tatp"), *one.database);
}

}  // namespace
}  // namespace logjam

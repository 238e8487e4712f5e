// TATP's four tables ("Telecommunication Application Transaction Processing Benchmark Description",
// IBM 2009), the initial rows of one subscriber, the types of transactions, and the checks.
//
// Subscribers are numbered from 1. The key of table subscriber is s_id. The keys of access_info and
// special_facility are made of s_id and a type from 1 to 4. The key of call_forwarding is made of
// the key of a special facility and a start time of 0, 8 or 16 hours.
#pragma once

#include <cstring>

#include "workloads/ack_counter.h"
#include "workloads/previous_update.h"
#include "workloads/random.h"

namespace logjam::tatp {

using Digits = std::array<char, 15>;  // a number in decimal, padded with zeros

// Rows do not repeat their keys. Besides the columns in TATP's description, rows have members for
// verify(): the number of updates, the subscriber that the same worker updated before, and a seal,
// which is a hash of the key and of all members that change.
struct Subscriber {
  uint32_t msc_location, vlr_location;
  uint32_t updates;
  PreviousUpdate previous;
  uint16_t seal;
  uint8_t data_updates;  // updates by UpdateSubscriberData, modulo 2^8
  Digits sub_nbr;
  uint8_t bit[10], hex[10], byte2[10];
};
struct AccessInfo {
  uint8_t data1, data2;
  char data3[3], data4[5];
};
struct SpecialFacility {
  uint16_t updates;  // modulo 2^16
  uint16_t seal;
  uint8_t is_active, error_cntrl, data_a;
  char data_b[5];
};
struct CallForwarding {
  uint16_t seal;
  uint8_t end_time;
  Digits numberx;
};
static_assert(std::has_unique_object_representations_v<Subscriber> &&
              std::has_unique_object_representations_v<AccessInfo> &&
              std::has_unique_object_representations_v<SpecialFacility> &&
              std::has_unique_object_representations_v<CallForwarding>);

inline constexpr uint32_t kTypes = 4;   // number of types of access info, and of special facilities
inline constexpr uint32_t kStarts = 3;  // 0, 8, 16 o'clock

constexpr bool is_type(uint32_t type) { return type >= 1 && type <= kTypes; }
constexpr bool is_start(uint32_t hour) { return hour % 8 == 0 && hour < 8 * kStarts; }
constexpr Key typed_key(Key s_id, uint32_t type) {
  LJ_ASSERT_IN_TESTS(is_type(type));
  return s_id << 2 | (type - 1);
}
constexpr Key forwarding_key(Key facility, uint32_t start_time) {
  LJ_ASSERT_IN_TESTS(is_start(start_time));
  return facility << 2 | start_time / 8;
}
constexpr Key subscriber_of(Key typed) { return typed >> 2; }
constexpr uint32_t type_of(Key typed) { return static_cast<uint32_t>(typed & 3) + 1; }
constexpr Key facility_of(Key forwarding) { return forwarding >> 2; }
constexpr uint32_t start_of(Key forwarding) { return static_cast<uint32_t>(forwarding & 3) * 8; }

// Returns the last 15 digits of `number`.
Digits digits_of(uint64_t number);

// Subscriber's secondary index, by a hash. A search must also compare the number in the row.
inline constexpr size_t kBySubNbr = 0;
inline Key sub_nbr_key(const Digits& sub_nbr) {
  uint64_t low, high;
  std::memcpy(&low, sub_nbr.data(), 8);
  std::memcpy(&high, sub_nbr.data() + 7, 8);
  return mix64(low ^ mix64(high));
}

// Returns the seal that the row must have under `key`.
uint16_t seal_of(Key key, const Subscriber& row);
uint16_t seal_of(Key key, const SpecialFacility& row);
uint16_t seal_of(Key key, const CallForwarding& row);

// The end times of the initial call forwardings.
enum class EndTimes : uint8_t {
  kKit,   // start_time + [1, 24], as TATP's kit draws them (rnd("end_time_add"))
  kText,  // start_time + [1, 8], as TATP's description says
};

// The parameters from which the initial rows follow.
struct Population {
  uint64_t subscribers = 100'000;
  EndTimes end_times = EndTimes::kKit;
};

// The initial rows of a subscriber, which follow from s_id and the population. An element of
// `access`, `facility` or `forwarding` is a row only if the same element of `has_access`,
// `has_facility` or `has_forwarding` is true.
struct Person {
  Person(uint64_t s_id, const Population& population);

  Subscriber subscriber{};
  std::array<bool, kTypes> has_access{}, has_facility{};
  std::array<AccessInfo, kTypes> access{};
  std::array<SpecialFacility, kTypes> facility{};
  std::array<std::array<bool, kStarts>, kTypes> has_forwarding{};
  std::array<std::array<CallForwarding, kStarts>, kTypes> forwarding{};
};

struct Tables {
  explicit Tables(Database& database_in) : database(database_in) {}
  Database& database;
  Table& subscriber = database.table("subscriber");
  Table& access_info = database.table("access_info");
  Table& special_facility = database.table("special_facility");
  Table& call_forwarding = database.table("call_forwarding");
};

enum Type : uint32_t {
  kGetSubscriberData,
  kGetNewDestination,
  kGetAccessData,
  kUpdateSubscriberData,
  kUpdateLocation,
  kInsertCallForwarding,
  kDeleteCallForwarding,
};

struct TypeInfo {
  std::string_view name;
  uint32_t share_pct;
  double success_pct;
};
// The shares and success rates, in per cent, that the specification demands.
inline constexpr std::array<TypeInfo, 7> kTypeInfos = {{
    {"GetSubscriberData", 35, 100},
    {"GetNewDestination", 10, 23.9},
    {"GetAccessData", 35, 62.5},
    {"UpdateSubscriberData", 2, 62.5},
    {"UpdateLocation", 14, 100},
    {"InsertCallForwarding", 2, 31.25},
    {"DeleteCallForwarding", 2, 31.25},
}};

// The acknowledged changes of all clients of a run.
struct Acknowledged {
  AckCounter forwardings;  // inserted call forwardings, minus deleted call forwardings
  AckCounter updates;      // updates of subscribers
};

// Checks that each column is as loaded, or a value that transactions write, and that the rows'
// updates are as many as were acknowledged. Also checks all references between tables, and all
// postings. `any_order`: see Workload::note_any_order(). Call it when no transaction runs.
std::vector<Check> verify(Database& database, const Population& population,
                          const Acknowledged& acknowledged, bool any_order);

}  // namespace logjam::tatp

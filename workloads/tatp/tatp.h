// TATP's four tables ("Telecommunication Application Transaction Processing Benchmark Description",
// IBM 2009), the initial rows of one subscriber, the seven transactions, and the checks.
//
// Subscribers are numbered from 1. The key of table subscriber is s_id. The keys of access_info and
// special_facility are made of s_id and a type from 1 to 4. The key of call_forwarding is made of
// the key of a special facility and a start time of 0, 8 or 16 hours.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/storage/database.h"
#include "engine/workload.h"
#include "platform/assert.h"
#include "workloads/ack_counter.h"
#include "workloads/command.h"
#include "workloads/previous_update.h"
#include "workloads/random.h"

namespace logjam::tatp {

using Digits = std::array<char, 15>;  // a number in decimal, padded with zeros

// Rows have no columns for their keys. In their place are members that the description does not
// have, for verify(): counts of the row's updates, the previous update of a subscriber by the same
// worker, and a seal, which is a hash of the key and of everything that changes.
struct Subscriber {
  uint32_t msc_location;
  uint32_t vlr_location;
  uint32_t updates;
  PreviousUpdate previous;
  uint16_t seal;
  uint8_t data_updates;  // updates by UpdateSubscriberData, modulo 2^8
  Digits sub_nbr;
  uint8_t bit[10];
  uint8_t hex[10];
  uint8_t byte2[10];
};
struct AccessInfo {
  uint8_t data1;
  uint8_t data2;
  char data3[3];
  char data4[5];
};
struct SpecialFacility {
  uint16_t updates;  // modulo 2^16
  uint16_t seal;
  uint8_t is_active;
  uint8_t error_cntrl;
  uint8_t data_a;
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

inline constexpr uint32_t kTypes = 4;   // of access info, and of special facilities
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

// Returns the columns, for exports, under the names of the description.
Columns subscriber_columns();
Columns access_info_columns();
Columns special_facility_columns();
Columns call_forwarding_columns();

// Returns the last 15 digits of `number`.
Digits digits_of(uint64_t number);

// The secondary index of table subscriber. Its keys are hashes, so a reader must also compare the
// number.
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

// The parameters of the initial rows.
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
  explicit Tables(Database& database)
      : subscriber(database.table("subscriber")),
        access_info(database.table("access_info")),
        special_facility(database.table("special_facility")),
        call_forwarding(database.table("call_forwarding")) {}
  Table& subscriber;
  Table& access_info;
  Table& special_facility;
  Table& call_forwarding;
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
// The shares and success rates of the specification.
inline constexpr std::array<TypeInfo, 7> kTypeInfos = {{
    {"GetSubscriberData", 35, 100},
    {"GetNewDestination", 10, 23.9},
    {"GetAccessData", 35, 62.5},
    {"UpdateSubscriberData", 2, 62.5},
    {"UpdateLocation", 14, 100},
    {"InsertCallForwarding", 2, 31.25},
    {"DeleteCallForwarding", 2, 31.25},
}};

struct Options {
  Population population;
  bool uniform = false;
  std::optional<Type> only;  // run this type alone; if empty, the standard mix
};

// The acknowledged changes of all clients of a run.
struct Acknowledged {
  AckCounter forwardings;  // inserted, minus deleted
  AckCounter updates;      // of subscribers
};

// A read that finds no row is a miss, and commits. A write that finds no row, or an insert that
// finds its key taken, rolls back with all earlier writes of the transaction (TATP's kit, client.c,
// runTransaction). So the rate of commits is the kit's MQTh, which counts failed reads but no
// failed writes.
//
// Options, counters and database must outlive the client. The worker's thread calls all functions
// except the constructor and the destructor.
class TatpClient : public Client {
 public:
  TatpClient(const Options& options, Acknowledged& acknowledged, Database& database,
             uint32_t worker, uint64_t seed);
  ~TatpClient() override;

  uint32_t next() override;
  Status execute(Transaction& txn) override;

  std::span<const std::byte> command() override;
  bool take(uint32_t type, std::span<const std::byte> input) override;

  // Returns the type as the transaction's number, because all committed transactions of a type have
  // made the same changes.
  uint64_t committing() override { return type_; }
  void acknowledged(uint64_t type) override {
    LJ_ASSERT_IN_TESTS(type < acknowledged_types_.size());
    ++acknowledged_types_[type];
  }

 private:
  uint64_t draw_subscriber();
  // Encodes the input of the types that write into a command, or decodes it.
  void input(CommandFields& fields);

  Status get_subscriber_data(Transaction& txn);
  Status get_new_destination(Transaction& txn);
  Status get_access_data(Transaction& txn);
  Status update_subscriber_data(Transaction& txn);
  Status update_location(Transaction& txn);
  Status insert_call_forwarding(Transaction& txn);
  Status delete_call_forwarding(Transaction& txn);
  // Looks up the subscriber with the number sub_nbr_. Returns false if the transaction must abort.
  bool find_by_number(Transaction& txn, Key* s_id);
  // Counts an update of the subscriber in its row, and seals the row.
  void sign(Key s_id, Subscriber* row);

  const Options& options_;
  Acknowledged& acknowledged_;
  Tables tables_;
  Random random_;
  const uint64_t a_;  // NURand's parameter A
  std::array<uint64_t, kTypeInfos.size()> acknowledged_types_{};
  uint64_t shown_ = 0;  // a sum, so that the compiler cannot drop the reads

  Type type_ = kGetSubscriberData;
  Key s_id_ = 0;
  Digits sub_nbr_{};
  uint32_t kind_ = 1;  // ai_type or sf_type
  uint32_t start_time_ = 0;
  uint8_t end_time_ = 0;
  uint8_t bit_ = 0;
  uint8_t data_a_ = 0;
  uint32_t location_ = 0;
  Digits numberx_{};
  // The worker's last update of a subscriber: before the drawn transaction, and after the
  // transaction executed last, if that transaction commits.
  PreviousUpdate before_, last_;
  std::vector<std::byte> command_;
};

// Checks that columns which no transaction changes are as loaded, that the others are as
// transactions wrote them, that the counts of updates agree, and that each reference between tables
// and each posting leads to the right row. Call it when no transaction runs.
std::vector<Check> verify(Database& database, const Population& population,
                          const Acknowledged& acknowledged);

}  // namespace logjam::tatp

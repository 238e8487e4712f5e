// TATP's seven transactions. The shares and success rates in kTypeInfos are the specification's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/workload.h"
#include "workloads/ack_counter.h"
#include "workloads/command.h"
#include "workloads/random.h"
#include "workloads/tatp/rows.h"

namespace logjam::tatp {

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

// A read that finds no row is a miss: it commits. A write that finds no row, or finds its key
// taken, rolls back with all earlier writes of the transaction (TATP's kit, client.c,
// runTransaction). So the rate of commits is the kit's MQTh, which counts failed reads and no
// failed writes.
//
// Options, counters and database must outlive the client. All functions except the constructor and
// the destructor are called by the worker's thread only.
class TatpClient : public Client {
 public:
  TatpClient(const Options& options, Acknowledged& acknowledged, Database& database,
             uint32_t worker, uint64_t seed);
  ~TatpClient() override;

  uint32_t next() override;
  Status execute(Transaction& txn) override;

  std::span<const std::byte> command() override;
  bool take(uint32_t type, std::span<const std::byte> input) override;

  // Returns the type as the transaction's number: all transactions of a type that commit have made
  // the same kind of changes.
  uint64_t committing() override { return type_; }
  void acknowledged(uint64_t type) override { ++acknowledged_types_[type]; }

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
  PreviousUpdate before_;  // the worker's update of a subscriber before the drawn transaction
  PreviousUpdate last_;    // and after the transaction executed last, if that commits
  std::vector<std::byte> command_;
};

}  // namespace logjam::tatp

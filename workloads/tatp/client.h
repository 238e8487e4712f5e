// TATP's seven transactions. The shares and success rates in kTypeInfos are the specification's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/workload.h"
#include "workloads/command.h"
#include "workloads/common.h"
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
  uint64_t subscribers = 100'000;
  bool uniform = false;
  std::optional<Type> only;  // run this type alone; if empty, the standard mix
};

// Options, counter and database must outlive the client. The worker's thread calls all functions
// but the constructor and the destructor.
class TatpClient : public Client {
 public:
  // `ack_counter` gets the number of call forwardings inserted, minus the number deleted.
  TatpClient(const Options& options, AckCounter& ack_counter, Database& database, uint32_t worker,
             uint64_t seed);
  ~TatpClient() override { ack_counter_.add(forwardings_); }

  uint32_t next() override;
  Status execute(Transaction& txn) override;

  std::span<const std::byte> command() override;
  bool take(uint32_t type, std::span<const std::byte> input) override;

  // The number of a transaction is 1 plus the change that it makes to the number of call
  // forwardings (1, 0 or -1 modulo 2^64).
  uint64_t committing() override { return added_ + 1; }
  void acknowledged(uint64_t number) override { forwardings_ += number - 1; }

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

  const Options& options_;
  AckCounter& ack_counter_;
  Tables tables_;
  Random random_;
  const uint64_t a_;  // NURand's parameter A
  uint64_t forwardings_ = 0;
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
  uint64_t added_ = 0;  // 1: inserted a call forwarding; -1 modulo 2^64: deleted one
  std::vector<std::byte> command_;
};

}  // namespace logjam::tatp

// TATP's seven transactions.
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
  std::optional<Type> only;  // else the standard mix
};

class TatpClient : public Client {
 public:
  // `tally` counts call forwardings inserted, less those deleted.
  TatpClient(const Options& options, Tally& tally, Database& database, uint32_t worker,
             uint64_t seed);
  ~TatpClient() override { tally_.add(forwardings_); }

  uint32_t next() override;
  Status execute(Transaction& txn) override;

  std::span<const std::byte> command() override;
  bool take(uint32_t type, std::span<const std::byte> input) override;

  // The number is one more than what the transaction adds to the forwardings.
  uint64_t committing() override { return added_ + 1; }
  void acknowledged(uint64_t number) override { forwardings_ += number - 1; }

 private:
  uint64_t draw_subscriber();
  // What the types that write are asked to do.
  void input(CommandFields& fields);

  Status get_subscriber_data(Transaction& txn);
  Status get_new_destination(Transaction& txn);
  Status get_access_data(Transaction& txn);
  Status update_subscriber_data(Transaction& txn);
  Status update_location(Transaction& txn);
  Status insert_call_forwarding(Transaction& txn);
  Status delete_call_forwarding(Transaction& txn);
  // The subscriber with number sub_nbr_; false if the transaction must give up.
  bool find_by_number(Transaction& txn, Key* s_id);

  const Options& options_;
  Tally& tally_;
  Tables tables_;
  Random random_;
  const uint64_t a_;  // NURand's
  uint64_t forwardings_ = 0;
  uint64_t shown_ = 0;  // keeps what is read from being optimized away

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
  uint64_t added_ = 0;  // 1: inserted one, -1: deleted one
  std::vector<std::byte> command_;
};

}  // namespace logjam::tatp

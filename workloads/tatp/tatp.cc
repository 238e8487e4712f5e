// TATP: its flags, its population, and its place in the registry.
#include "workloads/tatp/tatp.h"

#include <gflags/gflags.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/workload.h"
#include "platform/test_value.h"
#include "platform/text.h"
#include "workloads/parallel_check.h"

DEFINE_uint64(tatp_subscribers, 100'000, "subscribers");
DEFINE_string(tatp_end_times, "kit",
              "end times of the initial call forwardings; kit: start_time + [1, 24], which TATP's "
              "program draws; text: start_time + [1, 8], which its description says");
DEFINE_string(tatp_only, "",
              "one transaction type instead of the mix, like UpdateLocation or GetSubscriberData");

namespace logjam::tatp {
namespace {

// Draws subscribers uniformly if it is 1, and not by the specification's NURand.
const platform::TestValue drawn_uniformly("tatp_uniform");

constexpr uint64_t kMaxSubscribers = 1'000'000'000;

std::optional<Type> type_named(std::string_view name) {
  for (uint32_t type = 0; type < kTypeInfos.size(); ++type) {
    if (kTypeInfos[type].name == name) return static_cast<Type>(type);
  }
  return std::nullopt;
}

std::optional<EndTimes> end_times_named(std::string_view name) {
  if (name == "kit") return EndTimes::kKit;
  if (name == "text") return EndTimes::kText;
  return std::nullopt;
}

std::string check_flags() {
  if (FLAGS_tatp_subscribers < 1 || FLAGS_tatp_subscribers > kMaxSubscribers) {
    return "--tatp_subscribers is 1 to " + std::to_string(kMaxSubscribers);
  }
  if (!FLAGS_tatp_only.empty() && !type_named(FLAGS_tatp_only)) {
    return "--tatp_only is one of " + platform::join(kTypeInfos, ", ", &TypeInfo::name) +
           ", not \"" + FLAGS_tatp_only + "\"";
  }
  if (!end_times_named(FLAGS_tatp_end_times)) {
    return "--tatp_end_times is kit or text, not \"" + FLAGS_tatp_end_times + "\"";
  }
  return "";
}

Key sub_nbr_key_of(Key, const std::byte* row) {
  return sub_nbr_key(reinterpret_cast<const Subscriber*>(row)->sub_nbr);
}

class Tatp : public Workload {
 public:
  explicit Tatp(const Options& options) : options_(options) {}

  // Creates the tables. On average a subscriber has two and a half rows of access_info and of
  // special_facility, and a special facility has one and a half rows of call_forwarding.
  void create_tables(Database& database) override {
    const uint64_t n = options_.population.subscribers;
    database.create_table({"subscriber",
                           sizeof(Subscriber),
                           IndexKind::kHash,
                           n,
                           {{"sub_nbr", IndexKind::kHash, true, sub_nbr_key_of}},
                           subscriber_columns()});
    database.create_table({"access_info",
                           sizeof(AccessInfo),
                           IndexKind::kHash,
                           n * 5 / 2,
                           {},
                           access_info_columns()});
    database.create_table({"special_facility",
                           sizeof(SpecialFacility),
                           IndexKind::kOrdered,
                           n * 5 / 2,
                           {},
                           special_facility_columns()});
    database.create_table({"call_forwarding",
                           sizeof(CallForwarding),
                           IndexKind::kOrdered,
                           n * 15 / 4,
                           {},
                           call_forwarding_columns()});
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    Tables tables(database);
    const uint64_t n = options_.population.subscribers;
    for (uint64_t s_id = n * part / parts + 1; s_id <= n * (part + 1) / parts; ++s_id) {
      const Person person(s_id, options_.population);
      tables.subscriber.load(s_id, &person.subscriber, arena);
      for (uint32_t i = 0; i < kTypes; ++i) {
        const Key key = typed_key(s_id, i + 1);
        if (person.has_access[i]) tables.access_info.load(key, &person.access[i], arena);
        if (person.has_facility[i]) tables.special_facility.load(key, &person.facility[i], arena);
        for (uint32_t start = 0; start < kStarts; ++start) {
          if (!person.has_forwarding[i][start]) continue;
          tables.call_forwarding.load(forwarding_key(key, start * 8), &person.forwarding[i][start],
                                      arena);
        }
      }
    }
  }

  Specification spec() const override {
    const uint64_t n = options_.population.subscribers;
    Specification spec{.description = description(),
                       .expected_bytes = table_bytes(n, sizeof(Subscriber), 1) +
                                         table_bytes(n * 5 / 2, sizeof(AccessInfo)) +
                                         table_bytes(n * 5 / 2, sizeof(SpecialFacility)) +
                                         table_bytes(n * 15 / 4, sizeof(CallForwarding)),
                       // MQTh has no failed writes, which roll back; achieved_s counts them too.
                       .headline = Headline{.name = "MQTh"}};
    for (const TypeInfo& type : kTypeInfos) {
      const double share = options_.only ? (*options_.only == spec.types.size() ? 100 : 0)
                                         : static_cast<double>(type.share_pct);
      spec.types.push_back({type.name, {{share, type.success_pct}}});
    }
    return spec;
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    return std::make_unique<TatpClient>(options_, acknowledged_, database, worker, seed);
  }

  void resume(Database& database) override {
    Tables tables(database);
    acknowledged_.forwardings.resume(count_rows(tables.call_forwarding));
    acknowledged_.updates.resume(sum_of_rows(tables.subscriber, [](Key, const std::byte* row) {
      return reinterpret_cast<const Subscriber*>(row)->updates;
    }));
  }

  std::vector<Check> verify(Database& database) override {
    return tatp::verify(database, options_.population, acknowledged_);
  }

 private:
  std::string description() const {
    return "tatp: " + std::to_string(options_.population.subscribers) + " subscribers, drawn " +
           (options_.uniform ? "uniformly" : "by NURand") + ", " +
           (options_.only ? std::string(kTypeInfos[*options_.only].name) + " only"
                          : "the standard mix") +
           ", end times of the " +
           (options_.population.end_times == EndTimes::kKit ? "kit" : "text");
  }

  const Options options_;
  Acknowledged acknowledged_;
};

const WorkloadRegistration registration({
    .name = "tatp",
    .what =
        "TATP's seven short transactions of a phone network's subscribers; reads that find nothing "
        "are told apart, writes roll back",
    .memory = "0.8 kB a subscriber",
    .load_flags = {"tatp_subscribers", "tatp_end_times"},
    .check_flags = check_flags,
    .make =
        [] {
          return std::make_unique<Tatp>(Options{
              .population = {FLAGS_tatp_subscribers, *end_times_named(FLAGS_tatp_end_times)},
              .uniform = drawn_uniformly.get() != 0,
              .only = type_named(FLAGS_tatp_only)});
        },
    .has_commands = true,
});

}  // namespace
}  // namespace logjam::tatp

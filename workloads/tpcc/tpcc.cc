// TPC-C: its flags, its mix, and its place in the registry.
#include <gflags/gflags.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>

#include "engine/workload.h"
#include "workloads/tpcc/load.h"
#include "workloads/tpcc/schema.h"
#include "workloads/tpcc/terminal.h"
#include "workloads/tpcc/verify.h"

DEFINE_uint32(tpcc_warehouses, 1, "tpcc: warehouses");
DEFINE_uint32(tpcc_items, 100'000, "tpcc: items (the specification's 100000, or fewer for tests)");
DEFINE_uint32(tpcc_customers, 3000,
              "tpcc: customers of a district (the specification's 3000, or fewer for tests)");
DEFINE_string(tpcc_home, "fixed",
              "tpcc: fixed (worker w works for warehouse w modulo their number) or any (drawn anew "
              "for every transaction)");
DEFINE_string(tpcc_mix, "50/50",
              "tpcc: shares of NewOrder and Payment, as weights; order-status, delivery and "
              "stock-level may follow as 0");

namespace logjam::tpcc {
namespace {

constexpr uint32_t kMaxWarehouses = (1u << kWarehouseBits) - 1;
constexpr uint32_t kMaxItems = (1u << kItemBits) - 2;  // one number stays unused, for rollbacks
constexpr uint32_t kMinCustomers = 10, kMaxCustomers = 3000;
constexpr uint32_t kMaxWeight = 1'000'000;

using Mix = std::array<uint32_t, kTypes.size()>;

uint32_t total(const Mix& mix) {
  uint32_t sum = 0;
  for (const uint32_t weight : mix) sum += weight;
  return sum;
}

// Two or five weights separated by '/'.
std::optional<Mix> parse_mix(std::string_view text) {
  Mix mix{};
  size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (count < mix.size()) {
    const auto [after, error] = std::from_chars(at, end, mix[count++]);
    if (error != std::errc() || mix[count - 1] > kMaxWeight) return std::nullopt;
    at = after;
    if (at == end) break;
    if (*at++ != '/') return std::nullopt;
  }
  if (at != end || (count != 2 && count != mix.size()) || total(mix) == 0) return std::nullopt;
  return mix;
}

std::string check_flags() {
  if (FLAGS_tpcc_warehouses < 1 || FLAGS_tpcc_warehouses > kMaxWarehouses) {
    return "--tpcc_warehouses is 1 to " + std::to_string(kMaxWarehouses);
  }
  if (FLAGS_tpcc_items < 1 || FLAGS_tpcc_items > kMaxItems) {
    return "--tpcc_items is 1 to " + std::to_string(kMaxItems);
  }
  if (FLAGS_tpcc_customers < kMinCustomers || FLAGS_tpcc_customers > kMaxCustomers) {
    return "--tpcc_customers is " + std::to_string(kMinCustomers) + " to " +
           std::to_string(kMaxCustomers);
  }
  if (FLAGS_tpcc_home != "fixed" && FLAGS_tpcc_home != "any") {
    return "--tpcc_home is fixed or any, not \"" + FLAGS_tpcc_home + "\"";
  }
  const std::optional<Mix> mix = parse_mix(FLAGS_tpcc_mix);
  if (!mix) {
    return "--tpcc_mix is two or five weights, like 50/50 or 45/43/0/0/0, not \"" + FLAGS_tpcc_mix +
           "\"";
  }
  for (size_t type = 0; type < kTypes.size(); ++type) {
    if ((*mix)[type] != 0 && kTypes[type].make == nullptr) {
      return "--tpcc_mix=" + FLAGS_tpcc_mix +
             " is refused: order-status, delivery and stock-level are not available yet";
    }
  }
  return "";
}

class TpccClient : public Client {
 public:
  TpccClient(Database& database, const Scale& scale, uint32_t worker, bool fixed_home,
             const Mix& mix, uint64_t seed)
      : terminal_(database, scale, worker, fixed_home, seed), mix_(mix), total_(total(mix)) {
    for (size_t type = 0; type < kTypes.size(); ++type) {
      if (kTypes[type].make != nullptr) types_[type] = kTypes[type].make(terminal_);
    }
  }

  uint32_t next() override {
    uint64_t drawn = terminal_.random.below(total_);
    uint32_t type = 0;
    while (drawn >= mix_[type]) drawn -= mix_[type++];
    current_ = types_[type].get();
    current_->draw();
    return type;
  }

  Status execute(Transaction& txn) override { return current_->execute(txn); }

 private:
  Terminal terminal_;
  const Mix mix_;
  const uint32_t total_;
  std::array<std::unique_ptr<TransactionType>, kTypes.size()> types_;
  TransactionType* current_ = nullptr;
};

class Tpcc : public Workload {
 public:
  Tpcc(const Scale& scale, bool fixed_home, const Mix& mix)
      : scale_(scale), fixed_home_(fixed_home), mix_(mix) {}

  void create_tables(Database& database) override { tpcc::create_tables(database, scale_); }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    tpcc::load(database, scale_, part, parts, arena);
  }

  std::vector<std::string_view> types() const override {
    std::vector<std::string_view> names;
    for (const TypeInfo& type : kTypes) {
      if (type.make != nullptr) names.push_back(type.name);
    }
    return names;
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    return std::make_unique<TpccClient>(database, scale_, worker, fixed_home_, mix_, seed);
  }

  std::vector<Check> verify(Database& database) override { return tpcc::verify(database, scale_); }

  std::string describe() const override {
    const double hundredth = total(mix_) / 100.0;
    char text[256];
    std::snprintf(text, sizeof text,
                  "tpcc: %u warehouse%s, %u items, %u customers a district, NewOrder %.4g %% and "
                  "Payment %.4g %%, %s",
                  scale_.warehouses, scale_.warehouses == 1 ? "" : "s", scale_.items,
                  scale_.customers, mix_[0] / hundredth, mix_[1] / hundredth,
                  fixed_home_ ? "a home warehouse for every worker" : "no home warehouse");
    return text;
  }

  uint64_t expected_bytes() const override { return loaded_bytes(scale_); }

 private:
  const Scale scale_;
  const bool fixed_home_;
  const Mix mix_;
};

const WorkloadRegistration registration({
    .name = "tpcc",
    .what = "TPC-C's NewOrder and Payment, consistency conditions checked",
    .memory = "102 MB a warehouse, 13 MB of items",
    .load_flags = {"tpcc_warehouses", "tpcc_items", "tpcc_customers"},
    .check_flags = check_flags,
    .make =
        [] {
          return std::make_unique<Tpcc>(Scale{.warehouses = FLAGS_tpcc_warehouses,
                                              .items = FLAGS_tpcc_items,
                                              .customers = FLAGS_tpcc_customers},
                                        FLAGS_tpcc_home == "fixed",
                                        parse_mix(FLAGS_tpcc_mix).value_or(Mix{50, 50}));
        },
});

}  // namespace
}  // namespace logjam::tpcc

// TPC-C: its flags, its mix, and its entry in the registry of workloads.
#include <gflags/gflags.h>

#include <charconv>
#include <cstdio>

#include "platform/mutex.h"
#include "workloads/flag_refusals.h"
#include "workloads/table_checks.h"
#include "workloads/tpcc/checks.h"
#include "workloads/tpcc/load.h"
#include "workloads/tpcc/terminal.h"

DEFINE_uint32(tpcc_warehouses, 1, "warehouses");
DEFINE_uint32(tpcc_items, 100'000, "items; the specification has 100000");
DEFINE_uint32(tpcc_customers, 3000, "customers of a district; the specification has 3000");
DEFINE_string(
    tpcc_home, "split",
    "which warehouses a worker works for; split: its share of all, as in Silo; fixed: worker w for "
    "warehouse w modulo their number, so that a warehouse may have no worker; any: drawn from all "
    "for every transaction");
DEFINE_string(
    tpcc_mix, "standard",
    "transaction types; standard (45,43,4,4,4), np (50,50,0,0,0), neworder (100,0,0,0,0), "
    "or weights of NewOrder, Payment, Order-Status, Delivery and Stock-Level");

namespace logjam::tpcc {
namespace {

constexpr uint32_t kMaxWarehouses = (1u << kWarehouseBits) - 1;
constexpr uint32_t kMaxItems = (1u << kItemBits) - 2;  // one number is unused, for rollbacks
constexpr uint32_t kMinCustomers = 10, kMaxCustomers = 3000;
constexpr uint32_t kMaxWeight = 1'000'000;
// The growth of the tables: 600 B for each of at most 640,000 transactions per second.
constexpr uint64_t kGrowthBytesS = 384'000'000;

using Mix = std::array<uint32_t, kTypes.size()>;

// The shares of four types are the minimum shares of clause 5.2.3. NewOrder has the other 45 %.
constexpr Mix kStandard = {45, 43, 4, 4, 4};

uint32_t total(const Mix& mix) { return std::accumulate(mix.begin(), mix.end(), 0u); }

// Parses a mix: the name of a preset, or five weights separated by commas.
std::optional<Mix> parse_mix(std::string_view text) {
  if (text == "standard") return kStandard;
  if (text == "np") return Mix{50, 50};     // Poplar, ELEDA
  if (text == "neworder") return Mix{100};  // P-WAL
  Mix mix{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t type = 0; type < mix.size(); ++type) {
    const auto [after, error] = std::from_chars(at, end, mix[type]);
    if (error != std::errc() || mix[type] > kMaxWeight) return std::nullopt;
    const bool last = type + 1 == mix.size();
    if (last != (after == end) || (!last && *after != ',')) return std::nullopt;
    at = after + 1;
  }
  return total(mix) == 0 ? std::nullopt : std::optional(mix);
}

std::optional<HomePolicy> parse_home(std::string_view text) {
  if (text == "split") return HomePolicy::kSplit;
  if (text == "fixed") return HomePolicy::kFixed;
  if (text == "any") return HomePolicy::kAny;
  return std::nullopt;
}

std::string check_flags() {
  return first_refusal(
      {refuse_outside("tpcc_warehouses", FLAGS_tpcc_warehouses, 1, kMaxWarehouses),
       refuse_outside("tpcc_items", FLAGS_tpcc_items, 1, kMaxItems),
       refuse_outside("tpcc_customers", FLAGS_tpcc_customers, kMinCustomers, kMaxCustomers),
       refuse_unless(parse_home(FLAGS_tpcc_home).has_value(), "--tpcc_home is split, fixed or any",
                     FLAGS_tpcc_home),
       refuse_unless(parse_mix(FLAGS_tpcc_mix).has_value(),
                     "--tpcc_mix is standard, np, neworder, or five weights like 45,43,4,4,4",
                     FLAGS_tpcc_mix)});
}

// The counts of draws by all clients of a run. A client adds its counts in its destructor.
struct DrawnByAll {
  platform::mutex mutex;
  Drawn sum LJ_GUARDED_BY(mutex);
};

class TpccClient : public Client {
 public:
  TpccClient(Database& database, const Scale& scale, uint32_t worker, const Home& home,
             const Mix& mix, uint64_t seed, DrawnByAll& drawn, uint64_t payments, Date clock)
      : terminal_(database, scale, worker, home, seed),
        mix_(mix),
        total_(total(mix)),
        drawn_(drawn) {
    LJ_ASSERT(total_ > 0);
    terminal_.payments = payments;
    terminal_.clock = clock;
    for (size_t type = 0; type < kTypes.size(); ++type) types_[type] = kTypes[type].make(terminal_);
  }
  ~TpccClient() override {
    const platform::lock_guard<platform::mutex> hold(drawn_.mutex);
    add_part(drawn_.sum, terminal_.drawn);
  }

  uint32_t next() override {
    uint64_t drawn = terminal_.random.below(total_);
    uint32_t type = 0;
    while (drawn >= mix_[type]) drawn -= mix_[type++];
    LJ_ASSERT_IN_TESTS(type < kTypes.size());
    current_ = types_[type].get();
    current_->draw();
    return type;
  }

  Status execute(Transaction& txn) override { return current_->execute(txn); }

  std::span<const std::byte> command() override {
    command_.clear();
    CommandFields fields(&command_);
    current_->input(fields);
    return command_;
  }
  bool take(uint32_t type, std::span<const std::byte> input) override {
    current_ = types_[type].get();
    CommandFields fields(input);
    current_->input(fields);
    return fields.ended() && !input.empty();
  }

 private:
  Terminal terminal_;
  const Mix mix_;
  const uint32_t total_;
  DrawnByAll& drawn_;
  std::array<std::unique_ptr<TransactionType>, kTypes.size()> types_;
  TransactionType* current_ = nullptr;
  std::vector<std::byte> command_;
};

class Tpcc : public Workload {
 public:
  Tpcc(const Scale& scale, HomePolicy home, const Mix& mix)
      : scale_(scale), home_(home), mix_(mix) {}

  void create_tables(Database& database) override { tpcc::create_tables(database, scale_); }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    const Tables tables(database);
    visit_population(scale_, part, parts, [&]<class Row>(Key key, const Row& row) {
      tables.of<Row>().load(key, &row, arena);
    });
  }

  // Finds each worker's last payment, and the latest date, from which all terminals continue.
  void resume(Database& database) override {
    Table& history = Tables(database).history;
    last_payments_ = last_keys_of_workers(history, kHistoryBits, kLoadedHistory);
    for (const auto& [worker, key] : last_payments_) {
      clock_ = std::max(clock_, find_row<History>(history, key)->date);
    }
  }

  Specification spec() const override {
    char text[256];
    std::snprintf(
        text, sizeof text, "tpcc: %u warehouse%s, %u items, %u customers a district, %s; ",
        scale_.warehouses, scale_.warehouses == 1 ? "" : "s", scale_.items, scale_.customers,
        home_ == HomePolicy::kSplit   ? "split among the workers"
        : home_ == HomePolicy::kFixed ? "one for every worker"
                                      : "all for every worker");
    std::string said = text;
    for (size_t type = 0; type < kTypes.size(); ++type) {
      std::snprintf(text, sizeof text, "%s%s %.4g %%", type == 0 ? "" : ", ",
                    std::string(kTypes[type].name).c_str(), 100.0 * mix_[type] / total(mix_));
      said += text;
    }
    Specification spec{.description = said,
                       .expected_bytes = loaded_bytes(scale_),
                       .growth_bytes_s = kGrowthBytesS};
    // Clause 2.4.1.4 requires that 1 % of NewOrders are rolled back, so 99 % succeed.
    for (size_t type = 0; type < kTypes.size(); ++type) {
      spec.types.push_back(
          {kTypes[type].name, {{100.0 * mix_[type] / total(mix_), type == 0 ? 99.0 : 100.0}}});
    }
    // This figure is not tpmC, which demands keying times, think times and a price. As tpmC does,
    // it includes NewOrders that are rolled back by clause 2.4.1.4.
    spec.headline = {
        .name = "NewOrders a minute", .type = 0, .seconds = 60, .with_rollbacks = true};
    return spec;
  }

  std::vector<Share> shares() const override {
    const platform::lock_guard<platform::mutex> hold(drawn_.mutex);
    const Drawn drawn = drawn_.sum;
    const double remote = scale_.warehouses > 1 ? 1 : 0;
    const auto share = [](std::string_view name, const Tries& tries, double specified_pct) {
      return Share{name, tries.hits, tries.all, specified_pct};
    };
    return {share("lines from other warehouses", drawn.remote_lines, remote),
            share("NewOrders of unused items", drawn.unused_items, 1),
            share("payments by customers of other warehouses", drawn.remote_payments, 15 * remote),
            share("customers by last name", drawn.named, 60),
            share("districts skipped by Delivery, at most", drawn.skipped, 1)};
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    const Home home = Home::of(home_, worker, workers, scale_.warehouses);
    const auto last = last_payments_.find(worker);
    const uint64_t payments =
        last == last_payments_.end() ? 0 : low_bits(last->second, kHistoryBits) + 1;
    return std::make_unique<TpccClient>(database, scale_, worker, home, mix_, seed, drawn_,
                                        payments, clock_);
  }

  std::vector<Check> verify(Database& database) override { return tpcc::verify(database, scale_); }

 private:
  const Scale scale_;
  const HomePolicy home_;
  const Mix mix_;
  std::map<uint64_t, Key> last_payments_;
  Date clock_ = kLoadDate;
  mutable DrawnByAll drawn_;
};

const WorkloadRegistration registration({
    .name = "tpcc",
    .what = "TPC-C: its five transactions; its twelve conditions and every column checked",
    .memory = "102 MB a warehouse, 13 MB of items",
    .load_flags = {"tpcc_warehouses", "tpcc_items", "tpcc_customers"},
    .check_flags = check_flags,
    .make =
        [] {
          return std::make_unique<Tpcc>(Scale{.warehouses = FLAGS_tpcc_warehouses,
                                              .items = FLAGS_tpcc_items,
                                              .customers = FLAGS_tpcc_customers},
                                        parse_home(FLAGS_tpcc_home).value_or(HomePolicy::kSplit),
                                        parse_mix(FLAGS_tpcc_mix).value_or(kStandard));
        },
    .has_commands = true,
});

}  // namespace
}  // namespace logjam::tpcc

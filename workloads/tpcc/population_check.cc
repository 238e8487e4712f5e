#include <array>
#include <cstring>
#include <string>

#include "platform/assert.h"
#include "workloads/parallel_check.h"
#include "workloads/table_checks.h"
#include "workloads/tpcc/checks.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/load.h"

namespace logjam::tpcc {
namespace {

// The broken rows, by Table::id().
struct Findings {
  std::array<BrokenRows, 9> broken;

  void add(const Findings& later) {
    for (size_t table = 0; table < broken.size(); ++table) broken[table].add(later.broken[table]);
  }
};

// Returns S_QUANTITY after orders. It falls by each ordered quantity, and rises by 91 where it
// would fall below 10 (clause 2.4.2.2). So it stays within [10, 100], and depends only on the sum
// of the quantities.
int32_t quantity_after(int32_t loaded, int64_t ordered) {
  const int64_t rest = (loaded - ordered - 10) % 91;
  return static_cast<int32_t>(10 + (rest < 0 ? rest + 91 : rest));
}

class Comparer : public PopulationVisitor {
 public:
  Comparer(Tables& tables, const Scale& scale, const Totals& totals, Findings* findings)
      : tables_(tables), scale_(scale), totals_(totals), findings_(*findings) {}

  void visit(Key key, const Warehouse& loaded) override {
    Warehouse row = loaded;
    row.ytd = totals_.warehouses[key - 1].paid;
    compare(tables_.warehouse, key, row);
  }

  void visit(Key key, const District& loaded) override {
    const DistrictSums& sums = totals_.districts[place_of(key)];
    District row = loaded;
    row.ytd = sums.paid;
    row.next_order = static_cast<uint32_t>(sums.last_order + 1);
    compare(tables_.district, key, row);
  }

  void visit(Key key, const Customer& loaded) override {
    const size_t place =
        place_of(district_of_customer(key)) * scale_.customers + low_bits(key, kCustomerBits) - 1;
    const CustomerSums& sums = totals_.customers[place];
    Customer row = loaded;
    row.balance = sums.delivered - sums.paid;
    row.ytd_payment = sums.paid;
    row.payments = sums.payments;
    row.deliveries = sums.deliveries;
    const auto* found = find_row<Customer>(tables_.customer, key);
    if (found != nullptr && text(loaded.credit) == "BC") {
      const auto payments = payments_of(place, totals_.noted_payments);
      if (!payments_explain(payments, loaded.data, found->data)) {
        note(tables_.customer, key,
             "c_data is not the notes of " + std::to_string(payments.size()) +
                 " payments before the loaded text");
        return;
      }
      std::memcpy(row.data, found->data, sizeof row.data);
    }
    compare(tables_.customer, key, row);
  }

  void visit(Key key, const History& loaded) override { compare(tables_.history, key, loaded); }
  void visit(Key, const NewOrder&) override {}  // a run may have delivered it

  // Conditions 5 and 7 check that an order, its lines and NEW-ORDER agree on its delivery.
  void visit(Key key, const Order& loaded) override {
    const auto* found = find_row<Order>(tables_.order, key);
    Order row = loaded;
    if (found != nullptr && loaded.carrier == 0 && found->carrier <= 10) {
      row.carrier = found->carrier;
    }
    compare(tables_.order, key, row);
  }

  void visit(Key key, const OrderLine& loaded) override {
    const auto* found = find_row<OrderLine>(tables_.order_line, key);
    OrderLine row = loaded;
    if (found != nullptr && loaded.delivered == kNoDate && found->delivered > kLoadDate) {
      row.delivered = found->delivered;
    }
    compare(tables_.order_line, key, row);
  }

  void visit(Key key, const Item& loaded) override { compare(tables_.item, key, loaded); }

  void visit(Key key, const Stock& loaded) override {
    const StockSums& sums = totals_.stocks[size_t{warehouse_of_stock(key) - 1} * scale_.items +
                                           low_bits(key, kItemBits) - 1];
    Stock row = loaded;
    row.ytd = sums.quantity;
    row.quantity = quantity_after(loaded.quantity, sums.quantity);
    row.orders = sums.lines;
    row.remote_orders = sums.remote_lines;
    compare(tables_.stock, key, row);
  }

 private:
  static size_t place_of(Key district) {
    return size_t{warehouse_of_district(district) - 1} * kDistricts + number_of_district(district) -
           1;
  }

  template <class Row>
  void compare(Table& table, Key key, const Row& expected) {
    const auto* found = find_row<Row>(table, key);
    if (found == nullptr) return note(table, key, "is missing");
    if (std::memcmp(found, &expected, sizeof expected) == 0) return;
    note(table, key,
         difference(table, key, reinterpret_cast<const std::byte*>(found),
                    reinterpret_cast<const std::byte*>(&expected)));
  }
  void note(const Table& table, Key key, const std::string& wrong) {
    LJ_ASSERT(table.id() < findings_.broken.size());
    findings_.broken[table.id()].note([&] { return row_name(table, key) + ": " + wrong; });
  }

  Tables& tables_;
  const Scale& scale_;
  const Totals& totals_;
  Findings& findings_;
};

}  // namespace

std::vector<Check> check_rows(Database& database, const Scale& scale, const Totals& totals) {
  Tables tables(database);
  const auto check_part = [&](uint32_t part, uint32_t parts, Findings* findings) {
    Comparer comparer(tables, scale, totals, findings);
    visit_population(scale, part, parts, comparer);
  };
  const Findings findings = sum_of_parts(Findings{}, check_part);
  const std::pair<const Table&, const RowsFound&> all[] = {{tables.warehouse, totals.warehouse},
                                                           {tables.district, totals.district},
                                                           {tables.customer, totals.customer},
                                                           {tables.history, totals.history},
                                                           {tables.new_order, totals.new_order},
                                                           {tables.order, totals.order},
                                                           {tables.order_line, totals.order_line},
                                                           {tables.item, totals.item},
                                                           {tables.stock, totals.stock}};
  std::vector<Check> checks;
  for (const auto& [table, rows] : all) {
    BrokenRows broken = findings.broken[table.id()];
    broken.add(rows.broken);
    const std::string checked = std::to_string(rows.rows) + " rows";
    checks.push_back({table.schema().name + ": columns are as loaded, or as what happened says",
                      broken.count == 0,
                      broken.count == 0 ? "holds, " + checked + " checked"
                                        : broken.first + " (" + std::to_string(broken.count) +
                                              " wrong, of " + checked + ")"});
  }
  return checks;
}

}  // namespace logjam::tpcc

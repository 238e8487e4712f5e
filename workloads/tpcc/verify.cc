#include "workloads/tpcc/verify.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "workloads/random.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {
namespace {

// What the tables say about one district, added up in one pass over each.
struct DistrictSums {
  Cents ytd = 0;
  Cents paid = 0;  // HISTORY
  uint64_t next_order = 0;
  uint64_t last_order = 0;
  uint64_t orders = 0;
  uint64_t lines_promised = 0;  // sum of O_OL_CNT
  uint64_t lines = 0;
  // Equal sums of a hash of the order's number, once a line: every order has its own lines.
  uint64_t orders_mark = 0;
  uint64_t lines_mark = 0;
  uint64_t first_new = ~uint64_t{0};
  uint64_t last_new = 0;
  uint64_t new_orders = 0;
};

struct WarehouseSums {
  Cents ytd = 0;
  Cents district_ytd = 0;
  Cents paid = 0;               // HISTORY by H_W_ID
  Cents customers_paid = 0;     // CUSTOMER
  Cents paid_by_customers = 0;  // HISTORY by H_C_W_ID
  int64_t stock_ytd = 0;
  int64_t supplied = 0;  // ORDER-LINE by supply warehouse, of orders after the load
  uint64_t stock_orders = 0;
  uint64_t supplies = 0;
};

std::string money(Cents cents) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%lld.%02lld", cents < 0 ? "-" : "",
                static_cast<long long>(std::abs(cents) / 100),
                static_cast<long long>(std::abs(cents) % 100));
  return text;
}
std::string number(uint64_t value) { return std::to_string(value); }

// One condition over many places: passes if it holds in all of them, and says where it first did
// not.
class Condition {
 public:
  Condition(std::string name, std::string places)
      : name_(std::move(name)), places_(std::move(places)) {}

  template <class Describe>
  void expect(bool holds, const Describe& describe) {
    ++checked_;
    if (holds) return;
    if (broken_++ == 0) first_ = describe();
  }

  Check check(const std::string& in_all) const {
    const std::string of = " of " + number(checked_) + " " + places_;
    if (broken_ > 0) return {name_, false, first_ + " (" + number(broken_) + of + " differ)"};
    return {name_, true, "holds in all" + of.substr(3) + ", " + in_all};
  }

 private:
  std::string name_;
  std::string places_;
  uint64_t checked_ = 0;
  uint64_t broken_ = 0;
  std::string first_;
};

class Verifier {
 public:
  Verifier(Database& database, const Scale& scale)
      : tables_(database),
        scale_(scale),
        warehouses_(scale.warehouses),
        districts_(size_t{scale.warehouses} * kDistricts) {
    read_money();
    read_orders();
    read_stock();
  }

  std::vector<Check> checks() const {
    return {rows(),        condition_1(), condition_2(), condition_3(), condition_4(),
            condition_6(), condition_8(), condition_9(), payments(),    stock()};
  }

 private:
  // Rows under keys outside the scale are counted, and added to a place nobody looks at.
  WarehouseSums& at_warehouse(uint64_t w) {
    if (w >= 1 && w <= scale_.warehouses) return warehouses_[w - 1];
    ++strays_;
    return stray_warehouse_;
  }
  DistrictSums& at_district(Key district) {
    const uint64_t w = district >> kDistrictBits, d = low_bits(district, kDistrictBits);
    if (w >= 1 && w <= scale_.warehouses && d >= 1 && d <= kDistricts) {
      return districts_[(w - 1) * kDistricts + d - 1];
    }
    ++strays_;
    return stray_district_;
  }

  template <class Row, class Visit>
  static void each(Table& table, const Visit& visit) {
    table.for_each_row([&visit](Key key, const std::byte* row) {
      visit(key, *reinterpret_cast<const Row*>(row));
    });
  }

  void read_money() {
    each<Warehouse>(tables_.warehouse, [this](Key key, const Warehouse& row) {
      at_warehouse(key).ytd = row.ytd;
      ++warehouse_rows_;
    });
    each<District>(tables_.district, [this](Key key, const District& row) {
      DistrictSums& district = at_district(key);
      district.ytd = row.ytd;
      district.next_order = row.next_order;
      at_warehouse(warehouse_of_district(key)).district_ytd += row.ytd;
      ++district_rows_;
    });
    each<Customer>(tables_.customer, [this](Key key, const Customer& row) {
      at_warehouse(warehouse_of_district(district_of_customer(key))).customers_paid +=
          row.ytd_payment;
      ++customer_rows_;
    });
    each<History>(tables_.history, [this](Key, const History& row) {
      at_warehouse(row.warehouse).paid += row.amount;
      at_district(district_key(row.warehouse, row.district)).paid += row.amount;
      at_warehouse(row.customer_warehouse).paid_by_customers += row.amount;
    });
  }

  void read_orders() {
    each<Order>(tables_.order, [this](Key key, const Order& row) {
      DistrictSums& district = at_district(district_of_order(key));
      ++district.orders;
      district.last_order = std::max(district.last_order, number_of_order(key));
      district.lines_promised += row.lines;
      district.orders_mark += mix64(key) * row.lines;
    });
    each<NewOrder>(tables_.new_order, [this](Key key, const NewOrder&) {
      DistrictSums& district = at_district(district_of_order(key));
      ++district.new_orders;
      district.first_new = std::min(district.first_new, number_of_order(key));
      district.last_new = std::max(district.last_new, number_of_order(key));
    });
    each<OrderLine>(tables_.order_line, [this](Key key, const OrderLine& row) {
      const Key order = order_of_line(key);
      DistrictSums& district = at_district(district_of_order(order));
      ++district.lines;
      district.lines_mark += mix64(order);
      if (number_of_order(order) <= scale_.customers) return;
      WarehouseSums& supplier = at_warehouse(row.supply_warehouse);
      supplier.supplied += row.quantity;
      ++supplier.supplies;
    });
  }

  void read_stock() {
    each<Stock>(tables_.stock, [this](Key key, const Stock& row) {
      WarehouseSums& warehouse = at_warehouse(warehouse_of_stock(key));
      warehouse.stock_ytd += row.ytd;
      warehouse.stock_orders += row.orders;
      ++stock_rows_;
    });
    item_rows_ = tables_.item.count_rows();
  }

  template <class Describe>
  void for_warehouses(const Describe& visit) const {
    for (size_t i = 0; i < warehouses_.size(); ++i) {
      visit(warehouses_[i], "warehouse " + number(i + 1) + ": ");
    }
  }
  template <class Describe>
  void for_districts(const Describe& visit) const {
    for (size_t i = 0; i < districts_.size(); ++i) {
      visit(districts_[i], "warehouse " + number(i / kDistricts + 1) + " district " +
                               number(i % kDistricts + 1) + ": ");
    }
  }

  Check rows() const {
    const uint64_t districts = districts_.size(), customers = districts * scale_.customers,
                   stocks = uint64_t{scale_.warehouses} * scale_.items;
    return {"rows loaded for good are there",
            warehouse_rows_ == scale_.warehouses && district_rows_ == districts &&
                customer_rows_ == customers && item_rows_ == scale_.items &&
                stock_rows_ == stocks && strays_ == 0,
            number(warehouse_rows_) + " of " + number(scale_.warehouses) + " warehouses, " +
                number(district_rows_) + " of " + number(districts) + " districts, " +
                number(customer_rows_) + " of " + number(customers) + " customers, " +
                number(item_rows_) + " of " + number(scale_.items) + " items, " +
                number(stock_rows_) + " of " + number(stocks) + " stocks, " + number(strays_) +
                " rows that belong nowhere"};
  }

  Check condition_1() const {
    Condition condition("condition 1: W_YTD = sum(D_YTD)", "warehouses");
    Cents all = 0;
    for_warehouses([&](const WarehouseSums& w, const std::string& where) {
      all += w.ytd;
      condition.expect(w.ytd == w.district_ytd, [&] {
        return where + "W_YTD " + money(w.ytd) + ", sum(D_YTD) " + money(w.district_ytd);
      });
    });
    return condition.check("sum(W_YTD) " + money(all));
  }

  // max(NO_O_ID) is only bound to it while something waits for delivery.
  Check condition_2() const {
    Condition condition("condition 2: D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)", "districts");
    uint64_t all = 0;
    for_districts([&](const DistrictSums& d, const std::string& where) {
      all += d.orders;
      const bool holds =
          d.next_order == d.last_order + 1 && (d.new_orders == 0 || d.last_new == d.last_order);
      condition.expect(holds, [&] {
        return where + "D_NEXT_O_ID " + number(d.next_order) + ", max(O_ID) " +
               number(d.last_order) + ", max(NO_O_ID) " + number(d.last_new);
      });
    });
    return condition.check(number(all) + " orders");
  }

  Check condition_3() const {
    Condition condition("condition 3: max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER",
                        "districts");
    uint64_t all = 0;
    for_districts([&](const DistrictSums& d, const std::string& where) {
      all += d.new_orders;
      const bool holds = d.new_orders == 0 || d.last_new - d.first_new + 1 == d.new_orders;
      condition.expect(holds, [&] {
        return where + "NO_O_ID from " + number(d.first_new) + " to " + number(d.last_new) + ", " +
               number(d.new_orders) + " rows";
      });
    });
    return condition.check(number(all) + " rows");
  }

  Check condition_4() const {
    Condition condition("condition 4: sum(O_OL_CNT) = rows of ORDER-LINE", "districts");
    uint64_t all = 0;
    for_districts([&](const DistrictSums& d, const std::string& where) {
      all += d.lines;
      condition.expect(d.lines_promised == d.lines, [&] {
        return where + "sum(O_OL_CNT) " + number(d.lines_promised) + ", " + number(d.lines) +
               " rows";
      });
    });
    return condition.check(number(all) + " order lines");
  }

  Check condition_6() const {
    Condition condition("condition 6: every order has O_OL_CNT order lines of its own",
                        "districts");
    uint64_t all = 0;
    for_districts([&](const DistrictSums& d, const std::string& where) {
      all += d.orders;
      condition.expect(d.orders_mark == d.lines_mark, [&] {
        return where + "order lines belong to other orders than those that count them";
      });
    });
    return condition.check(number(all) + " orders");
  }

  Check condition_8() const {
    Condition condition("condition 8: W_YTD = sum(H_AMOUNT)", "warehouses");
    Cents all = 0;
    for_warehouses([&](const WarehouseSums& w, const std::string& where) {
      all += w.paid;
      condition.expect(w.ytd == w.paid, [&] {
        return where + "W_YTD " + money(w.ytd) + ", sum(H_AMOUNT) " + money(w.paid);
      });
    });
    return condition.check("sum(H_AMOUNT) " + money(all));
  }

  Check condition_9() const {
    Condition condition("condition 9: D_YTD = sum(H_AMOUNT)", "districts");
    Cents all = 0;
    for_districts([&](const DistrictSums& d, const std::string& where) {
      all += d.paid;
      condition.expect(d.ytd == d.paid, [&] {
        return where + "D_YTD " + money(d.ytd) + ", sum(H_AMOUNT) " + money(d.paid);
      });
    });
    return condition.check("sum(H_AMOUNT) " + money(all));
  }

  // The specification has no such condition before Delivery comes in (its 10 and 12).
  Check payments() const {
    Condition condition("sum(C_YTD_PAYMENT) = sum(H_AMOUNT) by customers' warehouse", "warehouses");
    Cents all = 0;
    for_warehouses([&](const WarehouseSums& w, const std::string& where) {
      all += w.customers_paid;
      condition.expect(w.customers_paid == w.paid_by_customers, [&] {
        return where + "sum(C_YTD_PAYMENT) " + money(w.customers_paid) + ", sum(H_AMOUNT) " +
               money(w.paid_by_customers);
      });
    });
    return condition.check("sum(C_YTD_PAYMENT) " + money(all));
  }

  Check stock() const {
    Condition condition("S_YTD and S_ORDER_CNT = what order lines since the load took",
                        "warehouses");
    int64_t all = 0;
    for_warehouses([&](const WarehouseSums& w, const std::string& where) {
      all += w.stock_ytd;
      condition.expect(w.stock_ytd == w.supplied && w.stock_orders == w.supplies, [&] {
        return where + "sum(S_YTD) " + std::to_string(w.stock_ytd) + ", sum(OL_QUANTITY) " +
               std::to_string(w.supplied) + ", sum(S_ORDER_CNT) " + number(w.stock_orders) + ", " +
               number(w.supplies) + " order lines";
      });
    });
    return condition.check("sum(S_YTD) " + std::to_string(all));
  }

  Tables tables_;
  const Scale& scale_;
  std::vector<WarehouseSums> warehouses_;
  std::vector<DistrictSums> districts_;
  WarehouseSums stray_warehouse_;
  DistrictSums stray_district_;
  uint64_t strays_ = 0;
  uint64_t warehouse_rows_ = 0;
  uint64_t district_rows_ = 0;
  uint64_t customer_rows_ = 0;
  uint64_t item_rows_ = 0;
  uint64_t stock_rows_ = 0;
};

}  // namespace

std::vector<Check> verify(Database& database, const Scale& scale) {
  return Verifier(database, scale).checks();
}

}  // namespace logjam::tpcc

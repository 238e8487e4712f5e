#include "workloads/tpcc/verify.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "workloads/tpcc/totals.h"

namespace logjam::tpcc {
namespace {

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
    return {name_, true, "holds, " + number(checked_) + " " + places_ + " checked, " + in_all};
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
  Verifier(const Totals& totals, const Scale& scale) : totals_(totals), scale_(scale) {}

  std::vector<Check> checks() const {
    return {rows(),        condition_1(), condition_2(), condition_3(), condition_4(),
            condition_6(), condition_8(), condition_9(), payments(),    stock()};
  }

 private:
  template <class Describe>
  void for_warehouses(const Describe& visit) const {
    for (size_t i = 0; i < totals_.warehouses.size(); ++i) {
      visit(totals_.warehouses[i], "warehouse " + number(i + 1) + ": ");
    }
  }
  template <class Describe>
  void for_districts(const Describe& visit) const {
    for (size_t i = 0; i < totals_.districts.size(); ++i) {
      visit(totals_.districts[i], "warehouse " + number(i / kDistricts + 1) + " district " +
                                      number(i % kDistricts + 1) + ": ");
    }
  }

  Check rows() const {
    const uint64_t districts = totals_.districts.size(), customers = districts * scale_.customers,
                   stocks = uint64_t{scale_.warehouses} * scale_.items;
    return {"rows loaded for good are there",
            totals_.warehouse_rows == scale_.warehouses && totals_.district_rows == districts &&
                totals_.customer_rows == customers && totals_.item_rows == scale_.items &&
                totals_.stock_rows == stocks && totals_.strays == 0,
            number(totals_.warehouse_rows) + " of " + number(scale_.warehouses) + " warehouses, " +
                number(totals_.district_rows) + " of " + number(districts) + " districts, " +
                number(totals_.customer_rows) + " of " + number(customers) + " customers, " +
                number(totals_.item_rows) + " of " + number(scale_.items) + " items, " +
                number(totals_.stock_rows) + " of " + number(stocks) + " stocks, " +
                number(totals_.strays) + " rows that belong nowhere"};
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

  const Totals& totals_;
  const Scale& scale_;
};

}  // namespace

std::vector<Check> verify(Database& database, const Scale& scale) {
  const Totals totals = add_up(database, scale);
  return Verifier(totals, scale).checks();
}

}  // namespace logjam::tpcc

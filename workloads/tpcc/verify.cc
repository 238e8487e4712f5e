#include <cstdio>
#include <cstdlib>

#include "workloads/table_checks.h"
#include "workloads/tpcc/checks.h"

namespace logjam::tpcc {
namespace {

using Format = std::string (*)(int64_t);

std::string number(int64_t value) { return std::to_string(value); }
std::string money(Cents cents) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%lld.%02lld", cents < 0 ? "-" : "",
                static_cast<long long>(std::abs(cents) / 100),
                static_cast<long long>(std::abs(cents) % 100));
  return text;
}

// A number that each warehouse, district or customer has, such as W_YTD, and its label.
template <class Sums>
struct Quantity {
  std::string label;
  std::function<int64_t(const Sums&)> of;
};

// The sums and names of all warehouses, of all districts or of all customers.
template <class Sums>
struct Places {
  const std::vector<Sums>& sums;
  std::string kind;
  std::function<std::string(size_t place)> name;
};

// Returns a check that passes if, for every warehouse (or district, or customer), all quantities
// are equal. Otherwise the check's detail names the first one whose quantities differ.
template <class Sums>
Check equal(const std::string& name, const Places<Sums>& places, Format format,
            const std::vector<Quantity<Sums>>& quantities) {
  Check check{.name = name + ":", .passed = true, .detail = ""};
  for (const Quantity<Sums>& quantity : quantities) {
    check.name += (&quantity == quantities.data() ? " " : " = ") + quantity.label;
  }
  int64_t all = 0;
  size_t broken = 0;
  for (size_t place = 0; place < places.sums.size(); ++place) {
    const Sums& sums = places.sums[place];
    const int64_t first = quantities[0].of(sums);
    all += first;
    const bool is_equal = std::ranges::all_of(
        quantities, [&](const Quantity<Sums>& quantity) { return quantity.of(sums) == first; });
    if (is_equal || broken++ > 0) continue;
    check.detail = places.name(place) + ":";
    for (const Quantity<Sums>& quantity : quantities) {
      check.detail += (&quantity == quantities.data() ? " " : ", ") + quantity.label + " " +
                      format(quantity.of(sums));
    }
  }
  const std::string checked = std::to_string(places.sums.size()) + " " + places.kind;
  check.passed = broken == 0;
  check.detail += check.passed ? "holds, " + checked + " checked, " + quantities[0].label +
                                     " adds up to " + format(all)
                               : " (" + std::to_string(broken) + " of " + checked + " differ)";
  return check;
}

Check rows_loaded_for_good(const Totals& totals, const Scale& scale) {
  const struct {
    uint16_t table;
    uint64_t expected;
    const char* what;
  } tables[] = {{kTableId<Warehouse>, scale.warehouses, "warehouses"},
                {kTableId<District>, totals.districts.size(), "districts"},
                {kTableId<Customer>, totals.customers.size(), "customers"},
                {kTableId<Item>, scale.items, "items"},
                {kTableId<Stock>, totals.stocks.size(), "stocks"}};
  Check check{"rows loaded for good are there", totals.strays == 0, ""};
  for (const auto& [table, expected, what] : tables) {
    const uint64_t found = totals.found[table].rows;
    check.passed &= found == expected;
    check.detail += std::to_string(found) + " of " + std::to_string(expected) + " " + what + ", ";
  }
  check.detail += std::to_string(totals.strays) + " rows that belong nowhere";
  return check;
}

std::vector<Check> conditions(const Totals& totals, const Scale& scale) {
  using W = WarehouseSums;
  using D = DistrictSums;
  using C = CustomerSums;
  const auto warehouse_name = [](size_t place) { return "warehouse " + std::to_string(place + 1); };
  const auto district_name = [=](size_t place) {
    return warehouse_name(place / kDistricts) + " district " +
           std::to_string(place % kDistricts + 1);
  };
  const auto customer_name = [=](size_t place) {
    return district_name(place / scale.customers) + " customer " +
           std::to_string(place % scale.customers + 1);
  };
  const Places<W> warehouses{totals.warehouses, "warehouses", warehouse_name};
  const Places<D> districts{totals.districts, "districts", district_name};
  const Places<C> customers{totals.customers, "customers", customer_name};
  const Quantity<D> last_order{"D_NEXT_O_ID - 1", [](const D& d) { return d.next_order - 1; }};
  // Condition 11 states the number of delivered orders after the load, 2100 in each district. Each
  // later delivery adds 1 to this number, and 1 to C_DELIVERY_CNT of the order's customer.
  const int64_t loaded = scale.customers - scale.undelivered();
  return {
      rows_loaded_for_good(totals, scale),
      equal("condition 1", warehouses, money,
            {{"W_YTD", &W::ytd}, {"sum(D_YTD)", &W::district_ytd}}),
      // max(NO_O_ID) must be equal too, but only in districts with undelivered orders.
      equal(
          "condition 2", districts, number,
          {last_order,
           {"max(O_ID)", &D::last_order},
           {"max(NO_O_ID)", [](const D& d) { return d.new_orders ? d.last_new : d.last_order; }}}),
      equal("orders are numbered without gaps", districts, number,
            {{"rows of ORDER", &D::orders}, last_order}),
      equal("condition 3", districts, number,
            {{"rows of NEW-ORDER", &D::new_orders},
             {"max(NO_O_ID) - min(NO_O_ID) + 1",
              [](const D& d) { return d.new_orders ? d.last_new - d.first_new + 1 : 0; }}}),
      equal("condition 4", districts, number,
            {{"sum(O_OL_CNT)", &D::lines_promised}, {"rows of ORDER-LINE", &D::lines}}),
      equal("condition 5", districts, number,
            {{"orders", &D::orders},
             {"orders with either O_CARRIER_ID or a row of NEW-ORDER", &D::orders_in_one_state}}),
      equal("condition 6", districts, number,
            {{"orders", &D::orders},
             {"orders with O_OL_CNT order lines", &D::orders_of_right_length}}),
      equal("condition 7", districts, number,
            {{"order lines", &D::lines},
             {"order lines with OL_DELIVERY_D if and only if their order has O_CARRIER_ID",
              &D::lines_in_their_orders_state}}),
      equal("condition 8", warehouses, money, {{"W_YTD", &W::ytd}, {"sum(H_AMOUNT)", &W::paid}}),
      equal("condition 9", districts, money, {{"D_YTD", &D::ytd}, {"sum(H_AMOUNT)", &D::paid}}),
      equal("condition 10", customers, money,
            {{"C_BALANCE", &C::balance},
             {"sum(OL_AMOUNT) delivered - sum(H_AMOUNT)",
              [](const C& c) { return c.delivered - c.paid; }}}),
      equal("condition 11", districts, number,
            {{"rows of ORDER - rows of NEW-ORDER",
              [](const D& d) { return d.orders - d.new_orders; }},
             {std::to_string(loaded) + " + sum(C_DELIVERY_CNT)",
              [=](const D& d) { return loaded + d.deliveries; }}}),
      equal("condition 12", customers, money,
            {{"C_BALANCE + C_YTD_PAYMENT", [](const C& c) { return c.balance + c.ytd_payment; }},
             {"sum(OL_AMOUNT) delivered", &C::delivered}}),
  };
}

}  // namespace

std::vector<Check> verify(Database& database, const Scale& scale) {
  const Totals totals = add_up(database, scale);
  std::vector<Check> checks = conditions(totals, scale);
  for (Check& check : check_rows(database, scale, totals)) checks.push_back(std::move(check));
  Tables tables(database);
  checks.push_back(check_postings(tables.customer, kByLastName, false));
  checks.push_back(check_postings(tables.order, kByCustomer, true));
  return checks;
}

}  // namespace logjam::tpcc

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

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

// A number that each warehouse, district or customer has.
template <class Sums>
struct Quantity {
  std::string label;
  int64_t (*of)(const Sums&);
};

// All warehouses, all districts or all customers.
template <class Sums>
struct Places {
  const std::vector<Sums>& sums;
  std::string kind;
  std::string (*name)(size_t place, const Scale& scale);
};

std::string warehouse_name(size_t place, const Scale&) {
  return "warehouse " + std::to_string(place + 1);
}
std::string district_name(size_t place, const Scale& scale) {
  return warehouse_name(place / kDistricts, scale) + " district " +
         std::to_string(place % kDistricts + 1);
}
std::string customer_name(size_t place, const Scale& scale) {
  return district_name(place / scale.customers, scale) + " customer " +
         std::to_string(place % scale.customers + 1);
}

class Verifier {
 public:
  Verifier(const Totals& totals, const Scale& scale)
      : totals_(totals),
        scale_(scale),
        warehouses_{totals.warehouses, "warehouses", warehouse_name},
        districts_{totals.districts, "districts", district_name},
        customers_{totals.customers, "customers", customer_name} {}

  std::vector<Check> checks() const {
    using W = const WarehouseSums&;
    using D = const DistrictSums&;
    using C = const CustomerSums&;
    return {
        rows(),
        equal("condition 1", warehouses_, money,
              {{"W_YTD", [](W w) { return w.ytd; }},
               {"sum(D_YTD)", [](W w) { return w.district_ytd; }}}),
        // max(NO_O_ID) must be equal too, but only in districts with undelivered orders.
        equal("condition 2", districts_, number,
              {{"D_NEXT_O_ID - 1", [](D d) { return d.next_order - 1; }},
               {"max(O_ID)", [](D d) { return d.last_order; }},
               {"max(NO_O_ID)", [](D d) { return d.new_orders ? d.last_new : d.last_order; }}}),
        equal("orders are numbered without gaps", districts_, number,
              {{"rows of ORDER", [](D d) { return d.orders; }},
               {"D_NEXT_O_ID - 1", [](D d) { return d.next_order - 1; }}}),
        equal("condition 3", districts_, number,
              {{"rows of NEW-ORDER", [](D d) { return d.new_orders; }},
               {"max(NO_O_ID) - min(NO_O_ID) + 1",
                [](D d) { return d.new_orders ? d.last_new - d.first_new + 1 : 0; }}}),
        equal("condition 4", districts_, number,
              {{"sum(O_OL_CNT)", [](D d) { return d.lines_promised; }},
               {"rows of ORDER-LINE", [](D d) { return d.lines; }}}),
        equal("condition 5", districts_, number,
              {{"orders", [](D d) { return d.orders; }},
               {"orders with either O_CARRIER_ID or a row of NEW-ORDER",
                [](D d) { return d.orders_in_one_state; }}}),
        equal("condition 6", districts_, number,
              {{"orders", [](D d) { return d.orders; }},
               {"orders with O_OL_CNT order lines", [](D d) { return d.orders_of_right_length; }}}),
        equal("condition 7", districts_, number,
              {{"order lines", [](D d) { return d.lines; }},
               {"order lines with OL_DELIVERY_D if and only if their order has O_CARRIER_ID",
                [](D d) { return d.lines_in_their_orders_state; }}}),
        equal(
            "condition 8", warehouses_, money,
            {{"W_YTD", [](W w) { return w.ytd; }}, {"sum(H_AMOUNT)", [](W w) { return w.paid; }}}),
        equal(
            "condition 9", districts_, money,
            {{"D_YTD", [](D d) { return d.ytd; }}, {"sum(H_AMOUNT)", [](D d) { return d.paid; }}}),
        equal("condition 10", customers_, money,
              {{"C_BALANCE", [](C c) { return c.balance; }},
               {"sum(OL_AMOUNT) delivered - sum(H_AMOUNT)",
                [](C c) { return c.delivered - c.paid; }}}),
        condition_11(),
        equal("condition 12", customers_, money,
              {{"C_BALANCE + C_YTD_PAYMENT", [](C c) { return c.balance + c.ytd_payment; }},
               {"sum(OL_AMOUNT) delivered", [](C c) { return c.delivered; }}}),
    };
  }

 private:
  Check rows() const {
    const uint64_t districts = totals_.districts.size(), customers = totals_.customers.size(),
                   stocks = uint64_t{scale_.warehouses} * scale_.items;
    const auto of = [](uint64_t found, uint64_t expected, const char* what) {
      return std::to_string(found) + " of " + std::to_string(expected) + " " + what + ", ";
    };
    return {"rows loaded for good are there",
            totals_.warehouse.rows == scale_.warehouses && totals_.district.rows == districts &&
                totals_.customer.rows == customers && totals_.item.rows == scale_.items &&
                totals_.stock.rows == stocks && totals_.strays == 0,
            of(totals_.warehouse.rows, scale_.warehouses, "warehouses") +
                of(totals_.district.rows, districts, "districts") +
                of(totals_.customer.rows, customers, "customers") +
                of(totals_.item.rows, scale_.items, "items") +
                of(totals_.stock.rows, stocks, "stocks") + std::to_string(totals_.strays) +
                " rows that belong nowhere"};
  }

  // Checks the number of delivered orders. The specification states the number right after the
  // load, 2100 in each district. Each later delivery adds one, and is counted in the customer's
  // C_DELIVERY_CNT.
  Check condition_11() const {
    const auto loaded = static_cast<int64_t>(scale_.customers - scale_.undelivered());
    std::vector<DistrictSums> sums = totals_.districts;
    for (DistrictSums& district : sums) district.deliveries += loaded;
    return equal("condition 11", Places<DistrictSums>{sums, districts_.kind, districts_.name},
                 number,
                 {{"rows of ORDER - rows of NEW-ORDER",
                   [](const DistrictSums& d) { return d.orders - d.new_orders; }},
                  {std::to_string(loaded) + " + sum(C_DELIVERY_CNT)",
                   [](const DistrictSums& d) { return d.deliveries; }}});
  }

  // Passes if all quantities are equal in every place. Otherwise the detail names the first place
  // where they differ.
  template <class Sums>
  Check equal(const std::string& name, const Places<Sums>& places, Format format,
              const std::vector<Quantity<Sums>>& quantities) const {
    Check check{.name = name + ":", .passed = true, .detail = ""};
    for (const Quantity<Sums>& quantity : quantities) {
      check.name += (&quantity == quantities.data() ? " " : " = ") + quantity.label;
    }
    const auto is_equal = [&](const Sums& sums) {
      for (const Quantity<Sums>& quantity : quantities) {
        if (quantity.of(sums) != quantities[0].of(sums)) return false;
      }
      return true;
    };
    int64_t all = 0;
    size_t broken = 0;
    for (size_t place = 0; place < places.sums.size(); ++place) {
      const Sums& sums = places.sums[place];
      all += quantities[0].of(sums);
      if (is_equal(sums) || broken++ > 0) continue;
      check.detail = places.name(place, scale_) + ":";
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

  const Totals& totals_;
  const Scale& scale_;
  const Places<WarehouseSums> warehouses_;
  const Places<DistrictSums> districts_;
  const Places<CustomerSums> customers_;
};

}  // namespace

std::vector<Check> verify(Database& database, const Scale& scale) {
  const Totals totals = add_up(database, scale);
  std::vector<Check> checks = Verifier(totals, scale).checks();
  for (Check& check : check_rows(database, scale, totals)) checks.push_back(std::move(check));
  Tables tables(database);
  checks.push_back(check_postings(tables.customer, kByLastName, false));
  checks.push_back(check_postings(tables.order, kByCustomer, true));
  return checks;
}

}  // namespace logjam::tpcc

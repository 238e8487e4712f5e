#include "workloads/tpcc/totals.h"

#include <algorithm>
#include <utility>

namespace logjam::tpcc {
namespace {

class Adder {
 public:
  Adder(Database& database, const Scale& scale) : tables_(database), scale_(scale) {
    totals_.warehouses.resize(scale.warehouses);
    totals_.districts.resize(size_t{scale.warehouses} * kDistricts);
    totals_.customers.resize(totals_.districts.size() * scale.customers);
    read_money();
    read_orders();
    read_stock();
  }

  Totals totals() && { return std::move(totals_); }

 private:
  // Rows under keys outside the scale are counted, and added to a place nobody looks at.
  WarehouseSums& at_warehouse(uint64_t w) {
    if (w >= 1 && w <= scale_.warehouses) return totals_.warehouses[w - 1];
    ++totals_.strays;
    return stray_warehouse_;
  }
  // The district's place in Totals::districts, or the number of places.
  size_t place_of(Key district) const {
    const uint64_t w = district >> kDistrictBits, d = low_bits(district, kDistrictBits);
    const bool exists = w >= 1 && w <= scale_.warehouses && d >= 1 && d <= kDistricts;
    return exists ? (w - 1) * kDistricts + d - 1 : totals_.districts.size();
  }
  DistrictSums& at_district(Key district) {
    const size_t place = place_of(district);
    if (place < totals_.districts.size()) return totals_.districts[place];
    ++totals_.strays;
    return stray_district_;
  }
  CustomerSums& at_customer(Key customer) {
    const size_t place = place_of(district_of_customer(customer));
    const uint64_t c = low_bits(customer, kCustomerBits);
    if (place < totals_.districts.size() && c >= 1 && c <= scale_.customers) {
      return totals_.customers[place * scale_.customers + c - 1];
    }
    ++totals_.strays;
    return stray_customer_;
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
      ++totals_.warehouse_rows;
    });
    each<District>(tables_.district, [this](Key key, const District& row) {
      DistrictSums& district = at_district(key);
      district.ytd = row.ytd;
      district.next_order = row.next_order;
      at_warehouse(warehouse_of_district(key)).district_ytd += row.ytd;
      ++totals_.district_rows;
    });
    each<Customer>(tables_.customer, [this](Key key, const Customer& row) {
      CustomerSums& customer = at_customer(key);
      customer.balance = row.balance;
      customer.ytd_payment = row.ytd_payment;
      at_district(district_of_customer(key)).deliveries += row.deliveries;
      ++totals_.customer_rows;
    });
    each<History>(tables_.history, [this](Key, const History& row) {
      at_warehouse(row.warehouse).paid += row.amount;
      at_district(district_key(row.warehouse, row.district)).paid += row.amount;
      at_customer(customer_key(row.customer_warehouse, row.customer_district, row.customer)).paid +=
          row.amount;
    });
  }

  void read_orders() {
    each<NewOrder>(tables_.new_order, [this](Key key, const NewOrder&) {
      const auto number = static_cast<int64_t>(number_of_order(key));
      DistrictSums& district = at_district(district_of_order(key));
      ++district.new_orders;
      district.first_new = std::min(district.first_new, number);
      district.last_new = std::max(district.last_new, number);
    });
    each<OrderLine>(tables_.order_line, [this](Key key, const OrderLine& row) {
      const Key order = order_of_line(key);
      ++at_district(district_of_order(order)).lines;
      if (number_of_order(order) <= scale_.customers) return;
      WarehouseSums& supplier = at_warehouse(row.supply_warehouse);
      supplier.supplied += row.quantity;
      ++supplier.supplies;
    });
    each<Order>(tables_.order, [this](Key key, const Order& row) { read_order(key, row); });
  }

  void read_order(Key key, const Order& order) {
    const bool delivered = order.carrier != 0;
    const bool waiting = present(tables_.new_order.primary().find(key, nullptr));
    int64_t lines = 0;
    int64_t in_state = 0;
    Cents amount = 0;
    tables_.order_line.primary().scan(
        line_key(key, 0), line_key(key, kMaxLines), false,
        [&](NodeSight, std::span<Keyed* const> entries) {
          for (Keyed* entry : entries) {
            if (!present(entry)) continue;
            const auto& line = *reinterpret_cast<const OrderLine*>(Table::tuple_of(entry)->row());
            const bool line_delivered = line.delivered != kNoDate;
            ++lines;
            in_state += line_delivered == delivered;
            if (line_delivered) amount += line.amount;
          }
          return true;
        });
    DistrictSums& district = at_district(district_of_order(key));
    ++district.orders;
    district.last_order = std::max(district.last_order, static_cast<int64_t>(number_of_order(key)));
    district.lines_promised += order.lines;
    district.orders_in_one_state += delivered != waiting;
    district.orders_of_right_length += order.lines == lines;
    district.lines_in_their_orders_state += in_state;
    at_customer(district_of_order(key) << kCustomerBits | order.customer).delivered += amount;
  }

  static bool present(Keyed* entry) {
    return entry != nullptr && !Table::tuple_of(entry)->load_version().absent();
  }

  void read_stock() {
    each<Stock>(tables_.stock, [this](Key key, const Stock& row) {
      WarehouseSums& warehouse = at_warehouse(warehouse_of_stock(key));
      warehouse.stock_ytd += row.ytd;
      warehouse.stock_orders += row.orders;
      ++totals_.stock_rows;
    });
    totals_.item_rows = tables_.item.count_rows();
  }

  Tables tables_;
  const Scale& scale_;
  Totals totals_;
  WarehouseSums stray_warehouse_;
  DistrictSums stray_district_;
  CustomerSums stray_customer_;
};

}  // namespace

Totals add_up(Database& database, const Scale& scale) { return Adder(database, scale).totals(); }

}  // namespace logjam::tpcc

#include "workloads/tpcc/totals.h"

#include <algorithm>
#include <utility>

#include "workloads/random.h"

namespace logjam::tpcc {
namespace {

class Adder {
 public:
  Adder(Database& database, const Scale& scale) : tables_(database), scale_(scale) {
    totals_.warehouses.resize(scale.warehouses);
    totals_.districts.resize(size_t{scale.warehouses} * kDistricts);
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
  DistrictSums& at_district(Key district) {
    const uint64_t w = district >> kDistrictBits, d = low_bits(district, kDistrictBits);
    if (w >= 1 && w <= scale_.warehouses && d >= 1 && d <= kDistricts) {
      return totals_.districts[(w - 1) * kDistricts + d - 1];
    }
    ++totals_.strays;
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
      at_warehouse(warehouse_of_district(district_of_customer(key))).customers_paid +=
          row.ytd_payment;
      ++totals_.customer_rows;
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
      ++totals_.stock_rows;
    });
    totals_.item_rows = tables_.item.count_rows();
  }

  Tables tables_;
  const Scale& scale_;
  Totals totals_;
  WarehouseSums stray_warehouse_;
  DistrictSums stray_district_;
};

}  // namespace

Totals add_up(Database& database, const Scale& scale) { return Adder(database, scale).totals(); }

}  // namespace logjam::tpcc

#include "workloads/tpcc/totals.h"

#include <functional>
#include <utility>

#include "platform/atomic.h"
#include "workloads/common.h"

namespace logjam::tpcc {
namespace {

// Parts of a table are read at the same time, and add to the same places.
template <class Value, class Amount>
void add(Value& sum, Amount amount) {
  platform::atomic_ref<Value>(sum).fetch_add(static_cast<Value>(amount),
                                             platform::memory_order_relaxed);
}
template <class Replaces>
void replace_if(int64_t& place, int64_t value, const Replaces& replaces) {
  const platform::atomic_ref<int64_t> shared(place);
  int64_t now = shared.load(platform::memory_order_relaxed);
  while (replaces(value, now) &&
         !shared.compare_exchange_weak(now, value, platform::memory_order_relaxed)) {
  }
}
void lower(int64_t& least, int64_t value) { replace_if(least, value, std::less()); }
void raise(int64_t& most, int64_t value) { replace_if(most, value, std::greater()); }

struct RowCount {
  uint64_t rows = 0;
  void add(const RowCount& other) { rows += other.rows; }
};

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
  // Rows under keys outside the scale are counted in Totals::strays. Their values go into sums that
  // are never read.
  WarehouseSums& at_warehouse(uint64_t w) {
    if (w >= 1 && w <= scale_.warehouses) return totals_.warehouses[w - 1];
    add(totals_.strays, 1);
    return stray_warehouse_;
  }
  // The district's index in Totals::districts, or the size of that vector if there is no such
  // district.
  size_t place_of(Key district) const {
    const uint64_t w = district >> kDistrictBits, d = low_bits(district, kDistrictBits);
    const bool exists = w >= 1 && w <= scale_.warehouses && d >= 1 && d <= kDistricts;
    return exists ? (w - 1) * kDistricts + d - 1 : totals_.districts.size();
  }
  DistrictSums& at_district(Key district) {
    const size_t place = place_of(district);
    if (place < totals_.districts.size()) return totals_.districts[place];
    add(totals_.strays, 1);
    return stray_district_;
  }
  CustomerSums& at_customer(Key customer) {
    const size_t place = place_of(district_of_customer(customer));
    const uint64_t c = low_bits(customer, kCustomerBits);
    if (place < totals_.districts.size() && c >= 1 && c <= scale_.customers) {
      return totals_.customers[place * scale_.customers + c - 1];
    }
    add(totals_.strays, 1);
    return stray_customer_;
  }

  // Visits all rows, on all cores; returns how many there are.
  template <class Row, class Visit>
  static uint64_t each(Table& table, const Visit& visit) {
    const auto visit_part = [&](uint32_t part, uint32_t parts, RowCount* count) {
      table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
        ++count->rows;
        visit(key, *reinterpret_cast<const Row*>(row));
      });
    };
    return sum_of_parts(RowCount{}, visit_part).rows;
  }

  void read_money() {
    totals_.warehouse_rows = each<Warehouse>(
        tables_.warehouse,
        [this](Key key, const Warehouse& row) { add(at_warehouse(key).ytd, row.ytd); });
    totals_.district_rows = each<District>(tables_.district, [this](Key key, const District& row) {
      DistrictSums& district = at_district(key);
      add(district.ytd, row.ytd);
      add(district.next_order, row.next_order);
      add(at_warehouse(warehouse_of_district(key)).district_ytd, row.ytd);
    });
    totals_.customer_rows = each<Customer>(tables_.customer, [this](Key key, const Customer& row) {
      CustomerSums& customer = at_customer(key);
      add(customer.balance, row.balance);
      add(customer.ytd_payment, row.ytd_payment);
      add(at_district(district_of_customer(key)).deliveries, row.deliveries);
    });
    each<History>(tables_.history, [this](Key, const History& row) {
      add(at_warehouse(row.warehouse).paid, row.amount);
      add(at_district(district_key(row.warehouse, row.district)).paid, row.amount);
      const Key customer =
          customer_key(row.customer_warehouse, row.customer_district, row.customer);
      add(at_customer(customer).paid, row.amount);
    });
  }

  void read_orders() {
    each<NewOrder>(tables_.new_order, [this](Key key, const NewOrder&) {
      const auto number = static_cast<int64_t>(number_of_order(key));
      DistrictSums& district = at_district(district_of_order(key));
      add(district.new_orders, 1);
      lower(district.first_new, number);
      raise(district.last_new, number);
    });
    each<OrderLine>(tables_.order_line, [this](Key key, const OrderLine& row) {
      const Key order = order_of_line(key);
      add(at_district(district_of_order(order)).lines, 1);
      if (number_of_order(order) <= scale_.customers) return;
      WarehouseSums& supplier = at_warehouse(row.supply_warehouse);
      add(supplier.supplied, row.quantity);
      add(supplier.supplies, 1);
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
        [&](NodeVersion, std::span<Keyed* const> entries) {
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
    add(district.orders, 1);
    raise(district.last_order, static_cast<int64_t>(number_of_order(key)));
    add(district.lines_promised, order.lines);
    add(district.orders_in_one_state, delivered != waiting);
    add(district.orders_of_right_length, order.lines == lines);
    add(district.lines_in_their_orders_state, in_state);
    add(at_customer(district_of_order(key) << kCustomerBits | order.customer).delivered, amount);
  }

  static bool present(Keyed* entry) {
    return entry != nullptr && !Table::tuple_of(entry)->load_version().absent();
  }

  void read_stock() {
    totals_.stock_rows = each<Stock>(tables_.stock, [this](Key key, const Stock& row) {
      WarehouseSums& warehouse = at_warehouse(warehouse_of_stock(key));
      add(warehouse.stock_ytd, row.ytd);
      add(warehouse.stock_orders, row.orders);
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

#include <functional>
#include <utility>

#include "platform/atomic.h"
#include "workloads/parallel_check.h"
#include "workloads/table_checks.h"
#include "workloads/tpcc/checks.h"
#include "workloads/tpcc/input.h"

namespace logjam::tpcc {
namespace {

// Adds to a sum atomically, because threads read parts of a table at once and add to the same sums.
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

// The result of reading a part of HISTORY.
struct PaymentsFound {
  RowsFound rows;
  std::vector<NotedPayment> noted;

  void add(const PaymentsFound& later) {
    rows.add(later.rows);
    noted.insert(noted.end(), later.noted.begin(), later.noted.end());
  }
};

class Adder {
 public:
  Adder(Database& database, const Scale& scale)
      : tables_(database), scale_(scale), written_(database, scale) {
    totals_.warehouses.resize(scale.warehouses);
    totals_.districts.resize(size_t{scale.warehouses} * kDistricts);
    totals_.customers.resize(totals_.districts.size() * scale.customers);
    totals_.stocks.resize(size_t{scale.warehouses} * scale.items);
    read_money();
    read_payments();
    read_orders();
    totals_.item = each<Item>(tables_.item, [](Key, const Item&) { return kFine; });
    totals_.stock = each<Stock>(tables_.stock, [](Key, const Stock&) { return kFine; });
  }

  Totals totals() && { return std::move(totals_); }

 private:
  static constexpr const char* kFine = nullptr;

  // Returns a warehouse's sums. Counts rows under keys outside the scale in Totals::strays; their
  // values go into sums that no check reads.
  WarehouseSums& at_warehouse(uint64_t w) {
    if (w >= 1 && w <= scale_.warehouses) return totals_.warehouses[w - 1];
    add(totals_.strays, 1);
    return stray_warehouse_;
  }
  // Returns the district's index in Totals::districts, or the size of that vector if the district
  // does not exist.
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
  // Returns the customer's index in Totals::customers, or the size of that vector if the customer
  // does not exist.
  size_t place_of_customer(Key customer) const {
    const size_t district = place_of(district_of_customer(customer));
    const uint64_t c = low_bits(customer, kCustomerBits);
    const bool exists = district < totals_.districts.size() && c >= 1 && c <= scale_.customers;
    return exists ? district * scale_.customers + c - 1 : totals_.customers.size();
  }
  CustomerSums& at_customer(Key customer) {
    const size_t place = place_of_customer(customer);
    if (place < totals_.customers.size()) return totals_.customers[place];
    add(totals_.strays, 1);
    return stray_customer_;
  }
  StockSums& at_stock(uint32_t w, uint32_t i) {
    if (w >= 1 && w <= scale_.warehouses && i >= 1 && i <= scale_.items) {
      return totals_.stocks[size_t{w - 1} * scale_.items + i - 1];
    }
    add(totals_.strays, 1);
    return stray_stock_;
  }

  // Visits all rows, on all cores. `visit` returns a row's error, or kFine.
  template <class Row, class Visit>
  static RowsFound each(Table& table, const Visit& visit) {
    return sum_of_parts(RowsFound{}, [&](uint32_t part, uint32_t parts, RowsFound* sum) {
      table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
        note(table, key, visit(key, *reinterpret_cast<const Row*>(row)), sum);
      });
    });
  }
  static void note(const Table& table, Key key, const char* wrong, RowsFound* sum) {
    ++sum->rows;
    if (wrong == kFine) return;
    sum->broken.note([&] { return row_name(table, key) + ": " + wrong; });
  }

  void read_money() {
    totals_.warehouse = each<Warehouse>(tables_.warehouse, [this](Key key, const Warehouse& row) {
      add(at_warehouse(key).ytd, row.ytd);
      return kFine;
    });
    totals_.district = each<District>(tables_.district, [this](Key key, const District& row) {
      DistrictSums& district = at_district(key);
      add(district.ytd, row.ytd);
      add(district.next_order, row.next_order);
      add(at_warehouse(warehouse_of_district(key)).district_ytd, row.ytd);
      return kFine;
    });
    totals_.customer = each<Customer>(tables_.customer, [this](Key key, const Customer& row) {
      if (place_of_customer(key) >= totals_.customers.size()) {
        add(totals_.strays, 1);
        return kFine;
      }
      CustomerSums& customer = totals_.customers[place_of_customer(key)];
      add(customer.balance, row.balance);
      add(customer.ytd_payment, row.ytd_payment);
      customer.bad_credit = text(row.credit) == "BC";
      add(at_district(district_of_customer(key)).deliveries, row.deliveries);
      return kFine;
    });
  }

  void read_payments() {
    PaymentsFound all =
        sum_of_parts(PaymentsFound{}, [&](uint32_t part, uint32_t parts, PaymentsFound* sum) {
          Key before = 0;
          const History* row_before = nullptr;
          tables_.history.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
            const auto& row = *reinterpret_cast<const History*>(bytes);
            // The row before the first row of a part is in the previous part.
            if (before + 1 != key) row_before = find_row<History>(tables_.history, key - 1);
            note(tables_.history, key, read_payment(key, row, row_before, &sum->noted), &sum->rows);
            before = key;
            row_before = &row;
          });
        });
    totals_.history = all.rows;
    totals_.noted_payments = std::move(all.noted);
    sort_payments(&totals_.noted_payments);
  }

  const char* read_payment(Key key, const History& row, const History* before,
                           std::vector<NotedPayment>* noted) {
    add(at_warehouse(row.warehouse).paid, row.amount);
    add(at_district(district_key(row.warehouse, row.district)).paid, row.amount);
    const Key customer_row =
        customer_key(row.customer_warehouse, row.customer_district, row.customer);
    CustomerSums& customer = at_customer(customer_row);
    add(customer.paid, row.amount);
    add(customer.payments, 1);
    if (is_loaded_history(key)) return kFine;  // compared with the load
    if (customer.bad_credit) noted->push_back({place_of_customer(customer_row), key, row});
    const bool same_worker =
        before != nullptr && worker_of_history(key - 1) == worker_of_history(key);
    return written_.wrong(row, same_worker ? before : nullptr);
  }

  void read_orders() {
    totals_.new_order = each<NewOrder>(tables_.new_order, [this](Key key, const NewOrder& row) {
      const auto number = static_cast<int64_t>(number_of_order(key));
      DistrictSums& district = at_district(district_of_order(key));
      add(district.new_orders, 1);
      lower(district.first_new, number);
      raise(district.last_new, number);
      return written_.wrong(key, row);
    });
    totals_.order_line = each<OrderLine>(tables_.order_line, [this](Key key, const OrderLine& row) {
      const Key order = order_of_line(key);
      add(at_district(district_of_order(order)).lines, 1);
      if (is_loaded_order(order)) return kFine;  // compared with the load
      StockSums& stock = at_stock(row.supply_warehouse, row.item);
      add(stock.quantity, row.quantity);
      add(stock.lines, 1);
      add(stock.remote_lines, is_remote(order, row));
      return written_.wrong(key, row);
    });
    totals_.order = each<Order>(tables_.order,
                                [this](Key key, const Order& row) { return read_order(key, row); });
  }

  bool is_loaded_order(Key order) const { return number_of_order(order) <= scale_.customers; }
  static bool is_remote(Key order, const OrderLine& line) {
    return line.supply_warehouse != warehouse_of_district(district_of_order(order));
  }

  const char* read_order(Key key, const Order& order) {
    const bool delivered = order.carrier != 0;
    const bool waiting = find_row<NewOrder>(tables_.new_order, key) != nullptr;
    const LinesFound lines = read_lines(key);
    DistrictSums& district = at_district(district_of_order(key));
    add(district.orders, 1);
    raise(district.last_order, static_cast<int64_t>(number_of_order(key)));
    add(district.lines_promised, order.lines);
    add(district.orders_in_one_state, delivered != waiting);
    add(district.orders_of_right_length, order.lines == lines.count);
    add(district.lines_in_their_orders_state,
        delivered ? lines.delivered : lines.count - lines.delivered);
    CustomerSums& customer = at_customer(district_of_order(key) << kCustomerBits | order.customer);
    add(customer.delivered, lines.amount);
    add(customer.deliveries,
        delivered && number_of_order(key) > scale_.customers - scale_.undelivered());
    return is_loaded_order(key) ? kFine : written_.wrong(order, lines);
  }

  LinesFound read_lines(Key order) {
    LinesFound lines;
    tables_.order_line.primary().scan(
        line_key(order, 0), line_key(order, kMaxLines), false,
        [&](NodeVersion, std::span<Keyed* const> entries) {
          for (Keyed* entry : entries) {
            if (!present(entry)) continue;
            const auto& line = *reinterpret_cast<const OrderLine*>(Table::tuple_of(entry)->row());
            const bool delivered = line.delivered != kNoDate;
            if (lines.count++ == 0) lines.date = line.delivered;
            lines.last = static_cast<uint32_t>(low_bits(entry->key, kLineBits));
            lines.delivered += delivered;
            lines.remote |= is_remote(order, line);
            lines.one_date &= line.delivered == lines.date;
            if (delivered) lines.amount += line.amount;
          }
          return true;
        });
    return lines;
  }

  static bool present(Keyed* entry) { return !Table::tuple_of(entry)->load_version().absent(); }

  Tables tables_;
  const Scale& scale_;
  const WrittenRows written_;
  Totals totals_;
  WarehouseSums stray_warehouse_;
  DistrictSums stray_district_;
  CustomerSums stray_customer_;
  StockSums stray_stock_;
};

}  // namespace

Totals add_up(Database& database, const Scale& scale) { return Adder(database, scale).totals(); }

}  // namespace logjam::tpcc


#include "platform/atomic.h"
#include "workloads/table_checks.h"
#include "workloads/tpcc/checks.h"
#include "workloads/tpcc/input.h"
#include "workloads/wrapping.h"

namespace logjam::tpcc {
namespace {

constexpr Cents kMinPayment = 1'00, kMaxPayment = 5000'00;  // clause 2.5.1.3
constexpr uint32_t kMaxQuantity = 10;                       // clause 2.4.1.5
constexpr uint8_t kMaxCarrier = 10;                         // clause 2.7.1.2
constexpr const char* kFine = nullptr;

// Adds to a sum atomically, because the threads that read parts of a table add to the same sums.
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

template <class Row>
bool is_zero(const Row& unused) {
  return std::ranges::all_of(unused, [](char c) { return c == 0; });
}

// The result of reading a part of HISTORY.
struct PaymentsFound {
  RowsFound rows;
  std::vector<NotedPayment> noted;

  void add(PaymentsFound& later) {
    add_part(rows, later.rows);
    noted.insert(noted.end(), later.noted.begin(), later.noted.end());
  }
};

// The lines of one order, as a scan has found them.
struct LinesFound {
  uint32_t count = 0;
  uint32_t last = 0;       // the largest line number
  uint32_t delivered = 0;  // lines with OL_DELIVERY_D
  bool remote = false;     // a warehouse other than the order's supplies one of the lines
  bool one_date = true;    // all lines have the same OL_DELIVERY_D
  Date date = kNoDate;     // OL_DELIVERY_D of the first line
  Cents amount = 0;        // the sum of OL_AMOUNT of the delivered lines
};

// Makes Totals of all rows. Each wrong() returns an error if columns of an inserted row contradict
// each other or the rows that they name, and otherwise kFine.
class Adder {
 public:
  Adder(Database& database, const Scale& scale)
      : tables_(database), scale_(scale), names_(scale.districts()) {
    totals_.warehouses.resize(scale.warehouses);
    totals_.districts.resize(scale.districts());
    totals_.customers.resize(scale.districts() * scale.customers);
    totals_.stocks.resize(size_t{scale.warehouses} * scale.items);
    read_names();
    read_money();
    read_payments();
    read_orders();
    each<Item>([](Key, const Item&) { return kFine; });
    each<Stock>([](Key, const Stock&) { return kFine; });
  }

  Totals totals() && { return std::move(totals_); }

 private:
  // Returns sums[place]. If there is no such element, counts a row in Totals::strays, and returns
  // sums that no check reads.
  template <class Sums>
  Sums& at(std::vector<Sums>& sums, size_t place) {
    if (place < sums.size()) return sums[place];
    add(totals_.strays, 1);
    return std::get<Sums>(stray_sums_);
  }
  WarehouseSums& at_warehouse(uint64_t w) { return at(totals_.warehouses, w - 1); }
  DistrictSums& at_district(Key district) {
    return at(totals_.districts, scale_.place_of_district(district));
  }
  CustomerSums& at_customer(Key customer) {
    return at(totals_.customers, scale_.place_of_customer(customer));
  }

  // Visits all rows, on all cores. `visit` returns a row's error, or kFine.
  template <class Row, class Visit>
  void each(const Visit& visit) {
    Table& table = tables_.of<Row>();
    totals_.found[table.id()] =
        sum_of_parts(RowsFound{}, [&](uint32_t part, uint32_t parts, RowsFound* sum) {
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

  void read_names() {
    for (size_t place = 0; place < names_.size(); ++place) {
      const auto w = static_cast<uint32_t>(place / kDistricts + 1);
      const auto d = static_cast<uint32_t>(place % kDistricts + 1);
      const auto* warehouse = find_row<Warehouse>(tables_.warehouse, warehouse_key(w));
      const auto* district = find_row<District>(tables_.district, district_key(w, d));
      if (warehouse != nullptr && district != nullptr) {
        name_places(*warehouse, *district, &names_[place]);
      }
    }
  }

  void read_money() {
    each<Warehouse>([this](Key key, const Warehouse& row) {
      add(at_warehouse(key).ytd, row.ytd);
      return kFine;
    });
    each<District>([this](Key key, const District& row) {
      DistrictSums& district = at_district(key);
      add(district.ytd, row.ytd);
      add(district.next_order, row.next_order);
      add(at_warehouse(warehouse_of_district(key)).district_ytd, row.ytd);
      return kFine;
    });
    each<Customer>([this](Key key, const Customer& row) {
      CustomerSums& customer = at_customer(key);
      if (&customer == &std::get<CustomerSums>(stray_sums_)) return kFine;
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
            // Looks the previous row up if it may be in the previous part of the table.
            if (before + 1 != key) row_before = find_row<History>(tables_.history, key - 1);
            note(tables_.history, key, read_payment(key, row, row_before, &sum->noted), &sum->rows);
            before = key;
            row_before = &row;
          });
        });
    totals_.found[kTableId<History>] = all.rows;
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
    if (is_loaded_history(key)) return kFine;  // check_rows() compares the row with the load
    if (customer.bad_credit) noted->push_back({scale_.place_of_customer(customer_row), key, row});
    const bool same_worker =
        before != nullptr && worker_of_history(key - 1) == worker_of_history(key);
    return wrong(row, same_worker ? before : nullptr);
  }

  // Checks a payment. `before` is the row of the same worker's previous payment, or null.
  const char* wrong(const History& row, const History* before) const {
    if (row.warehouse < 1 || row.warehouse > scale_.warehouses) return "h_w_id is no warehouse";
    if (!is_district(row.district)) return "h_d_id is no district";
    const Key district = district_key(row.warehouse, row.district);
    const History& names = names_[scale_.place_of_district(district)];
    if (std::memcmp(row.data, names.data, sizeof row.data) != 0) {
      return "h_data is not w_name and d_name";
    }
    if (row.amount < kMinPayment || row.amount > kMaxPayment) return "h_amount is out of range";
    if (row.date <= kLoadDate) return "h_date is not after the load";
    if (before != nullptr && row.date <= before->date) {
      return "h_date is not after that of the same worker's payment before";
    }
    return kFine;
  }

  void read_orders() {
    each<NewOrder>([this](Key key, const NewOrder& row) {
      const auto number = static_cast<int64_t>(number_of_order(key));
      DistrictSums& district = at_district(district_of_order(key));
      add(district.new_orders, 1);
      replace_if(district.first_new, number, std::less());
      replace_if(district.last_new, number, std::greater());
      return row.order == number_of_order(key) ? kFine : "no_o_id is not the key's";
    });
    each<OrderLine>([this](Key key, const OrderLine& row) {
      const Key order = order_of_line(key);
      add(at_district(district_of_order(order)).lines, 1);
      if (is_loaded_order(order)) return kFine;  // check_rows() compares the row with the load
      StockSums& stock = at(totals_.stocks, scale_.place_of_stock(row.supply_warehouse, row.item));
      add(stock.quantity, row.quantity);
      add(stock.lines, 1);
      add(stock.remote_lines, is_remote(order, row));
      return wrong(key, row);
    });
    each<Order>([this](Key key, const Order& row) { return read_order(key, row); });
  }

  const char* wrong(Key key, const OrderLine& row) const {
    if (row.delivered != kNoDate && row.delivered <= kLoadDate) {
      return "ol_delivery_d is not after the load";
    }
    if (row.quantity < 1 || row.quantity > kMaxQuantity) return "ol_quantity is out of range";
    const auto* item = find_row<Item>(tables_.item, item_key(row.item));
    if (item == nullptr) return "ol_i_id is no item";
    const Key stock_row = stock_key(row.supply_warehouse, row.item);
    const auto* stock = find_row<Stock>(tables_.stock, stock_row);
    if (stock == nullptr) return "ol_supply_w_id has no stock of ol_i_id";
    if (row.amount != row.quantity * item->price) return "ol_amount is not ol_quantity * i_price";
    const uint32_t district = number_of_district(district_of_order(order_of_line(key)));
    if (!is_district(district) ||
        std::memcmp(row.dist_info, stock->dist[district - 1], sizeof row.dist_info) != 0) {
      return "ol_dist_info is not the district's s_dist";
    }
    return is_zero(row.unused) ? kFine : "a byte of no column is not 0";
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
    replace_if(district.last_order, static_cast<int64_t>(number_of_order(key)), std::greater());
    add(district.lines_promised, order.lines);
    add(district.orders_in_one_state, delivered != waiting);
    add(district.orders_of_right_length, order.lines == lines.count);
    add(district.lines_in_their_orders_state,
        delivered ? lines.delivered : lines.count - lines.delivered);
    CustomerSums& customer = at_customer(district_of_order(key) << kCustomerBits | order.customer);
    add(customer.delivered, lines.amount);
    add(customer.deliveries,
        delivered && number_of_order(key) > scale_.customers - scale_.undelivered());
    return is_loaded_order(key) ? kFine : wrong(order, lines);
  }

  static const char* wrong(const Order& row, const LinesFound& lines) {
    if (row.entered <= kLoadDate) return "o_entry_d is not after the load";
    if (row.carrier > kMaxCarrier) return "o_carrier_id is out of range";
    if (row.lines < kMinLines || row.lines > kMaxLines) return "o_ol_cnt is out of range";
    if (lines.last != row.lines) return "o_ol_cnt is not the largest ol_number";
    if (row.all_local != (lines.remote ? 0 : 1)) return "o_all_local contradicts ol_supply_w_id";
    if (!lines.one_date) return "ol_delivery_d is not the same in all lines";
    return is_zero(row.unused) ? kFine : "a byte of no column is not 0";
  }

  LinesFound read_lines(Key order) {
    LinesFound lines;
    tables_.order_line.primary().scan(
        line_key(order, 0), line_key(order, kMaxLines), false,
        [&](NodeVersion, std::span<Keyed* const> entries) {
          for (Keyed* entry : entries) {
            const Tuple& tuple = *Table::tuple_of(entry);
            if (tuple.load_version().absent()) continue;
            const auto& line = *reinterpret_cast<const OrderLine*>(tuple.row());
            const bool delivered = line.delivered != kNoDate;
            if (lines.count++ == 0) lines.date = line.delivered;
            lines.last = static_cast<uint32_t>(low_bits(entry->key, kLineBits));
            lines.delivered += delivered;
            lines.remote |= is_remote(order, line);
            lines.one_date &= line.delivered == lines.date;
            if (delivered) add_to(lines.amount, line.amount);
          }
          return true;
        });
    return lines;
  }

  Tables tables_;
  const Scale& scale_;
  std::vector<History> names_;  // by district: only the H_DATA that a payment there writes
  Totals totals_;
  std::tuple<WarehouseSums, DistrictSums, CustomerSums, StockSums> stray_sums_;
};

}  // namespace

Totals add_up(Database& database, const Scale& scale) { return Adder(database, scale).totals(); }

}  // namespace logjam::tpcc


#include "workloads/table_checks.h"
#include "workloads/tpcc/checks.h"
#include "workloads/tpcc/load.h"

namespace logjam::tpcc {
namespace {

// The broken rows, by table.
struct Findings {
  std::array<BrokenRows, kTables> broken;
  auto members() {
    return std::apply([](auto&... each) { return std::tie(each...); }, broken);
  }
};

// Returns the S_QUANTITY of a stock after orders with the total quantity `ordered`. The load wrote
// the S_QUANTITY `loaded`. An order subtracts its quantity, and adds 91 if the result would be
// below 10 (clause 2.4.2.2). So S_QUANTITY stays within [10, 100], and depends on the total alone.
int32_t quantity_after(int32_t loaded, int64_t ordered) {
  const int64_t rest = (loaded - ordered - 10) % 91;
  return static_cast<int32_t>(10 + (rest < 0 ? rest + 91 : rest));
}

// Compares loaded rows with the present rows. Each change() sets the columns of a loaded row to the
// values that the present row must have, and returns an error in the present row, or "".
class Comparer {
 public:
  Comparer(const Tables& tables, const Scale& scale, const Totals& totals, Findings* findings)
      : tables_(tables), scale_(scale), totals_(totals), findings_(*findings) {}

  template <class Row>
  void operator()(Key key, const Row& loaded) const {
    if (std::is_same_v<Row, NewOrder>) return;  // a run may have delivered the order
    Table& table = tables_.of<Row>();
    const auto* found = find_row<Row>(table, key);
    if (found == nullptr) return note(table, key, "is missing");
    Row expected = loaded;
    std::string wrong = change(key, *found, &expected);
    if (wrong.empty()) {
      wrong = difference(table, key, reinterpret_cast<const std::byte*>(found),
                         reinterpret_cast<const std::byte*>(&expected));
    }
    if (!wrong.empty()) note(table, key, wrong);
  }

 private:
  template <class Row>
  std::string change(Key, const Row&, Row*) const {
    return "";
  }

  std::string change(Key key, const Warehouse&, Warehouse* row) const {
    row->ytd = totals_.warehouses[key - 1].paid;
    return "";
  }

  std::string change(Key key, const District&, District* row) const {
    const DistrictSums& sums = totals_.districts[scale_.place_of_district(key)];
    row->ytd = sums.paid;
    row->next_order = static_cast<uint32_t>(sums.last_order + 1);
    return "";
  }

  std::string change(Key key, const Customer& found, Customer* row) const {
    const size_t place = scale_.place_of_customer(key);
    const CustomerSums& sums = totals_.customers[place];
    row->balance = sums.delivered - sums.paid;
    row->ytd_payment = sums.paid;
    row->payments = sums.payments;
    row->deliveries = sums.deliveries;
    if (text(row->credit) != "BC") return "";
    const auto payments = payments_of(place, totals_.noted_payments);
    if (!payments_explain(payments, row->data, found.data)) {
      return "c_data is not the notes of " + std::to_string(payments.size()) +
             " payments before the loaded text";
    }
    std::memcpy(row->data, found.data, sizeof row->data);
    return "";
  }

  // Accepts a delivery: conditions 5 and 7 check that ORDER, ORDER-LINE and NEW-ORDER agree on it.
  std::string change(Key, const Order& found, Order* row) const {
    if (row->carrier == 0 && found.carrier <= 10) row->carrier = found.carrier;
    return "";
  }
  std::string change(Key, const OrderLine& found, OrderLine* row) const {
    if (row->delivered == kNoDate && found.delivered > kLoadDate) row->delivered = found.delivered;
    return "";
  }

  std::string change(Key key, const Stock&, Stock* row) const {
    const auto item = static_cast<uint32_t>(low_bits(key, kItemBits));
    const StockSums& sums = totals_.stocks[scale_.place_of_stock(warehouse_of_stock(key), item)];
    row->ytd = sums.quantity;
    row->quantity = quantity_after(row->quantity, sums.quantity);
    row->orders = sums.lines;
    row->remote_orders = sums.remote_lines;
    return "";
  }

  void note(const Table& table, Key key, const std::string& wrong) const {
    findings_.broken[table.id()].note([&] { return row_name(table, key) + ": " + wrong; });
  }

  const Tables& tables_;
  const Scale& scale_;
  const Totals& totals_;
  Findings& findings_;
};

}  // namespace

std::vector<Check> check_rows(Database& database, const Scale& scale, const Totals& totals) {
  const Tables tables(database);
  const auto check_part = [&](uint32_t part, uint32_t parts, Findings* findings) {
    visit_population(scale, part, parts, Comparer(tables, scale, totals, findings));
  };
  const Findings findings = sum_of_parts(Findings{}, check_part);
  std::vector<Check> checks;
  for (uint16_t table = 0; table < kTables; ++table) {
    BrokenRows broken = findings.broken[table];
    broken.add(totals.found[table].broken);
    const std::string checked = std::to_string(totals.found[table].rows) + " rows";
    checks.push_back(
        {database.table(table)->schema().name + ": columns are as loaded, or as what happened says",
         broken.count == 0,
         broken.count == 0
             ? "holds, " + checked + " checked"
             : broken.first + " (" + std::to_string(broken.count) + " wrong, of " + checked + ")"});
  }
  return checks;
}

}  // namespace logjam::tpcc

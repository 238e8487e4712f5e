#include <algorithm>
#include <cstring>

#include "workloads/table_checks.h"
#include "workloads/tpcc/checks.h"
#include "workloads/tpcc/payment_text.h"

namespace logjam::tpcc {
namespace {

constexpr Cents kMinPayment = 1'00, kMaxPayment = 5000'00;  // clause 2.5.1.3
constexpr uint32_t kMaxQuantity = 10;                       // clause 2.4.1.5
constexpr uint8_t kMaxCarrier = 10;                         // clause 2.7.1.2

template <class Row>
bool is_zero(const Row& unused) {
  return std::all_of(std::begin(unused), std::end(unused), [](char c) { return c == 0; });
}

}  // namespace

WrittenRows::WrittenRows(Database& database, const Scale& scale)
    : tables_(database), scale_(scale), names_(size_t{scale.warehouses} * kDistricts) {
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

const char* WrittenRows::wrong(const History& row, const History* before) const {
  if (row.warehouse < 1 || row.warehouse > scale_.warehouses) return "h_w_id is no warehouse";
  if (row.district < 1 || row.district > kDistricts) return "h_d_id is no district";
  const History& names = names_[size_t{row.warehouse - 1} * kDistricts + row.district - 1];
  if (std::memcmp(row.data, names.data, sizeof row.data) != 0) {
    return "h_data is not w_name and d_name";
  }
  if (row.amount < kMinPayment || row.amount > kMaxPayment) return "h_amount is out of range";
  if (row.date <= kLoadDate) return "h_date is not after the load";
  if (before != nullptr && row.date <= before->date) {
    return "h_date is not after that of the same worker's payment before";
  }
  return nullptr;
}

const char* WrittenRows::wrong(Key key, const NewOrder& row) const {
  return row.order == number_of_order(key) ? nullptr : "no_o_id is not the key's";
}

const char* WrittenRows::wrong(const Order& row, const LinesFound& lines) const {
  if (row.entered <= kLoadDate) return "o_entry_d is not after the load";
  if (row.carrier > kMaxCarrier) return "o_carrier_id is out of range";
  if (row.lines < kMinLines || row.lines > kMaxLines) return "o_ol_cnt is out of range";
  if (lines.last != row.lines) return "o_ol_cnt is not the largest ol_number";
  if (row.all_local != (lines.remote ? 0 : 1)) return "o_all_local contradicts ol_supply_w_id";
  if (!lines.one_date) return "ol_delivery_d is not the same in all lines";
  return is_zero(row.unused) ? nullptr : "a byte of no column is not 0";
}

const char* WrittenRows::wrong(Key key, const OrderLine& row) const {
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
  if (district < 1 || district > kDistricts ||
      std::memcmp(row.dist_info, stock->dist[district - 1], sizeof row.dist_info) != 0) {
    return "ol_dist_info is not the district's s_dist";
  }
  return is_zero(row.unused) ? nullptr : "a byte of no column is not 0";
}

}  // namespace logjam::tpcc

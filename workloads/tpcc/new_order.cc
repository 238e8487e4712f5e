// NewOrder (clause 2.4): a customer orders 5 to 15 items.
#include <algorithm>
#include <array>
#include <cstring>

#include "workloads/expect_row.h"
#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {
namespace {

constexpr uint32_t kMaxQuantity = 10;

struct Line {
  uint32_t item;
  uint32_t supply_warehouse;
  uint32_t quantity;
};

class NewOrderType : public TransactionType {
 public:
  explicit NewOrderType(Terminal& terminal) : terminal_(terminal), tables_(terminal.tables) {}

  // Draws the order (clause 2.4.1).
  void draw() override {
    Random& random = terminal_.random;
    warehouse_ = terminal_.draw_warehouse();
    district_ = terminal_.draw_district();
    customer_ = terminal_.draw_customer();
    entered_ = terminal_.draw_date();
    line_count_ = static_cast<uint32_t>(random.between(kMinLines, kMaxLines));
    all_local_ = true;
    for (uint32_t i = 0; i < line_count_; ++i) {
      const bool remote = random.percent(1);
      lines_[i].item = terminal_.draw_item();
      lines_[i].supply_warehouse =
          remote ? terminal_.draw_remote_warehouse(warehouse_) : warehouse_;
      lines_[i].quantity = terminal_.draw_number(kMaxQuantity);
      all_local_ &= lines_[i].supply_warehouse == warehouse_;
      terminal_.drawn.remote_lines.count(lines_[i].supply_warehouse != warehouse_);
    }
    // One NewOrder in a hundred has an unused item number, and is rolled back (clause 2.4.1.4).
    const bool unused = random.percent(1);
    if (unused) lines_[line_count_ - 1].item = terminal_.scale.items + 1;
    terminal_.drawn.unused_items.count(unused);
  }

  // Executes the transaction profile (clause 2.4.2.2). An insert returns kExists if this
  // transaction read the district before another NewOrder changed it. Then the transaction
  // continues, and its commit fails.
  Status execute(Transaction& txn) override {
    prefetch(txn);
    const Warehouse* warehouse;
    if (!found_or_die(
            txn.read_head(tables_.warehouse, warehouse_key(warehouse_), kWarehouseTax, &warehouse),
            "tpcc: a row of warehouse")) {
      return Status::kAbort;
    }
    District* district;
    if (!found_or_die(txn.update(tables_.district, district_key(warehouse_, district_), &district),
                      "tpcc: a row of district")) {
      return Status::kAbort;
    }
    const uint32_t number = district->next_order++;
    const Customer* customer;
    if (!found_or_die(
            txn.read_head(tables_.customer, customer_key(warehouse_, district_, customer_),
                          kCustomerDiscount, &customer),
            "tpcc: a row of customer")) {
      return Status::kAbort;
    }

    const Key key = order_key(warehouse_, district_, number);
    const Order order{.entered = entered_,
                      .customer = customer_,
                      .carrier = 0,
                      .lines = static_cast<uint8_t>(line_count_),
                      .all_local = all_local_,
                      .unused = {}};
    if (txn.insert(tables_.order, key, order) == Status::kAbort) return Status::kAbort;
    if (txn.insert(tables_.new_order, key, NewOrder{number}) == Status::kAbort) {
      return Status::kAbort;
    }

    Cents sum = 0;
    terminal_.screen.brand_lines = 0;
    for (uint32_t i = 0; i < line_count_; ++i) {
      const Status status = add_line(txn, lines_[i], line_key(key, i + 1), &sum);
      if (status != Status::kOk) return status;
    }
    display(sum, *warehouse, *district, *customer);
    return Status::kOk;
  }

  void input(CommandFields& fields) override {
    fields(warehouse_, district_, customer_, entered_, all_local_, line_count_);
    fields.require(is_district(district_) && line_count_ <= kMaxLines);
    line_count_ = std::min<uint32_t>(line_count_, kMaxLines);
    for (uint32_t i = 0; i < line_count_; ++i) {
      fields(lines_[i]);
      fields.require(lines_[i].quantity <= kMaxQuantity);
    }
  }

 private:
  // Prefetches the rows whose keys are in the input.
  void prefetch(Transaction& txn) {
    std::array<Key, kMaxLines> items, stocks;
    for (uint32_t i = 0; i < line_count_; ++i) {
      items[i] = item_key(lines_[i].item);
      stocks[i] = stock_key(lines_[i].supply_warehouse, lines_[i].item);
    }
    const Key customer = customer_key(warehouse_, district_, customer_);
    txn.prefetch(tables_.customer, {&customer, 1}, kCustomerDiscount);
    txn.prefetch(tables_.item, {items.data(), line_count_});
    txn.prefetch(tables_.stock, {stocks.data(), line_count_});
  }

  Status add_line(Transaction& txn, const Line& line, Key key, Cents* sum) {
    const Item* item;
    const Status status = txn.read(tables_.item, item_key(line.item), &item);
    if (status == Status::kNotFound) return Status::kRollback;
    if (status != Status::kOk) return status;

    Stock* stock;
    if (!found_or_die(
            txn.update(tables_.stock, stock_key(line.supply_warehouse, line.item), &stock),
            "tpcc: a row of stock")) {
      return Status::kAbort;
    }
    const auto quantity = static_cast<int32_t>(line.quantity);
    stock->quantity += stock->quantity >= quantity + 10 ? -quantity : 91 - quantity;
    stock->ytd += quantity;
    ++stock->orders;
    if (line.supply_warehouse != warehouse_) ++stock->remote_orders;

    OrderLine row{.amount = quantity * item->price,
                  .delivered = kNoDate,
                  .item = line.item,
                  .supply_warehouse = line.supply_warehouse,
                  .quantity = line.quantity,
                  .dist_info = {},
                  .unused = {}};
    std::memcpy(row.dist_info, stock->dist[district_ - 1], sizeof row.dist_info);
    *sum += row.amount;
    terminal_.screen.brand_lines += is_brand(*item, *stock);
    return txn.insert(tables_.order_line, key, row) == Status::kAbort ? Status::kAbort
                                                                      : Status::kOk;
  }

  static bool is_brand(const Item& item, const Stock& stock) {
    return text(item.data).find("ORIGINAL") != std::string_view::npos &&
           text(stock.data).find("ORIGINAL") != std::string_view::npos;
  }

  // Displays the total: sum * (1 - discount) * (1 + both taxes), rounded to cents. The product,
  // with rates in basis points, is below 2^49 for the largest order.
  void display(Cents sum, const Warehouse& warehouse, const District& district,
               const Customer& customer) {
    constexpr int64_t kOne = 10'000;
    const int64_t product =
        sum * (kOne - customer.discount) * (kOne + warehouse.tax + district.tax);
    terminal_.screen.total = (product + kOne * kOne / 2) / (kOne * kOne);
  }

  Terminal& terminal_;
  Tables& tables_;
  uint32_t warehouse_ = 0;
  uint32_t district_ = 0;
  uint32_t customer_ = 0;
  Date entered_ = kNoDate;
  uint32_t line_count_ = 0;
  bool all_local_ = true;
  std::array<Line, kMaxLines> lines_{};
};

}  // namespace

std::unique_ptr<TransactionType> make_new_order(Terminal& terminal) {
  return std::make_unique<NewOrderType>(terminal);
}

}  // namespace logjam::tpcc

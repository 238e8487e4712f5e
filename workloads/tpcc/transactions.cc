// The five types of transactions.

#include "workloads/tpcc/payment_text.h"
#include "workloads/tpcc/terminal.h"
#include "workloads/wrapping.h"

namespace logjam::tpcc {
namespace {

// NewOrder (clause 2.4): a customer orders 5 to 15 items.
class NewOrderType : public TransactionType {
 public:
  using TransactionType::TransactionType;

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

  // Executes the transaction profile (clause 2.4.2.2). If another NewOrder has taken the same order
  // number since this transaction read the district, an insert returns kExists. Then the
  // transaction continues, and its commit fails.
  Status execute(Transaction& txn) override {
    prefetch(txn);
    const auto* const warehouse =
        read_head<Warehouse>(txn, tables_.warehouse, warehouse_key(warehouse_), kWarehouseTax);
    if (warehouse == nullptr) return Status::kAbort;
    auto* const district =
        update<District>(txn, tables_.district, district_key(warehouse_, district_));
    if (district == nullptr) return Status::kAbort;
    const uint32_t number = district->next_order++;
    const auto* const customer = read_head<Customer>(
        txn, tables_.customer, customer_key(warehouse_, district_, customer_), kCustomerDiscount);
    if (customer == nullptr) return Status::kAbort;

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
  static constexpr uint32_t kMaxQuantity = 10;
  struct Line {
    uint32_t item;
    uint32_t supply_warehouse;
    uint32_t quantity;
  };

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

    auto* const stock =
        update<Stock>(txn, tables_.stock, stock_key(line.supply_warehouse, line.item));
    if (stock == nullptr) return Status::kAbort;
    const auto quantity = static_cast<int32_t>(line.quantity);
    add_to(stock->quantity, stock->quantity >= quantity + 10 ? -quantity : 91 - quantity);
    add_to(stock->ytd, quantity);
    ++stock->orders;
    if (line.supply_warehouse != warehouse_) ++stock->remote_orders;

    OrderLine row{.amount = static_cast<Cents>(line.quantity * static_cast<uint64_t>(item->price)),
                  .delivered = kNoDate,
                  .item = line.item,
                  .supply_warehouse = line.supply_warehouse,
                  .quantity = line.quantity,
                  .dist_info = {},
                  .unused = {}};
    std::memcpy(row.dist_info, stock->dist[district_ - 1], sizeof row.dist_info);
    add_to(*sum, row.amount);
    terminal_.screen.brand_lines += is_brand(*item, *stock);
    return txn.insert(tables_.order_line, key, row) == Status::kAbort ? Status::kAbort
                                                                      : Status::kOk;
  }

  static bool is_brand(const Item& item, const Stock& stock) {
    return text(item.data).find("ORIGINAL") != std::string_view::npos &&
           text(stock.data).find("ORIGINAL") != std::string_view::npos;
  }

  // Displays the total: sum * (1 - discount) * (1 + both taxes), rounded to cents. Before the
  // division by the basis points, the product is below 2^49 for the largest order.
  void display(Cents sum, const Warehouse& warehouse, const District& district,
               const Customer& customer) {
    constexpr uint64_t kOne = 10'000;
    Cents product = static_cast<Cents>(static_cast<uint64_t>(sum) * (kOne - customer.discount) *
                                       (kOne + warehouse.tax + district.tax));
    add_to(product, Cents{kOne * kOne / 2});
    terminal_.screen.total = product / Cents{kOne * kOne};
  }

  uint32_t customer_ = 0;
  Date entered_ = kNoDate;
  uint32_t line_count_ = 0;
  bool all_local_ = true;
  std::array<Line, kMaxLines> lines_{};
};

// The choice of a customer (clauses 2.5.1.2 and 2.6.1.2): in 60 % of the cases by last name,
// otherwise by number. The terminal must outlive the object.
class CustomerChoice {
 public:
  explicit CustomerChoice(Terminal& terminal) : terminal_(terminal) { namesakes_.reserve(64); }

  void draw(uint32_t warehouse, uint32_t district) {
    warehouse_ = warehouse;
    district_ = district;
    by_name_ = terminal_.random.percent(60);
    terminal_.drawn.named.count(by_name_);
    if (by_name_) {
      terminal_.draw_last_name(last_name_);
    } else {
      number_ = terminal_.draw_customer();
    }
  }
  void input(CommandFields& fields) {
    fields(warehouse_, district_, by_name_);
    fields.require(is_district(district_));
    if (by_name_) {
      fields(last_name_);
    } else {
      fields(number_);
    }
  }

  void prefetch(Transaction& txn) const {
    const Key chosen = customer_key(warehouse_, district_, number_);
    if (!by_name_) txn.prefetch(terminal_.tables.customer, {&chosen, 1});
  }

  // Finds the customer's number. Of the n customers with the last name, sorted by first name, takes
  // customer n/2, rounded up (clause 2.5.2.2). Returns false if the transaction must abort.
  bool find(Transaction& txn) {
    found_ = !by_name_;
    if (!by_name_) return true;
    namesakes_.clear();
    const Key district = district_key(warehouse_, district_);
    const Status status = txn.read_secondary_head(
        terminal_.tables.customer, kByLastName, last_name_key(district, last_name_), kCustomerNames,
        [this](Key primary, const std::byte* row) {
          const auto* customer = reinterpret_cast<const Customer*>(row);
          if (std::memcmp(customer->last, last_name_, sizeof last_name_) == 0) {
            namesakes_.push_back(
                {static_cast<uint32_t>(low_bits(primary, kCustomerBits)), customer});
          }
          return true;
        });
    // Ends the process if no customer has the name: every district has a customer with each last
    // name that a terminal draws (load.h).
    if (!found_or_die(status == Status::kOk && namesakes_.empty() ? Status::kNotFound : status,
                      "tpcc: a row of customer")) {
      return false;
    }
    const auto middle = namesakes_.begin() + static_cast<ptrdiff_t>((namesakes_.size() - 1) / 2);
    std::nth_element(
        namesakes_.begin(), middle, namesakes_.end(), [](const Namesake& a, const Namesake& b) {
          const int order = std::memcmp(a.row->first, b.row->first, sizeof a.row->first);
          return order != 0 ? order < 0 : a.number < b.number;
        });
    number_ = middle->number;
    found_ = true;
    return true;
  }

  Key key() const { return customer_key(warehouse_, district_, number()); }
  uint32_t warehouse() const { return warehouse_; }
  uint32_t district() const { return district_; }
  uint32_t number() const {
    LJ_ASSERT_IN_TESTS(found_);
    return number_;
  }

 private:
  struct Namesake {
    uint32_t number;
    const Customer* row;
  };

  Terminal& terminal_;
  uint32_t warehouse_ = 0;
  uint32_t district_ = 0;
  bool by_name_ = false;
  char last_name_[16] = {};
  uint32_t number_ = 0;
  bool found_ = false;               // number_ is the chosen customer's number
  std::vector<Namesake> namesakes_;  // reused: no allocation per transaction
};

// Payment (clause 2.5) adds a payment to sums of the customer, the district and the warehouse.
class PaymentType : public TransactionType {
 public:
  explicit PaymentType(Terminal& terminal) : TransactionType(terminal), customer_(terminal) {}

  void draw() override {
    Random& random = terminal_.random;
    warehouse_ = terminal_.draw_warehouse();
    district_ = terminal_.draw_district();
    const bool remote = random.percent(15);
    const uint32_t from = remote ? terminal_.draw_remote_warehouse(warehouse_) : warehouse_;
    terminal_.drawn.remote_payments.count(from != warehouse_);
    customer_.draw(from, remote ? terminal_.draw_district() : district_);
    amount_ = random.between(kLeastAmount, kMostAmount);
    date_ = terminal_.draw_date();
    history_ = history_key(terminal_.worker, terminal_.payments++);
  }

  Status execute(Transaction& txn) override {
    customer_.prefetch(txn);
    auto* const warehouse = update<Warehouse>(txn, tables_.warehouse, warehouse_key(warehouse_));
    if (warehouse == nullptr) return Status::kAbort;
    add_to(warehouse->ytd, amount_);

    auto* const district =
        update<District>(txn, tables_.district, district_key(warehouse_, district_));
    if (district == nullptr) return Status::kAbort;
    add_to(district->ytd, amount_);

    if (!customer_.find(txn)) return Status::kAbort;
    auto* const customer = update<Customer>(txn, tables_.customer, customer_.key());
    if (customer == nullptr) return Status::kAbort;
    add_to(customer->balance, -amount_);
    add_to(customer->ytd_payment, amount_);
    ++customer->payments;
    const History history = describe(*warehouse, *district);
    if (text(customer->credit) == "BC") note_bad_credit(history, customer->data);
    terminal_.screen.text += static_cast<uint64_t>(customer->balance);
    return txn.insert(tables_.history, history_, history) == Status::kAbort ? Status::kAbort
                                                                            : Status::kOk;
  }

  void input(CommandFields& fields) override {
    fields(warehouse_, district_);
    fields.require(is_district(district_));
    customer_.input(fields);
    fields(amount_, date_, history_);
    fields.require(amount_ >= kLeastAmount && amount_ <= kMostAmount);
  }

 private:
  static constexpr Cents kLeastAmount = 1'00, kMostAmount = 5000'00;

  History describe(const Warehouse& warehouse, const District& district) const {
    History history{.amount = amount_,
                    .date = date_,
                    .customer_warehouse = customer_.warehouse(),
                    .warehouse = warehouse_,
                    .customer = customer_.number(),
                    .customer_district = static_cast<uint16_t>(customer_.district()),
                    .district = static_cast<uint16_t>(district_),
                    .data = {}};
    name_places(warehouse, district, &history);
    return history;
  }

  CustomerChoice customer_;
  Cents amount_ = 0;
  Date date_ = kNoDate;
  Key history_ = 0;
};

// Order-Status (clause 2.6) reads the latest order of a customer and the order's lines.
class OrderStatusType : public TransactionType {
 public:
  explicit OrderStatusType(Terminal& terminal) : TransactionType(terminal), customer_(terminal) {}

  void draw() override {
    const uint32_t warehouse = terminal_.draw_warehouse();
    customer_.draw(warehouse, terminal_.draw_district());
  }

  Status execute(Transaction& txn) override {
    if (!customer_.find(txn)) return Status::kAbort;
    const auto* const customer =
        read_head<Customer>(txn, tables_.customer, customer_.key(), kCustomerNames);
    if (customer == nullptr) return Status::kAbort;
    terminal_.screen.text += static_cast<uint64_t>(customer->balance);

    // The load gives every customer one order, so there is a latest order.
    Key key = 0;
    if (!found(find_latest(txn, &key), tables_.order)) return Status::kAbort;
    terminal_.screen.customer = customer_.key();
    terminal_.screen.order = number_of_order(key);
    terminal_.screen.lines = 0;
    return txn.scan(tables_.order_line, line_key(key, 1), line_key(key, kMaxLines), false,
                    [this](Key, const std::byte* row) {
                      const auto* line = reinterpret_cast<const OrderLine*>(row);
                      ++terminal_.screen.lines;
                      terminal_.screen.text += line->item + line->supply_warehouse +
                                               line->quantity + line->delivered +
                                               static_cast<uint64_t>(line->amount);
                      return true;
                    });
  }

 private:
  Status find_latest(Transaction& txn, Key* key) {
    bool any = false;
    const Key low = customer_order_key(customer_.key(), 0);
    const Key high = customer_order_key(customer_.key(), kMaxOrder);
    const Status status = txn.scan_secondary(
        tables_.order, kByCustomer, low, high, true, [&](Key primary, const std::byte* row) {
          const auto* order = reinterpret_cast<const Order*>(row);
          terminal_.screen.text += order->entered + order->carrier;
          *key = primary;
          any = true;
          return false;
        });
    return status == Status::kOk && !any ? Status::kNotFound : status;
  }

  CustomerChoice customer_;
};

// Delivery (clause 2.7) delivers the oldest undelivered order of each district. All ten deliveries
// are one database transaction; clause 2.7.4.2 allows up to ten.
class DeliveryType : public TransactionType {
 public:
  using TransactionType::TransactionType;

  void draw() override {
    warehouse_ = terminal_.draw_warehouse();
    carrier_ = static_cast<uint8_t>(terminal_.draw_number(10));
    date_ = terminal_.draw_date();
    add_part(terminal_.drawn.skipped, skipped_);
    skipped_ = {};
  }

  Status execute(Transaction& txn) override {
    skipped_ = {};
    for (uint32_t district = 1; district <= kDistricts; ++district) {
      Key order = 0;
      const Status status = take_oldest(txn, district, &order);
      if (status == Status::kAbort) return Status::kAbort;
      skipped_.count(status == Status::kNotFound);
      if (status == Status::kOk && !deliver(txn, district, order)) return Status::kAbort;
    }
    return Status::kOk;
  }

  void input(CommandFields& fields) override { fields(warehouse_, carrier_, date_); }

 private:
  // Deletes the oldest row of NEW-ORDER. Returns kNotFound if the district has no such row.
  Status take_oldest(Transaction& txn, uint32_t district, Key* order) {
    bool any = false;
    const Status status =
        txn.scan(tables_.new_order, order_key(warehouse_, district, 0),
                 order_key(warehouse_, district, kMaxOrder), false, [&](Key key, const std::byte*) {
                   *order = key;
                   any = true;
                   return false;
                 });
    if (status != Status::kOk) return status;
    // Under OCC, another transaction may delete the row after the scan. Then the erase returns
    // kNotFound, the transaction continues, and its commit fails because the scan is no longer
    // valid. Under 2PL the scan's lock excludes this.
    return any ? txn.erase(tables_.new_order, *order) : Status::kNotFound;
  }

  // Delivers an order (clause 2.7.4.2). Returns false if the transaction must abort.
  bool deliver(Transaction& txn, uint32_t district, Key key) {
    auto* const order = update<Order>(txn, tables_.order, key);
    if (order == nullptr) return false;
    order->carrier = carrier_;
    const Key customer_of_order = customer_key(warehouse_, district, order->customer);
    txn.prefetch(tables_.customer, {&customer_of_order, 1});

    Cents amount = 0;
    for (uint32_t number = 1; number <= order->lines; ++number) {
      auto* const line = update<OrderLine>(txn, tables_.order_line, line_key(key, number));
      if (line == nullptr) return false;
      line->delivered = date_;
      add_to(amount, line->amount);
    }

    auto* const customer = update<Customer>(txn, tables_.customer, customer_of_order);
    if (customer == nullptr) return false;
    add_to(customer->balance, amount);
    ++customer->deliveries;
    return true;
  }

  uint8_t carrier_ = 0;
  Date date_ = kNoDate;
  Tries skipped_;  // counts the districts that the latest execution has skipped
};

// Stock-Level (clause 2.8) counts the items with low stock among the items of a district's last 20
// orders. Stock-Level is serializable here; clause 2.8.2.3 allows a lower isolation level.
class StockLevelType : public TransactionType {
 public:
  explicit StockLevelType(Terminal& terminal) : TransactionType(terminal) {
    items_.reserve(kOrders * kMaxLines);
  }

  // Draws the threshold. A terminal's district never changes (clause 2.8.1). But a worker without a
  // district stands for many terminals, so the function then also draws the district.
  void draw() override {
    warehouse_ = terminal_.draw_warehouse();
    district_ = terminal_.home.district != 0 ? terminal_.home.district : terminal_.draw_district();
    threshold_ = static_cast<int32_t>(terminal_.random.between(10, 20));
  }

  Status execute(Transaction& txn) override {
    const auto* const district =
        read<District>(txn, tables_.district, district_key(warehouse_, district_));
    if (district == nullptr) return Status::kAbort;
    const uint64_t next = district->next_order, first = next > kOrders ? next - kOrders : 1;
    items_.clear();
    const Status status =
        txn.scan(tables_.order_line, line_key(order_key(warehouse_, district_, first), 1),
                 line_key(order_key(warehouse_, district_, next - 1), kMaxLines), false,
                 [this](Key, const std::byte* row) {
                   items_.push_back(reinterpret_cast<const OrderLine*>(row)->item);
                   return true;
                 });
    if (status != Status::kOk) return status;

    std::sort(items_.begin(), items_.end());
    items_.erase(std::unique(items_.begin(), items_.end()), items_.end());
    uint32_t low = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (i % kPrefetched == 0) prefetch(txn, i);
      const auto* const stock =
          read_head<Stock>(txn, tables_.stock, stock_key(warehouse_, items_[i]), kStockQuantity);
      if (stock == nullptr) return Status::kAbort;
      low += stock->quantity < threshold_;
    }
    terminal_.screen.threshold = threshold_;
    terminal_.screen.low_stock = low;
    return Status::kOk;
  }

 private:
  static constexpr uint64_t kOrders = 20;
  static constexpr size_t kPrefetched = 16;

  // Prefetches the stocks of the items from number `from` on.
  void prefetch(Transaction& txn, size_t from) {
    std::array<Key, kPrefetched> stocks;
    const size_t count = std::min(kPrefetched, items_.size() - from);
    for (size_t i = 0; i < count; ++i) stocks[i] = stock_key(warehouse_, items_[from + i]);
    txn.prefetch(tables_.stock, {stocks.data(), count}, kStockQuantity);
  }

  int32_t threshold_ = 0;
  std::vector<uint32_t> items_;  // reused: no allocation per transaction
};

template <class Type>
std::unique_ptr<TransactionType> make(Terminal& terminal) {
  return std::make_unique<Type>(terminal);
}

}  // namespace

constinit const std::array<TypeInfo, 5> kTypes = {{{"new-order", make<NewOrderType>},
                                                   {"payment", make<PaymentType>},
                                                   {"order-status", make<OrderStatusType>},
                                                   {"delivery", make<DeliveryType>},
                                                   {"stock-level", make<StockLevelType>}}};

}  // namespace logjam::tpcc

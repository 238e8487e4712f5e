// Payment (clause 2.5) books a customer's payment at the customer, the district and the warehouse.
// Order-Status (clause 2.6) reads the latest order of a customer and the order's lines.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/assert.h"
#include "workloads/expect_row.h"
#include "workloads/tpcc/payment_text.h"
#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {
namespace {

constexpr Cents kLeastAmount = 1'00, kMostAmount = 5000'00;

// The choice of a customer (clauses 2.5.1.2 and 2.6.1.2): in 60 % of the cases by last name,
// otherwise by number. One object serves all transactions of a terminal, which must outlive it.
class CustomerChoice {
 public:
  explicit CustomerChoice(Terminal& terminal) : terminal_(terminal) { namesakes_.reserve(64); }

  // Draws a customer of the district.
  void draw(uint32_t warehouse, uint32_t district);
  // Encodes the choice into a command, or decodes it.
  void input(CommandFields& fields) {
    fields(warehouse_, district_, by_name_);
    fields.require(is_district(district_));
    if (by_name_) {
      fields(last_name_);
    } else {
      fields(number_);
    }
  }

  // Prefetches the customer if the choice is by number.
  void prefetch(Transaction& txn) const {
    const Key chosen = customer_key(warehouse_, district_, number_);
    if (!by_name_) txn.prefetch(terminal_.tables.customer, {&chosen, 1});
  }

  // Finds the customer's number. Returns false if the transaction must abort.
  bool find(Transaction& txn);

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
  bool found_ = false;               // number_ is that of the chosen customer
  std::vector<Namesake> namesakes_;  // reused: no allocation per transaction
};

void CustomerChoice::draw(uint32_t warehouse, uint32_t district) {
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

// Takes the middle customer, rounded up, of those with the last name, sorted by first name (clause
// 2.5.2.2).
bool CustomerChoice::find(Transaction& txn) {
  found_ = !by_name_;
  if (!by_name_) return true;
  namesakes_.clear();
  const Key district = district_key(warehouse_, district_);
  const Status status = txn.read_secondary_head(
      terminal_.tables.customer, kByLastName, last_name_key(district, last_name_), kCustomerNames,
      [this](Key primary, const std::byte* row) {
        const auto* customer = reinterpret_cast<const Customer*>(row);
        if (std::memcmp(customer->last, last_name_, sizeof last_name_) == 0) {
          namesakes_.push_back({static_cast<uint32_t>(low_bits(primary, kCustomerBits)), customer});
        }
        return true;
      });
  // Every district has a customer with each last name that a terminal draws (load.cc).
  if (!found_or_die(status == Status::kOk && namesakes_.empty() ? Status::kNotFound : status,
                    "tpcc: a row of customer")) {
    return false;
  }
  const auto middle = namesakes_.begin() + static_cast<ptrdiff_t>((namesakes_.size() - 1) / 2);
  std::nth_element(namesakes_.begin(), middle, namesakes_.end(),
                   [](const Namesake& a, const Namesake& b) {
                     const int order = std::memcmp(a.row->first, b.row->first, sizeof a.row->first);
                     return order != 0 ? order < 0 : a.number < b.number;
                   });
  number_ = middle->number;
  found_ = true;
  return true;
}

class OrderStatusType : public TransactionType {
 public:
  explicit OrderStatusType(Terminal& terminal)
      : terminal_(terminal), tables_(terminal.tables), customer_(terminal) {}

  // Draws the customer (clause 2.6.1).
  void draw() override {
    const uint32_t warehouse = terminal_.draw_warehouse();
    customer_.draw(warehouse, terminal_.draw_district());
  }

  // Executes the transaction profile (clause 2.6.2.2).
  Status execute(Transaction& txn) override {
    if (!customer_.find(txn)) return Status::kAbort;
    const Customer* customer;
    if (!found_or_die(txn.read_head(tables_.customer, customer_.key(), kCustomerNames, &customer),
                      "tpcc: a row of customer")) {
      return Status::kAbort;
    }
    terminal_.screen.text += static_cast<uint64_t>(customer->balance);

    // The load gives every customer one order.
    Key key = 0;
    if (!found_or_die(find_latest(txn, &key), "tpcc: a row of order")) return Status::kAbort;
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

  void input(CommandFields&) override {}  // it writes nothing

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

  Terminal& terminal_;
  Tables& tables_;
  CustomerChoice customer_;
};

}  // namespace

std::unique_ptr<TransactionType> make_order_status(Terminal& terminal) {
  return std::make_unique<OrderStatusType>(terminal);
}

namespace {

class PaymentType : public TransactionType {
 public:
  explicit PaymentType(Terminal& terminal)
      : terminal_(terminal), tables_(terminal.tables), customer_(terminal) {}

  // Draws the payment (clause 2.5.1).
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

  // Executes the transaction profile (clause 2.5.2.2).
  Status execute(Transaction& txn) override {
    customer_.prefetch(txn);
    Warehouse* warehouse;
    if (!found_or_die(txn.update(tables_.warehouse, warehouse_key(warehouse_), &warehouse),
                      "tpcc: a row of warehouse")) {
      return Status::kAbort;
    }
    warehouse->ytd += amount_;

    District* district;
    if (!found_or_die(txn.update(tables_.district, district_key(warehouse_, district_), &district),
                      "tpcc: a row of district")) {
      return Status::kAbort;
    }
    district->ytd += amount_;

    if (!customer_.find(txn)) return Status::kAbort;
    Customer* customer;
    if (!found_or_die(txn.update(tables_.customer, customer_.key(), &customer),
                      "tpcc: a row of customer")) {
      return Status::kAbort;
    }
    customer->balance -= amount_;
    customer->ytd_payment += amount_;
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

  Terminal& terminal_;
  Tables& tables_;
  uint32_t warehouse_ = 0;
  uint32_t district_ = 0;
  CustomerChoice customer_;
  Cents amount_ = 0;
  Date date_ = kNoDate;
  Key history_ = 0;
};

}  // namespace

std::unique_ptr<TransactionType> make_payment(Terminal& terminal) {
  return std::make_unique<PaymentType>(terminal);
}

}  // namespace logjam::tpcc

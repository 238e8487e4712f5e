// Order-Status (clause 2.6) reads the latest order of a customer and the order's lines.
#include "workloads/expect_row.h"
#include "workloads/tpcc/customer_choice.h"
#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {
namespace {

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

}  // namespace logjam::tpcc

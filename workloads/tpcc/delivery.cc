// Delivery (clause 2.7) delivers the oldest undelivered order of each district. All ten deliveries
// are one database transaction; clause 2.7.4.2 allows up to ten.
#include "workloads/expect_row.h"
#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {
namespace {

class DeliveryType : public TransactionType {
 public:
  explicit DeliveryType(Terminal& terminal) : terminal_(terminal), tables_(terminal.tables) {}

  // Draws the carrier (clause 2.7.1).
  void draw() override {
    warehouse_ = terminal_.draw_warehouse();
    carrier_ = static_cast<uint8_t>(terminal_.draw_number(10));
    date_ = terminal_.draw_date();
    terminal_.drawn.skipped.add(skipped_);
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
  // Deletes the oldest row of NEW-ORDER. Returns kNotFound if the district has no such row; the
  // transaction then skips the district.
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
    Order* order;
    if (!found_or_die(txn.update(tables_.order, key, &order), "tpcc: a row of order")) return false;
    order->carrier = carrier_;
    const Key customer_of_order = customer_key(warehouse_, district, order->customer);
    txn.prefetch(tables_.customer, {&customer_of_order, 1});

    Cents amount = 0;
    for (uint32_t number = 1; number <= order->lines; ++number) {
      OrderLine* line;
      if (!found_or_die(txn.update(tables_.order_line, line_key(key, number), &line),
                        "tpcc: a row of order_line")) {
        return false;
      }
      line->delivered = date_;
      amount += line->amount;
    }

    Customer* customer;
    if (!found_or_die(txn.update(tables_.customer, customer_of_order, &customer),
                      "tpcc: a row of customer")) {
      return false;
    }
    customer->balance += amount;
    ++customer->deliveries;
    return true;
  }

  Terminal& terminal_;
  Tables& tables_;
  uint32_t warehouse_ = 0;
  uint8_t carrier_ = 0;
  Date date_ = kNoDate;
  Tries skipped_;  // districts, in the latest execution
};

}  // namespace

std::unique_ptr<TransactionType> make_delivery(Terminal& terminal) {
  return std::make_unique<DeliveryType>(terminal);
}

}  // namespace logjam::tpcc

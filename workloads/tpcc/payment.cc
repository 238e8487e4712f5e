// Payment (clause 2.5) books a customer's payment at the customer, the district and the warehouse.
#include "workloads/expect_row.h"
#include "workloads/tpcc/customer_choice.h"
#include "workloads/tpcc/payment_text.h"
#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {
namespace {

constexpr Cents kLeastAmount = 1'00, kMostAmount = 5000'00;

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

// Payment (clause 2.5): a customer pays, and the warehouse and the district book it.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {
namespace {

class PaymentType : public TransactionType {
 public:
  explicit PaymentType(Terminal& terminal) : terminal_(terminal), tables_(terminal.tables) {
    namesakes_.reserve(64);
  }

  // Clause 2.5.1.
  void draw() override {
    Random& random = terminal_.random;
    warehouse_ = terminal_.draw_warehouse();
    district_ = terminal_.draw_district();
    const bool remote = random.percent(15);
    customer_warehouse_ = remote ? terminal_.draw_remote_warehouse(warehouse_) : warehouse_;
    customer_district_ = remote ? terminal_.draw_district() : district_;
    by_name_ = random.percent(60);
    if (by_name_) {
      terminal_.draw_last_name(last_name_);
    } else {
      customer_ = terminal_.draw_customer();
    }
    amount_ = random.between(1'00, 5000'00);
    date_ = terminal_.draw_date();
    history_ = history_key(terminal_.worker, count_++);
  }

  // Clause 2.5.2.2.
  Status execute(Transaction& txn) override {
    Warehouse* warehouse;
    if (!found(txn.update(tables_.warehouse, warehouse_key(warehouse_), &warehouse), "warehouse")) {
      return Status::kAbort;
    }
    warehouse->ytd += amount_;

    District* district;
    if (!found(txn.update(tables_.district, district_key(warehouse_, district_), &district),
               "district")) {
      return Status::kAbort;
    }
    district->ytd += amount_;

    if (by_name_ && !choose_by_name(txn)) return Status::kAbort;
    Customer* customer;
    if (!found(
            txn.update(tables_.customer,
                       customer_key(customer_warehouse_, customer_district_, customer_), &customer),
            "customer")) {
      return Status::kAbort;
    }
    customer->balance -= amount_;
    customer->ytd_payment += amount_;
    ++customer->payments;
    if (text(customer->credit) == "BC") note_bad_credit(*customer);
    terminal_.displayed += static_cast<uint64_t>(customer->balance);

    const History history = describe(*warehouse, *district);
    return txn.insert(tables_.history, history_, history) == Status::kAbort ? Status::kAbort
                                                                            : Status::kOk;
  }

 private:
  struct Namesake {
    uint32_t number;
    const Customer* row;
  };

  // The one in the middle, rounded up, of those with that last name, by first name.
  bool choose_by_name(Transaction& txn) {
    namesakes_.clear();
    const Key district = district_key(customer_warehouse_, customer_district_);
    const Status status = txn.read_secondary(
        tables_.customer, kByLastName, last_name_key(district, last_name_),
        [this](Key primary, const std::byte* row) {
          const auto* customer = reinterpret_cast<const Customer*>(row);
          if (std::memcmp(customer->last, last_name_, sizeof last_name_) == 0) {
            namesakes_.push_back(
                {static_cast<uint32_t>(low_bits(primary, kCustomerBits)), customer});
          }
          return true;
        });
    // The load gives every last name that is drawn to somebody in every district.
    if (!found(status == Status::kOk && namesakes_.empty() ? Status::kNotFound : status,
               "customer")) {
      return false;
    }
    const auto middle = namesakes_.begin() + static_cast<ptrdiff_t>((namesakes_.size() - 1) / 2);
    std::nth_element(
        namesakes_.begin(), middle, namesakes_.end(), [](const Namesake& a, const Namesake& b) {
          const int order = std::memcmp(a.row->first, b.row->first, sizeof a.row->first);
          return order != 0 ? order < 0 : a.number < b.number;
        });
    customer_ = middle->number;
    return true;
  }

  // The payment's particulars go in front of what C_DATA says, whose end falls off.
  void note_bad_credit(Customer& customer) const {
    char note[96];
    char* end = note;
    for (const uint64_t part :
         {uint64_t{customer_}, uint64_t{customer_district_}, uint64_t{customer_warehouse_},
          uint64_t{district_}, uint64_t{warehouse_}, static_cast<uint64_t>(amount_)}) {
      end = std::to_chars(end, note + sizeof note - 1, part).ptr;
      *end++ = ' ';
    }
    const auto bytes = static_cast<size_t>(end - note);
    std::memmove(customer.data + bytes, customer.data, sizeof customer.data - bytes);
    std::memcpy(customer.data, note, bytes);
  }

  History describe(const Warehouse& warehouse, const District& district) const {
    History history{.amount = amount_,
                    .date = date_,
                    .customer_warehouse = customer_warehouse_,
                    .warehouse = warehouse_,
                    .customer = customer_,
                    .customer_district = static_cast<uint16_t>(customer_district_),
                    .district = static_cast<uint16_t>(district_),
                    .data = {}};
    const std::string_view warehouse_name = text(warehouse.name);
    const size_t copied = warehouse_name.copy(history.data, sizeof warehouse.name);
    std::memset(history.data + copied, ' ', 4);
    text(district.name).copy(history.data + copied + 4, sizeof district.name);
    return history;
  }

  Terminal& terminal_;
  Tables& tables_;
  uint32_t warehouse_ = 0;
  uint32_t district_ = 0;
  uint32_t customer_warehouse_ = 0;
  uint32_t customer_district_ = 0;
  bool by_name_ = false;
  char last_name_[16] = {};
  uint32_t customer_ = 0;  // drawn, or found by name
  Cents amount_ = 0;
  Date date_ = kNoDate;
  Key history_ = 0;
  uint64_t count_ = 0;
  std::vector<Namesake> namesakes_;  // reused: no allocation per transaction
};

}  // namespace

std::unique_ptr<TransactionType> make_payment(Terminal& terminal) {
  return std::make_unique<PaymentType>(terminal);
}

}  // namespace logjam::tpcc

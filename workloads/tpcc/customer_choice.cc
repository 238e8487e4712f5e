#include "workloads/tpcc/customer_choice.h"

#include <algorithm>
#include <cstring>

#include "workloads/expect_row.h"

namespace logjam::tpcc {

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

// Takes the middle one, rounded up, of the customers with that last name, sorted by first name
// (clause 2.5.2.2).
bool CustomerChoice::find(Transaction& txn) {
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
  // Every district has a customer with each last name that is drawn (load.cc).
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
  return true;
}

}  // namespace logjam::tpcc

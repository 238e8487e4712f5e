// The choice of a customer by Payment and Order-Status (clauses 2.5.1.2 and 2.6.1.2): in 60 % of
// the cases by last name, otherwise by number.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {

// One choice, reused for every transaction of a terminal. `terminal` must outlive it. Called by the
// terminal's worker only.
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

  // Prefetches the customer, if the choice is by number.
  void prefetch(Transaction& txn) const {
    const Key chosen = key();
    if (!by_name_) txn.prefetch(terminal_.tables.customer, {&chosen, 1});
  }

  // Looks up the customer's number, if the choice is by last name. Returns false if the transaction
  // must abort.
  bool find(Transaction& txn);

  // Returns the key of the chosen customer. number() and key() are valid after find() has returned
  // true.
  Key key() const { return customer_key(warehouse_, district_, number_); }
  uint32_t warehouse() const { return warehouse_; }
  uint32_t district() const { return district_; }
  uint32_t number() const { return number_; }

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
  std::vector<Namesake> namesakes_;  // reused: no allocation per transaction
};

}  // namespace logjam::tpcc

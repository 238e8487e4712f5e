// How Payment and Order-Status name their customer (clauses 2.5.1.2 and 2.6.1.2): 60 % by last
// name, the others by number.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {

class CustomerChoice {
 public:
  explicit CustomerChoice(Terminal& terminal) : terminal_(terminal) { namesakes_.reserve(64); }

  void draw(uint32_t warehouse, uint32_t district);
  void input(CommandFields& fields) {
    fields(warehouse_, district_, by_name_);
    if (by_name_) {
      fields(last_name_);
    } else {
      fields(number_);
    }
  }

  // Finds the customer's number if they are named. False if the transaction must give up.
  bool find(Transaction& txn);

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

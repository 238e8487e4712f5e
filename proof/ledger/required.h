// Which transactions a database must hold, and whether it lacks one of them (R1, R2, R4).
//
// Required are the transactions of which a write shows; unless their life was unsafe, those that
// were acknowledged; and all on which a required transaction depends. A transaction depends on
//
//   - the writers of what it read, and of what it updated;
//   - by an insert, on the erase before it;
//   - by an erase or an overwriting of a slot's row, on the insert that had made the row present.
//
// It does not depend on what it overwrites blindly. A required transaction is *lost* if a write of
// it is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/ledger/history.h"
#include "proof/ledger/versions.h"

namespace logjam::ledger {

class Required {
 public:
  Required(const History& history, const Versions& versions)
      : history_(history), versions_(versions), members_(history.transactions.size()) {}

  // Checks that transactions are recovered whole or not at all (R2).
  std::string torn() const;
  // Checks that no acknowledged transaction is lost, nor what it depends on (R1).
  std::string lost_acknowledged();
  // Checks that nothing is lost on which a transaction depends that shows (R4).
  std::string not_closed();
  // After these: whether the transaction is required.
  bool contains(uint32_t transaction) const { return members_[transaction].required; }

 private:
  // Why a transaction is required.
  struct Member {
    bool required = false, seed = false;
    uint32_t dependent = 0;  // unless `seed`: who depends on it
    Key key = 0;             // by its write of this key
  };
  struct Dependency {
    Access on;  // the write of `on.key` by `on.writer`
    bool read;
  };

  void add(uint32_t transaction) {
    if (members_[transaction].required) return;
    members_[transaction] = {true, true, 0, 0};
    unfollowed_.push_back(transaction);
  }
  std::string follow(const std::string& rule, const char* what_seeds_are);
  std::string follow(uint32_t transaction, const Dependency& dependency, const std::string& rule,
                     const char* what_seeds_are);
  std::vector<Dependency> dependencies(uint32_t transaction) const;
  TransactionId inserter(const Access& write) const;
  std::string key_name(Key key) const { return history_.keys.name(key); }
  std::string id(uint32_t transaction) const {
    return history_.name(history_.transactions[transaction]);
  }

  const History& history_;
  const Versions& versions_;
  std::vector<Member> members_;
  std::vector<uint32_t> unfollowed_;
};

}  // namespace logjam::ledger

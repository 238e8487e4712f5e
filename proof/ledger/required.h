// The transactions that a database must hold, and whether it lacks one of them (R1, R2, R4).
//
// A transaction is *required* if one of its writes shows, if it was acknowledged and its life was
// not unsafe, or if a required transaction depends on it. A transaction depends on
//
//   - the writers of what it read, and of what it updated;
//   - the erase before its insert;
//   - the insert that made a slot's row present, if it erased or overwrote that row.
//
// It does not depend on the versions that it overwrites blindly. A required transaction is *lost*
// if one of its writes is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/assert.h"
#include "proof/ledger/history.h"
#include "proof/ledger/versions.h"

namespace logjam::ledger {

class Required {
 public:
  Required(const History& history, const Versions& versions)
      : history_(history), versions_(versions), members_(history.transactions.size()) {}

  // Checks that transactions are recovered whole or not at all (R2).
  std::string torn() const;
  // Checks that no acknowledged transaction is lost, and no transaction on which it depends (R1).
  std::string lost_acknowledged();
  // Checks that no transaction is lost on which a transaction that shows depends (R4).
  std::string not_closed();
  // Returns whether the transaction is required. Call it after the checks above.
  bool contains(uint32_t transaction) const {
    LJ_ASSERT(followed_acknowledged_ && followed_showing_);
    return members_[transaction].required;
  }

 private:
  // The reason why a transaction is required.
  struct Member {
    bool required = false, seed = false;
    uint32_t dependent = 0;  // unless `seed`: a required transaction that depends on this member
    Key key = 0;             // the key whose write by this member `dependent` depends on
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
  bool followed_acknowledged_ = false, followed_showing_ = false;
};

}  // namespace logjam::ledger

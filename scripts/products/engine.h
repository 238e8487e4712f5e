// An embedded storage engine that executes TPC-B, for scripts/products.py: one file implements it
// for each engine.
//
// Tables are ACCOUNT, TELLER, BRANCH (a number, and a row of 100 bytes that begins with the
// balance) and HISTORY (rows of 100 bytes, appended). A transaction reads and updates a row of each
// of the first three, and appends one to HISTORY.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace products {

constexpr uint32_t kRowBytes = 100;
constexpr uint64_t kTellers = 10, kAccounts = 10'000;  // of a branch

enum Table : uint32_t { kAccount, kTeller, kBranch, kHistory, kTables };
constexpr const char* kNames[] = {"account", "teller", "branch", "history"};
constexpr uint64_t kRows[] = {kAccounts, kTellers, 1, 0};  // of a branch

struct Row {
  int64_t balance;
  char filler[kRowBytes - sizeof(int64_t)];
};
static_assert(sizeof(Row) >= kRowBytes);

struct Transfer {
  uint64_t keys[3];  // of the account, the teller and the branch
  int64_t delta;
};

// A connection of a client. Only the client's thread calls it.
class Client {
 public:
  virtual ~Client() = default;
  // Executes the transaction. Returns whether it has committed; if not, it must be tried again.
  virtual bool execute(const Transfer& transfer) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Makes a table with this number of rows.
  virtual void load(Table table, uint64_t rows) = 0;
  // Returns a connection for the calling thread.
  virtual std::unique_ptr<Client> connect() = 0;
};

// Opens an empty database in `directory`. Without `durable` a commit syncs nothing. Ends the
// process with a sentence if the database cannot be opened.
std::unique_ptr<Engine> open_engine(const std::string& directory, bool durable);

// Ends the process with a sentence: what failed, and why.
[[noreturn]] void fail(const std::string& what, const std::string& why);

}  // namespace products

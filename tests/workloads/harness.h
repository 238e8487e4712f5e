// Loads a workload and runs it under a real protocol, without the engine's run loop.
#pragma once

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/protocol.h"
#include "engine/workload.h"
#include "tests/workloads/lone_worker.h"
#include "workloads/command.h"

namespace logjam {

using Flags = std::vector<std::pair<std::string, std::string>>;

// Sets flags for one test, and restores them after it.
class WorkloadTest : public testing::Test {
 protected:
  static void set(const Flags& flags) {
    for (const auto& [name, value] : flags) {
      ASSERT_FALSE(gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) << name;
    }
  }

 private:
  gflags::FlagSaver saver_;
};

// Returns the message with which the workload refuses these flags, or an empty text.
inline std::string refusal_of(std::string_view workload, const Flags& flags) {
  const gflags::FlagSaver saver;
  for (const auto& [name, value] : flags) {
    if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) return "no such flag";
  }
  return find_workload(workload)->check_flags();
}

inline std::unique_ptr<Workload> make_workload(std::string_view name) {
  const WorkloadInfo* info = find_workload(name);
  EXPECT_NE(info, nullptr);
  EXPECT_EQ(info->check_flags(), "");
  return info->make();
}

inline std::unique_ptr<Database> load(Workload& workload, uint32_t parts) {
  auto database = std::make_unique<Database>();
  workload.create_tables(*database);
  std::vector<std::thread> threads;
  for (uint32_t part = 0; part < parts; ++part) {
    threads.emplace_back([&, part] {
      Arena arena;
      workload.load(*database, part, parts, arena);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return database;
}

struct Outcome {
  std::atomic<uint64_t> commits{0};
  std::atomic<uint64_t> misses{0};  // each miss is also counted in `commits`
  std::atomic<uint64_t> rollbacks{0};
  std::atomic<uint64_t> aborts{0};
};

// A worker whose transactions a test executes one by one, without a log.
class OneWorker {
 public:
  explicit OneWorker(Database& database) : worker_(database), txn_(worker_.transaction()) {}

  // Executes a transaction. Commits unless the client rolls back. Returns the client's status.
  Status execute(Client& client) {
    txn_.begin(false);
    const Status status = client.execute(txn_);
    if (status == Status::kRollback) {
      txn_.abort();
      return status;
    }
    EXPECT_NE(status, Status::kAbort) << "a worker alone";
    const uint64_t number = client.committing();
    EXPECT_EQ(txn_.commit(), Status::kOk);
    client.acknowledged(number);
    return status;
  }

  // Executes the client's transaction and undoes it. Returns the client's status.
  Status rehearse(Client& client) {
    txn_.begin(false);
    const Status status = client.execute(txn_);
    EXPECT_NE(status, Status::kAbort) << "a worker alone";
    txn_.abort();
    return status;
  }

  // Makes a command of `type` with these fields, gives the command to the client, and executes it.
  template <class... Fields>
  Status execute(Client& client, uint32_t type, Fields... fields) {
    std::vector<std::byte> command;
    CommandFields encode(&command);
    encode(fields...);
    EXPECT_TRUE(client.take(type, command));
    return execute(client);
  }

 private:
  LoneWorker worker_;
  ProtocolTransaction& txn_;
};

// A loaded workload with one client.
struct OneClient {
  explicit OneClient(std::string_view name, uint32_t number = 0)
      : workload(make_workload(name)),
        database(load(*workload, 1)),
        worker(*database),
        client(workload->make_client(*database, number, number + 1, 1)) {}

  const std::unique_ptr<Workload> workload;
  const std::unique_ptr<Database> database;
  OneWorker worker;
  std::unique_ptr<Client> client;
};

// Runs `transactions` on each of `workers` threads without a log, or fewer if the client ends. Adds
// their number to `outcome`. If `repeat` is true, a worker executes each transaction twice: first
// it aborts the transaction, as if the commit had been refused; then it commits the transaction.
inline void run(Workload& workload, Database& database, const ProtocolInfo& protocol,
                uint32_t workers, uint64_t transactions, uint64_t seed, Outcome& outcome,
                bool repeat = false) {
  const std::unique_ptr<LogScheme> log = find_scheme("none")->make({.workers = workers});
  platform::atomic<uint64_t> ages{0};
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < workers; ++number) {
    threads.emplace_back([&, number] {
      LoneWorker worker(database, protocol, log.get(), number, &ages);
      ProtocolTransaction& txn = worker.transaction();
      const auto client = workload.make_client(database, number, workers, seed);
      worker.context.observer = client->commit_observer();
      for (uint64_t i = 0; i < transactions && !client->exhausted(); ++i) {
        client->next();
        bool rehearse = repeat;
        for (bool retry = false;; retry = true) {
          txn.begin(retry);
          const Status status = client->execute(txn);
          if (status == Status::kRollback) {
            txn.abort();
            ++outcome.rollbacks;
            break;
          }
          if (std::exchange(rehearse, false)) {
            txn.abort();
            continue;
          }
          const uint64_t named = status == Status::kAbort ? 0 : client->committing();
          if (status != Status::kAbort && txn.commit() == Status::kOk) {
            ++outcome.commits;
            if (status == Status::kNotFound) ++outcome.misses;
            client->acknowledged(named);
            break;
          }
          txn.abort();
          ++outcome.aborts;
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Runs `body` in one transaction without a log, and expects the transaction to commit.
inline void in_transaction(Database& database, const ProtocolInfo& protocol,
                           const std::function<void(Transaction&)>& body) {
  const LoneWorker worker(database, protocol);
  worker.transaction().begin(false);
  body(worker.transaction());
  EXPECT_EQ(worker.transaction().commit(), Status::kOk);
}

inline void expect_consistent(Workload& workload, Database& database) {
  for (const Check& check : workload.verify(database)) {
    EXPECT_TRUE(check.passed) << check.name << ": " << check.detail;
  }
}

// Returns the names of the checks that fail.
inline std::vector<std::string> failing(Workload& workload, Database& database) {
  std::vector<std::string> names;
  for (const Check& check : workload.verify(database)) {
    if (!check.passed) names.push_back(check.name);
  }
  return names;
}

inline const Check* find_check(const std::vector<Check>& checks, std::string_view name) {
  for (const Check& check : checks) {
    if (check.name.starts_with(name)) return &check;
  }
  return nullptr;
}

// Runs the workload, and lets `plant` damage the database. Expects verify()'s check whose name
// begins with `by` to fail.
void expect_caught(std::string_view workload, uint64_t transactions, std::string_view by,
                   const std::function<void(Database&)>& plant);

// Calls expect_caught() for each error of a list. An error has the name of the check that must find
// the error, and a function that plants the error in the workload's tables or first table.
template <class Rows>
using PlantedErrors = std::vector<std::pair<std::string, std::function<void(Rows&)>>>;
template <class Rows>
void expect_each_caught(std::string_view workload, uint64_t transactions,
                        const PlantedErrors<Rows>& planted) {
  for (const auto& [by, plant] : planted) {
    expect_caught(workload, transactions, by, [&plant = plant](Database& database) {
      if constexpr (std::is_same_v<Rows, Table>) {
        plant(*database.tables()[0]);
      } else {
        Rows tables(database);
        plant(tables);
      }
    });
  }
}

// Returns a hash of all rows of all tables. The hash does not depend on the order of the rows.
uint64_t fingerprint(Database& database);

}  // namespace logjam

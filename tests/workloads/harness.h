// Loads a workload and runs it under a real protocol, without the engine's run loop.
#pragma once

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/protocol.h"
#include "engine/workload.h"
#include "logging/scheme_registry.h"

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

// Returns why the workload refuses its flags with these values, in one sentence, or an empty
// string.
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
  std::atomic<uint64_t> misses{0};  // counted as commits too
  std::atomic<uint64_t> rollbacks{0};
  std::atomic<uint64_t> aborts{0};
};

// Runs `transactions` on each of `workers` threads without a log, and adds to `outcome`. With
// `repeat`, every transaction is first executed and aborted, as if its commit had been refused, and
// then executed again and committed.
inline void run(Workload& workload, Database& database, const ProtocolInfo& protocol,
                uint32_t workers, uint64_t transactions, uint64_t seed, Outcome& outcome,
                bool repeat = false) {
  const std::unique_ptr<LogScheme> log = find_scheme("none")->make({.workers = workers});
  platform::atomic<uint64_t> ages{0};
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      Arena arena;
      Breakdown breakdown;
      WorkerContext context;
      context.id = worker;
      context.database = &database;
      context.log = log.get();
      context.arena = &arena;
      context.breakdown = &breakdown;
      context.ages = &ages;
      context.acknowledge_durable = [] {};
      const auto txn = protocol.make(context);
      const auto client = workload.make_client(database, worker, workers, seed);
      for (uint64_t i = 0; i < transactions; ++i) {
        client->next();
        bool rehearse = repeat;
        for (bool retry = false;; retry = true) {
          txn->begin(retry);
          const Status status = client->execute(*txn);
          if (status == Status::kRollback) {
            txn->abort();
            ++outcome.rollbacks;
            break;
          }
          if (std::exchange(rehearse, false)) {
            txn->abort();
            continue;
          }
          const uint64_t number = status == Status::kAbort ? 0 : client->committing();
          if (status != Status::kAbort && txn->commit() == Status::kOk) {
            ++outcome.commits;
            if (status == Status::kNotFound) ++outcome.misses;
            client->acknowledged(number);
            break;
          }
          txn->abort();
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
  const std::unique_ptr<LogScheme> log = find_scheme("none")->make({.workers = 1});
  platform::atomic<uint64_t> ages{0};
  Arena arena;
  Breakdown breakdown;
  WorkerContext context;
  context.database = &database;
  context.log = log.get();
  context.arena = &arena;
  context.breakdown = &breakdown;
  context.ages = &ages;
  context.acknowledge_durable = [] {};
  const auto txn = protocol.make(context);
  txn->begin(false);
  body(*txn);
  EXPECT_EQ(txn->commit(), Status::kOk);
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

// Runs the workload, lets `plant` damage the database, and expects verify()'s check whose name
// begins with `by` to fail.
void expect_caught(std::string_view workload, uint64_t transactions, std::string_view by,
                   const std::function<void(Database&)>& plant);

// Returns a hash of all rows of all tables that does not depend on their order.
uint64_t fingerprint(Database& database);

}  // namespace logjam

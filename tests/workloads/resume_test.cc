// Workload::resume(): a new Workload object continues with the existing rows and another number of
// workers. An insert of an existing key ends the process. verify() fails if counts are wrong.
#include <gtest/gtest.h>

#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"
#include "workloads/ack_counter.h"
#include "workloads/ycsb/rows.h"

namespace logjam {
namespace {

class Resume : public WorkloadTest {
 protected:
  static constexpr uint64_t kTransactions = 80;  // of each worker

  // All lives have the same seed, so without resume() the next life would insert the same keys.
  static void live(Workload& workload, Database& database, uint32_t workers) {
    Outcome outcome;
    run(workload, database, all_protocols().front(), workers, kTransactions, 1, outcome);
    EXPECT_EQ(outcome.commits + outcome.rollbacks, workers * kTransactions);
    expect_consistent(workload, database);
  }
  static void resume_and_live(std::string_view name, Database& database, uint32_t workers) {
    const auto workload = make_workload(name);
    workload->resume(database);
    live(*workload, database, workers);
  }
};

TEST_F(Resume, EveryWorkloadGoesOnWithAnotherNumberOfWorkers) {
  for_each_small_scale([](const WorkloadInfo& info) {
    const auto first = make_workload(info.name);
    const auto database = load(*first, 1);
    live(*first, *database, 3);
    for (const uint32_t workers : {1, 5, 2}) resume_and_live(info.name, *database, workers);
    // resume() treats rows that no transaction has changed as an initial load.
    resume_and_live(info.name, *load(*make_workload(info.name), 1), 2);
  });
}

TEST_F(Resume, ForgetsWhatReplayHasAcknowledged) {
  AckCounter counter;
  counter.add(5);
  counter.resume(7);
  std::vector<Check> checks;
  counter.check("inserts", 7, &checks);
  EXPECT_TRUE(checks.empty()) << "no client has run";
  counter.add(2);
  counter.check("inserts", 9, &checks);
  EXPECT_TRUE(checks.at(0).passed) << checks[0].detail;
  EXPECT_EQ(checks[0].detail, "9 found, 9 recovered and acknowledged");
}

// A log may keep a worker's insert, and lose an earlier insert of the same worker.
TEST_F(Resume, YcsbTakesUpTheNumbersOfLostInserts) {
  for (const char* mix : {"rows-16", "D"}) {  // keys in order, and hashed keys
    const gflags::FlagSaver saver;
    set(small_scale("ycsb"));
    set({{"ycsb_workload", mix}, {"ycsb_ops", "1"}, {"ycsb_ratios", "read:0.5,insert:0.5"}});
    SCOPED_TRACE(mix);
    const auto first = make_workload("ycsb");
    const auto database = load(*first, 1);
    live(*first, *database, 2);
    const ycsb::KeySpace space{500, std::string_view(mix) == "D"};
    in_transaction(*database, all_protocols().front(), [&](Transaction& txn) {
      for (const uint64_t lost : {7, 8, 20}) {
        EXPECT_EQ(txn.erase(database->table("usertable"), space.key_of(space.inserted(lost, 1))),
                  Status::kOk);
      }
    });
    EXPECT_EQ(failing(*make_workload("ycsb"), *database),
              std::vector<std::string>{"no insert is missing before a later one of its worker"});
    resume_and_live("ycsb", *database, 2);
  }
}

}  // namespace
}  // namespace logjam

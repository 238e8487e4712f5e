// The tests damage one file of a log of several runs with checkpoints: they flip a bit, cut off or
// remove the file, zero a block of 512 bytes, or put back the file of an earlier life. They may
// damage any file: the manifest and its copy, member files, checkpoints, and the files of all runs.
//
// The worker counts (proof/rounds/counting_log.h), so the recovered rows must be the rows after one
// of its transactions. A recovery that reports no damage must have all acknowledged transactions.
// There is one exception: a crash can also lose the end of the last run. So recovery need not
// report the loss of this end. But after a checkpoint or a further run has recovered the log, its
// manifest has the end of the last run. In such a *settled* log, recovery must report every loss.
//
// Environment variables (proof/corruptions.py --runs): LOGJAM_CORRUPTIONS, the number of
// corruptions for each scheme; LOGJAM_FIRST_LOG, the seed of the first log. Each test prints the
// number of corruptions with each effect (tests/proof/corruption_test.cc lists the effects).
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "proof/rounds/counting_log.h"
#include "tests/command_error.h"
#include "tests/draw.h"
#include "tests/logging/log_fixture.h"
#include "tests/proof/damage.h"

namespace logjam {
namespace {

using Begin = CountingLife::Begin;

struct Damage {
  How how = kFlip;
  std::string path;
  uint64_t at = 0;
  std::string what() const {
    return std::string(kHow[how]) + " " + path + " at " + std::to_string(at);
  }
};

// A log after all its lives, and the log's disk at the end of each life.
class EndedLog {
 public:
  EndedLog(std::string_view scheme, uint64_t seed)
      : settled_(seed % 2 == 0), log_{{"a"}, seed % 4 < 2 ? uint64_t{0} : 4096} {
    if (seed % 3 != 0) log_.directories.push_back("b");
    std::mt19937_64 random(seed);
    const auto transactions = [&random] { return 5 + random() % 20; };
    std::vector<CountingLife> lives = {
        {scheme, Begin::kNew, transactions()},
        {scheme, Begin::kContinued, transactions(), seed % 5 == 0, seed % 3 == 0},
        {"centr", Begin::kContinued, transactions()},
        {scheme, Begin::kContinued, 2 * transactions(), seed % 5 > 2, seed % 8 == 0}};
    if (settled_ && seed % 8 != 0) lives.push_back({scheme, Begin::kContinued, 0});
    for (CountingLife& life : lives) {
      life.ranges = random() % 4 != 0;
      play([&] { return log_.live(life, [this](uint64_t n) { acknowledged_ = n; }); });
      if (life.checkpoint_at_end) play([&] { return log_.checkpoint(); });
    }
    for (const auto& [path, image] : disk().files) {
      if (image.bytes() > 0) paths_.push_back(path);
    }
  }

  bool settled() const { return settled_; }
  const CrashState& disk() const { return disks_.back(); }

  Damage draw(std::mt19937_64& random) const {
    Damage drawn;
    drawn.how = static_cast<How>(random() % std::size(kHow));
    drawn.path = paths_[random() % paths_.size()];
    // Damage to zeros seldom has an effect, and most of a file may be zeros.
    const FileImage& image = disk().files.at(drawn.path);
    const std::vector<uint64_t> filled = image.filled_from(0);
    drawn.at = random() % 8 == 0 || filled.empty()
                   ? random() % image.bytes()
                   : filled[random() % filled.size()] * kSectorBytes + random() % kSectorBytes;
    drawn.at = std::min(drawn.at, image.bytes() - 1);
    return drawn;
  }
  // Returns the damaged disk. The disk may be unchanged, because a cut may remove only zeros.
  CrashState damaged(const Damage& one, std::mt19937_64& random) const {
    CrashState state = disk();
    FileImage& image = state.files.at(one.path);
    damage(&image, one.how, one.at, random() % 8);
    for (const CrashState& earlier : disks_) {
      if (one.how != kEarlier) break;
      const auto found = earlier.files.find(one.path);
      if (found == earlier.files.end() || random() % 2 == 0) continue;
      image = found->second;
      break;
    }
    if (one.how == kRemove) state.files.erase(one.path);
    return state;
  }

  struct Verdict {
    std::string refused, damage;  // the messages, or empty
    std::string wrong;            // the rule that the recovery breaks, or empty
    bool lost = false;            // an acknowledged transaction is lost
  };
  Verdict recover(const CrashState& state) const {
    MemoryFiles files(state);
    const platform::ReplaceFiles replace(files);
    Verdict verdict;
    LogChain chain;
    RecoveredChain recovered;
    log_.recover(&chain, &recovered, false);
    verdict.refused = chain.error.empty() ? recovered.error : chain.error;
    verdict.damage = recovered.damage;
    if (!verdict.refused.empty()) return verdict;
    const auto found = counted(*recovered.database);
    if (!found) verdict.wrong = "the rows are those after no transaction";
    verdict.lost = found.value_or(0) < acknowledged_;
    return verdict;
  }
  bool of_last_run(const std::string& path) const { return path.find("/run-4/") != path.npos; }

 private:
  template <class Play>
  void play(const Play& play) {
    MemoryFiles files(disks_.empty() ? CrashState() : disk());
    {
      const platform::ReplaceFiles replace(files);
      EXPECT_EQ(play(), "");
    }
    disks_.push_back(files.now());
  }

  const bool settled_;
  CountingLog log_;
  std::vector<CrashState> disks_;
  std::vector<std::string> paths_;
  uint64_t acknowledged_ = 0;
};

class ChainCorruptions : public testing::TestWithParam<const SchemeInfo*> {};

TEST_P(ChainCorruptions, LeaveWhatWasAcknowledgedOrAreReported) {
  const uint64_t count = number_from("LOGJAM_CORRUPTIONS", 150);
  const uint64_t first = number_from("LOGJAM_FIRST_LOG", 0);
  const uint64_t logs = 6 + count / 1000;
  Effects effects[std::size(kHow)];
  for (uint64_t seed = first; seed < first + logs; ++seed) {
    const EndedLog log(GetParam()->name, seed);
    const EndedLog::Verdict whole = log.recover(log.disk());
    ASSERT_EQ(whole.refused + whole.damage + whole.wrong, "");
    ASSERT_FALSE(whole.lost);
    std::mt19937_64 random(seed + logs * test_seed());
    for (uint64_t i = 0; i < (count + logs - 1) / logs; ++i) {
      const Damage one = log.draw(random);
      const EndedLog::Verdict found = log.recover(log.damaged(one, random));
      ASSERT_EQ(found.wrong, "") << one.what() << ", log " << seed << "; " << found.damage;
      Effects& mine = effects[one.how];
      if (!found.refused.empty()) {
        ++mine.refused;
      } else if (!found.damage.empty()) {
        ++mine.reported;
      } else if (!found.lost) {
        ++mine.unharmed;
      } else {
        ASSERT_FALSE(log.settled()) << "a silent loss: " << one.what() << ", log " << seed;
        ASSERT_TRUE(log.of_last_run(one.path))
            << "a silent loss: " << one.what() << ", log " << seed;
        ++mine.shorter;
        ++mine.silent;
      }
    }
  }
  print(std::string(GetParam()->name), effects);
}

// A log of one life, on a disk in memory.
class ChainDamage : public testing::Test {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    ASSERT_EQ(log_.live({"centr", Begin::kNew, 10}, [](uint64_t) {}), "");
  }

  const CountingLog log_{{"a"}, 0};
  MemoryFiles disk_;
  const platform::ReplaceFiles replace_{disk_};
  LogChain chain_;
  RecoveredChain recovered_;
};
using ChainDamageDeathTest = ChainDamage;

// A checkpoint during a run has rows of different moments. These rows are consistent only together
// with the run's log.
TEST_F(ChainDamage, ACheckpointThatWasTakenInARunIsNotUsedWithoutThatRunsLog) {
  // The run ends when it has taken two checkpoints. On a loaded machine this takes long.
  ASSERT_EQ(
      log_.live({"centr", Begin::kContinued, 100'000, true, false, false, 2}, [](uint64_t) {}), "");
  ASSERT_EQ(log_.recover(&chain_, &recovered_, false), "");
  ASSERT_TRUE(recovered_.checkpoint);
  const uint64_t before = counted(*recovered_.database).value();
  const std::vector<Checkpoint> checkpoints = chain_.manifest.checkpoints;
  ASSERT_EQ(checkpoints.size(), 2u);
  // Recovers from a log of run 2 that lacks the last byte that the checkpoint needs.
  const auto recover_without = [&](const Checkpoint& checkpoint) {
    CrashState state = disk_.now();
    FileImage& image = state.files.at("a/run-2/stream-0.log.db");
    image.resize(kLogHeaderBytes + checkpoint.rsn[0].durable - 1);
    MemoryFiles damaged(state);
    const platform::ReplaceFiles replace_again(damaged);
    return log_.recover(&chain_, &recovered_, false);
  };
  EXPECT_NE(recover_without(checkpoints[1]), "");
  EXPECT_EQ(recovered_.error, "");
  EXPECT_EQ(recovered_.unusable, (std::vector{checkpoints[1].number}));
  EXPECT_EQ(recovered_.checkpoint->number, checkpoints[0].number);
  EXPECT_LT(counted(*recovered_.database), before);
  // The log was truncated up to the older checkpoint, so no earlier state can be recovered.
  EXPECT_NE(recover_without(checkpoints[0]).find("cannot be used without the log"),
            std::string::npos);
  EXPECT_NE(recovered_.error, "");
}

// The workload of another log: its rows have another size.
class WithWiderRows final : public Workload {
 public:
  void create_tables(Database& database) override {
    database.create_table({.name = "rows", .row_bytes = 16, .expected_rows = 1});
  }
  void load(Database&, uint32_t, uint32_t, Arena&) override {}
  Specification spec() const override { return {.description = "wider", .types = {{"none"}}}; }
  std::unique_ptr<Client> make_client(Database&, uint32_t, uint32_t, uint64_t) override {
    return nullptr;
  }
  std::vector<Check> verify(Database&) override { return {}; }
};

// A record that replay cannot apply is an error, even if no checkpoint needs the record.
TEST_F(ChainDamage, RowsThatTheWorkloadDoesNotHaveEndTheRecoveryWithASentence) {
  ChainOptions options;
  options.make_workload = [] { return std::make_unique<WithWiderRows>(); };
  EXPECT_EQ(recover_chain(find_log_chain(log_.directories), options).error,
            "a record writes table 0 with rows of 40 bytes, which this workload does not have");
}

// Recovery skips and removes a checkpoint with a wrong byte, but not one that cannot be read.
TEST_F(ChainDamageDeathTest, ACheckpointThatCannotBeReadEndsTheProcess) {
  ASSERT_EQ(log_.checkpoint(), "");
  for (const FileCall call : {FileCall::kOpen, FileCall::kRead}) {
    for (const int error : {EACCES, EIO, EMFILE}) {
      const auto recover = [&] {
        disk_.fail("checkpoint-1/rows", call, error);
        log_.recover(&chain_, &recovered_, true);
        std::_Exit(0);
      };
      EXPECT_EXIT(as_main(recover), testing::ExitedWithCode(3),
                  std::string("a/checkpoint-1/rows-0: ") + strerror(error));
    }
  }
}

// If the log cannot be synced, its bytes may not be durable, so no run may continue the log.
TEST_F(ChainDamageDeathTest, ALogThatCannotBeSyncedIsNotContinued) {
  disk_.fail("stream-0.log", FileCall::kSync, EIO);
  EXPECT_FAILED(log_.live({"centr", Begin::kContinued, 10}, [](uint64_t) {}),
                "cannot sync the log that is to be continued: Input/output error");
}

std::vector<const SchemeInfo*> schemes_of_values() {
  std::vector<const SchemeInfo*> schemes = logging_schemes();
  std::erase_if(schemes, [](const SchemeInfo* scheme) {
    return scheme->traits.commands || scheme->name == "scm";  // scm needs non-volatile memory
  });
  return schemes;
}

INSTANTIATE_TEST_SUITE_P(All, ChainCorruptions, testing::ValuesIn(schemes_of_values()),
                         [](const auto& info) {
                           std::string name(info.param->name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace logjam

// Eight workers move money between accounts, open and close accounts, and audit: an audit scans all
// accounts. Every audit that commits must find the same total.
#include <gtest/gtest.h>

#include <random>

#include "platform/spin.h"
#include "platform/thread.h"
#include "tests/cc/script.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 8;
constexpr int kTransactions = 400;
constexpr Key kAccounts = 60;  // keys; at first every third key has an account
constexpr int64_t kMoney = 100;

struct Variant {
  std::string protocol;
  bool early_lock_release;
  NumberDrawn number_drawn;
};

class Bank : public testing::TestWithParam<Variant> {};

class Teller {
 public:
  Teller(World& world, Actor& actor, uint64_t seed) : world_(world), actor_(actor), random_(seed) {}

  void run() {
    for (int i = 0; i < kTransactions; ++i) {
      const Key from = pick(), to = pick(), what = random_() % 10;
      for (bool retry = false; !attempt(from, to, what, retry); retry = true) {
        actor_.txn->abort();
        platform::yield();
      }
    }
  }

  uint64_t audits = 0, wrong_audits = 0;

 private:
  Key pick() { return random_() % kAccounts; }

  bool attempt(Key from, Key to, Key what, bool retry) {
    actor_.txn->begin(retry);
    Status status = Status::kOk;
    int64_t total = 0;
    if (what < 5) {
      status = transfer(from, to);
    } else if (what < 7) {
      status = open(from, to);
    } else {
      status = audit(what == 8, &total);
    }
    if (status == Status::kAbort || actor_.txn->commit() == Status::kAbort) return false;
    if (actor_.txn->holds_locks()) actor_.txn->release_locks();
    if (what >= 7) {
      ++audits;
      wrong_audits += total != kMoney * (kAccounts / 3);
    }
    return true;
  }

  Status transfer(Key from, Key to) {
    Row *source, *target;
    Status status = actor_.txn->update(*world_.ordered, from, &source);
    if (status != Status::kOk || from == to) return status;
    status = actor_.txn->update(*world_.ordered, to, &target);
    if (status == Status::kOk) {
      target->value += 1;
      source->value -= 1;
    }
    if (status != Status::kNotFound) return status;
    // Opens the account `to` with all the money of `from`, and closes `from`.
    status = actor_.txn->insert(*world_.ordered, to, World::row_of(to, source->value));
    return status == Status::kOk ? actor_.txn->erase(*world_.ordered, from) : status;
  }

  Status open(Key from, Key to) {
    Row* source;
    Status status = actor_.txn->insert(*world_.ordered, to, World::row_of(to, 0));
    if (status != Status::kOk) return status;
    status = actor_.txn->update(*world_.ordered, from, &source);
    if (status != Status::kOk) return status;
    Row* opened;
    status = actor_.txn->update(*world_.ordered, to, &opened);
    if (status != Status::kOk) return status;
    const int64_t half = source->value / 2;
    source->value -= half;
    opened->value += half;
    return Status::kOk;
  }

  Status audit(bool secondary, int64_t* total) {
    const auto add = [&](Key, const std::byte* row) {
      *total += reinterpret_cast<const Row*>(row)->value;
      return true;
    };
    if (secondary) return actor_.txn->scan_secondary(*world_.ordered, 0, 0, ~Key{0}, false, add);
    return actor_.txn->scan(*world_.ordered, 0, ~Key{0}, random_() % 2 == 0, add);
  }

  World& world_;
  Actor& actor_;
  std::mt19937_64 random_;
};

TEST_P(Bank, EveryCommittedAuditFindsTheSameTotal) {
  const Variant& variant = GetParam();
  World world(variant.protocol, {.number_drawn = variant.number_drawn, .keep = false},
              LogRecords::kOperation, variant.early_lock_release);
  world.ranges = true;  // commits compare new rows with the tables' rows, which other threads read
  for (Key key = 0; key < kAccounts; key += 3) {
    world.load(*world.ordered, key, World::row_of(key, kMoney));
  }
  std::vector<std::unique_ptr<Actor>> actors;
  std::vector<std::unique_ptr<Teller>> tellers;
  for (uint32_t i = 0; i < kWorkers; ++i) {
    actors.push_back(std::make_unique<Actor>(world));
    actors.back()->context.acknowledge_durable = nullptr;
    tellers.push_back(std::make_unique<Teller>(world, *actors.back(), i + 1));
  }
  std::vector<platform::thread> threads;
  for (auto& teller : tellers) threads.emplace_back([&teller] { teller->run(); });
  for (auto& thread : threads) thread.join();

  uint64_t audits = 0, wrong = 0;
  for (const auto& teller : tellers) {
    audits += teller->audits;
    wrong += teller->wrong_audits;
  }
  EXPECT_GT(audits, 0u);
  EXPECT_EQ(wrong, 0u) << "of " << audits << " audits";
  int64_t total = 0;
  for (const auto& [key, value] : world.content(*world.ordered)) total += value;
  EXPECT_EQ(total, kMoney * static_cast<int64_t>(kAccounts / 3));
}

// Even a transaction that will abort must read a whole row, not a mix of two versions.
TEST_P(Bank, RowsAreNeverTorn) {
  const Variant& variant = GetParam();
  World world(variant.protocol, {.keep = false}, LogRecords::kTransaction,
              variant.early_lock_release);
  constexpr size_t kWords = 8192;
  TableSchema schema = World::plain("wide");
  schema.row_bytes = kWords * sizeof(uint64_t);
  Table& table = world.database.create_table(std::move(schema));
  std::vector<uint64_t> row(kWords, 0);
  table.load(1, row.data(), world.arena);

  platform::atomic<uint32_t> running{2};
  platform::atomic<uint64_t> torn{0};
  const auto write = [&](Actor& actor) {
    for (uint64_t i = 1; i <= 1500; ++i) {
      std::byte* bytes;
      actor.txn->begin(false);
      if (actor.txn->write(table, 1, &bytes) != Status::kOk) {
        actor.txn->abort();
        continue;
      }
      std::fill_n(reinterpret_cast<uint64_t*>(bytes), kWords, i);
      if (actor.txn->commit() == Status::kOk) actor.durable();
    }
    running.fetch_sub(1);
  };
  const auto read = [&](Actor& actor) {
    while (running.load() > 0) {
      const std::byte* bytes;
      actor.txn->begin(false);
      if (actor.txn->read(table, 1, &bytes) == Status::kOk) {
        const auto* words = reinterpret_cast<const uint64_t*>(bytes);
        if (words[0] != words[kWords - 1]) torn.fetch_add(1);
      }
      actor.txn->abort();
    }
  };
  std::vector<std::unique_ptr<Actor>> actors;
  std::vector<platform::thread> threads;
  for (int i = 0; i < 4; ++i) {
    actors.push_back(std::make_unique<Actor>(world));
    Actor& actor = *actors.back();
    actor.context.acknowledge_durable = nullptr;
    threads.emplace_back([&, i] { i < 2 ? write(actor) : read(actor); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(torn.load(), 0u);
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const std::string& protocol : protocol_names()) {
    for (const bool elr : {true, false}) {
      all.push_back({protocol, elr, elr ? NumberDrawn::kAfterValidation : NumberDrawn::kBefore});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Protocols, Bank, testing::ValuesIn(variants()), [](const auto& info) {
  return test_name(info.param.protocol) + (info.param.early_lock_release ? "" : "_keeps_locks");
});

}  // namespace
}  // namespace logjam

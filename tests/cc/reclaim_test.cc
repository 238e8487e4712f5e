// Transactions stay serializable while erased rows are reclaimed, and memory does not grow.
#include <gtest/gtest.h>

#include <random>

#include "engine/storage/reclaimer.h"
#include "platform/spin.h"
#include "platform/thread.h"
#include "tests/cc/script.h"

namespace logjam {
namespace {

TableSchema queue_schema() {
  TableSchema schema = World::plain("queue");
  schema.kind = IndexKind::kOrdered;
  return schema;
}

class Reclaim : public testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  Reclaim()
      : world(std::get<0>(GetParam()), {.keep = false}, LogRecords::kTransaction,
              std::get<1>(GetParam())),
        queue(world.database.create_table(queue_schema())) {}

  // An actor with a reclaimer. Transactions that commit through commit() are durable at once.
  struct Worker {
    Worker(Reclaim& test, Epochs& all, uint32_t number)
        : epochs(all),
          id(number),
          actor(test.world),
          reclaimer(all, 1, *actor.context.arena, test.world.protocol->keeps_old_versions) {
      actor.context.reclaimer = &reclaimer;
      actor.txn->abort();
    }
    bool commit() {
      const bool committed = actor.commit();
      if (committed) {
        actor.durable();
        reclaimer.note_durable(0, reclaimer.note_committed(0));
      }
      return committed;
    }
    // Runs a transaction that calls `change` and commits.
    template <class Change>
    void once(const Change& change) {
      actor.begin();
      ASSERT_EQ(change(), Status::kOk);
      ASSERT_TRUE(commit());
    }
    void work(int times = 40) {
      for (int i = 0; i < times; ++i) {
        epochs.note_quiescent(id);
        reclaimer.work();
      }
    }
    Epochs& epochs;
    const uint32_t id;
    Actor actor;
    Reclaimer reclaimer;
  };

  size_t entries() {
    size_t count = 0;
    queue.primary().for_each([&](Keyed*) { ++count; });
    return count;
  }

  World world;
  Table& queue;
};

TEST_P(Reclaim, AnErasedKeyLeavesTheIndexOnceDurable) {
  Epochs epochs(1);
  Worker worker(*this, epochs, 0);
  for (Key key = 0; key < 500; ++key) {
    worker.once([&] { return worker.actor.insert(queue, key, 1); });
  }
  worker.actor.begin();
  for (Key key = 0; key < 500; ++key) {
    ASSERT_EQ(worker.actor.erase(queue, key), Status::kOk);
  }
  ASSERT_TRUE(worker.actor.commit());
  worker.actor.durable();
  const uint32_t erased = worker.reclaimer.note_committed(0);
  worker.work();
  EXPECT_EQ(entries(), 500u) << "not durable yet";
  worker.reclaimer.note_durable(0, erased);
  worker.work();
  EXPECT_EQ(entries(), 0u);

  // A transaction that inserts a reclaimed key again must depend on the erase.
  const uint64_t forgotten = queue.removed_up_to();
  EXPECT_EQ(forgotten, 501u);
  Actor other(world);
  EXPECT_EQ(other.insert(queue, 7, 2), Status::kOk);
  ASSERT_TRUE(other.commit());
  EXPECT_GE(world.log.last_deps.max_overwritten, forgotten);
}

TEST_P(Reclaim, AnAbortedInsertIsReclaimed) {
  Epochs epochs(1);
  Worker worker(*this, epochs, 0);
  worker.actor.begin();
  EXPECT_EQ(worker.actor.insert(queue, 5, 1), Status::kOk);
  EXPECT_EQ(worker.actor.insert(queue, 6, 1), Status::kOk);
  worker.actor.abort();
  EXPECT_EQ(entries(), 2u);
  worker.once([&] { return worker.actor.insert(queue, 6, 2); });
  worker.work();
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(world.content(queue), (std::map<Key, int64_t>{{6, 2}}));
}

TEST_P(Reclaim, ARowInsertedAgainStaysUntilItsLaterEraseIsDurable) {
  Epochs epochs(1);
  Worker worker(*this, epochs, 0);
  worker.once([&] { return worker.actor.insert(queue, 5, 1); });
  worker.once([&] { return worker.actor.erase(queue, 5); });
  worker.once([&] { return worker.actor.insert(queue, 5, 3); });
  worker.work(1);
  EXPECT_EQ(world.content(queue), (std::map<Key, int64_t>{{5, 3}}));
  worker.once([&] { return worker.actor.erase(queue, 5); });
  worker.once([&] { return worker.actor.insert(queue, 5, 3); });
  worker.actor.begin();
  ASSERT_EQ(worker.actor.erase(queue, 5), Status::kOk);
  ASSERT_TRUE(worker.actor.commit());
  worker.actor.durable();
  const uint32_t erased = worker.reclaimer.note_committed(0);
  worker.work();
  EXPECT_EQ(entries(), 1u);
  worker.reclaimer.note_durable(0, erased);
  worker.work();
  EXPECT_EQ(entries(), 0u);
}

TEST_P(Reclaim, MemoryIsNotReusedWhileAnOlderTransactionRuns) {
  Epochs epochs(2);
  Worker worker(*this, epochs, 0);
  const auto insert = [&](Key key) {
    worker.once([&] { return worker.actor.insert(queue, key, 1); });
    return queue.primary().find(key, nullptr);
  };
  epochs.note_quiescent(1);
  const Keyed* old = insert(5);
  worker.once([&] { return worker.actor.erase(queue, 5); });
  worker.work();
  if (world.protocol->keeps_old_versions) {
    EXPECT_EQ(entries(), 1u) << "the other worker's snapshot may contain the row";
    epochs.note_quiescent(1);
    worker.work();
  }
  ASSERT_EQ(entries(), 0u);
  EXPECT_NE(insert(6), old) << "the other worker's transaction is older";
  epochs.note_quiescent(1);
  worker.work();
  EXPECT_EQ(insert(7), old);
}

TEST_P(Reclaim, OldVersionsWaitForOlderTransactionsAndAreCounted) {
  if (!world.protocol->keeps_old_versions) GTEST_SKIP() << "it keeps no old versions";
  Epochs epochs(2);
  Worker worker(*this, epochs, 0);
  const auto update = [&](int times) {
    for (int i = 0; i < times; ++i) {
      worker.once([&] { return worker.actor.set(*world.notes, 0, i); });
      worker.work(1);
    }
  };
  update(100);  // the other worker's transaction is older
  const uint64_t waiting = 99 * world.notes->old_version_bytes();  // without the row's newest
  EXPECT_EQ(worker.reclaimer.most_waiting_bytes(), waiting);

  epochs.note_quiescent(1);
  worker.work();
  const uint64_t arena_bytes = worker.actor.arena_bytes();
  update(50);
  EXPECT_EQ(worker.actor.arena_bytes(), arena_bytes) << "old versions were used again";
  EXPECT_EQ(worker.reclaimer.most_waiting_bytes(), waiting);
}

// A reader finds an erased row's tuple. The tuple is then reclaimed, and the key is inserted again.
TEST_P(Reclaim, AMissOfAReclaimedKeyConflictsWithItsInsert) {
  Epochs epochs(2);
  Worker worker(*this, epochs, 0);
  for (const Key key : {5, 6}) worker.once([&] { return worker.actor.insert(queue, key, 1); });
  worker.once([&] { return worker.actor.erase(queue, 5); });

  Actor reader(world);
  EXPECT_FALSE(reader.read(queue, 5).has_value());
  worker.work();
  worker.actor.begin();
  worker.actor.insert(queue, 5, 2);
  worker.actor.read(*world.notes, 0);
  const bool inserted = worker.commit();
  reader.set(*world.notes, 0, 1);
  EXPECT_EQ(reader.commit() && inserted, !world.protocol->serializable)
      << "each precedes the other";
}

// A removed tuple is never unlocked, so a transaction that finds the tuple must not wait for it.
TEST_P(Reclaim, ATransactionDoesNotWaitForAReclaimedTuple) {
  Epochs epochs(2);
  Worker worker(*this, epochs, 0);
  epochs.note_quiescent(1);  // prevents the reuse of memory
  const auto insert = [&](Key key) {
    worker.once([&] { return worker.actor.insert(queue, key, 1); });
  };
  const auto come_and_go = [&](Key key) {
    insert(key);
    worker.once([&] { return worker.actor.erase(queue, key); });
  };
  come_and_go(5);
  Actor inserter(world);
  EXPECT_EQ(inserter.set(*world.notes, 0, 7), Status::kOk);
  EXPECT_EQ(inserter.insert(queue, 5, 2), Status::kOk);
  worker.work();  // under OCC, an insert that has not committed holds no lock
  inserter.commit();
  EXPECT_FALSE(inserter.blocked) << "it waited while it held its write locks";
  inserter.durable();

  insert(14);
  come_and_go(15);
  Actor scanner(world);
  scanner.step([&] {
    return scanner.txn->scan(queue, 10, 19, false, [&](Key key, const std::byte*) {
      if (key == 14) worker.work();
      return true;
    });
  });
  EXPECT_FALSE(scanner.blocked);
}

TEST_P(Reclaim, AMovingQueueUsesConstantMemory) {
  Epochs epochs(1);
  Worker worker(*this, epochs, 0);
  constexpr Key kLong = 100, kMoves = 20'000;
  uint64_t bytes = 0;
  for (Key key = 0; key < kMoves; ++key) {
    worker.work(1);
    worker.actor.begin();
    ASSERT_EQ(worker.actor.insert(queue, key, 1), Status::kOk);
    if (key >= kLong) {
      ASSERT_EQ(worker.actor.erase(queue, key - kLong), Status::kOk);
    }
    ASSERT_TRUE(worker.commit());
    if (key == kMoves / 2) bytes = worker.actor.arena_bytes();
  }
  EXPECT_EQ(worker.actor.arena_bytes(), bytes) << "tuples and nodes were used again";
  EXPECT_LT(entries(), kLong + 50);
}

// Workers insert rows at the queue's upper end, erase rows at its lower end, and count the rows.
TEST_P(Reclaim, ReadersSeeAConsistentQueueWhileRowsAreReclaimed) {
  constexpr uint32_t kWorkers = 4;
  constexpr int kTransactions = 3'000;
  constexpr size_t kLong = 50;
  Epochs epochs(kWorkers);
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < kWorkers; ++i) {
    workers.push_back(std::make_unique<Worker>(*this, epochs, i));
    workers.back()->actor.context.acknowledge_durable = nullptr;
  }
  platform::atomic<uint64_t> wrong{0}, erased{0};
  // In `notes`, row 0 has the number of keys handed out, and row 1 the number of rows in the queue.
  const auto attempt = [&](Actor& actor, bool retry, uint64_t draw) {
    actor.begin(retry);
    Row *given, *there;
    const auto count = [&](Key key, Row** row) {
      return actor.txn->update(*world.notes, key, row);
    };
    if (count(0, &given) != Status::kOk || count(1, &there) != Status::kOk) return false;
    const auto number = static_cast<Key>(there->value);
    if (draw % 16 == 0) {
      uint64_t seen = 0;
      const Status status = actor.txn->scan(queue, 0, ~Key{0}, draw % 32 == 0,
                                            [&](Key, const std::byte*) { return ++seen != 0; });
      if (status != Status::kOk || actor.txn->commit() != Status::kOk) return false;
      if (seen != number) wrong.fetch_add(1);
    } else if (number < kLong / 2 || (number < kLong && draw % 2 == 0)) {
      ++there->value;
      const auto key = static_cast<Key>(given->value++);
      const Status status = actor.txn->insert(queue, key, World::row_of(key, 1));
      // Under OCC the counts may be out of date and the key taken. Then commit() aborts.
      if (status == Status::kAbort || actor.txn->commit() != Status::kOk) return false;
      if (status != Status::kOk) wrong.fetch_add(1);
    } else {
      Key oldest = ~Key{0};
      Status status = actor.txn->scan(queue, 0, ~Key{0}, false, [&](Key key, const std::byte*) {
        oldest = key;
        return false;
      });
      if (status != Status::kOk) return false;
      --there->value;
      status = actor.txn->erase(queue, oldest);
      if (status == Status::kAbort || actor.txn->commit() != Status::kOk) return false;
      if (status != Status::kOk) wrong.fetch_add(1);
      erased.fetch_add(1);
    }
    return true;
  };
  std::vector<platform::thread> threads;
  for (auto& worker : workers) {
    threads.emplace_back([&, id = &worker - workers.data()] {
      std::mt19937_64 random(static_cast<uint64_t>(id) + 1);
      Worker& own = *workers[static_cast<size_t>(id)];
      for (int i = 0; i < kTransactions; ++i) {
        own.work(1);
        const uint64_t draw = random();
        for (bool retry = false; !attempt(own.actor, retry, draw); retry = true) {
          own.actor.txn->abort();
          platform::yield();
        }
        own.actor.durable();
        own.reclaimer.note_durable(0, own.reclaimer.note_committed(0));
      }
      epochs.leave(static_cast<uint32_t>(id));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(erased.load(), kWorkers * kTransactions / 4u);
  for (auto& worker : workers) {
    for (int i = 0; i < kTransactions; ++i) worker->reclaimer.work();
  }
  EXPECT_EQ(entries(), world.content(queue).size()) << "nothing is left of what is gone";
}

INSTANTIATE_TEST_SUITE_P(Protocols, Reclaim, every_protocol_and_release(), protocol_and_release);

}  // namespace
}  // namespace logjam

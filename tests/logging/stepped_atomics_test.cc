// The atomics with which tests interleave two threads do what x86 can do, and not more.
#include "tests/logging/stepped_atomics.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>

namespace logjam {
namespace {

template <class T>
using Stepped = SteppedAtomics::atomic<T>;
using Seen = std::pair<int, int>;

// Each thread stores to one atomic and loads the other. `between` stands between the two.
std::set<Seen> store_and_look(const SteppedAtomics::Step& between, std::memory_order order) {
  std::unique_ptr<Stepped<int>> x, y;
  Seen seen;
  std::set<Seen> all;
  SteppedAtomics::interleave(
      [&] {
        x = std::make_unique<Stepped<int>>(0);
        y = std::make_unique<Stepped<int>>(0);
      },
      [&] {
        x->store(1, order);
        between();
        seen.first = y->load(std::memory_order_acquire);
      },
      [&] {
        y->store(1, order);
        between();
        seen.second = x->load(std::memory_order_acquire);
      },
      [&] {
        EXPECT_EQ(x->load() + y->load(), 2);
        all.insert(seen);
      });
  return all;
}

TEST(SteppedAtomics, BothThreadsMissEachOthersStoresUnlessTheyFence) {
  const std::set<Seen> fenced{{0, 1}, {1, 0}, {1, 1}};
  std::set<Seen> relaxed = fenced;
  relaxed.insert({0, 0});
  EXPECT_EQ(store_and_look([] {}, std::memory_order_release), relaxed);
  EXPECT_EQ(store_and_look([] {}, std::memory_order_seq_cst), fenced);
  EXPECT_EQ(store_and_look([] { SteppedAtomics::full_fence(); }, std::memory_order_release),
            fenced);
}

TEST(SteppedAtomics, StoresAreSeenInTheirOrderAndByTheirThreadAtOnce) {
  std::unique_ptr<Stepped<int>> x, y;
  Seen seen;
  std::set<Seen> all;
  const int runs = SteppedAtomics::interleave(
      [&] {
        x = std::make_unique<Stepped<int>>(0);
        y = std::make_unique<Stepped<int>>(0);
      },
      [&] {
        x->store(1, std::memory_order_release);
        y->store(1, std::memory_order_release);
        y->store(2, std::memory_order_release);
        EXPECT_EQ(y->load(std::memory_order_acquire), 2);
      },
      [&] {
        seen = {x->load(), y->load()};
      },
      [&] { all.insert(seen); });
  EXPECT_EQ(all, (std::set<Seen>{{0, 0}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(runs, 1 + 2 + 3 + 4 + 4) << "before each access and at the end, by visible stores";
}

TEST(SteppedAtomics, ReadModifyWritesLoseNothing) {
  std::unique_ptr<Stepped<int>> x;
  const auto step = [&] {
    x->fetch_add(1);
    int both = 2;
    const bool exchanged = x->compare_exchange_strong(both, 7);
    EXPECT_TRUE(exchanged || both == 1 || both == 7);
  };
  const int runs = SteppedAtomics::interleave([&] { x = std::make_unique<Stepped<int>>(0); }, step,
                                              step, [&] { EXPECT_EQ(x->load(), 7); });
  EXPECT_GE(runs, 3);
}

}  // namespace
}  // namespace logjam

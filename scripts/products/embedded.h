// Executes TPC-B in an embedded storage engine, for scripts/products.py. A file for each engine
// defines Engine and Client. Arguments: DIRECTORY CLIENTS SECONDS BRANCHES DURABLE. Prints one line
// of JSON: commits, tries, seconds, p50_us, p99_us. A thread waits for each of its commits.
//
// Tables are ACCOUNT, TELLER, BRANCH (a number, and a row of 100 bytes that begins with the
// balance) and HISTORY (rows of 100 bytes, appended). A transaction reads and updates one row of
// ACCOUNT, one of TELLER and one of BRANCH, and appends one row to HISTORY.
//
// An Engine(directory, durable) opens an empty database; without `durable` a commit syncs nothing.
// load(table, rows) makes a table. A Client(engine) is a connection of the calling thread. Its
// execute(transfer) returns whether it has committed; if not, call it again.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

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

[[noreturn]] inline void fail(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
  std::exit(1);
}

using Clock = std::chrono::steady_clock;

// Looks for a file of this name, so that a trace of the system calls shows the name as a mark.
inline void mark(const char* name) { (void)!access(name, F_OK); }

struct Measured {
  uint64_t tries = 0;
  std::vector<uint32_t> us;  // of each commit
};

template <class Engine, class Client>
void run_client(Engine& engine, uint64_t branches, uint64_t seed, const std::atomic<int>& phase,
                std::atomic<uint32_t>& connected, Measured* measured) {
  Client client(engine);
  ++connected;
  std::mt19937_64 random(seed);
  while (phase != 2) {
    const uint64_t branch = random() % branches;
    const uint64_t account = random() % (branches * kAccounts);
    const Transfer transfer{{account, branch * kTellers + random() % kTellers, branch},
                            static_cast<int64_t>(random() % 1999) - 999};
    const auto begin = Clock::now();
    uint64_t tries = 1;
    for (; !client.execute(transfer); ++tries) {
      // A retry without a pause would take the core from the transaction that it waits for.
      std::this_thread::sleep_for(std::chrono::microseconds(std::min<uint64_t>(10 * tries, 1000)));
    }
    if (phase != 1) continue;
    measured->tries += tries;
    measured->us.push_back(static_cast<uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count()));
  }
}

// Runs the benchmark for main(). Only one thread uses each Client.
template <class Engine, class Client>
int run(int argc, char** argv) {
  if (argc != 6) fail("usage", "DIRECTORY CLIENTS SECONDS BRANCHES DURABLE");
  const uint64_t clients = std::stoull(argv[2]), branches = std::stoull(argv[4]);
  const double seconds = std::stod(argv[3]);
  Engine engine(argv[1], std::stoi(argv[5]) != 0);
  for (uint32_t table = 0; table < kTables; ++table) {
    engine.load(static_cast<Table>(table), branches * kRows[table]);
  }
  std::atomic<int> phase{0};
  std::atomic<uint32_t> connected{0};
  std::vector<Measured> measured(clients);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      run_client<Engine, Client>(engine, branches, i + 1, phase, connected, &measured[i]);
    });
  }
  while (connected < clients) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 4));
  mark("measured-begins");
  phase = 1;
  const auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  phase = 2;
  mark("measured-ends");
  for (std::thread& thread : threads) thread.join();
  std::vector<uint32_t> all;
  uint64_t tries = 0;
  for (const Measured& one : measured) {
    all.insert(all.end(), one.us.begin(), one.us.end());
    tries += one.tries;
  }
  std::sort(all.begin(), all.end());
  const auto at = [&](double share) {
    return all.empty() ? 0 : all[static_cast<size_t>(share * static_cast<double>(all.size() - 1))];
  };
  std::printf(
      "{\"commits\": %zu, \"tries\": %lu, \"seconds\": %.6f, \"p50_us\": %u, \"p99_us\": %u}\n",
      all.size(), tries, took, at(0.5), at(0.99));
  return 0;
}

}  // namespace products

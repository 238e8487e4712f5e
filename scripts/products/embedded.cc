// Executes TPC-B in an embedded storage engine: DIRECTORY CLIENTS SECONDS BRANCHES DURABLE.
// Prints one line of JSON: commits, tries, seconds, p50_us, p99_us. Threads wait for each commit.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "scripts/products/engine.h"

namespace products {

void fail(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
  std::exit(1);
}

namespace {

using Clock = std::chrono::steady_clock;

// Asks for a file of this name, which a trace of the system calls shows.
void mark(const char* name) { (void)!access(name, F_OK); }

struct Measured {
  uint64_t tries = 0;
  std::vector<uint32_t> us;  // of each commit
};

void run_client(Engine& engine, uint64_t branches, uint64_t seed, const std::atomic<int>& phase,
                std::atomic<uint32_t>& connected, Measured* measured) {
  const std::unique_ptr<Client> client = engine.connect();
  ++connected;
  std::mt19937_64 random(seed);
  while (phase != 2) {
    const uint64_t branch = random() % branches;
    const uint64_t account = random() % (branches * kAccounts);
    const Transfer transfer{{account, branch * kTellers + random() % kTellers, branch},
                            static_cast<int64_t>(random() % 1999) - 999};
    const auto begin = Clock::now();
    uint64_t tries = 1;
    for (; !client->execute(transfer); ++tries) {
      // A retry without a pause would take the core from the transaction that it waits for.
      std::this_thread::sleep_for(std::chrono::microseconds(std::min<uint64_t>(10 * tries, 1000)));
    }
    if (phase != 1) continue;
    measured->tries += tries;
    measured->us.push_back(static_cast<uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count()));
  }
}

int run(int argc, char** argv) {
  if (argc != 6) fail("usage", "DIRECTORY CLIENTS SECONDS BRANCHES DURABLE");
  const uint64_t clients = std::stoull(argv[2]), branches = std::stoull(argv[4]);
  const double seconds = std::stod(argv[3]);
  const std::unique_ptr<Engine> engine = open_engine(argv[1], std::stoi(argv[5]) != 0);
  for (uint32_t table = 0; table < kTables; ++table) {
    engine->load(static_cast<Table>(table), branches * kRows[table]);
  }
  std::atomic<int> phase{0};
  std::atomic<uint32_t> connected{0};
  std::vector<Measured> measured(clients);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < clients; ++i) {
    threads.emplace_back(
        [&, i] { run_client(*engine, branches, i + 1, phase, connected, &measured[i]); });
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

}  // namespace
}  // namespace products

int main(int argc, char** argv) { return products::run(argc, argv); }

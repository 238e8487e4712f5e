// The cost of an index without concurrency control: one thread finds, scans and inserts a million
// keys.
//
// The keys to find are drawn ahead of time, either uniformly or zipfian with theta 0.9 and
// scattered over the key space. `find` also reads the found tuple's version, as every read does.
#include <benchmark/benchmark.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "engine/storage/database.h"

namespace logjam {
namespace {

constexpr Key kKeys = 1'000'000;
constexpr size_t kDraws = size_t{1} << 20;

Key scattered(Key key) { return key * 0x9E3779B97F4A7C15u >> 20; }

std::vector<Key> uniform_draws() {
  std::mt19937_64 random(1);
  std::vector<Key> draws(kDraws);
  for (Key& key : draws) key = random() % kKeys;
  return draws;
}

std::vector<Key> zipfian_draws(double theta) {
  std::vector<double> weights(kKeys);
  for (size_t i = 0; i < kKeys; ++i) weights[i] = std::pow(static_cast<double>(i + 1), -theta);
  std::discrete_distribution<Key> zipfian(weights.begin(), weights.end());
  std::mt19937_64 random(1);
  std::vector<Key> draws(kDraws);
  for (Key& key : draws) key = zipfian(random) * 7'368'787 % kKeys;
  return draws;
}

struct Loaded {
  explicit Loaded(IndexKind kind, uint32_t row_bytes, bool sparse)
      : table(0, {.name = "t", .row_bytes = row_bytes, .kind = kind, .expected_rows = kKeys}) {
    const std::vector<std::byte> row(row_bytes);
    for (Key key = 0; key < kKeys; ++key) {
      table.load(sparse ? scattered(key) : key, row.data(), arena);
    }
  }
  Arena arena;
  Table table;
};

// Arenas never return their memory, so each table is loaded only once, and kept.
Loaded& loaded_once(IndexKind kind, uint32_t row_bytes, bool sparse) {
  static std::map<std::tuple<IndexKind, uint32_t, bool>, std::unique_ptr<Loaded>> tables;
  auto& table = tables[{kind, row_bytes, sparse}];
  if (table == nullptr) table = std::make_unique<Loaded>(kind, row_bytes, sparse);
  return *table;
}

void find(benchmark::State& state, IndexKind kind, uint32_t row_bytes, double theta, bool sparse) {
  Loaded& loaded = loaded_once(kind, row_bytes, sparse);
  std::vector<Key> draws = theta == 0 ? uniform_draws() : zipfian_draws(theta);
  if (sparse) {
    for (Key& key : draws) key = scattered(key);
  }
  Index& index = loaded.table.primary();
  size_t i = 0;
  uint64_t sum = 0;
  for (auto _ : state) {
    sum += Table::tuple_of(index.find(draws[i++ % kDraws], nullptr))->load_version().word();
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

void scan(benchmark::State& state) {
  Loaded& loaded = loaded_once(IndexKind::kOrdered, 4, false);
  const std::vector<Key> draws = uniform_draws();
  Index& index = loaded.table.primary();
  size_t i = 0;
  uint64_t sum = 0;
  for (auto _ : state) {
    const Key low = draws[i++ % kDraws];
    index.scan(low, low + 99, false, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (Keyed* entry : entries) sum += Table::tuple_of(entry)->load_version().word();
      return true;
    });
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations() * 100);
}

void insert(benchmark::State& state, IndexKind kind, bool ascending) {
  std::vector<Keyed> entries(kKeys);
  for (Key key = 0; key < kKeys; ++key) entries[key].key = ascending ? key : scattered(key);
  for (auto _ : state) {
    state.PauseTiming();
    Table table(0, {.name = "t", .row_bytes = 8, .kind = kind, .expected_rows = kKeys});
    Arena arena;
    state.ResumeTiming();
    for (Keyed& entry : entries) table.primary().insert(&entry, arena, nullptr, nullptr);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kKeys));
}

const bool registered = [] {
  for (const IndexKind kind : {IndexKind::kHash, IndexKind::kOrdered}) {
    const std::string name = kind == IndexKind::kHash ? "hash" : "ordered";
    for (const double theta : {0.0, 0.9}) {
      for (const uint32_t row_bytes : {4u, 500u}) {
        benchmark::RegisterBenchmark(
            (name + "/find/row:" + std::to_string(row_bytes) + (theta == 0 ? "" : "/zipf:0.9"))
                .c_str(),
            find, kind, row_bytes, theta, false);
      }
    }
    benchmark::RegisterBenchmark((name + "/find/row:4/sparse").c_str(), find, kind, 4u, 0.0, true);
    benchmark::RegisterBenchmark((name + "/insert/ascending").c_str(), insert, kind, true);
    benchmark::RegisterBenchmark((name + "/insert/random").c_str(), insert, kind, false);
  }
  benchmark::RegisterBenchmark("ordered/scan:100", scan);
  return true;
}();

}  // namespace
}  // namespace logjam

// The table of docs/GUIDE.md that says which anomalies each protocol allows. A program provokes
// each anomaly in one interleaving. The names are those of Adya (G0 to G2) and of Berenson et al.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cc/script.h"

namespace logjam {
namespace {

constexpr Key kX = 10, kY = 20;

// Each function returns whether the anomaly has happened. The rows have value 1 at first.

bool dirty_write(World& world) {
  Actor t1(world), t2(world);
  t1.set(*world.hash, kX, 11);
  t2.set(*world.hash, kX, 12);
  t2.set(*world.hash, kY, 12);
  t2.commit();
  t1.set(*world.hash, kY, 11);
  t1.commit();
  auto rows = world.content(*world.hash);
  return rows[kX] != rows[kY];
}

bool aborted_read(World& world) {
  Actor t1(world), t2(world);
  t1.set(*world.hash, kX, 11);
  const auto seen = t2.read(*world.hash, kX);
  t1.abort();
  return t2.commit() && seen == 11;
}

bool intermediate_read(World& world) {
  Actor t1(world), t2(world);
  t1.set(*world.hash, kX, 11);
  const auto seen = t2.read(*world.hash, kX);
  t1.set(*world.hash, kX, 12);
  t1.commit();
  return t2.commit() && seen == 11;
}

bool circular_information_flow(World& world) {
  Actor t1(world), t2(world);
  t1.set(*world.hash, kX, 11);
  t2.set(*world.hash, kY, 12);
  const auto y = t1.read(*world.hash, kY), x = t2.read(*world.hash, kX);
  t1.commit();
  t2.commit();
  return t1.committed && t2.committed && x == 11 && y == 12;
}

bool lost_update(World& world) {
  Actor t1(world), t2(world);
  const auto seen1 = t1.read(*world.hash, kX), seen2 = t2.read(*world.hash, kX);
  t1.set(*world.hash, kX, seen1.value_or(0) + 10);
  t2.set(*world.hash, kX, seen2.value_or(0) + 10);
  t1.commit();
  t2.commit();
  return t1.committed && t2.committed && world.content(*world.hash)[kX] != 21;
}

bool read_skew(World& world) {
  Actor t1(world), t2(world);
  const auto x = t1.read(*world.hash, kX);
  t2.set(*world.hash, kX, 12);
  t2.set(*world.hash, kY, 12);
  t2.commit();
  const auto y = t1.read(*world.hash, kY);
  return t1.commit() && t2.committed && x != y;
}

bool phantom_read(World& world) {
  Actor t1(world), t2(world);
  const auto before = t1.scan(*world.ordered, 0, 100);
  t2.insert(*world.ordered, 55, 1);
  t2.commit();
  const auto after = t1.scan(*world.ordered, 0, 100);
  return t1.commit() && t2.committed && before != after;
}

bool write_skew(World& world) {
  Actor t1(world), t2(world);
  t1.read(*world.hash, kX);
  t2.read(*world.hash, kY);
  t1.set(*world.hash, kY, 11);
  t2.set(*world.hash, kX, 12);
  t1.commit();
  t2.commit();
  return t1.committed && t2.committed;
}

// Each transaction inserts a row into the range that the other has found without such a row.
bool write_skew_by_phantoms(World& world) {
  Actor t1(world), t2(world);
  t1.scan(*world.ordered, 0, 100);
  t2.scan(*world.ordered, 1000, 1100);
  t1.insert(*world.ordered, 1055, 1);
  t2.insert(*world.ordered, 55, 1);
  t1.commit();
  t2.commit();
  return t1.committed && t2.committed;
}

struct Anomaly {
  std::string name;
  bool (*happens)(World&);
};

const std::vector<Anomaly>& anomalies() {
  static const std::vector<Anomaly> all = {
      {"dirty write (G0)", dirty_write},
      {"aborted read (G1a)", aborted_read},
      {"intermediate read (G1b)", intermediate_read},
      {"circular information flow (G1c)", circular_information_flow},
      {"lost update (P4)", lost_update},
      {"read skew (A5A, G-single)", read_skew},
      {"phantom read (A3)", phantom_read},
      {"write skew (A5B, G2-item)", write_skew},
      {"write skew by phantoms (G2)", write_skew_by_phantoms},
  };
  return all;
}

bool happens(const Anomaly& anomaly, const std::string& protocol, bool elr) {
  World world(protocol, FakeLog::Options{}, LogRecords::kTransaction, elr);
  world.load_tens(*world.hash, 10);
  world.load_tens(*world.ordered, 200);
  return anomaly.happens(world);
}

TEST(AnomalyTable, IsThatOfTheGuide) {
  std::string head = "| anomaly |", line = "|---|", rows;
  for (const std::string& protocol : protocol_names()) {
    head += " `" + protocol + "` |";
    line += "---|";
  }
  for (const Anomaly& anomaly : anomalies()) {
    rows += "| " + anomaly.name + " |";
    for (const std::string& protocol : protocol_names()) {
      SCOPED_TRACE(anomaly.name + ", " + protocol);
      const bool possible = happens(anomaly, protocol, true);
      EXPECT_EQ(possible, happens(anomaly, protocol, false)) << "without early lock release";
      rows += possible ? " **happens** |" : " no |";
    }
    rows += "\n";
  }
  const std::string table = head + "\n" + line + "\n" + rows;
  std::stringstream guide;
  guide << std::ifstream("docs/GUIDE.md").rdbuf();
  EXPECT_NE(guide.str().find(table), std::string::npos) << "docs/GUIDE.md should have\n" << table;
}

}  // namespace
}  // namespace logjam

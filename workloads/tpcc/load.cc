#include "workloads/tpcc/load.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "workloads/random.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {
namespace {

constexpr uint64_t kLoadSeed = 0x10ad;
constexpr uint32_t kChunk = 10'000;  // items or stocks loaded with one random generator
constexpr Cents kFirstPayment = 10'00;

constexpr uint32_t chunks(uint32_t items) { return (items + kChunk - 1) / kChunk; }

void fill_address(Random& random, Address& address) {
  fill_alphanumeric(random, address.street_1, sizeof address.street_1, 10, 20);
  fill_alphanumeric(random, address.street_2, sizeof address.street_2, 10, 20);
  fill_alphanumeric(random, address.city, sizeof address.city, 10, 20);
  for (char& letter : address.state) letter = static_cast<char>('A' + random.below(26));
  std::memcpy(address.zip, "000011111", sizeof address.zip);
  fill_digits(random, address.zip, 4);
}

// Makes one unit of the population: a chunk of the items, a warehouse's row, a chunk of its stock,
// or a district. Every unit has its own random generator, so its rows depend neither on the thread
// that makes the unit nor on the order of the units.
class Unit {
 public:
  Unit(const Scale& scale, uint64_t number, PopulationVisitor& visitor)
      : scale_(scale), visitor_(visitor), random_(kLoadSeed, number) {}

  void items(uint32_t chunk) {
    for_chunk(chunk, [this](uint32_t i) {
      Item row{};
      row.price = random_.between(1'00, 100'00);
      row.image = static_cast<uint32_t>(random_.between(1, 10'000));
      fill_alphanumeric(random_, row.name, sizeof row.name, 14, 24);
      fill_brand_data(random_, row.data);
      visitor_.visit(item_key(i), row);
    });
  }

  void stock(uint32_t w, uint32_t chunk) {
    for_chunk(chunk, [this, w](uint32_t i) {
      Stock row{};
      row.quantity = static_cast<int32_t>(random_.between(10, 100));
      for (auto& dist : row.dist) fill_alphanumeric(random_, dist, sizeof dist, 24, 24);
      fill_brand_data(random_, row.data);
      visitor_.visit(stock_key(w, i), row);
    });
  }

  // Makes a warehouse's row. W_YTD and D_YTD are the sums of the customers' first payments:
  // 300,000.00 and 30,000.00 with 3000 customers.
  void warehouse(uint32_t w) {
    Warehouse row{};
    row.ytd = kFirstPayment * scale_.customers * kDistricts;
    row.tax = static_cast<BasisPoints>(random_.between(0, 2000));
    fill_alphanumeric(random_, row.name, sizeof row.name, 6, 10);
    fill_address(random_, row.address);
    visitor_.visit(warehouse_key(w), row);
  }

  void district(uint32_t w, uint32_t d) {
    District row{};
    row.ytd = kFirstPayment * scale_.customers;
    row.tax = static_cast<BasisPoints>(random_.between(0, 2000));
    row.next_order = scale_.customers + 1;
    fill_alphanumeric(random_, row.name, sizeof row.name, 6, 10);
    fill_address(random_, row.address);
    visitor_.visit(district_key(w, d), row);

    for (uint32_t c = 1; c <= scale_.customers; ++c) customer(w, d, c);
    std::vector<uint32_t> ordering(scale_.customers);
    std::iota(ordering.begin(), ordering.end(), 1);
    for (size_t i = ordering.size(); i > 1; --i) {
      std::swap(ordering[i - 1], ordering[random_.below(i)]);
    }
    for (uint32_t o = 1; o <= scale_.customers; ++o) order(w, d, o, ordering[o - 1]);
  }

 private:
  template <class Load>
  void for_chunk(uint32_t chunk, const Load& load_one) {
    const uint32_t end = std::min((chunk + 1) * kChunk, scale_.items);
    for (uint32_t i = chunk * kChunk + 1; i <= end; ++i) load_one(i);
  }

  void customer(uint32_t w, uint32_t d, uint32_t c) {
    static const NuRandConstants constants = NuRandConstants::of_load();
    Customer row{};
    row.credit_limit = 50'000'00;
    row.balance = -kFirstPayment;
    row.ytd_payment = kFirstPayment;
    row.since = kLoadDate;
    row.discount = static_cast<BasisPoints>(random_.between(0, 5000));
    row.payments = 1;
    std::memcpy(row.credit, random_.percent(10) ? "BC" : "GC", sizeof row.credit);
    std::memcpy(row.middle, "OE", sizeof row.middle);
    fill_alphanumeric(random_, row.first, sizeof row.first, 8, 16);
    // Each of the first thousand customers of a district has another of the 1000 last names (clause
    // 4.3.3.1).
    make_last_name(c <= 1000 ? c - 1 : nu_rand(random_, 255, constants.last_name, 0, 999),
                   row.last);
    fill_address(random_, row.address);
    fill_digits(random_, row.phone, sizeof row.phone);
    fill_alphanumeric(random_, row.data, sizeof row.data, 300, 500);
    const Key key = customer_key(w, d, c);
    visitor_.visit(key, row);

    History history{};
    history.amount = kFirstPayment;
    history.date = kLoadDate;
    history.customer_warehouse = history.warehouse = w;
    history.customer_district = history.district = static_cast<uint16_t>(d);
    history.customer = c;
    fill_alphanumeric(random_, history.data, sizeof history.data, 12, 24);
    visitor_.visit(loaded_history_key(key), history);
  }

  void order(uint32_t w, uint32_t d, uint32_t o, uint32_t c) {
    const bool delivered = o <= scale_.customers - scale_.undelivered();
    const Key key = order_key(w, d, o);
    Order row{};
    row.entered = kLoadDate;
    row.customer = c;
    row.carrier = delivered ? static_cast<uint8_t>(random_.between(1, 10)) : 0;
    row.lines = static_cast<uint8_t>(random_.between(kMinLines, kMaxLines));
    row.all_local = 1;
    visitor_.visit(key, row);

    for (uint32_t number = 1; number <= row.lines; ++number) {
      OrderLine line{};
      line.amount = delivered ? 0 : random_.between(1, 9999'99);
      line.delivered = delivered ? row.entered : kNoDate;
      line.item = static_cast<uint32_t>(random_.between(1, scale_.items));
      line.supply_warehouse = w;
      line.quantity = 5;
      fill_alphanumeric(random_, line.dist_info, sizeof line.dist_info, 24, 24);
      visitor_.visit(line_key(key, number), line);
    }
    if (!delivered) {
      const NewOrder waiting{o};
      visitor_.visit(key, waiting);
    }
  }

  const Scale& scale_;
  PopulationVisitor& visitor_;
  Random random_;
};

// Inserts the rows into the tables.
class Loader : public PopulationVisitor {
 public:
  Loader(Database& database, Arena& arena) : tables_(database), arena_(arena) {}

  void visit(Key key, const Warehouse& row) override { load(tables_.warehouse, key, row); }
  void visit(Key key, const District& row) override { load(tables_.district, key, row); }
  void visit(Key key, const Customer& row) override { load(tables_.customer, key, row); }
  void visit(Key key, const History& row) override { load(tables_.history, key, row); }
  void visit(Key key, const NewOrder& row) override { load(tables_.new_order, key, row); }
  void visit(Key key, const Order& row) override { load(tables_.order, key, row); }
  void visit(Key key, const OrderLine& row) override { load(tables_.order_line, key, row); }
  void visit(Key key, const Item& row) override { load(tables_.item, key, row); }
  void visit(Key key, const Stock& row) override { load(tables_.stock, key, row); }

 private:
  template <class Row>
  void load(Table& table, Key key, const Row& row) {
    table.load(key, &row, arena_);
  }

  Tables tables_;
  Arena& arena_;
};

}  // namespace

void visit_population(const Scale& scale, uint32_t part, uint32_t parts,
                      PopulationVisitor& visitor) {
  LJ_ASSERT(part < parts);
  const uint64_t item_units = chunks(scale.items);
  const uint64_t warehouse_units = 1 + chunks(scale.items) + kDistricts;
  const uint64_t units = item_units + scale.warehouses * warehouse_units;
  const auto part_of = [&](uint64_t number) {
    if (number < item_units) return static_cast<uint32_t>(number % parts);
    const uint64_t unit = number - item_units;
    return Home::worker_of(static_cast<uint32_t>(unit / warehouse_units + 1),
                           static_cast<uint32_t>(unit % warehouse_units), parts, scale.warehouses);
  };
  for (uint64_t number = 0; number < units; ++number) {
    if (part_of(number) != part) continue;
    Unit unit(scale, number, visitor);
    if (number < item_units) {
      unit.items(static_cast<uint32_t>(number));
      continue;
    }
    const auto w = static_cast<uint32_t>((number - item_units) / warehouse_units + 1);
    const auto which = static_cast<uint32_t>((number - item_units) % warehouse_units);
    if (which == 0) {
      unit.warehouse(w);
    } else if (which <= kDistricts) {
      unit.district(w, which);
    } else {
      unit.stock(w, which - kDistricts - 1);
    }
  }
}

void load(Database& database, const Scale& scale, uint32_t part, uint32_t parts, Arena& arena) {
  Loader loader(database, arena);
  visit_population(scale, part, parts, loader);
}

}  // namespace logjam::tpcc

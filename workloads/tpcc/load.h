// The initial population (clause 4.3.3.1).
#pragma once

#include <numeric>

#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

inline constexpr uint64_t kPopulationSeed = 0x10ad;
inline constexpr uint32_t kChunk = 10'000;  // items or stocks loaded with one random generator
inline constexpr Cents kFirstPayment = 10'00;

constexpr uint32_t chunks(uint32_t items) { return (items + kChunk - 1) / kChunk; }

inline void fill_address(Random& random, Address& address) {
  fill_alphanumeric(random, address.street_1, sizeof address.street_1, 10, 20);
  fill_alphanumeric(random, address.street_2, sizeof address.street_2, 10, 20);
  fill_alphanumeric(random, address.city, sizeof address.city, 10, 20);
  for (char& letter : address.state) letter = static_cast<char>('A' + random.below(26));
  std::memcpy(address.zip, "000011111", sizeof address.zip);
  fill_digits(random, address.zip, 4);
}

// A unit of the population: a chunk of the items, a warehouse's row, a chunk of its stock, or a
// district. Each unit has its own random generator, so its rows depend neither on the thread that
// makes the unit nor on the order of the units.
template <class Visitor>
class Unit {
 public:
  Unit(const Scale& scale, uint64_t number, const Visitor& visitor)
      : scale_(scale), visitor_(visitor), random_(kPopulationSeed, number) {}

  void items(uint32_t chunk) {
    for_chunk(chunk, [this](uint32_t i) {
      Item row{};
      row.price = random_.between(1'00, 100'00);
      row.image = static_cast<uint32_t>(random_.between(1, 10'000));
      fill_alphanumeric(random_, row.name, sizeof row.name, 14, 24);
      fill_brand_data(random_, row.data);
      visitor_(item_key(i), row);
    });
  }

  void stock(uint32_t w, uint32_t chunk) {
    for_chunk(chunk, [this, w](uint32_t i) {
      Stock row{};
      row.quantity = static_cast<int32_t>(random_.between(10, 100));
      for (auto& dist : row.dist) fill_alphanumeric(random_, dist, sizeof dist, 24, 24);
      fill_brand_data(random_, row.data);
      visitor_(stock_key(w, i), row);
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
    visitor_(warehouse_key(w), row);
  }

  void district(uint32_t w, uint32_t d) {
    District row{};
    row.ytd = kFirstPayment * scale_.customers;
    row.tax = static_cast<BasisPoints>(random_.between(0, 2000));
    row.next_order = scale_.customers + 1;
    fill_alphanumeric(random_, row.name, sizeof row.name, 6, 10);
    fill_address(random_, row.address);
    visitor_(district_key(w, d), row);

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
    // Clause 4.3.3.1: the first thousand customers of a district have different last names.
    make_last_name(c <= 1000 ? c - 1 : nu_rand(random_, 255, constants.last_name, 0, 999),
                   row.last);
    fill_address(random_, row.address);
    fill_digits(random_, row.phone, sizeof row.phone);
    fill_alphanumeric(random_, row.data, sizeof row.data, 300, 500);
    const Key key = customer_key(w, d, c);
    visitor_(key, row);

    History history{};
    history.amount = kFirstPayment;
    history.date = kLoadDate;
    history.customer_warehouse = history.warehouse = w;
    history.customer_district = history.district = static_cast<uint16_t>(d);
    history.customer = c;
    fill_alphanumeric(random_, history.data, sizeof history.data, 12, 24);
    visitor_(scale_.loaded_history_key(key), history);
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
    visitor_(key, row);

    for (uint32_t number = 1; number <= row.lines; ++number) {
      OrderLine line{};
      line.amount = delivered ? 0 : random_.between(1, 9999'99);
      line.delivered = delivered ? row.entered : kNoDate;
      line.item = static_cast<uint32_t>(random_.between(1, scale_.items));
      line.supply_warehouse = w;
      line.quantity = 5;
      fill_alphanumeric(random_, line.dist_info, sizeof line.dist_info, 24, 24);
      visitor_(line_key(key, number), line);
    }
    if (!delivered) visitor_(key, NewOrder{o});
  }

  const Scale& scale_;
  const Visitor& visitor_;
  Random random_;
};

// Calls visitor(key, row) for each row of part number `part`. A part consists of whole units: some
// chunks of the items, and units of the warehouses of worker `part` of `parts` workers (Home). The
// rows do not depend on `parts`. Threads may make parts at once, each with its own visitor.
template <class Visitor>
void visit_population(const Scale& scale, uint32_t part, uint32_t parts, const Visitor& visitor) {
  LJ_ASSERT(part < parts);
  const uint64_t item_units = chunks(scale.items);
  const uint64_t warehouse_units = 1 + kDistricts + chunks(scale.items);
  for (uint32_t unit = 0; unit < item_units; ++unit) {
    if (unit % parts == part) Unit(scale, unit, visitor).items(unit);
  }
  uint64_t number = item_units;
  for (uint32_t w = 1; w <= scale.warehouses; ++w) {
    for (uint32_t which = 0; which < warehouse_units; ++which, ++number) {
      if (Home::worker_of(w, which, parts, scale.warehouses) != part) continue;
      Unit unit(scale, number, visitor);
      if (which == 0) {
        unit.warehouse(w);
      } else if (which <= kDistricts) {
        unit.district(w, which);
      } else {
        unit.stock(w, which - kDistricts - 1);
      }
    }
  }
}

}  // namespace logjam::tpcc

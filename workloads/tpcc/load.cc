#include "workloads/tpcc/load.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "workloads/random.h"
#include "workloads/tpcc/input.h"

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

// Loads one unit of the population: a chunk of the items, a warehouse's row, a chunk of its stock,
// or a district. Every unit has a random generator of its own, so its rows depend neither on the
// thread that loads the unit nor on the order of the units.
class Loader {
 public:
  Loader(Database& database, const Scale& scale, Arena& arena, uint64_t unit)
      : tables_(database), scale_(scale), arena_(arena), random_(kLoadSeed, unit) {}

  void items(uint32_t chunk) {
    for_chunk(chunk, [this](uint32_t i) {
      Item row{};
      row.price = random_.between(1'00, 100'00);
      row.image = static_cast<uint32_t>(random_.between(1, 10'000));
      fill_alphanumeric(random_, row.name, sizeof row.name, 14, 24);
      fill_brand_data(random_, row.data);
      tables_.item.load(item_key(i), &row, arena_);
    });
  }

  void stock(uint32_t w, uint32_t chunk) {
    for_chunk(chunk, [this, w](uint32_t i) {
      Stock row{};
      row.quantity = static_cast<int32_t>(random_.between(10, 100));
      for (auto& dist : row.dist) fill_alphanumeric(random_, dist, sizeof dist, 24, 24);
      fill_brand_data(random_, row.data);
      tables_.stock.load(stock_key(w, i), &row, arena_);
    });
  }

  // W_YTD and D_YTD are the sums of the customers' first payments: 300,000.00 and 30,000.00 with
  // 3000 customers.
  void warehouse(uint32_t w) {
    Warehouse row{};
    row.ytd = kFirstPayment * scale_.customers * kDistricts;
    row.tax = static_cast<BasisPoints>(random_.between(0, 2000));
    fill_alphanumeric(random_, row.name, sizeof row.name, 6, 10);
    fill_address(random_, row.address);
    tables_.warehouse.load(warehouse_key(w), &row, arena_);
  }

  void district(uint32_t w, uint32_t d) {
    District row{};
    row.ytd = kFirstPayment * scale_.customers;
    row.tax = static_cast<BasisPoints>(random_.between(0, 2000));
    row.next_order = scale_.customers + 1;
    fill_alphanumeric(random_, row.name, sizeof row.name, 6, 10);
    fill_address(random_, row.address);
    tables_.district.load(district_key(w, d), &row, arena_);

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
    // Clause 4.3.3.1: the first thousand customers of a district have one of the 1000 last names
    // each.
    make_last_name(c <= 1000 ? c - 1 : nu_rand(random_, 255, constants.last_name, 0, 999),
                   row.last);
    fill_address(random_, row.address);
    fill_digits(random_, row.phone, sizeof row.phone);
    fill_alphanumeric(random_, row.data, sizeof row.data, 300, 500);
    const Key key = customer_key(w, d, c);
    tables_.customer.load(key, &row, arena_);

    History history{};
    history.amount = kFirstPayment;
    history.date = kLoadDate;
    history.customer_warehouse = history.warehouse = w;
    history.customer_district = history.district = static_cast<uint16_t>(d);
    history.customer = c;
    fill_alphanumeric(random_, history.data, sizeof history.data, 12, 24);
    tables_.history.load(loaded_history_key(key), &history, arena_);
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
    tables_.order.load(key, &row, arena_);

    for (uint32_t number = 1; number <= row.lines; ++number) {
      OrderLine line{};
      line.amount = delivered ? 0 : random_.between(1, 9999'99);
      line.delivered = delivered ? row.entered : kNoDate;
      line.item = static_cast<uint32_t>(random_.between(1, scale_.items));
      line.supply_warehouse = w;
      line.quantity = 5;
      fill_alphanumeric(random_, line.dist_info, sizeof line.dist_info, 24, 24);
      tables_.order_line.load(line_key(key, number), &line, arena_);
    }
    if (!delivered) {
      const NewOrder waiting{o};
      tables_.new_order.load(key, &waiting, arena_);
    }
  }

  Tables tables_;
  const Scale& scale_;
  Arena& arena_;
  Random random_;
};

}  // namespace

void load(Database& database, const Scale& scale, uint32_t part, uint32_t parts, Arena& arena) {
  const uint64_t item_units = chunks(scale.items);
  const uint64_t warehouse_units = 1 + chunks(scale.items) + kDistricts;
  const uint64_t units = item_units + scale.warehouses * warehouse_units;

  for (uint64_t unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
    Loader loader(database, scale, arena, unit);
    if (unit < item_units) {
      loader.items(static_cast<uint32_t>(unit));
      continue;
    }
    const auto w = static_cast<uint32_t>((unit - item_units) / warehouse_units + 1);
    const auto which = static_cast<uint32_t>((unit - item_units) % warehouse_units);
    if (which == 0) {
      loader.warehouse(w);
    } else if (which <= kDistricts) {
      loader.district(w, which);
    } else {
      loader.stock(w, which - kDistricts - 1);
    }
  }
}

}  // namespace logjam::tpcc

// TPC-C's nine tables (specification v5.11, clause 1.3), and the split of the warehouses among the
// workers.
//
// A row does not repeat the identifiers of which its key consists. Money is in cents, and taxes and
// discounts are in basis points. A date is a number: 0 is null, and kLoadDate is the date of the
// load. Each terminal of a run uses the numbers after kLoadDate in order, because times would not
// follow from the run's seed. Rows have no padding, so the engine can hash and log them as bytes.
#pragma once

#include <algorithm>
#include <type_traits>

#include "engine/storage/columns.h"
#include "engine/storage/database.h"
#include "platform/assert.h"

namespace logjam::tpcc {

using Cents = int64_t;
using BasisPoints = int32_t;
using Date = uint64_t;

inline constexpr Date kNoDate = 0;
inline constexpr Date kLoadDate = 1;

inline constexpr uint32_t kDistricts = 10;  // the number of districts of a warehouse
inline constexpr uint32_t kMaxLines = 15;   // the largest number of lines of an order
inline constexpr uint32_t kMinLines = 5;

struct Address {
  char street_1[20], street_2[20], city[20], state[2], zip[9];
};

struct Warehouse {
  Cents ytd;
  BasisPoints tax;
  char name[10];
  Address address;
  char unused[3];
};

struct District {
  Cents ytd;
  BasisPoints tax;
  uint32_t next_order;
  char name[10];
  Address address;
  char unused[7];
};

struct Customer {
  Cents credit_limit, balance, ytd_payment;
  Date since;
  BasisPoints discount;
  uint32_t payments, deliveries;
  char credit[2], middle[2], first[16], last[16];
  Address address;
  char phone[16];
  char data[500];
  char unused[5];
};

struct History {
  Cents amount;
  Date date;
  uint32_t customer_warehouse, warehouse, customer;
  uint16_t customer_district, district;
  char data[24];
};

struct Order {
  Date entered;
  uint32_t customer;
  uint8_t carrier;  // 0: null, not delivered
  uint8_t lines, all_local;
  char unused[1];
};

struct NewOrder {
  uint64_t order;
};

struct OrderLine {
  Cents amount;
  Date delivered;
  uint32_t item, supply_warehouse, quantity;
  char dist_info[24];
  char unused[4];
};

struct Item {
  Cents price;
  uint32_t image;
  char name[24], data[50];
  char unused[2];
};

struct Stock {
  int64_t ytd;
  int32_t quantity;
  uint32_t orders, remote_orders;
  char dist[kDistricts][24];
  char data[50];
  char unused[2];
};

template <class Row, class... Rows>
constexpr uint16_t number_in_list() {
  static_assert((std::has_unique_object_representations_v<Rows> && ...), "a row has padding");
  uint16_t number = 0;
  (void)((std::is_same_v<Row, Rows> || (++number, false)) || ...);
  return number;
}
// The id of the table with rows of this type. The tables are created in the order of this list.
template <class Row>
inline constexpr uint16_t kTableId = number_in_list<Row, Warehouse, District, Customer, History,
                                                    NewOrder, Order, OrderLine, Item, Stock>();
inline constexpr uint16_t kTables = kTableId<Stock> + 1;

// Sizes of heads for Transaction::read_head. A head has all columns that one transaction reads.
inline constexpr uint32_t kWarehouseTax = offsetof(Warehouse, name),
                          kCustomerDiscount = offsetof(Customer, payments),
                          kCustomerNames = offsetof(Customer, address),
                          kStockQuantity = offsetof(Stock, orders);

// A key has the warehouse in its highest bits, then the district, so that an ordered index keeps
// the orders of a district together. check_flags() refuses scales whose numbers do not fit.
inline constexpr uint32_t kWarehouseBits = 20, kDistrictBits = 4, kCustomerBits = 12,
                          kOrderBits = 28, kLineBits = 4, kItemBits = 20;
static_assert(kWarehouseBits + kDistrictBits + kCustomerBits + kOrderBits == 64);

inline constexpr uint64_t kMaxOrder = (uint64_t{1} << kOrderBits) - 1;

constexpr Key warehouse_key(uint32_t w) { return w; }
constexpr bool is_district(uint32_t d) { return d >= 1 && d <= kDistricts; }
constexpr Key district_key(uint32_t w, uint32_t d) { return Key{w} << kDistrictBits | d; }
constexpr Key customer_key(uint32_t w, uint32_t d, uint32_t c) {
  return district_key(w, d) << kCustomerBits | c;
}
constexpr Key order_key(uint32_t w, uint32_t d, uint64_t o) {
  return district_key(w, d) << kOrderBits | o;
}
constexpr Key line_key(Key order, uint32_t line) { return order << kLineBits | line; }
constexpr Key item_key(uint32_t i) { return i; }
constexpr Key stock_key(uint32_t w, uint32_t i) { return Key{w} << kItemBits | i; }

// Keys of HISTORY, which has no key in TPC-C. The key of a payment has the worker, and in the low
// bits the worker's count of payments. A loaded row has kLoadedHistory, which no count reaches, and
// its customer (Scale::loaded_history_key). The loaded rows of a district follow the payments of
// the worker that has this district as its home (HomePolicy::kFixed). So each worker inserts into a
// leaf of its own from its first payment on, as in a database that has run for long. If all loaded
// rows had higher keys than all payments, 256 workers would begin in one leaf, and would wait for
// each other until thousands of payments had split the leaf between any two workers.
inline constexpr uint32_t kHistoryBits = 40;
inline constexpr Key kLoadedHistory = Key{1} << (kHistoryBits - 1);
constexpr Key history_key(uint32_t worker, uint64_t count) {
  LJ_ASSERT_IN_TESTS(count < kLoadedHistory);
  return Key{worker} << kHistoryBits | count;
}
constexpr bool is_loaded_history(Key key) { return (key & kLoadedHistory) != 0; }
constexpr uint64_t worker_of_history(Key key) { return key >> kHistoryBits; }
static_assert(kDistricts <= ~Key{0} >> (kHistoryBits + kWarehouseBits));

// Returns the lowest bits of a key. The functions below return parts of keys.
constexpr uint64_t low_bits(Key key, uint32_t bits) { return key & ((Key{1} << bits) - 1); }
constexpr Key district_of_order(Key order) { return order >> kOrderBits; }
constexpr Key district_of_customer(Key customer) { return customer >> kCustomerBits; }
constexpr Key order_of_line(Key line) { return line >> kLineBits; }
constexpr uint32_t warehouse_of_district(Key district) {
  return static_cast<uint32_t>(district >> kDistrictBits);
}
constexpr uint32_t number_of_district(Key district) {
  return static_cast<uint32_t>(low_bits(district, kDistrictBits));
}
constexpr uint32_t warehouse_of_stock(Key stock) {
  return static_cast<uint32_t>(stock >> kItemBits);
}
constexpr uint64_t number_of_order(Key order) { return low_bits(order, kOrderBits); }

// Returns a key of kByLastName, with a hash of the name. A search must also compare the name.
Key last_name_key(Key district, const char (&last)[16]);
constexpr Key customer_order_key(Key customer, uint64_t order) {
  return customer << kOrderBits | order;
}
inline constexpr size_t kByLastName = 0;  // CUSTOMER: (district, last name), hash, not unique
inline constexpr size_t kByCustomer = 0;  // ORDER: (customer, order number), ordered, unique

// The numbers of loaded rows. The functions place_of_*() return the index of a row in a list of all
// districts, customers or stocks. For a key without a row, they return the size of this list.
struct Scale {
  uint32_t warehouses = 1;
  uint32_t items = 100'000;
  uint32_t customers = 3000;  // the number of customers, and of initial orders, of a district

  // Returns the number of a district's initial orders that are not delivered: the last 900 of 3000.
  uint32_t undelivered() const { return customers * 3 / 10; }
  // Returns the number of different last names that are certain to occur in every district.
  uint32_t names() const { return customers < 1000 ? customers : 1000; }

  uint64_t districts() const { return uint64_t{warehouses} * kDistricts; }
  size_t place_of_district(Key district) const {
    const uint64_t w = district >> kDistrictBits, d = low_bits(district, kDistrictBits);
    return w >= 1 && w <= warehouses && is_district(static_cast<uint32_t>(d))
               ? (w - 1) * kDistricts + d - 1
               : districts();
  }
  size_t place_of_customer(Key customer) const {
    const size_t district = place_of_district(district_of_customer(customer));
    const uint64_t c = low_bits(customer, kCustomerBits);
    const bool exists = district < districts() && c >= 1 && c <= customers;
    return exists ? district * customers + c - 1 : districts() * customers;
  }
  constexpr Key loaded_history_key(Key customer) const {
    const Key district = district_of_customer(customer);
    const Key worker =
        Key{number_of_district(district) - 1} * warehouses + (warehouse_of_district(district) - 1);
    return worker << kHistoryBits | kLoadedHistory | low_bits(customer, kCustomerBits);
  }
  size_t place_of_stock(uint32_t w, uint32_t i) const {
    const bool exists = w >= 1 && w <= warehouses && i >= 1 && i <= items;
    return exists ? size_t{w - 1} * items + i - 1 : size_t{warehouses} * items;
  }
};

struct Tables {
  explicit Tables(Database& database_in) : database(database_in) {}
  template <class Row>
  Table& of() const {
    return *database.table(kTableId<Row>);
  }

  Database& database;
  Table& warehouse = of<Warehouse>();
  Table& district = of<District>();
  Table& customer = of<Customer>();
  Table& history = of<History>();
  Table& new_order = of<NewOrder>();
  Table& order = of<Order>();
  Table& order_line = of<OrderLine>();
  Table& item = of<Item>();
  Table& stock = of<Stock>();
};

void create_tables(Database& database, const Scale& scale);
// Returns the bytes that the tables take after the load, with tuple headers and indexes.
uint64_t loaded_bytes(const Scale& scale);

// The warehouses for which a worker works.
enum class HomePolicy : uint8_t {
  kSplit,  // some warehouses: the workers divide all warehouses, as in Silo's TPC-C
  kFixed,  // one warehouse, and one district for Stock-Level (clause 2.8.1's terminal)
  kAny,    // all warehouses
};

// The warehouses [first, first + count). For each transaction, a worker draws one of them.
struct Home {
  uint32_t first = 1;
  uint32_t count = 1;
  uint32_t district = 0;  // of each Stock-Level; 0: each Stock-Level draws its district

  static Home of(HomePolicy policy, uint32_t worker, uint32_t workers, uint32_t warehouses) {
    LJ_ASSERT(worker < workers && warehouses > 0);
    switch (policy) {
      case HomePolicy::kSplit:
        if (warehouses > workers) {
          // The last worker also takes the remainder of the division.
          const uint32_t each = warehouses / workers, first = worker * each + 1;
          return {first, worker + 1 == workers ? warehouses - first + 1 : each, 0};
        }
        return {worker % warehouses + 1, 1, 0};
      case HomePolicy::kFixed:
        return {worker % warehouses + 1, 1, worker / warehouses % kDistricts + 1};
      case HomePolicy::kAny:
        return {1, warehouses, 0};
    }
    return {};
  }

  // Returns a worker of `warehouse` under kSplit. If there are several, `turn` chooses one.
  static uint32_t worker_of(uint32_t warehouse, uint32_t turn, uint32_t workers,
                            uint32_t warehouses) {
    LJ_ASSERT(warehouse >= 1 && warehouse <= warehouses && workers > 0);
    if (warehouses > workers) {
      return std::min((warehouse - 1) / (warehouses / workers), workers - 1);
    }
    const uint32_t sharing = (workers - warehouse) / warehouses + 1;
    return warehouse - 1 + turn % sharing * warehouses;
  }
};

}  // namespace logjam::tpcc

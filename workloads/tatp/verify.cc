
#include "workloads/table_checks.h"
#include "workloads/tatp/tatp.h"

namespace logjam::tatp {
namespace {

// The result of the comparison of one table with its expected rows.
class Finding {
 public:
  explicit Finding(std::string name) : name_(std::move(name)) {}
  void expect(bool here) { expected_ += here; }
  void wrong(Key key, const std::string& why) {
    wrong_.note([&] { return "; first: key " + std::to_string(key) + " " + why; });
  }
  auto members() { return std::tie(expected_, wrong_); }
  Check check(uint64_t rows) const {
    return {name_, wrong_.count == 0 && rows == expected_,
            std::to_string(rows) + " rows, " + std::to_string(expected_) + " expected, " +
                std::to_string(wrong_.count) + " wrong" + wrong_.first};
  }

 private:
  std::string name_;
  uint64_t expected_ = 0;
  BrokenRows wrong_;
};

bool same(Key key, const Subscriber& now, const Subscriber& loaded) {
  Subscriber expected = loaded;
  expected.bit[0] = now.bit[0];
  expected.vlr_location = now.vlr_location;
  expected.updates = now.updates;
  expected.previous = now.previous;
  expected.data_updates = now.data_updates;
  expected.seal = seal_of(key, now);
  return std::memcmp(&now, &expected, sizeof now) == 0 && now.bit[0] <= 1 && now.vlr_location != 0;
}

bool same(Key, const AccessInfo& now, const AccessInfo& loaded) {
  return std::memcmp(&now, &loaded, sizeof now) == 0;
}

bool same(Key key, const SpecialFacility& now, const SpecialFacility& loaded) {
  SpecialFacility expected = loaded;
  expected.data_a = now.data_a;
  expected.updates = now.updates;
  expected.seal = seal_of(key, now);
  return std::memcmp(&now, &expected, sizeof now) == 0;
}

// Checks that the row under `key` equals `as_loaded`, except in the columns that transactions
// change. Unless `loaded`, checks that there is no such row. Returns the row, or null.
template <class Row>
const Row* compare(Table& table, Key key, bool loaded, const Row& as_loaded, Finding* finding) {
  finding->expect(loaded);
  const Row* row = find_row<Row>(table, key);
  if ((row != nullptr) != loaded) {
    finding->wrong(key, loaded ? "is missing" : "was never loaded");
  } else if (loaded && !same(key, *row, as_loaded)) {
    finding->wrong(key, "has changed");
  }
  return row;
}

bool is_number_of_one(const Digits& digits, uint64_t subscribers) {
  uint64_t number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<uint64_t>(digit - '0');
  return number >= 1 && number <= subscribers && digits_of(number) == digits;
}

struct Findings {
  Finding people{"subscribers are those loaded, except bit_1 and vlr_location"};
  Finding numbers{"each subscriber is found by sub_nbr"};
  Finding access{"access_info is as loaded"};
  Finding facilities{"special facilities are those loaded, except data_a"};
  Finding pairs{"UpdateSubscriberData updated both of its rows"};
  Finding calls{"call forwardings have a special facility, and times of a day"};
  uint64_t forwardings_loaded = 0, forwardings = 0;
  uint64_t updates = 0;
  BrokenRows lost;

  auto members() {
    return std::tie(people, numbers, access, facilities, pairs, calls, forwardings_loaded,
                    forwardings, updates, lost);
  }
};

class Checker {
 public:
  Checker(Tables& tables, const Population& population)
      : tables_(tables), population_(population) {}

  void check_subscriber(Key s_id, Findings* found) const {
    const Person person(s_id, population_);
    const auto* subscriber =
        compare(tables_.subscriber, s_id, true, person.subscriber, &found->people);
    check_posting(s_id, person.subscriber.sub_nbr, found);
    uint8_t facility_updates = 0;
    for (uint32_t i = 0; i < kTypes; ++i) {
      const Key key = typed_key(s_id, i + 1);
      compare(tables_.access_info, key, person.has_access[i], person.access[i], &found->access);
      const auto* facility = compare(tables_.special_facility, key, person.has_facility[i],
                                     person.facility[i], &found->facilities);
      if (facility != nullptr) {
        facility_updates = static_cast<uint8_t>(facility_updates + facility->updates);
      }
      for (uint32_t start = 0; start < kStarts; ++start) {
        const bool loaded = person.has_forwarding[i][start];
        found->forwardings_loaded += loaded;
        check_forwarding(forwarding_key(key, start * 8), person.has_facility[i],
                         loaded ? &person.forwarding[i][start] : nullptr, found);
      }
    }
    found->pairs.expect(true);
    if (subscriber == nullptr) return;
    if (subscriber->data_updates != facility_updates) {
      found->pairs.wrong(s_id, "counts " + std::to_string(subscriber->data_updates) +
                                   " updates, its facilities " + std::to_string(facility_updates));
    }
    found->updates += subscriber->updates;
    const auto updates_of = [&](Key key) {
      const auto* other = find_row<Subscriber>(tables_.subscriber, key);
      return other == nullptr ? 0 : other->updates;
    };
    check_previous(s_id, subscriber->previous, updates_of, &found->lost);
  }

 private:
  // Checks that the subscriber's only posting is under its number, and leads to its row.
  void check_posting(Key s_id, const Digits& number, Findings* found) const {
    found->numbers.expect(true);
    Keyed* row = tables_.subscriber.primary().find(s_id, nullptr);
    uint64_t postings = 0;
    const auto count = [&](NodeVersion, std::span<Keyed* const> entries) {
      for (Keyed* entry : entries) {
        const auto& posting = *static_cast<Posting*>(entry);
        if (posting.primary != s_id) continue;
        ++postings;
        if (row == nullptr || posting.tuple != Table::tuple_of(row)) {
          found->numbers.wrong(s_id, "is posted with another row");
        }
      }
      return true;
    };
    tables_.subscriber.secondary(kBySubNbr).find_all(sub_nbr_key(number), count);
    if (postings != 1) {
      found->numbers.wrong(s_id, "has " + std::to_string(postings) + " postings");
    }
  }

  // Checks that a call forwarding is as loaded, or is one that a transaction may have inserted.
  void check_forwarding(Key key, bool has_facility, const CallForwarding* loaded,
                        Findings* found) const {
    const auto* row = find_row<CallForwarding>(tables_.call_forwarding, key);
    if (row == nullptr) return;
    ++found->forwardings;
    found->calls.expect(true);
    if (!has_facility) return found->calls.wrong(key, "has no special facility");
    if (row->seal != seal_of(key, *row)) return found->calls.wrong(key, "is not as written");
    if (loaded != nullptr && std::memcmp(row, loaded, sizeof *row) == 0) return;
    if (row->end_time < 1 || row->end_time > 24) {
      found->calls.wrong(key, "has an end time that is none");
    } else if (!is_number_of_one(row->numberx, population_.subscribers)) {
      found->calls.wrong(key, "leads to a number that is none");
    }
  }

  Tables& tables_;
  const Population& population_;
};

}  // namespace

std::vector<Check> verify(Database& database, const Population& population,
                          const Acknowledged& acknowledged, bool any_order) {
  Tables tables(database);
  const Checker checker(tables, population);
  const uint64_t n = population.subscribers;
  const Findings found =
      sum_of_parts(Findings{}, [&](uint32_t part, uint32_t parts, Findings* sum) {
        for (const Key s_id : part_of(n, part, parts, 1)) checker.check_subscriber(s_id, sum);
      });
  uint64_t postings = 0;
  tables.subscriber.secondary(kBySubNbr).for_each([&](Keyed*) { ++postings; });
  std::vector<Check> checks = {found.people.check(tables.subscriber.count_rows()),
                               found.numbers.check(postings),
                               found.access.check(tables.access_info.count_rows()),
                               found.facilities.check(tables.special_facility.count_rows()),
                               found.pairs.check(n),
                               found.calls.check(tables.call_forwarding.count_rows())};
  if (!any_order) checks.push_back(no_update_lost(found.lost));
  acknowledged.forwardings.check("call forwardings: loaded + inserted - deleted", found.forwardings,
                                 &checks, found.forwardings_loaded);
  acknowledged.updates.check("subscribers count every update", found.updates, &checks);
  return checks;
}

}  // namespace logjam::tatp

#include "workloads/tatp/verify.h"

#include <array>
#include <string>
#include <utility>

namespace logjam::tatp {
namespace {

// The result of comparing one table with the rows that it should hold.
class Finding {
 public:
  explicit Finding(std::string name) : name_(std::move(name)) {}
  void expect(bool here) { expected_ += here; }
  void wrong(Key key, const char* why) {
    wrong_.note([&] { return "; first: key " + std::to_string(key) + " " + why; });
  }
  void add(const Finding& later) {
    expected_ += later.expected_;
    wrong_.add(later.wrong_);
  }
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

template <class Row>
const Row* present(Table& table, Key key) {
  Keyed* entry = table.primary().find(key, nullptr);
  if (entry == nullptr) return nullptr;
  Tuple* tuple = Table::tuple_of(entry);
  return tuple->load_version().absent() ? nullptr : reinterpret_cast<const Row*>(tuple->row());
}

bool same(const Subscriber& now, const Subscriber& loaded) {
  Subscriber expected = loaded;
  expected.bit[0] = now.bit[0];
  expected.vlr_location = now.vlr_location;
  return std::memcmp(&now, &expected, sizeof now) == 0 && now.bit[0] <= 1 && now.vlr_location != 0;
}

bool same(const AccessInfo& now, const AccessInfo& loaded) {
  return std::memcmp(&now, &loaded, sizeof now) == 0;
}

bool same(const SpecialFacility& now, const SpecialFacility& loaded) {
  SpecialFacility expected = loaded;
  expected.data_a = now.data_a;
  return std::memcmp(&now, &expected, sizeof now) == 0;
}

// Checks that the row under `key` is as loaded, or that there is none if none was loaded.
template <class Row>
void compare(Table& table, Key key, bool loaded, const Row& as_loaded, Finding* finding) {
  finding->expect(loaded);
  const Row* row = present<Row>(table, key);
  if ((row != nullptr) != loaded) {
    finding->wrong(key, loaded ? "is missing" : "was never loaded");
  } else if (loaded && !same(*row, as_loaded)) {
    finding->wrong(key, "has changed");
  }
}

bool is_number_of_one(const Digits& digits, uint64_t subscribers) {
  uint64_t number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<uint64_t>(digit - '0');
  return number >= 1 && number <= subscribers && digits_of(number) == digits;
}

struct Findings {
  Finding people{"subscribers are those loaded, but for bit_1 and vlr_location"};
  Finding numbers{"subscribers are found by sub_nbr"};
  Finding access{"access_info is as loaded"};
  Finding facilities{"special facilities are those loaded, but for data_a"};
  Finding calls{"call forwardings have a special facility, and times of a day"};
  uint64_t forwardings_loaded = 0, forwardings = 0, postings = 0;

  void add(const Findings& later) {
    people.add(later.people);
    numbers.add(later.numbers);
    access.add(later.access);
    facilities.add(later.facilities);
    calls.add(later.calls);
    forwardings_loaded += later.forwardings_loaded;
    forwardings += later.forwardings;
    postings += later.postings;
  }
};

using HasFacility = std::vector<std::array<bool, kTypes>>;  // by s_id

// Subscribers [first, end) and their rows in the tables of a fixed size.
void compare_subscribers(Tables& tables, uint64_t first, uint64_t end, uint64_t subscribers,
                         HasFacility* has_facility, Findings* found) {
  for (uint64_t s_id = first; s_id < end; ++s_id) {
    const Person person(s_id, subscribers);
    compare(tables.subscriber, s_id, true, person.subscriber, &found->people);
    for (uint32_t i = 0; i < kTypes; ++i) {
      const Key key = typed_key(s_id, i + 1);
      compare(tables.access_info, key, person.has_access[i], person.access[i], &found->access);
      compare(tables.special_facility, key, person.has_facility[i], person.facility[i],
              &found->facilities);
      for (const bool has : person.has_forwarding[i]) found->forwardings_loaded += has;
    }
    (*has_facility)[s_id] = person.has_facility;
    found->numbers.expect(true);
  }
}

void check_forwarding(Key key, const CallForwarding& row, uint64_t subscribers,
                      const HasFacility& has_facility, Findings* found) {
  const Key facility = facility_of(key), s_id = subscriber_of(facility);
  ++found->forwardings;
  found->calls.expect(true);
  if (s_id > subscribers || !has_facility[s_id][type_of(facility) - 1]) {
    found->calls.wrong(key, "has no special facility");
  } else if (start_of(key) > 16 || row.end_time < 1 || row.end_time > 24) {
    found->calls.wrong(key, "has times that are none");
  } else if (!is_number_of_one(row.numberx, subscribers)) {
    found->calls.wrong(key, "leads to a number that is none");
  }
}

}  // namespace

std::vector<Check> verify(Database& database, uint64_t subscribers, const AckCounter& forwardings) {
  Tables tables(database);
  HasFacility has_facility(subscribers + 1);
  Findings found = sum_of_parts(Findings{}, [&](uint32_t part, uint32_t parts, Findings* sum) {
    compare_subscribers(tables, 1 + subscribers * part / parts,
                        1 + subscribers * (part + 1) / parts, subscribers, &has_facility, sum);
  });
  found.add(sum_of_parts(Findings{}, [&](uint32_t part, uint32_t parts, Findings* sum) {
    tables.subscriber.secondary(kBySubNbr).for_each(part, parts, [&](Keyed* entry) {
      const auto& posting = *static_cast<Posting*>(entry);
      ++sum->postings;
      if (posting.key != sub_nbr_key(digits_of(posting.primary))) {
        sum->numbers.wrong(posting.primary, "is posted under another number");
      }
    });
    tables.call_forwarding.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      check_forwarding(key, *reinterpret_cast<const CallForwarding*>(bytes), subscribers,
                       has_facility, sum);
    });
  }));
  std::vector<Check> checks = {found.people.check(tables.subscriber.count_rows()),
                               found.numbers.check(found.postings),
                               found.access.check(tables.access_info.count_rows()),
                               found.facilities.check(tables.special_facility.count_rows()),
                               found.calls.check(found.forwardings)};
  forwardings.check("call forwardings: loaded + inserted - deleted", found.forwardings, &checks,
                    found.forwardings_loaded);
  return checks;
}

}  // namespace logjam::tatp

#include "workloads/tatp/verify.h"

#include <array>
#include <string>
#include <utility>

namespace logjam::tatp {
namespace {

// One table against what it should hold.
class Finding {
 public:
  explicit Finding(std::string name) : name_(std::move(name)) {}
  void expect(bool here) { expected_ += here; }
  void wrong(Key key, const char* why) {
    if (wrong_++ == 0) first_ = "; first: key " + std::to_string(key) + " " + why;
  }
  Check check(uint64_t rows) const {
    return {name_, wrong_ == 0 && rows == expected_,
            std::to_string(rows) + " rows, " + std::to_string(expected_) + " expected, " +
                std::to_string(wrong_) + " wrong" + first_};
  }

 private:
  std::string name_, first_;
  uint64_t expected_ = 0, wrong_ = 0;
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

// The row under `key` is there as loaded, or is not there.
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

}  // namespace

std::vector<Check> verify(Database& database, uint64_t subscribers, const Tally& forwardings) {
  Tables tables(database);
  Finding people("subscribers are those loaded, but for bit_1 and vlr_location");
  Finding numbers("subscribers are found by sub_nbr");
  Finding access("access_info is as loaded");
  Finding facilities("special facilities are those loaded, but for data_a");
  Finding calls("call forwardings have a special facility, and times of a day");

  uint64_t forwardings_loaded = 0;
  std::vector<std::array<bool, kTypes>> has_facility(subscribers + 1);
  for (uint64_t s_id = 1; s_id <= subscribers; ++s_id) {
    const Person person(s_id, subscribers);
    compare(tables.subscriber, s_id, true, person.subscriber, &people);
    for (uint32_t i = 0; i < kTypes; ++i) {
      const Key key = typed_key(s_id, i + 1);
      compare(tables.access_info, key, person.has_access[i], person.access[i], &access);
      compare(tables.special_facility, key, person.has_facility[i], person.facility[i],
              &facilities);
      for (const bool has : person.has_forwarding[i]) forwardings_loaded += has;
    }
    has_facility[s_id] = person.has_facility;
    numbers.expect(true);
  }

  uint64_t postings = 0, rows = 0;
  tables.subscriber.secondary(kBySubNbr).for_each([&](Keyed* entry) {
    const auto& posting = *static_cast<Posting*>(entry);
    ++postings;
    if (posting.key != sub_nbr_key(digits_of(posting.primary))) {
      numbers.wrong(posting.primary, "is posted under another number");
    }
  });
  tables.call_forwarding.for_each_row([&](Key key, const std::byte* bytes) {
    const auto& row = *reinterpret_cast<const CallForwarding*>(bytes);
    const Key facility = facility_of(key), s_id = subscriber_of(facility);
    ++rows;
    calls.expect(true);
    if (s_id > subscribers || !has_facility[s_id][type_of(facility) - 1]) {
      calls.wrong(key, "has no special facility");
    } else if (start_of(key) > 16 || row.end_time < 1 || row.end_time > 24) {
      calls.wrong(key, "has times that are none");
    } else if (!is_number_of_one(row.numberx, subscribers)) {
      calls.wrong(key, "leads to a number that is none");
    }
  });
  std::vector<Check> checks = {
      people.check(tables.subscriber.count_rows()), numbers.check(postings),
      access.check(tables.access_info.count_rows()),
      facilities.check(tables.special_facility.count_rows()), calls.check(rows)};
  forwardings.check("call forwardings: loaded + inserted - deleted", rows, &checks,
                    forwardings_loaded);
  return checks;
}

}  // namespace logjam::tatp

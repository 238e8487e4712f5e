
#include "workloads/tatp/tatp.h"

namespace logjam::tatp {
namespace {

constexpr uint64_t kLoadSeed = 0x7a79;

uint8_t below(Random& random, uint64_t n) { return static_cast<uint8_t>(random.below(n)); }

void fill_letters(Random& random, char* field, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) field[i] = static_cast<char>('A' + random.below(26));
}

// Sets `count` random elements of `flags`, and clears the other elements.
template <size_t N>
void choose(Random& random, uint64_t count, std::array<bool, N>* flags) {
  for (size_t i = 0; i < N; ++i) (*flags)[i] = i < count;
  for (size_t i = N; i > 1; --i) std::swap((*flags)[i - 1], (*flags)[random.below(i)]);
}

uint16_t hash_of(std::initializer_list<uint64_t> words) {
  uint64_t hash = 0;
  for (const uint64_t word : words) hash = mix64(hash ^ word);
  return static_cast<uint16_t>(hash >> 48);
}

}  // namespace

Digits digits_of(uint64_t number) {
  Digits digits;
  for (size_t i = digits.size(); i > 0; number /= 10) {
    digits[--i] = static_cast<char>('0' + number % 10);
  }
  return digits;
}

uint16_t seal_of(Key key, const Subscriber& row) {
  return hash_of({key, uint64_t{row.vlr_location} << 32 | row.updates,
                  uint64_t{row.previous.key} << 32 | row.previous.updates,
                  uint64_t{row.data_updates} << 8 | row.bit[0]});
}

uint16_t seal_of(Key key, const SpecialFacility& row) {
  return hash_of({key, uint64_t{row.data_a} << 16 | row.updates});
}

uint16_t seal_of(Key key, const CallForwarding& row) {
  uint64_t first, last;
  std::memcpy(&first, row.numberx.data(), 8);
  std::memcpy(&last, row.numberx.data() + 7, 8);
  return hash_of({key, row.end_time, first, last});
}

Person::Person(uint64_t s_id, const Population& population) {
  Random random(kLoadSeed, s_id);
  const uint64_t longest = population.end_times == EndTimes::kKit ? 24 : 8;
  subscriber.sub_nbr = digits_of(s_id);
  for (uint8_t& bit : subscriber.bit) bit = below(random, 2);
  for (uint8_t& hex : subscriber.hex) hex = below(random, 16);
  for (uint8_t& byte : subscriber.byte2) byte = below(random, 256);
  subscriber.msc_location = static_cast<uint32_t>(random.between(1, 0xffff'ffff));
  subscriber.vlr_location = static_cast<uint32_t>(random.between(1, 0xffff'ffff));
  subscriber.seal = seal_of(s_id, subscriber);

  choose(random, 1 + random.below(kTypes), &has_access);
  for (uint32_t type = 0; type < kTypes; ++type) {
    if (!has_access[type]) continue;
    AccessInfo& row = access[type];
    row.data1 = below(random, 256);
    row.data2 = below(random, 256);
    fill_letters(random, row.data3, sizeof row.data3);
    fill_letters(random, row.data4, sizeof row.data4);
  }
  choose(random, 1 + random.below(kTypes), &has_facility);
  for (uint32_t type = 0; type < kTypes; ++type) {
    if (!has_facility[type]) continue;
    SpecialFacility& row = facility[type];
    row.is_active = random.percent(85);
    row.error_cntrl = below(random, 256);
    row.data_a = below(random, 256);
    fill_letters(random, row.data_b, sizeof row.data_b);
    const Key key = typed_key(s_id, type + 1);
    row.seal = seal_of(key, row);
    choose(random, random.below(kStarts + 1), &has_forwarding[type]);
    for (uint32_t start = 0; start < kStarts; ++start) {
      if (!has_forwarding[type][start]) continue;
      CallForwarding& call = forwarding[type][start];
      call.end_time = static_cast<uint8_t>(start * 8 + 1 + random.below(longest));
      call.numberx = digits_of(1 + random.below(population.subscribers));
      call.seal = seal_of(forwarding_key(key, start * 8), call);
    }
  }
}

}  // namespace logjam::tatp

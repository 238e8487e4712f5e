#include "workloads/tpcc/input.h"

namespace logjam::tpcc {
namespace {

// Seeds the load's constants. Clause 2.1.6.1 allows any; with a fixed seed, all loads are equal.
constexpr uint64_t kLoadSeed = 0x7c0ffee;

constexpr uint32_t kLastNameA = 255, kCustomerA = 1023, kItemA = 8191;

NuRandConstants draw_constants(Random& random) {
  return {.last_name = static_cast<uint32_t>(random.below(kLastNameA + 1)),
          .customer = static_cast<uint32_t>(random.below(kCustomerA + 1)),
          .item = static_cast<uint32_t>(random.below(kItemA + 1))};
}

}  // namespace

bool last_name_constants_differ_enough(uint32_t load, uint32_t run) {
  const uint32_t delta = load > run ? load - run : run - load;
  return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
}

NuRandConstants NuRandConstants::of_load() {
  Random random(kLoadSeed);
  return draw_constants(random);
}

NuRandConstants NuRandConstants::of_run(uint64_t seed) {
  const NuRandConstants load = of_load();
  Random random(seed, ~uint64_t{0});
  NuRandConstants run = draw_constants(random);
  while (!last_name_constants_differ_enough(load.last_name, run.last_name)) {
    run.last_name = static_cast<uint32_t>(random.below(kLastNameA + 1));
  }
  return run;
}

void make_last_name(uint32_t number, char (&name)[16]) {
  static constexpr std::string_view kSyllables[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                    "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  LJ_ASSERT_IN_TESTS(number < 1000);
  std::memset(name, 0, sizeof name);
  char* end = name;
  for (const uint32_t digit : {number / 100 % 10, number / 10 % 10, number % 10}) {
    end += kSyllables[digit].copy(end, kSyllables[digit].size());
  }
}

void fill_alphanumeric(Random& random, char* field, size_t field_bytes, size_t low, size_t high) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  LJ_ASSERT_IN_TESTS(low <= high && high <= field_bytes);
  const auto bytes =
      static_cast<size_t>(random.between(static_cast<int64_t>(low), static_cast<int64_t>(high)));
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes; ++i) {
    if (i % 4 == 0) bits = random.next();
    field[i] = kAlphabet[(bits & 0xffff) * kAlphabet.size() >> 16];
    bits >>= 16;
  }
  std::memset(field + bytes, 0, field_bytes - bytes);
}

void fill_digits(Random& random, char* field, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) field[i] = static_cast<char>('0' + random.below(10));
}

void fill_brand_data(Random& random, char (&data)[50]) {
  static constexpr std::string_view kOriginal = "ORIGINAL";
  fill_alphanumeric(random, data, sizeof data, 26, 50);
  if (!random.percent(10)) return;
  const size_t at = random.below(text(data).size() - kOriginal.size() + 1);
  kOriginal.copy(data + at, kOriginal.size());
}

}  // namespace logjam::tpcc

#include "logging/recovery_rule.h"

#include <algorithm>

#include "logging/format/record.h"

namespace logjam {
namespace {

bool up_to_sequence(const RecordHeader& header, const Cut& cut) {
  return header.sequence <= cut.sequence;
}

std::vector<uint64_t> all_bytes(const StreamTails& tails) {
  std::vector<uint64_t> bytes;
  for (const StreamTail& tail : tails) bytes.push_back(tail.bytes);
  return bytes;
}

// Returns the position of stream `s` in the last watermark record of `s` that is met, which is that
// record's end. Returns 0 if no watermark record is met.
uint64_t last_met(const StreamTails& tails, size_t s) {
  const auto& batches = tails[s].watermark_words;
  for (auto words = batches.rbegin(); words != batches.rend(); ++words) {
    for (size_t records = (*words)->size() / tails.size(); records > 0; --records) {
      const uint64_t* positions = &(**words)[(records - 1) * tails.size()];
      bool met = true;
      for (size_t i = 0; i < tails.size(); ++i) met = met && positions[i] <= tails[i].bytes;
      if (met) return positions[s];
    }
  }
  return 0;
}

}  // namespace

RecoveryRule first_gap() {
  return {.cut =
              [](const StreamTails& tails) {
                return Cut{.bytes = {tails[0].bytes}, .why = tails[0].why};
              },
          .survives = [](const RecordHeader&, const Cut&) { return true; }};
}

RecoveryRule min_cut(uint64_t StreamTail::*number, const std::string& name) {
  return {.cut =
              [number, name](const StreamTails& tails) {
                Cut cut{.bytes = all_bytes(tails), .why = {}};
                for (const StreamTail& tail : tails) {
                  cut.sequence = std::min(cut.sequence, tail.*number);
                }
                cut.why = name + " " + std::to_string(cut.sequence) + ", the least of " +
                          std::to_string(tails.size()) + " stream(s)";
                return cut;
              },
          .survives = up_to_sequence};
}

RecoveryRule last_watermark_cut(const std::string& name) {
  return {.cut =
              [name](const StreamTails& tails) {
                const uint64_t last = tails.back().last_watermark;
                return Cut{.bytes = all_bytes(tails),
                           .sequence = last,
                           .why = name + " " + std::to_string(last) +
                                  ", the last watermark of the group commit over " +
                                  std::to_string(tails.size() - 1) + " worker(s)"};
              },
          .survives = up_to_sequence};
}

RecoveryRule last_met_cut(const std::string& name) {
  RecoveryRule rule = first_gap();
  rule.cut = [one_stream = rule.cut, name](const StreamTails& tails) {
    if (tails.size() == 1) return one_stream(tails);
    Cut cut{.bytes = {}, .why = "last " + name + " that is met, at byte"};
    for (size_t s = 0; s < tails.size(); ++s) {
      cut.bytes.push_back(last_met(tails, s));
      cut.why += (s == 0 ? " " : ", ") + std::to_string(cut.bytes[s]) + " of " +
                 std::to_string(tails[s].bytes) + " in stream " + std::to_string(s);
    }
    return cut;
  };
  return rule;
}

}  // namespace logjam

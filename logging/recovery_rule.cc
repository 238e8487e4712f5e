#include "logging/recovery_rule.h"

#include <algorithm>
#include <utility>

#include "logging/format/record.h"

namespace logjam {
namespace {

bool up_to_sequence(const RecordHeader& header, const Cut& cut) {
  return header.sequence <= cut.sequence;
}

std::string used_parts(const Cut& cut, const StreamTails& tails) {
  std::string words;
  for (size_t s = 0; s < tails.size(); ++s) {
    words += (s == 0 ? " " : ", ") + std::to_string(cut.bytes[s]) + " of " +
             std::to_string(tails[s].bytes) + " in stream " + std::to_string(s);
  }
  return words;
}

std::vector<uint64_t> all_bytes(const StreamTails& tails) {
  std::vector<uint64_t> bytes;
  for (const StreamTail& tail : tails) bytes.push_back(tail.bytes);
  return bytes;
}

// Finds the last watermark record of stream number `of` for which `met(words)` holds. Returns a
// pointer to the record's sequence number, after which its words lie; or null.
template <class Met>
const uint64_t* last_watermark(const StreamTails& tails, size_t of, const Met& met) {
  const size_t each = 1 + tails.size();
  const auto& batches = tails[of].watermarks;
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    for (size_t records = (*batch)->size() / each; records > 0; --records) {
      const uint64_t* record = &(**batch)[(records - 1) * each];
      if (met(record + 1)) return record;
    }
  }
  return nullptr;
}

bool met_in(const StreamTails& tails, size_t s, const uint64_t* words) {
  return WatermarkWord::position(words[s]) <= tails[s].bytes;
}

// Finds the first watermark record of `batch` that is not met if all streams are used up to `ends`.
// Returns a pointer to the record's sequence number, after which its words lie; or null.
const uint64_t* first_unmet(const std::vector<uint64_t>& ends, const std::vector<uint64_t>& batch) {
  for (size_t at = 0; at < batch.size(); at += 1 + ends.size()) {
    for (size_t s = 0; s < ends.size(); ++s) {
      if (WatermarkWord::position(batch[at + 1 + s]) > ends[s]) return &batch[at];
    }
  }
  return nullptr;
}
const uint64_t* first_unmet(const std::vector<uint64_t>& ends, const StreamTail& tail) {
  for (const auto& batch : tail.watermarks) {
    if (const uint64_t* unmet = first_unmet(ends, *batch)) return unmet;
  }
  return nullptr;
}
void forget_met(StreamTails& tails, const std::vector<uint64_t>& ends) {
  for (StreamTail& tail : tails) {
    std::erase_if(tail.watermarks,
                  [&](const auto& batch) { return first_unmet(ends, *batch) == nullptr; });
  }
}

// Returns whether the record with these words is met in stream `s`, or may be met later.
bool may_be_met_in(const StreamTails& tails, size_t s, const uint64_t* words) {
  return met_in(tails, s, words) || tails[s].why.empty();
}

// A range of streams. A rule uses the last watermark record that is met in all of these streams.
struct Streams {
  size_t first, end;
};

// Drops batches of watermark records of stream number `of`. For each range in `wanted`, keeps the
// batch with the last record that is met in the range, and later batches that may be met.
void forget_watermarks(StreamTails& tails, size_t of, const std::vector<Streams>& wanted) {
  const size_t each = 1 + tails.size();
  auto& batches = tails[of].watermarks;
  std::vector<bool> keep(batches.size());
  const auto last_is_in = [&](const Streams& set, size_t batch) {
    for (size_t records = batches[batch]->size() / each; records > 0; --records) {
      const uint64_t* words = &(*batches[batch])[(records - 1) * each + 1];
      bool met = true, may_be_met = true;
      for (size_t s = set.first; s < set.end && may_be_met; ++s) {
        met = met && met_in(tails, s, words);
        may_be_met = may_be_met_in(tails, s, words);
      }
      if (may_be_met) keep[batch] = true;
      if (met && may_be_met) return true;
    }
    return false;
  };
  for (const Streams& set : wanted) {
    for (size_t batch = batches.size(); batch > 0 && !last_is_in(set, batch - 1);) --batch;
  }
  size_t kept = 0;
  for (size_t batch = 0; batch < batches.size(); ++batch) {
    if (keep[batch]) std::swap(batches[kept++], batches[batch]);
  }
  batches.resize(kept);
}

// Returns a sequence number up to which stream `s` is complete. The last stream has all watermarks.
uint64_t complete_up_to(const StreamTails& tails, size_t s) {
  const uint64_t* met = last_watermark(
      tails, tails.size() - 1, [&](const uint64_t* words) { return met_in(tails, s, words); });
  return std::max(
      {tails[s].last_sequence, met == nullptr ? 0 : *met, tails[s].complete_from_start()});
}

// Returns the position up to which met_vectors() uses each stream. Repeats its loop: when one
// stream's position falls, an anchor of another stream may not be met any more.
std::vector<uint64_t> ends_by_anchors(const StreamTails& tails) {
  std::vector<uint64_t> ends = all_bytes(tails), before;
  while (before != ends) {
    before = ends;
    bool started = true;
    for (size_t s = 0; s < tails.size(); ++s)
      started = started && ends[s] >= tails[s].start.durable;
    for (size_t s = 0; s < tails.size(); ++s) {
      if (!started) ends[s] = std::min(ends[s], tails[s].start.position);
      const uint64_t* unmet = first_unmet(ends, tails[s]);
      if (unmet != nullptr) ends[s] = std::min(ends[s], WatermarkWord::position(unmet[1 + s]));
    }
  }
  return ends;
}

bool has_met_vector(const RecordHeader& header, const Cut& cut) {
  return std::ranges::all_of(vector_of(header), [&](uint64_t word) {
    const uint32_t s = VectorWord::stream(word);
    return s < cut.bytes.size() && VectorWord::position(word) <= cut.bytes[s];
  });
}

}  // namespace

bool is_for_streams(const RecoveryRule& rule, size_t streams) {
  return rule.cut && streams != 0 && rule.cut(StreamTails(streams)).bytes.size() == streams;
}

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
                  cut.sequence =
                      std::min(cut.sequence, std::max(tail.*number, tail.complete_from_start()));
                }
                cut.why = name + " " + std::to_string(cut.sequence) + ", the least of " +
                          std::to_string(tails.size()) + " stream(s)";
                return cut;
              },
          .survives = up_to_sequence};
}

RecoveryRule min_cut_or_closed(const std::string& name) {
  const RecoveryRule numbers = min_cut(&StreamTail::last_watermark, name);
  return {.cut =
              [numbers](const StreamTails& tails) {
                Cut cut = numbers.cut(tails);
                const std::vector<uint64_t> ends = all_bytes(tails);
                for (const StreamTail& tail : tails) {
                  cut.closed = cut.closed && tail.bytes >= tail.start.durable;
                }
                for (size_t s = 0; s < tails.size(); ++s) {
                  const uint64_t* unmet = first_unmet(ends, tails[s]);
                  if (unmet == nullptr) continue;
                  const uint64_t start = cut.closed ? tails[s].start.sequence : 0;
                  cut.sequence = std::min(cut.sequence, std::max(*unmet, start));
                  cut.bytes[s] = WatermarkWord::position(unmet[1 + s]);
                }
                return cut;
              },
          .survives =
              [](const RecordHeader& header, const Cut& cut) {
                return up_to_sequence(header, cut) || (cut.closed && (header.flags & kClosed) != 0);
              },
          .forget = [](StreamTails& tails) { forget_met(tails, all_bytes(tails)); }};
}

RecoveryRule met_vectors() {
  return {.cut =
              [](const StreamTails& tails) {
                Cut cut{.bytes = ends_by_anchors(tails), .why = "vectors that are met by byte"};
                cut.why += used_parts(cut, tails);
                return cut;
              },
          .survives = has_met_vector,
          .forget = [](StreamTails& tails) { forget_met(tails, ends_by_anchors(tails)); }};
}

RecoveryRule watermarks_cut(const std::string& name) {
  return {.cut =
              [name](const StreamTails& tails) {
                LJ_ASSERT(!tails.empty());
                const StreamTail& last = tails.back();
                const uint64_t reached = std::max(last.last_watermark, last.complete_from_start());
                Cut cut{.bytes = all_bytes(tails), .sequence = reached, .why = {}};
                for (size_t s = 0; s + 1 < tails.size(); ++s) {
                  cut.sequence = std::min(cut.sequence, complete_up_to(tails, s));
                }
                cut.why = name + " " + std::to_string(cut.sequence) + "; the group commit over " +
                          std::to_string(tails.size() - 1) + " worker(s) came to " +
                          std::to_string(reached);
                return cut;
              },
          .survives = up_to_sequence,
          .forget =
              [](StreamTails& tails) {
                std::vector<Streams> each;
                for (size_t s = 0; s + 1 < tails.size(); ++s) each.push_back({s, s + 1});
                forget_watermarks(tails, tails.size() - 1, each);
              }};
}

RecoveryRule last_met_cut(const std::string& name) {
  RecoveryRule rule = first_gap();
  rule.cut = [one_stream = rule.cut, name](const StreamTails& tails) {
    if (tails.size() == 1) return one_stream(tails);
    Cut cut{.bytes = {}, .why = "last " + name + " that is met, at byte"};
    for (size_t s = 0; s < tails.size(); ++s) {
      const uint64_t* met = last_watermark(tails, s, [&](const uint64_t* words) {
        bool all = true;
        for (size_t i = 0; i < tails.size(); ++i) all = all && met_in(tails, i, words);
        return all;
      });
      cut.bytes.push_back(met == nullptr ? tails[s].start.position
                                         : WatermarkWord::position(met[1 + s]));
    }
    cut.why += used_parts(cut, tails);
    return cut;
  };
  rule.forget = [](StreamTails& tails) {
    for (size_t s = 0; s < tails.size(); ++s) forget_watermarks(tails, s, {{0, tails.size()}});
  };
  return rule;
}

}  // namespace logjam

// The tests damage one stream of a small log at any position: they flip a bit, cut off the file or
// one of its segment files, or zero a block of 512 bytes. The transactions that recovery then uses
// must be whole, ordered and closed (R2 to R4). Recovery must report damage if a valid record
// vouches for lost records, or if a segment before the last segment is cut off. The tests cover all
// registered schemes and both record granularities, with and without ranges.
//
// Environment variable: LOGJAM_CORRUPTIONS, the number of corruptions for each scheme and
// granularity (proof/corruptions.py). Each test prints the number of corruptions with each effect:
//
//   unharmed  recovery needs none of the damaged bytes, such as bytes after the end of the log
//   shorter   some transactions are lost, and a crash could have lost the same transactions.
//             `silent` counts the corruptions that lost an acknowledged transaction for which no
//             record vouched.
//   reported  recovery names the damaged stream; the transactions that it uses are still closed
//   refused   a file's header is damaged, and the log is not read

#include <cstring>
#include <random>
#include <span>

#include "engine/recovery/applier.h"
#include "engine/recovery/transaction_assembler.h"
#include "logging/format/log_file.h"
#include "logging/format/log_reader.h"
#include "logging/format/range_image.h"
#include "proof/disk/memory_files.h"
#include "tests/draw.h"
#include "tests/logging/log_fixture.h"
#include "tests/proof/damage.h"
#include "tests/proof/scripted_run.h"

namespace logjam {
namespace {

// Returns the run as if its log had segment files. Only the headers of files change.
ScriptedRun with_segments(ScriptedRun run, uint64_t segment_bytes) {
  for (auto& stripes : run.files) {
    for (std::string& content : stripes) {
      LogFileHeader header;
      EXPECT_EQ(header.decode(std::as_bytes(std::span(content)).first(kLogHeaderBytes)), "");
      header.segment_bytes = segment_bytes;
      const std::vector<std::byte> block = header.encode();
      std::memcpy(content.data(), block.data(), block.size());
    }
  }
  return run;
}

// The result of recovering the files.
struct Recovered {
  bool refused = false;
  std::string damage;
  std::string wrong;            // the violation of R2 to R4, or empty
  std::vector<bool> survivors;  // for each transaction, whether it was recovered
};

// A record of the undamaged log.
struct Place {
  uint64_t begin, end;
  std::vector<uint64_t> vouched;  // by stream: the position for which the record vouches, or 0
};

struct Corruption {
  How how;  // kFlip, kCut or kZero
  uint32_t stream, stripe;
  uint64_t at, end;  // the range of the changed bytes in the file
  uint64_t bit;      // for kFlip
};

class DamagedRun {
 public:
  DamagedRun(const ScriptOptions& options, uint64_t segment_bytes)
      : scheme_(*options.scheme),
        run_(with_segments(run_script(options), segment_bytes)),
        segments_{segment_bytes} {
    disk_.directories.insert("d");
    for (const auto& stripes : run_.files) {
      auto& paths = paths_.emplace_back();
      for (const std::string& content : stripes) {
        const std::string name = std::to_string(paths_.size()) + "-" + std::to_string(paths.size());
        paths.push_back("d/" + name + ".log.db");
        for (uint64_t at = 0; at < content.size(); at += segments_.left(at)) {
          const std::string piece = content.substr(at, segments_.left(at));
          disk_.files[segment_path(paths.back(), segments_.index(at))] =
              image_of(std::as_bytes(std::span(piece)));
        }
      }
    }
    MemoryFiles files(disk_);
    const platform::ReplaceFiles replace(files);
    const auto streams = static_cast<uint32_t>(paths_.size());
    for (uint32_t s = 0; s < streams; ++s) {
      auto& places = places_.emplace_back();
      LogReader reader(paths_[s]);
      for (RecordBatch batch; reader.next(&batch);) {
        for (size_t i = 0; i < batch.records.size(); ++i) {
          const RecordHeader& header = *batch.records[i];
          Place place{batch.positions[i], batch.positions[i] + header.bytes, {}};
          place.vouched.resize(streams);
          place.vouched[s] = vouched_position(header, place.begin);
          const auto words = watermark_body(header);
          if (header.kind == RecordKind::kWatermark && words.size() == streams) {
            for (uint32_t other = 0; other < streams; ++other) {
              place.vouched[other] =
                  std::max(place.vouched[other], WatermarkWord::vouched(words[other]));
            }
          }
          places.push_back(std::move(place));
        }
      }
    }
  }

  // Recovers the log, or the log with this corruption.
  Recovered recover(const Corruption* one = nullptr) const {
    CrashState state = disk_;
    if (one != nullptr) {
      const std::string& path = paths_[one->stream][one->stripe];
      damage(&state.files.at(segment_path(path, segments_.index(one->at))), one->how,
             segments_.within(one->at), one->bit);
    }
    MemoryFiles files(state);
    const platform::ReplaceFiles replace(files);
    Recovered result;
    const size_t streams = paths_.size();
    std::vector<std::vector<RecordBatch>> batches(streams);
    StreamTails tails(streams);
    for (size_t s = 0; s < streams; ++s) {
      LogReader reader(paths_[s]);
      for (RecordBatch batch; reader.next(&batch); batch = {}) batches[s].push_back(batch);
      if (!reader.error().empty()) {
        result.refused = true;
        return result;
      }
      tails[s] = reader.tail();
    }
    result.damage = find_damage(tails);
    const Cut cut = scheme_.recovery.cut(tails);
    BodiesToApply bodies;
    for (uint32_t s = 0; s < streams; ++s) {
      TransactionAssembler assembler(s, scheme_.recovery);
      for (const RecordBatch& batch : batches[s]) {
        const BodiesToApply some = assembler.take(batch, cut);
        bodies.bodies.insert(bodies.bodies.end(), some.bodies.begin(), some.bodies.end());
        bodies.memory.insert(bodies.memory.end(), some.memory.begin(), some.memory.end());
      }
    }
    judge(bodies, &result);
    return result;
  }

  Corruption draw(std::mt19937_64& random) const {
    Corruption drawn;
    drawn.how = static_cast<How>(random() % 3);
    drawn.stream = static_cast<uint32_t>(random() % paths_.size());
    drawn.stripe = static_cast<uint32_t>(random() % paths_[drawn.stream].size());
    drawn.bit = random() % 8;
    const std::string& content = run_.files[drawn.stream][drawn.stripe];
    // One corruption in sixteen damages the file's header.
    drawn.at = random() % 16 == 0 ? random() % kLogHeaderBytes
                                  : kLogHeaderBytes + random() % (content.size() - kLogHeaderBytes);
    if (drawn.how == kZero) drawn.at -= drawn.at % kSectorBytes;
    const uint64_t bytes = drawn.how == kFlip  ? 1
                           : drawn.how == kCut ? segments_.left(drawn.at)
                                               : kSectorBytes;
    drawn.end = drawn.at + std::min(content.size() - drawn.at, bytes);
    return drawn;
  }

  // Returns a sentence if a recovery after this corruption may not have the result `result`.
  std::string wrong_verdict(const Corruption& one, const Recovered& result) const {
    const std::string& content = run_.files[one.stream][one.stripe];
    const bool header_hit = one.at < (one.how == kCut ? kLogHeaderBytes : content.find('\0'));
    if (header_hit != result.refused) {
      return header_hit ? "the header is damaged, and the log is read" : "the log is refused";
    }
    if (result.refused) return "";
    if (!result.wrong.empty()) return result.wrong;

    const Place* first = nullptr;  // the first damaged record of the stream
    bool valid_after = false;
    uint64_t vouched = 0;
    for (uint32_t s = 0; s < places_.size(); ++s) {
      for (const Place& place : places_[s]) {
        const bool hit = s == one.stream && touches(one, place);
        if (hit && first == nullptr) first = &place;
        if (hit) continue;
        vouched = std::max(vouched, place.vouched[one.stream]);
        valid_after = valid_after || (s == one.stream && first != nullptr);
      }
    }
    if (first == nullptr) {
      // If a later segment exists, no crash makes an earlier segment too short.
      const bool hole = one.how == kCut && one.end < content.size();
      if (!result.damage.empty() && !hole && !ends_in_lost_bytes(one)) {
        return "no record is hit, and damage is reported";
      }
      return lost(result) == 0 ? "" : "no record is hit, and acknowledged transactions are lost";
    }
    if (one.how == kCut && one.end < content.size()) {
      return result.damage.empty() ? "a segment is too short, and no damage is reported" : "";
    }
    const Place header{first->begin, first->begin + sizeof(RecordHeader), {}};
    if (vouched < header.end && !result.damage.empty()) {
      return "damage is reported, and nothing vouches for it";
    }
    // A flipped bit of a header may make the record longer than the bytes for which other records
    // vouch. Recovery then reports no damage if no valid record follows.
    const bool longer = one.how == kFlip && touches(one, header) && !valid_after;
    if (vouched >= first->end && !longer && result.damage.empty()) {
      return "a record vouches for what is lost, and no damage is reported";
    }
    return "";
  }

  // Returns the number of lost acknowledged transactions.
  uint64_t lost(const Recovered& result) const {
    uint64_t count = 0;
    for (size_t t = 1; t < run_.transactions.size(); ++t) {
      count += run_.transactions[t].acknowledged && !result.survivors[t];
    }
    return count;
  }

 private:
  // Returns whether recovery must assume that the lost bytes were a record. This is so if the cut
  // segment is too short for the header of a further record after the stream's last record.
  bool ends_in_lost_bytes(const Corruption& one) const {
    const auto& files = run_.files[one.stream];
    if (one.how != kCut || one.end == files[one.stripe].size()) return false;
    const uint64_t end = places_[one.stream].empty() ? 0 : places_[one.stream].back().end;
    const Stripes stripes{static_cast<uint32_t>(files.size()), run_.stripe_bytes};
    return stripes.file_end(one.stripe, end + sizeof(RecordHeader)) > one.at;
  }
  bool touches(const Corruption& one, const Place& place) const {
    const auto stripe_count = static_cast<uint32_t>(paths_[one.stream].size());
    const Stripes stripes{stripe_count, run_.stripe_bytes};
    const std::string& content = run_.files[one.stream][one.stripe];
    uint64_t stream_end = 0;  // the end of the stream in the damaged files
    for (uint32_t stripe = 0; stripe < stripe_count; ++stripe) {
      const bool cut = one.how == kCut && stripe == one.stripe && one.end == content.size();
      const uint64_t bytes = cut ? one.at : run_.files[one.stream][stripe].size();
      stream_end = std::max(stream_end, stripes.stream_end(stripe, bytes));
    }
    for (uint64_t at = place.begin, end; at < place.end; at = end) {
      end = std::min(place.end, stripes.stripe_end(at));
      if (stripes.device(at) != one.stripe) continue;
      const uint64_t from = stripes.file_offset(at), to = from + (end - at);
      const uint64_t begin = std::max(from, one.at), stop = std::min(to, one.end);
      if (begin >= stop) continue;
      // In a log of several files, recovery finds zeros in place of the bytes that a cut removed.
      const bool zeros = one.how == kZero || (one.how == kCut && place.end <= stream_end);
      if (!zeros || content.find_first_not_of('\0', begin) < stop) return true;
    }
    return false;
  }

  // Checks the recovered transactions against the script and the logged rows only.
  void judge(const BodiesToApply& bodies, Recovered* result) const {
    std::vector<uint64_t> writes(run_.transactions.size());
    std::vector<std::pair<uint64_t, uint64_t>> last(ScriptedRun::kKeys);  // version, its writer
    std::vector<std::pair<uint64_t, LoggedWrite>> rows;                   // with sequence numbers
    for (const auto& [sequence, record] : bodies.bodies) {
      if (LoggedCommand command; read_command(*record, &command)) {
        uint64_t number;
        std::memcpy(&number, command.input.data(), sizeof number);
        writes[number] = run_.transactions[number].writes.size();
        continue;
      }
      RecordBody body(*record);
      for (LoggedWrite write; body.next(&write);) rows.emplace_back(sequence, write);
    }
    std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
    for (const auto& [sequence, write] : rows) {
      auto& [version, transaction] = last[write.header.key];
      ScriptedRun::Row row = ScriptedRun::row(transaction, write.header.key);
      if (!write.has_ranges()) {
        std::memcpy(&row, write.after, sizeof row);
      } else if (RangeImage(write.image()).version() != version ||
                 !apply_ranges(RangeImage(write.image()), reinterpret_cast<std::byte*>(&row),
                               sizeof row)) {
        result->wrong = "a range changes another version than the last one that survives";
        return;
      }
      if (row.transaction >= writes.size() ||
          !(row == ScriptedRun::row(row.transaction, write.header.key))) {
        result->wrong = "a row is none that the script wrote";
        return;
      }
      ++writes[row.transaction];
      last[write.header.key] = {sequence, row.transaction};
    }
    result->wrong = replayed(bodies, last);
    if (!result->wrong.empty()) return;
    result->survivors.resize(writes.size());
    result->survivors[0] = true;
    for (size_t t = 1; t < writes.size(); ++t) {
      const ScriptedRun::Transaction& transaction = run_.transactions[t];
      result->survivors[t] = writes[t] != 0;
      if (writes[t] != 0 && writes[t] != transaction.writes.size()) {
        result->wrong = "R2: of transaction " + std::to_string(t) + " some writes survive";
      }
      for (const uint64_t from : transaction.read_from) {
        if (writes[t] != 0 && !result->survivors[from]) {
          result->wrong = "R4: transaction " + std::to_string(t) + " survives, and " +
                          std::to_string(from) + " that it has read from does not";
        }
      }
    }
    for (uint64_t key = 0; key < ScriptedRun::kKeys; ++key) {
      if (last[key].second == 0) continue;
      for (const uint64_t writer : run_.writers[key]) {
        if (!result->survivors[writer] || writer <= last[key].second) continue;
        result->wrong = "R3: row " + std::to_string(key) + " is of transaction " +
                        std::to_string(last[key].second) + ", and " + std::to_string(writer) +
                        " survives";
      }
    }
  }

  // Applies the bodies stream by stream, so not in the order of their sequence numbers. Returns the
  // difference between the resulting rows and the last writers in `last`, or an empty text.
  static std::string replayed(const BodiesToApply& bodies,
                              const std::vector<std::pair<uint64_t, uint64_t>>& last) {
    Database database;
    Table& table = database.create_table({.name = "rows", .row_bytes = sizeof(ScriptedRun::Row)});
    Arena arena;
    for (Key key = 0; key < ScriptedRun::kKeys; ++key) {
      const ScriptedRun::Row row = ScriptedRun::row(0, key);
      table.load(key, &row, arena);
    }
    Applier applier(database);
    for (const BodiesToApply::Body& body : bodies.bodies) {
      if (body.record->kind != RecordKind::kCommand) applier.apply(body, arena);
    }
    std::string wrong = applier.finish();
    table.for_each_row([&](Key key, const std::byte* row) {
      const ScriptedRun::Row expected = ScriptedRun::row(last[key].second, key);
      if (std::memcmp(row, &expected, sizeof expected) != 0) wrong = "a replayed row is wrong";
    });
    return wrong;
  }

  const SchemeInfo& scheme_;
  const ScriptedRun run_;
  const Segments segments_;
  CrashState disk_;
  std::vector<std::vector<std::string>> paths_;  // by stream, then by stripe
  std::vector<std::vector<Place>> places_;       // the records of each stream, in order
};

struct Case {
  const SchemeInfo* scheme;
  LogRecords records;
  bool ranges = false;
  std::string name() const {
    std::string name(scheme->name);
    std::ranges::replace(name, '-', '_');
    return name + (records == LogRecords::kTransaction ? "_txn" : "_op") + (ranges ? "_range" : "");
  }
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name(); }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const SchemeInfo* scheme : logging_schemes()) {
    cases.push_back({scheme, LogRecords::kTransaction});
    if (scheme->traits.commands) continue;
    cases.push_back({scheme, LogRecords::kOperation});
    cases.push_back({scheme, LogRecords::kTransaction, true});
    cases.push_back({scheme, LogRecords::kOperation, true});
  }
  return cases;
}

class Corruptions : public testing::TestWithParam<Case> {};

TEST_P(Corruptions, LeaveAClosedSetOrAreReported) {
  const uint64_t count = number_from("LOGJAM_CORRUPTIONS", 400);
  const uint64_t logs = 6 + count / 1000;
  Effects effects[kZero + 1];
  for (uint64_t log = 0; log < logs; ++log) {
    const DamagedRun run({.scheme = GetParam().scheme,
                          .records = GetParam().records,
                          .ranges = GetParam().ranges,
                          .finished = log % 2 == 0,
                          .striped = log % 3 == 2,
                          .seed = log},
                         log % 4 < 2 ? 0 : kLogHeaderBytes);
    const Recovered whole = run.recover();
    ASSERT_EQ(whole.damage + whole.wrong, "");
    ASSERT_EQ(run.lost(whole), 0u);
    std::mt19937_64 random(log + logs * test_seed());
    for (uint64_t i = 0; i < (count + logs - 1) / logs; ++i) {
      const Corruption one = run.draw(random);
      const Recovered result = run.recover(&one);
      ASSERT_EQ(run.wrong_verdict(one, result), "")
          << kHow[one.how] << " at byte " << one.at << " of file " << one.stripe << " of stream "
          << one.stream << ", log " << log << "; damage: " << result.damage;
      Effects& mine = effects[one.how];
      if (result.refused) {
        ++mine.refused;
      } else if (!result.damage.empty()) {
        ++mine.reported;
      } else if (result.survivors == whole.survivors) {
        ++mine.unharmed;
      } else {
        ++mine.shorter;
        mine.silent += run.lost(result) != 0;
      }
    }
  }
  print(GetParam().name(), effects);
  EXPECT_GT(effects[kFlip].reported, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Corruptions, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace logjam

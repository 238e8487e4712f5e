// Tests the named recovery rules with hand-written tails.
#include "logging/recovery_rule.h"

#include <gtest/gtest.h>

#include <cstring>

#include "logging/format/record.h"

namespace logjam {
namespace {

StreamTail tail(uint64_t bytes, uint64_t last_sequence, uint64_t last_watermark) {
  StreamTail tail;
  tail.bytes = bytes;
  tail.last_sequence = last_sequence;
  tail.last_watermark = last_watermark;
  tail.why = "end of log";
  return tail;
}

bool survives(const RecoveryRule& rule, uint64_t sequence, const Cut& cut) {
  RecordHeader header{};
  header.sequence = sequence;
  return rule.survives(header, cut);
}

TEST(RecoveryRule, FirstGapUsesAllThatIsValid) {
  const RecoveryRule rule = first_gap();
  const Cut cut = rule.cut({tail(640, 640, 0)});
  EXPECT_EQ(cut.bytes, std::vector<uint64_t>{640});
  EXPECT_EQ(cut.why, "end of log");
  EXPECT_TRUE(survives(rule, 640, cut));
}

TEST(RecoveryRule, IsForASetOfStreams) {
  EXPECT_TRUE(is_for_streams(first_gap(), 1));
  EXPECT_FALSE(is_for_streams(first_gap(), 2));
  EXPECT_TRUE(is_for_streams(min_cut(&StreamTail::last_sequence, "RSNe"), 3));
  EXPECT_FALSE(is_for_streams(last_met_cut("sync record"), 0));
  EXPECT_FALSE(is_for_streams(RecoveryRule{}, 1)) << "of a scheme without a log";
}

TEST(RecoveryRule, MinCutIsTheLeastNumberOfAllStreams) {
  const StreamTails tails = {tail(100, 9, 6), tail(200, 7, 7), tail(300, 12, 3)};
  const RecoveryRule by_record = min_cut(&StreamTail::last_sequence, "RSNe");
  const Cut cut = by_record.cut(tails);
  EXPECT_EQ(cut.bytes, (std::vector<uint64_t>{100, 200, 300}));
  EXPECT_EQ(cut.sequence, 7u);
  EXPECT_EQ(cut.why, "RSNe 7, the least of 3 stream(s)");
  EXPECT_TRUE(survives(by_record, 7, cut));
  EXPECT_FALSE(survives(by_record, 8, cut));
  EXPECT_EQ(min_cut(&StreamTail::last_watermark, "epoch").cut(tails).sequence, 3u);
}

TEST(RecoveryRule, AnEmptyStreamCutsEverythingByMinCut) {
  const RecoveryRule rule = min_cut(&StreamTail::last_sequence, "LSN");
  const Cut cut = rule.cut({tail(100, 9, 0), tail(0, 0, 0)});
  EXPECT_EQ(cut.sequence, 0u);
  EXPECT_FALSE(survives(rule, 1, cut));
}

// Returns watermark records as in a StreamTail: each record's number, then its positions.
std::shared_ptr<const std::vector<uint64_t>> watermarks(std::vector<uint64_t> words) {
  return std::make_shared<const std::vector<uint64_t>>(std::move(words));
}

TEST(RecoveryRule, TheLastWatermarkVouchesForAllStreamsThatBearItOut) {
  const RecoveryRule rule = watermarks_cut("GSN");
  StreamTails tails = {tail(100, 50, 0), tail(200, 60, 0), tail(112, 40, 40)};
  tails[2].watermarks = {watermarks({30, 100, 150, 0}), watermarks({40, 100, 200, 56})};
  Cut cut = rule.cut(tails);
  EXPECT_EQ(cut.bytes, (std::vector<uint64_t>{100, 200, 112}));
  EXPECT_EQ(cut.sequence, 40u);
  EXPECT_TRUE(survives(rule, 40, cut));
  EXPECT_FALSE(survives(rule, 41, cut));
  // If a stream has lost records that were durable, it bounds the cut. The bound is the stream's
  // last number, or the last watermark that is met in the stream, whichever is larger.
  tails[1] = tail(199, 35, 0);
  EXPECT_EQ(rule.cut(tails).sequence, 35u);
  tails[1] = tail(150, 20, 0);
  EXPECT_EQ(rule.cut(tails).sequence, 30u);
  tails[1] = tail(149, 20, 0);
  EXPECT_EQ(rule.cut(tails).sequence, 20u);
  tails[0] = tail(0, 0, 0);
  EXPECT_EQ(rule.cut(tails).sequence, 0u);
}

TEST(RecoveryRule, AWatermarkIsMetIfAllItsPositionsAreThere) {
  const RecoveryRule rule = last_met_cut("sync record");
  StreamTail first = tail(300, 0, 0), second = tail(150, 0, 0);
  // Stream 0 has two sync records, in two batches. The later record needs 160 bytes of stream 1.
  // The upper bits of this record's first word are no part of a position.
  first.watermarks = {watermarks({7, 100, 50}),
                      watermarks({9, WatermarkWord::encode(300, 64), 160})};
  second.watermarks = {watermarks({8, 100, 150})};
  Cut cut = rule.cut({first, second});
  EXPECT_EQ(cut.bytes, (std::vector<uint64_t>{100, 150}));
  EXPECT_EQ(cut.why,
            "last sync record that is met, at byte 100 of 300 in stream 0, 150 of 150 in stream 1");
  second.bytes = 160;
  cut = rule.cut({first, second});
  EXPECT_EQ(cut.bytes, (std::vector<uint64_t>{300, 150}));
  // A log of one stream needs no sync records.
  EXPECT_EQ(rule.cut({tail(70, 0, 0)}).bytes, std::vector<uint64_t>{70});
}

TEST(RecoveryRule, ForgetsSyncRecordsBeforeTheLastThatIsMet) {
  const RecoveryRule rule = last_met_cut("sync record");
  const auto batch = [](uint64_t number, uint64_t end, uint64_t other) {
    return watermarks({number, end, other, number + 1, end + 10, other + 10});
  };
  StreamTail first = tail(500, 0, 0), second = tail(155, 0, 0);
  second.why = "";  // the stream is not read to its end
  first.watermarks = {batch(1, 100, 50), batch(3, 200, 150), batch(5, 300, 170),
                      batch(7, 400, 200)};
  StreamTails tails = {first, second};
  const Cut before = rule.cut(tails);
  EXPECT_EQ(before.bytes, (std::vector<uint64_t>{200, 0}));
  rule.forget(tails);
  EXPECT_EQ(tails[0].watermarks, std::vector(first.watermarks.begin() + 1, first.watermarks.end()));
  EXPECT_EQ(rule.cut(tails).bytes, before.bytes);
  // The second stream ends, so sync records that need more bytes of it will never be met.
  tails[1].bytes = 180;
  tails[1].why = "end of log";
  rule.forget(tails);
  EXPECT_EQ(tails[0].watermarks, std::vector{first.watermarks[2]});
  EXPECT_EQ(rule.cut(tails).bytes, (std::vector<uint64_t>{310, 0}));
}

// For each stream, the rule keeps the last watermark that is met in this stream.
TEST(RecoveryRule, ForgetsWatermarksThatNoStreamNeeds) {
  const RecoveryRule rule = watermarks_cut("GSN");
  StreamTails tails = {tail(100, 5, 0), tail(250, 5, 0), tail(500, 70, 70)};
  tails[1].why = "";  // the stream is not read to its end
  const std::vector all = {watermarks({10, 50, 100, 0}), watermarks({20, 100, 150, 0}),
                           watermarks({30, 110, 200, 0}), watermarks({40, 120, 250, 0}),
                           watermarks({50, 130, 300, 0})};
  tails[2].watermarks = all;
  const uint64_t before = rule.cut(tails).sequence;
  EXPECT_EQ(before, 20u);
  rule.forget(tails);
  EXPECT_EQ(tails[2].watermarks, (std::vector{all[1], all[3], all[4]}));
  EXPECT_EQ(rule.cut(tails).sequence, before);
  tails[1].why = "end of log";
  rule.forget(tails);
  EXPECT_EQ(tails[2].watermarks, (std::vector{all[1], all[3]}));
}

// At byte 60, stream 0 has a base that needs 150 bytes of stream 1.
TEST(RecoveryRule, ClosedRecordsAreUsedUpToTheFirstWatermarkThatIsNotMet) {
  const RecoveryRule rule = min_cut_or_closed("GSN");
  StreamTails tails = {tail(100, 0, 50), tail(150, 0, 20)};
  tails[0].watermarks = {watermarks({10, 20, 0}), watermarks({30, 60, 150})};
  RecordHeader closed{};
  closed.sequence = 40;
  closed.flags = kClosed;
  Cut cut = rule.cut(tails);
  EXPECT_EQ(cut.bytes, (std::vector<uint64_t>{100, 150}));
  EXPECT_EQ(cut.sequence, 20u);
  EXPECT_TRUE(rule.survives(closed, cut));
  EXPECT_FALSE(survives(rule, 21, cut));
  // Stream 1 has lost a byte. Records after the base may depend on this byte, so the
  // cut is at this base.
  tails[1] = tail(149, 0, 45);
  cut = rule.cut(tails);
  EXPECT_EQ(cut.bytes, (std::vector<uint64_t>{60, 149}));
  EXPECT_EQ(cut.sequence, 30u) << "a number beyond the watermark's may lie after it";
}

TEST(RecoveryRule, ForgetsTheWatermarksThatAreMet) {
  const RecoveryRule rule = min_cut_or_closed("GSN");
  StreamTails tails = {tail(100, 0, 50), tail(150, 0, 20)};
  const std::vector all = {watermarks({10, 20, 0, 15, 40, 150}), watermarks({30, 60, 151})};
  tails[0].watermarks = all;
  rule.forget(tails);
  EXPECT_EQ(tails[0].watermarks, std::vector{all[1]});
  EXPECT_EQ(rule.cut(tails).bytes[0], 60u);
}

// Returns a record whose vector has the given words.
std::vector<uint64_t> record_with(const std::vector<uint64_t>& words) {
  RecordHeader header{};
  header.bytes = static_cast<uint32_t>(sizeof header + words.size() * sizeof(uint64_t));
  header.flags = words.empty() ? 0 : kVector;
  std::vector<uint64_t> record(sizeof header / sizeof(uint64_t));
  std::memcpy(record.data(), &header, sizeof header);
  record.insert(record.end(), words.begin(), words.end());
  return record;
}
bool survives(const RecoveryRule& rule, const std::vector<uint64_t>& record, const Cut& cut) {
  return rule.survives(*reinterpret_cast<const RecordHeader*>(record.data()), cut);
}

TEST(RecoveryRule, ARecordIsUsedIfEachPositionOfItsVectorIsThere) {
  const RecoveryRule rule = met_vectors();
  const Cut cut = rule.cut({tail(96, 0, 0), tail(200, 0, 0), tail(304, 0, 0)});
  EXPECT_EQ(cut.bytes, (std::vector<uint64_t>{96, 200, 304}));
  EXPECT_EQ(cut.why,
            "vectors that are met by byte 96 of 96 in stream 0, 200 of 200 in stream 1, 304 of 304 "
            "in stream 2");
  const auto word = VectorWord::encode;
  EXPECT_TRUE(survives(rule, record_with({}), cut));
  EXPECT_TRUE(survives(rule, record_with({word(1, 200, false), word(2, 304, true)}), cut));
  EXPECT_FALSE(survives(rule, record_with({word(1, 208, false), word(2, 304, true)}), cut));
  EXPECT_FALSE(survives(rule, record_with({word(1, 200, false), word(2, 312, true)}), cut));
  EXPECT_FALSE(survives(rule, record_with({word(3, 8, false)}), cut)) << "there is no such stream";
}

// An anchor of stream 1 needs bytes that stream 2 has lost. So stream 1 is cut at this anchor. An
// anchor of stream 0 needs later bytes of stream 1, so stream 0 is cut at its anchor, too.
TEST(RecoveryRule, AStreamIsUsedUpToItsFirstAnchorThatIsNotMetByTheUsedParts) {
  const RecoveryRule rule = met_vectors();
  StreamTails tails = {tail(400, 0, 0), tail(400, 0, 0), tail(96, 0, 0)};
  const auto met = watermarks({1, 48, 120, 0}), unmet = watermarks({2, 240, 200, 0}),
             first_unmet = watermarks({3, 0, 160, 104});
  tails[0].watermarks = {met, unmet};
  tails[1].watermarks = {first_unmet};
  EXPECT_EQ(rule.cut(tails).bytes, (std::vector<uint64_t>{240, 160, 96}));
  rule.forget(tails);
  EXPECT_EQ(tails[0].watermarks, std::vector{unmet});
  EXPECT_EQ(tails[1].watermarks, std::vector{first_unmet});
  tails[2].bytes = 104;
  EXPECT_EQ(rule.cut(tails).bytes, (std::vector<uint64_t>{400, 400, 104}));
  rule.forget(tails);
  for (const StreamTail& one : tails) EXPECT_TRUE(one.watermarks.empty());
}

StreamTail tail_from(const StreamStart& start, uint64_t bytes, uint64_t last) {
  StreamTail from = tail(bytes, last, last);
  from.start = start;
  return from;
}

TEST(RecoveryRule, AStreamWithNothingAfterItsStartDoesNotHoldMinCutBack) {
  const RecoveryRule rule = min_cut(&StreamTail::last_sequence, "LSN");
  EXPECT_EQ(rule.cut({tail_from({100, 7, 0}, 300, 9), tail_from({50, 8, 50}, 50, 0)}).sequence, 8u);
  // A stream that was durable up to byte 120 but ends at byte 50 bounds the cut.
  EXPECT_EQ(rule.cut({tail_from({100, 7, 0}, 300, 9), tail_from({50, 8, 120}, 50, 0)}).sequence,
            0u);
}

// A transaction after its stream's start may depend on a watermark record before the start. So the
// start has the position up to which the watermark record needs the other streams.
TEST(RecoveryRule, ClosedRecordsNeedAllStreamsAsFarAsTheyWereDurableAtTheirStarts) {
  const RecoveryRule rule = min_cut_or_closed("GSN");
  EXPECT_TRUE(rule.cut({tail_from({100, 7, 120}, 300, 9), tail_from({50, 8, 50}, 50, 0)}).closed);
  EXPECT_FALSE(rule.cut({tail_from({100, 7, 120}, 300, 9), tail_from({50, 8, 60}, 50, 0)}).closed);
}

TEST(RecoveryRule, WithoutWhatWasDurableAtAStartNothingAfterTheStartsIsUsed) {
  const RecoveryRule rule = met_vectors();
  StreamTails tails = {tail_from({96, 0, 120}, 304, 9), tail_from({48, 0, 56}, 56, 0)};
  EXPECT_EQ(rule.cut(tails).bytes, (std::vector<uint64_t>{304, 56}));
  tails[1].bytes = 48;
  EXPECT_EQ(rule.cut(tails).bytes, (std::vector<uint64_t>{96, 48}));
}

TEST(RecoveryRule, TheLastStreamsStartStandsForItsLastWatermark) {
  const RecoveryRule rule = watermarks_cut("GSN");
  StreamTails tails = {tail_from({100, 40, 0}, 100, 0), tail_from({200, 40, 0}, 260, 45),
                       tail_from({56, 40, 0}, 56, 0)};
  EXPECT_EQ(rule.cut(tails).sequence, 40u);
  tails[0] = tail_from({100, 40, 180}, 164, 33);
  EXPECT_EQ(rule.cut(tails).sequence, 33u);
}

TEST(RecoveryRule, WithoutAMetWatermarkAfterItsStartAStreamIsCutThere) {
  const RecoveryRule rule = last_met_cut("sync record");
  StreamTail first = tail_from({100, 0, 0}, 300, 0), second = tail_from({150, 0, 0}, 150, 0);
  EXPECT_EQ(rule.cut({first, second}).bytes, (std::vector<uint64_t>{100, 150}));
  first.watermarks = {watermarks({7, 200, 150}), watermarks({9, 300, 160})};
  EXPECT_EQ(rule.cut({first, second}).bytes, (std::vector<uint64_t>{200, 150}));
}

}  // namespace
}  // namespace logjam

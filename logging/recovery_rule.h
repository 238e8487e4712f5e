// The part of a log that a recovery may use: a scheme's *cut*, and which records inside the cut
// survive. A recovery rule is static data of a scheme (SchemeInfo::recovery).
#pragma once

#include <functional>

#include "logging/format/stream_tail.h"

namespace logjam {

struct RecordHeader;

// The usable part of the log. Records after byte `bytes[s]` of stream s are not used. Some rules
// also drop records with numbers above `sequence`.
struct Cut {
  std::vector<uint64_t> bytes;
  uint64_t sequence = ~uint64_t{0};
  // Whether records with kClosed, if the scheme has any, survive above `sequence`.
  bool closed = true;
  std::string why;  // what ended the usable part, for the operator
};

// Any thread may call the functions. `cut` and `survives` are monotone: records that survive the
// cut of some tails also survive the cut of longer tails. So replay may use such a record at once.
struct RecoveryRule {
  std::function<Cut(const StreamTails&)> cut;
  // Returns whether recovery uses a record before its stream's cut. The body follows the header.
  std::function<bool(const RecordHeader&, const Cut&)> survives;
  // Drops watermark records, so that memory does not hold all of them while the streams are read.
  // Keeps the watermark records on which the cut of these tails, or of longer tails, depends. A
  // rule that uses StreamTail::watermarks should have this function.
  std::function<void(StreamTails&)> forget = [](StreamTails&) {};
};

// Returns whether the rule is for logs of `streams` streams; a bad header may name a wrong number.
bool is_for_streams(const RecoveryRule& rule, size_t streams);

// Recovery does not read the records before a stream's StreamStart, because a checkpoint has their
// effects. The rules count these records as present. The parameter `name` is the operator's word
// for the number or the record that a rule uses: "RSNe", "persisted epoch".

// Returns the rule that uses all records up to the first gap, for one stream whose log order is a
// serial order. A prefix of the log lacks nothing that it depends on (R4).
RecoveryRule first_gap();

// Returns the rule that uses records up to the least `number` of all streams. `number` is a
// StreamTail's last_sequence or last_watermark. A stream lacks no record up to its `number`, so no
// stream lacks a record up to the least `number`, and the set is closed (R4). A stream that begins
// at a StreamStart also lacks no record up to the start's number (StreamTail::complete_from_start).
// For this stream the larger of the two numbers counts.
RecoveryRule min_cut(uint64_t StreamTail::*number, const std::string& name);

// Returns the rule that uses the records of min_cut(), with last_watermark, and, beyond its cut,
// records with kClosed.
//
// A worker notes a *base* in a watermark record with a body. For each other stream, the body has
// the end of a record up to which that stream was durable; for its own stream, the position at
// which the record begins. The base is a number such that in each stream a watermark record with
// this number or a larger one lies before that end. So all records with numbers up to the base lie
// before these ends. The positions were loaded after the streams were known to be durable up to the
// base. A transaction with kClosed has read versions of two kinds only: versions with numbers up to
// a base that lies before the transaction's record in the same stream, and versions of closed
// transactions whose records lie before its record in the same stream.
//
// A base is *met* if every end in it lies within the valid bytes of its stream. A stream is used up
// to its first base that is not met. No record beyond the number of the last watermark record
// before this base is used, unless the record is closed. If all streams are valid up to
// StreamStart::durable, that number is at least StreamStart::sequence. After a crash alone, all
// bases are met. The set is closed (R4):
//   * Records up to the number of the last watermark record before a base lie before that base. If
//     all streams are valid up to StreamStart::durable, a base that is not met was noted after the
//     checkpoint loaded StreamStart::sequence, hence at a later position than the records up to
//     this number. So records within the cut lie in the used part of their stream.
//   * Let a closed transaction T have read version V, whose number is up to the base B before T. B
//     is met, so V's record lies within the valid bytes of its stream, and the last watermark of
//     every stream is at least B. Let a base C of some stream u not be met. C does not lie before
//     the watermark record of u on which B relies. Otherwise C was durable before B loaded its
//     positions, so B's positions are at least C's, and C is met, too. So the last watermark before
//     C is at least B. If this watermark lies before the start of u, it is at most the start's
//     number. So V's number is within the cut.
//   * Otherwise V's writer is a closed transaction before T in T's stream, hence used too.
//   * A transaction that follows a StreamStart may rely on a base before that start. The streams
//     were durable up to the ends in that base when the checkpoint began, hence before
//     StreamStart::durable. If all streams are valid up to StreamStart::durable, the base counts as
//     met; otherwise kClosed is ignored (Cut::closed).
RecoveryRule min_cut_or_closed(const std::string& name);

// Returns the rule for passive group commit. The last stream has watermarks for all other streams.
// The rule uses records up to the last watermark, or fewer if another stream may lack a record.
//
// A watermark record with a body is *met* in a stream if the body's position in that stream lies
// within the stream's valid bytes. The records of a stream up to a watermark's number lie before
// the watermark's position, and their numbers grow. So a stream lacks no record up to three
// numbers: the last watermark that is met in the stream, the number of its own last record, and the
// number of its StreamStart. The largest of the three bounds the cut. The StreamStart of the last
// stream has a watermark's number; the stream may have lost this watermark since. Hence no stream
// lacks a record up to the cut, and the set is closed (R4).
RecoveryRule watermarks_cut(const std::string& name);

// Returns the rule that uses each record whose LSN vector is met: every position in the vector lies
// within the used part of its stream. A record without a vector is always used.
//
// The scheme appends watermark records, its *anchors*, with the body of a base, as
// min_cut_or_closed() describes it. An anchor *covers* a position if it says that the stream was
// durable up to this position. A vector leaves out the position in its own stream, which lies
// before the record. It also leaves out positions that an anchor before the record covers.
//
// An anchor is met if its positions lie within the used parts of their streams. A stream is used up
// to its first anchor that is not met. After a crash alone, all anchors are met. No stream is used
// beyond its valid bytes, or beyond an anchor that is not met. The used parts are the largest parts
// for which both are true. Longer streams give larger parts.
//
// The set is closed (R4). Let T be used, and have read from D. T's whole vector covers D's end and
// D's vector. Each position of T's vector is met: T's record has the position; or the position lies
// in T's own stream, before T; or an anchor before T covers the position. So D's end and D's vector
// are met, and D is used. After a StreamStart, T may rely on an anchor before the start. The
// anchor's positions are at most StreamStart::durable of their streams. If a stream is not used up
// to StreamStart::durable, nothing after the starts is used.
RecoveryRule met_vectors();

// Returns the rule that uses the records of each stream up to its last watermark record that is met
// in all streams. A watermark record has its own end as the word for its own stream. Without a met
// watermark record, the rule uses no record after the StreamStart, because such a record's
// dependencies may not be recovered (R4). The checkpoint has the effects of the records before the
// start, and of their dependencies. With one stream the rule is first_gap().
RecoveryRule last_met_cut(const std::string& name);

}  // namespace logjam

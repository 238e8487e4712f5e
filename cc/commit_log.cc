#include "cc/commit_log.h"

#include <string>

#include "logging/format/range_image.h"
#include "platform/fatal.h"
#include "platform/most_workers.h"

namespace logjam {

static_assert(Version::kSequenceMask == (uint64_t{1} << kSequenceBits) - 1);

CommitLog::CommitLog(WorkerContext& context)
    : context_(context),
      log_(*context.log),
      parts_(log_.parts()),
      traits_(log_.traits()),
      worker_mask_((uint64_t{1} << traits_.worker_bits) - 1),
      own_(traits_.worker_bits == 0 ? 0 : context.id),
      max_record_bytes_(std::min(log_.max_record_bytes(), kMostRecordBytes)),
      vector_(parts_.row_vectors == nullptr ? 0 : parts_.row_vectors->streams()) {
  LJ_ASSERT(!stamps_reads() || traits_.number_drawn == NumberDrawn::kBefore);
  LJ_ASSERT((parts_.early_numbers != nullptr) ==
            (traits_.number_drawn == NumberDrawn::kBeforeWithoutHole));
}

void CommitLog::before_validation(const Dependencies& deps, std::span<const Write> writes) {
  if (traits_.number_drawn == NumberDrawn::kBefore) return reserve(deps, writes);
  if (traits_.number_drawn == NumberDrawn::kBeforeWithoutHole) {
    const ActivityScope scope(*context_.breakdown, Activity::kLogContention);
    parts_.early_numbers->draw_number(context_.id, deps);
  }
}

void CommitLog::after_validation(const Dependencies& deps, std::span<const Write> writes) {
  if (traits_.number_drawn != NumberDrawn::kBefore) reserve(deps, writes);
}

void CommitLog::validation_failed() {
  if (traits_.number_drawn == NumberDrawn::kAfterValidation) return;
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  if (traits_.number_drawn == NumberDrawn::kBeforeWithoutHole)
    return parts_.early_numbers->abandon(context_.id);
  if (reservation_.hole != nullptr) {
    RecordWriter(reservation_, RecordKind::kVoid, txn_, flags_)
        .seal(log_.run(), reservation_.position);
  }
  publish(reservation_, RecordRole::kVoid);
}

void CommitLog::reserve(Dependencies deps, std::span<const Write> writes) {
  if (stamps_reads()) {
    for (const Write& write : writes) {
      deps.max_war = std::max(deps.max_war, parts_.read_stamps->of(write.tuple));
    }
  }
  if (parts_.row_vectors != nullptr) {
    for (const Write& write : writes) parts_.row_vectors->gather(write.tuple, vector_);
    deps.vector = vector_.data();
  }
  static_assert(platform::kMostWorkers <= uint64_t{1} << (64 - kWorkerShift));
  txn_ = uint64_t{context_.id} << kWorkerShift | ++context_.transactions_begun;
  flags_ = deps.reads ? 0 : kWriteOnly;
  record_.start();
  if (traits_.logs) stage(deps, writes);
  reservation_ = reserve_staged(deps);
  LJ_ASSERT_IN_TESTS(Version::is_sequence(reservation_.sequence));
  // This need not hold for commands: their replay takes the number from the log, and checks it.
  LJ_ASSERT_IN_TESTS(traits_.commands ||
                     reservation_.sequence > std::max(deps.max_read, deps.max_overwritten));
  if (parts_.row_vectors != nullptr) {
    for (const Write& write : writes) {
      if (write.changes()) parts_.row_vectors->raise(write.tuple, vector_);
    }
  }
}

CommitPoint CommitLog::finish() {
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  RecordKind kind = RecordKind::kCommand;
  if (!traits_.commands) {
    const bool whole = context_.options.log_records == LogRecords::kTransaction;
    kind = whole ? RecordKind::kTransaction : RecordKind::kCommit;
  }
  fill(reservation_, kind);
  return publish(reservation_, RecordRole::kCommit);
}

CommitPoint CommitLog::commit_read_only(Dependencies deps) {
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  if (parts_.row_vectors != nullptr) deps.vector = vector_.data();
  return log_.commit_read_only(context_.id, deps);
}

// Returns the write in the form that the log stores. The result may point into `ranges_`.
//
// The before image is the tuple's present row. The ranges are the bytes in which the new row
// differs from the present row. The present row is stable: this transaction has locked the tuple
// (under OCC before it validates), and writes the row only after it has staged the record. If the
// private copy was made from another version, the validation fails, and the record becomes void.
//
// A blind write must not depend on the version that it overwrites, because that version may be lost
// (kWriteOnly). So a blind write logs the whole row.
LoggedWrite CommitLog::logged(const Write& write) {
  LJ_ASSERT_IN_TESTS(write.changes());
  LoggedWrite out;
  out.header.table = write.table->id();
  out.header.op = write.op();
  out.header.image = WriteImage::kAfter;
  out.header.image_bytes = write.table->row_bytes();
  out.header.key = write.tuple->key;
  out.after = write.row;
  if (!write.was_present) return out;
  const std::byte* before = write.tuple->row();
  if (context_.options.log_ranges && write.row != nullptr && !write.blind) {
    if (ranges_.size() < out.header.image_bytes) ranges_.resize(out.header.image_bytes);
    const uint32_t bytes = encode_ranges(write.tuple->load_version().sequence(), before, write.row,
                                         out.header.image_bytes, ranges_.data());
    if (bytes != 0) {
      out.header.image = WriteImage::kRanges;
      out.header.image_bytes = bytes;
      out.after = ranges_.data();
      return out;
    }
  }
  if (context_.options.log_records == LogRecords::kOperation) {
    out.header.image = WriteImage::kBeforeAndAfter;
    out.before = before;
  }
  return out;
}

// Encodes the transaction's commit record into `record_`. With --log_records=op, also logs the
// begin record and the operation records.
void CommitLog::stage(const Dependencies& deps, std::span<const Write> writes) {
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  if (traits_.commands) {
    record_.add(command(writes));
  } else if (context_.options.log_records == LogRecords::kTransaction) {
    for (const Write& write : writes) {
      if (write.changes()) record_.add(logged(write));
    }
  } else {
    log_operations(deps, writes);
    record_.start();
  }
}

void CommitLog::log_operations(Dependencies deps, std::span<const Write> writes) {
  deps.commits = false;
  log_staged(deps, RecordKind::kBegin);
  for (const Write& write : writes) {
    if (!write.changes()) continue;
    record_.start();
    record_.add(logged(write));
    log_staged(deps, RecordKind::kOperation);
  }
}

void CommitLog::log_staged(const Dependencies& deps, RecordKind kind) {
  const LogReservation reservation = reserve_staged(deps);
  fill(reservation, kind);
  publish(reservation, RecordRole::kPart);
}

LogReservation CommitLog::reserve_staged(const Dependencies& deps) {
  const uint64_t bytes = record_.bytes();
  if (traits_.logs && bytes > max_record_bytes_) {
    platform::fatal("a log record of " + std::to_string(bytes) + " bytes exceeds the " +
                    std::to_string(max_record_bytes_) +
                    " that the log buffer can take: raise --log_buffer_mb");
  }
  const ActivityScope scope(*context_.breakdown, Activity::kLogContention);
  LJ_ASSERT_IN_TESTS(!reserved_ && bytes % sizeof(uint64_t) == 0);
  reserved_ = true;
  const LogReservation reservation = log_.reserve(context_.id, deps, static_cast<uint32_t>(bytes));
  if (reservation.waited_ticks != 0) {
    context_.breakdown->waited_for_space(reservation.waited_ticks);
  }
  return reservation;
}

void CommitLog::fill(const LogReservation& reservation, RecordKind kind) {
  if (reservation.hole == nullptr) return;
  record_.fill(reservation, kind, txn_, flags_, log_.run());
}

CommitPoint CommitLog::publish(const LogReservation& reservation, RecordRole role) {
  LJ_ASSERT_IN_TESTS(reserved_);
  reserved_ = false;
  if (reservation.hole != nullptr) {
    context_.log_bytes += reservation.bytes;
    ++context_.log_records_written;
  }
  return log_.publish(context_.id, reservation, role);
}

LoggedCommand CommitLog::command(std::span<const Write> writes) const {
  const auto rows = std::ranges::count_if(writes, &Write::changes);
  if (rows > kMostWrites) too_many_writes();
  return {static_cast<uint16_t>(context_.command_type), static_cast<uint16_t>(rows),
          context_.command_input};
}

}  // namespace logjam

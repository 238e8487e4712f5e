#include "cc/commit_log.h"

#include <algorithm>
#include <limits>
#include <string>

#include "logging/format/record.h"
#include "platform/fatal.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkerShift = 48;

LoggedWrite logged(const Write& write, LogRecords granularity) {
  LoggedWrite out;
  out.header.table = write.table->id();
  out.header.op = write.op();
  out.header.image = WriteImage::kAfter;
  out.header.row_bytes = write.table->row_bytes();
  out.header.key = write.tuple->key;
  out.after = write.row;
  // The before image is the row in place. No other transaction may write the row now, and this
  // transaction writes it only after the record is published.
  if (granularity == LogRecords::kOperation && write.was_present) {
    out.header.image = WriteImage::kBeforeAndAfter;
    out.before = write.tuple->row();
  }
  return out;
}

}  // namespace

CommitLog::CommitLog(WorkerContext& context)
    : context_(context),
      log_(*context.log),
      stamps_(log_.read_stamps()),
      max_record_bytes_(log_.max_record_bytes()) {
  const LogTraits& traits = log_.traits();
  logs_ = traits.logs;
  commands_ = traits.commands;
  before_validation_ = traits.sequence_before_validation;
  hole_after_ = traits.hole_after_validation;
}

void CommitLog::before_validation(const Dependencies& deps, std::span<const Write> writes) {
  if (hole_after_) {
    const ActivityScope scope(*context_.breakdown, Activity::kLogContention);
    log_.draw(context_.id, deps);
  } else if (before_validation_) {
    draw(deps, writes);
  }
}

void CommitLog::validated(const Dependencies& deps, std::span<const Write> writes) {
  if (hole_after_ || !before_validation_) draw(deps, writes);
}

void CommitLog::validation_failed() {
  if (!before_validation_) return;
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  if (hole_after_) return log_.abandon(context_.id);
  fill(reservation_, RecordKind::kVoid, {});
  publish(reservation_, false, false);
}

void CommitLog::draw(Dependencies deps, std::span<const Write> writes) {
  if (stamps_reads()) {
    for (const Write& write : writes) {
      deps.max_war = std::max(deps.max_war, stamps_->of(write.tuple));
    }
  }
  txn_ = uint64_t{context_.id} << kWorkerShift | ++context_.transactions_begun;
  flags_ = deps.reads ? 0 : kWriteOnly;
  writes_ = writes;
  uint64_t bytes = sizeof(RecordHeader);
  if (commands_) {
    bytes += encoded_bytes(command());
  } else if (context_.log_records == LogRecords::kTransaction) {
    for (const Write& write : writes_) {
      if (write.changes()) bytes += encoded_bytes(logged(write, context_.log_records).header);
    }
  } else if (logs_) {
    log_operations(deps);
  }
  reservation_ = reserve(deps, bytes);
}

CommitPoint CommitLog::finish() {
  if (context_.observer != nullptr) context_.observer->serialized();
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  if (commands_) {
    fill(reservation_, RecordKind::kCommand, {});
  } else if (context_.log_records == LogRecords::kTransaction) {
    fill(reservation_, RecordKind::kTransaction, writes_);
  } else {
    fill(reservation_, RecordKind::kCommit, {});
  }
  return publish(reservation_, true, true);
}

CommitPoint CommitLog::commit_read_only(const Dependencies& deps) {
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  return log_.commit_read_only(context_.id, deps);
}

void CommitLog::log_operations(Dependencies deps) {
  deps.commits = false;
  const LogReservation begin = reserve(deps, sizeof(RecordHeader));
  {
    const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
    fill(begin, RecordKind::kBegin, {});
    publish(begin, true, false);
  }
  for (const Write& write : writes_) {
    if (!write.changes()) continue;
    const LoggedWrite image = logged(write, LogRecords::kOperation);
    const LogReservation reservation =
        reserve(deps, sizeof(RecordHeader) + encoded_bytes(image.header));
    const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
    fill(reservation, RecordKind::kOperation, {&write, 1});
    publish(reservation, true, false);
  }
}

LogReservation CommitLog::reserve(const Dependencies& deps, uint64_t bytes) {
  if (logs_ && bytes > max_record_bytes_) {
    platform::fatal("a log record of " + std::to_string(bytes) + " bytes exceeds the " +
                    std::to_string(max_record_bytes_) +
                    " that the log buffer can take: raise --log_buffer_mb");
  }
  const ActivityScope scope(*context_.breakdown, Activity::kLogContention);
  return log_.reserve(context_.id, deps, static_cast<uint32_t>(bytes));
}

CommitPoint CommitLog::publish(const LogReservation& reservation, bool ok, bool commits) {
  if (reservation.hole != nullptr) {
    context_.log_bytes += reservation.bytes;
    ++context_.log_records_written;
  }
  return log_.publish(context_.id, reservation, ok, commits);
}

void CommitLog::fill(const LogReservation& reservation, RecordKind kind,
                     std::span<const Write> writes) {
  if (reservation.hole == nullptr) return;
  RecordWriter record(reservation, kind, txn_, flags_);
  for (const Write& write : writes) {
    if (write.changes()) record.add(logged(write, context_.log_records));
  }
  if (kind == RecordKind::kCommand) record.add(command());
  record.seal(context_.run, reservation.position);
}

LoggedCommand CommitLog::command() const {
  const auto rows = std::ranges::count_if(writes_, &Write::changes);
  if (rows > std::numeric_limits<uint16_t>::max()) {
    platform::fatal("a transaction wrote more than 65535 rows, which one log record cannot hold");
  }
  return {static_cast<uint16_t>(context_.command_type), static_cast<uint16_t>(rows),
          context_.command_input};
}

}  // namespace logjam

#include "cc/commit_log.h"

#include <algorithm>
#include <string>

#include "platform/fatal.h"
#include "platform/space_wait.h"

namespace logjam {
namespace {

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
  if (reservation_.hole != nullptr) {
    RecordWriter(reservation_, RecordKind::kVoid, txn_, flags_)
        .seal(context_.options.run, reservation_.position);
  }
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
  record_.start();
  if (logs_) stage(deps, writes);
  reservation_ = reserve(deps);
}

CommitPoint CommitLog::finish() {
  if (context_.observer != nullptr) context_.observer->serialized();
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  RecordKind kind = RecordKind::kCommand;
  if (!commands_) {
    const bool whole = context_.options.log_records == LogRecords::kTransaction;
    kind = whole ? RecordKind::kTransaction : RecordKind::kCommit;
  }
  fill(reservation_, kind);
  return publish(reservation_, true, true);
}

CommitPoint CommitLog::commit_read_only(const Dependencies& deps) {
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  return log_.commit_read_only(context_.id, deps);
}

// Leaves the record that will commit the transaction in record_.
void CommitLog::stage(const Dependencies& deps, std::span<const Write> writes) {
  const ActivityScope scope(*context_.breakdown, Activity::kLogWork);
  if (commands_) {
    record_.add(command(writes));
  } else if (context_.options.log_records == LogRecords::kTransaction) {
    for (const Write& write : writes) {
      if (write.changes()) record_.add(logged(write, LogRecords::kTransaction));
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
    record_.add(logged(write, LogRecords::kOperation));
    log_staged(deps, RecordKind::kOperation);
  }
}

void CommitLog::log_staged(const Dependencies& deps, RecordKind kind) {
  const LogReservation reservation = reserve(deps);
  fill(reservation, kind);
  publish(reservation, true, false);
}

LogReservation CommitLog::reserve(const Dependencies& deps) {
  const uint64_t bytes = record_.bytes();
  if (logs_ && bytes > max_record_bytes_) {
    platform::fatal("a log record of " + std::to_string(bytes) + " bytes exceeds the " +
                    std::to_string(max_record_bytes_) +
                    " that the log buffer can take: raise --log_buffer_mb");
  }
  const ActivityScope scope(*context_.breakdown, Activity::kLogContention);
  const uint64_t waited = platform::ticks_waited_for_space();
  const LogReservation reservation = log_.reserve(context_.id, deps, static_cast<uint32_t>(bytes));
  const uint64_t more = platform::ticks_waited_for_space() - waited;
  if (more != 0) context_.breakdown->waited_for_space(more);
  return reservation;
}

void CommitLog::fill(const LogReservation& reservation, RecordKind kind) {
  if (reservation.hole == nullptr) return;
  record_.fill(reservation, kind, txn_, flags_, context_.options.run);
}

CommitPoint CommitLog::publish(const LogReservation& reservation, bool ok, bool commits) {
  if (reservation.hole != nullptr) {
    context_.log_bytes += reservation.bytes;
    ++context_.log_records_written;
  }
  return log_.publish(context_.id, reservation, ok, commits);
}

LoggedCommand CommitLog::command(std::span<const Write> writes) const {
  const auto rows = std::ranges::count_if(writes, &Write::changes);
  if (rows > kMostWrites) too_many_writes();
  return {static_cast<uint16_t>(context_.command_type), static_cast<uint16_t>(rows),
          context_.command_input};
}

}  // namespace logjam

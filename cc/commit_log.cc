#include "cc/commit_log.h"

#include <algorithm>
#include <limits>
#include <string>

#include "logging/record.h"
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
  // Only its new owner writes the row in place, and not before publishing.
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
  const Traits traits = log_.traits();
  logs_ = traits.logs;
  commands_ = traits.commands;
  before_validation_ = traits.sequence_before_validation;
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
  ticket_ = reserve(deps, bytes);
}

Point CommitLog::finish(bool ok) {
  const Charge charge(*context_.breakdown, Activity::kLogWork);
  if (!ok) {
    fill(ticket_, RecordKind::kVoid, {});
  } else if (commands_) {
    fill(ticket_, RecordKind::kCommand, {});
  } else if (context_.log_records == LogRecords::kTransaction) {
    fill(ticket_, RecordKind::kTransaction, writes_);
  } else {
    fill(ticket_, RecordKind::kCommit, {});
  }
  return publish(ticket_, ok, ok);
}

Point CommitLog::observe(const Dependencies& deps) {
  const Charge charge(*context_.breakdown, Activity::kLogWork);
  return log_.observe(context_.id, deps);
}

void CommitLog::log_operations(Dependencies deps) {
  deps.commits = false;
  const Ticket begin = reserve(deps, sizeof(RecordHeader));
  {
    const Charge charge(*context_.breakdown, Activity::kLogWork);
    fill(begin, RecordKind::kBegin, {});
    publish(begin, true, false);
  }
  for (const Write& write : writes_) {
    if (!write.changes()) continue;
    const LoggedWrite image = logged(write, LogRecords::kOperation);
    const Ticket ticket = reserve(deps, sizeof(RecordHeader) + encoded_bytes(image.header));
    const Charge charge(*context_.breakdown, Activity::kLogWork);
    fill(ticket, RecordKind::kOperation, {&write, 1});
    publish(ticket, true, false);
  }
}

Ticket CommitLog::reserve(const Dependencies& deps, uint64_t bytes) {
  if (logs_ && bytes > max_record_bytes_) {
    platform::fatal("a log record of " + std::to_string(bytes) + " bytes exceeds the " +
                    std::to_string(max_record_bytes_) +
                    " that the log buffer can take: raise --log_buffer_mb");
  }
  const Charge charge(*context_.breakdown, Activity::kLogContention);
  return log_.reserve(context_.id, deps, static_cast<uint32_t>(bytes));
}

Point CommitLog::publish(const Ticket& ticket, bool ok, bool commits) {
  if (ticket.hole != nullptr) {
    context_.log_bytes += ticket.bytes;
    ++context_.log_records_written;
  }
  return log_.publish(context_.id, ticket, ok, commits);
}

void CommitLog::fill(const Ticket& ticket, RecordKind kind, std::span<const Write> writes) {
  if (ticket.hole == nullptr) return;
  RecordWriter record(ticket.hole, ticket.bytes, kind, ticket.sequence, txn_, flags_);
  for (const Write& write : writes) {
    if (write.changes()) record.add(logged(write, context_.log_records));
  }
  if (kind == RecordKind::kCommand) record.add(command());
  record.seal(context_.run, ticket.position);
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

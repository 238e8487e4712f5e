#include "engine/recovery/transaction_assembler.h"

#include <cstring>

#include "platform/assert.h"

namespace logjam {

bool TransactionAssembler::survives(const RecordBatch& batch, size_t i, const Cut& cut) const {
  const RecordHeader& record = *batch.records[i];
  return batch.positions[i] + record.bytes <= cut.bytes[stream_] && rule_.survives(record, cut);
}

BodiesToApply TransactionAssembler::take(const RecordBatch& batch, const Cut& cut) {
  BodiesToApply ready;
  ready.memory.push_back(batch.memory);
  for (size_t i = 0; i < batch.records.size(); ++i) take(batch, i, cut, &ready);
  leave(batch);
  return ready;
}

void TransactionAssembler::take(const RecordBatch& batch, size_t i, const Cut& cut,
                                BodiesToApply* ready) {
  LJ_ASSERT(i == taken_ && i < batch.records.size());
  ++taken_;
  const RecordHeader& record = *batch.records[i];
  if (!survives(batch, i, cut)) {
    ++counts_.beyond_cut;
    return;
  }
  ++counts_.records;
  counts_.bytes += record.bytes;
  take(record, batch.memory, ready);
}

void TransactionAssembler::leave(const RecordBatch& batch) {
  LJ_ASSERT(taken_ == batch.records.size());
  taken_ = 0;
  for (auto& [txn, operations] : open_) {
    size_t first = operations.size();  // the operations at the end are in the batch
    uint64_t bytes = 0;
    while (first > 0 && operations[first - 1].memory == batch.memory) {
      bytes += operations[--first].record->bytes;
    }
    if (bytes == 0) continue;
    const LogMemory copy = allocate_log_memory(meter_, bytes);
    for (std::byte* to = copy->data(); first < operations.size(); ++first) {
      const RecordHeader* record = operations[first].record;
      std::memcpy(to, record, record->bytes);
      operations[first] = {copy, reinterpret_cast<const RecordHeader*>(to)};
      to += record->bytes;
    }
  }
}

void TransactionAssembler::take(const RecordHeader& record, const LogMemory& memory,
                                BodiesToApply* ready) {
  switch (record.kind) {
    case RecordKind::kWatermark:
    case RecordKind::kPadding:
      break;
    case RecordKind::kVoid:
      open_.erase(record.txn);
      break;
    case RecordKind::kCommand:  // not writes: the applier will report the body as malformed
    case RecordKind::kTransaction:
      ++counts_.transactions;
      ready->bodies.push_back({record.sequence, &record});
      break;
    case RecordKind::kBegin:
      open_[record.txn].clear();
      break;
    case RecordKind::kOperation:
      open_[record.txn].push_back({memory, &record});
      break;
    case RecordKind::kCommit: {
      ++counts_.transactions;
      const auto found = open_.find(record.txn);
      if (found == open_.end()) break;
      for (const Operation& operation : found->second) {
        if (operation.memory != memory &&
            (ready->memory.empty() || operation.memory != ready->memory.back())) {
          ready->memory.push_back(operation.memory);
        }
        ready->bodies.push_back({record.sequence, operation.record});
      }
      open_.erase(found);
      break;
    }
  }
}

}  // namespace logjam

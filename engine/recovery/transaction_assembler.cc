#include "engine/recovery/transaction_assembler.h"

namespace logjam {

bool TransactionAssembler::survives(const RecordBatch& batch, size_t i, const Cut& cut) const {
  const RecordHeader& record = *batch.records[i];
  return batch.positions[i] + record.bytes <= cut.bytes[stream_] && rule_.survives(record, cut);
}

BodiesToApply TransactionAssembler::take(const RecordBatch& batch, const Cut& cut) {
  BodiesToApply ready;
  ready.memory.push_back(batch.memory);
  for (size_t i = 0; i < batch.records.size(); ++i) {
    const RecordHeader& record = *batch.records[i];
    if (!survives(batch, i, cut)) {
      ++counts_.beyond_cut;
      continue;
    }
    ++counts_.records;
    counts_.bytes += record.bytes;
    take(record, batch.memory, &ready);
  }
  return ready;
}

void TransactionAssembler::take(const RecordHeader& record, const Memory& memory,
                                BodiesToApply* ready) {
  switch (record.kind) {
    case RecordKind::kVoid:
    case RecordKind::kWatermark:
    case RecordKind::kPadding:
      break;
    case RecordKind::kCommand:  // not values: the applier will find that its body is malformed
    case RecordKind::kTransaction:
      ++counts_.transactions;
      ready->bodies.push_back({record.sequence, &record});
      break;
    case RecordKind::kBegin:
      open_[record.txn].clear();
      break;
    case RecordKind::kOperation:
      open_[record.txn].emplace_back(memory, &record);
      break;
    case RecordKind::kCommit: {
      ++counts_.transactions;
      const auto found = open_.find(record.txn);
      if (found == open_.end()) break;
      for (const auto& [from, operation] : found->second) {
        if (from != ready->memory.back()) ready->memory.push_back(from);
        ready->bodies.push_back({record.sequence, operation});
      }
      open_.erase(found);
      break;
    }
  }
}

}  // namespace logjam

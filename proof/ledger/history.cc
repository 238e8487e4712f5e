#include "proof/ledger/history.h"

#include <algorithm>
#include <utility>

namespace logjam::ledger {
namespace {

struct AttemptHeader {
  Mismatch mismatch;
  uint16_t reads, writes;
  Key mismatch_key;
};
static_assert(sizeof(AttemptHeader) == 16);

size_t payload_bytes(size_t accesses) { return sizeof(AttemptHeader) + accesses * sizeof(Access); }

AttemptHeader& header_at(std::byte* payload) { return *reinterpret_cast<AttemptHeader*>(payload); }

}  // namespace

std::string KeySpace::name(Key key) const {
  return is_cell(key) ? "cell " + std::to_string(key - ledger)
                      : "ledger key " + std::to_string(key);
}

const char* describe(Mismatch mismatch) {
  static constexpr const char* kWords[] = {
      "nothing wrong",
      "a row that is half one write and half another",
      "no row, though none is ever erased",
      "no entry where its row says there is one (phantom)",
      "an entry where its row says there is none (phantom)",
      "an entry by another transaction than its row says (phantom)",
      "two entries of one key at once (phantom)",
  };
  const auto index = static_cast<size_t>(mismatch);
  return index < std::size(kWords) ? kWords[index] : "an unknown mismatch";
}

HistoryFileParameters history_parameters(const KeySpace& keys, const HistoryOrigin& origin) {
  return {kHistoryOf,
          0,
          {keys.ledger, keys.cells, keys.slots},
          origin.unsafe,
          origin.ordinal,
          origin.after,
          origin.log,
          origin.serializable};
}

void intend(HistoryArea& area, const Attempt& attempt) {
  LJ_ASSERT(!full_for_accesses(area, attempt.reads.size() + attempt.writes.size()));
  LJ_ASSERT(attempt.reads.size() <= UINT16_MAX && attempt.writes.size() <= UINT16_MAX);
  AttemptHeader& header = header_at(area.next_payload());
  header = {attempt.mismatch, static_cast<uint16_t>(attempt.reads.size()),
            static_cast<uint16_t>(attempt.writes.size()), attempt.mismatch_key};
  auto* accesses = reinterpret_cast<Access*>(&header + 1);
  accesses = std::copy(attempt.reads.begin(), attempt.reads.end(), accesses);
  std::copy(attempt.writes.begin(), attempt.writes.end(), accesses);
  area.intend(attempt.id, payload_bytes(attempt.reads.size() + attempt.writes.size()));
}

void found_overwritten(HistoryArea& area, size_t index, TransactionId writer) {
  AttemptHeader& header = header_at(area.intended_payload());
  LJ_ASSERT(index < header.writes);
  reinterpret_cast<Access*>(&header + 1)[header.reads + index].writer = writer;
}

bool full_for_accesses(const HistoryArea& area, size_t accesses) {
  return area.full_for(payload_bytes(accesses));
}

uint32_t History::find(TransactionId id) const {
  const auto found = std::ranges::lower_bound(transactions, id, {}, &RecordedTransaction::id);
  if (found == transactions.end() || found->id != id) return kNone;
  return static_cast<uint32_t>(found - transactions.begin());
}

std::string History::name(const RecordedTransaction& transaction) const {
  return show(transaction.id) + name_of_life(lives.size(), transaction.life);
}

History open_history(const std::string& path) {
  HistoryFiles read = open_history_files(path);
  History history;
  history.error = read.error;
  if (history.error.empty() && read.parameters().workload != kHistoryOf) {
    history.error =
        unusable_history(path, "it is of the workload \"" + read.parameters().workload + "\"");
  }
  if (!history.error.empty()) return history;
  const auto& [ledger, cells, slots] = read.parameters().keys;
  history.keys = {ledger, cells, slots};
  history.unsafe = read.unsafe();
  history.serializable = std::ranges::all_of(
      read.files, [](const HistoryFile& life) { return life.parameters.serializable; });
  for (const HistoryEntry& entry : read.entries) {
    const auto& header = *reinterpret_cast<const AttemptHeader*>(entry.payload.data());
    if (entry.payload.size() < sizeof header ||
        entry.payload.size() != payload_bytes(size_t{header.reads} + header.writes)) {
      history.error =
          unusable_history(path, "its entry " + show(entry.id) + " is of another length");
      history.transactions.clear();
      return history;
    }
    const auto* accesses = reinterpret_cast<const Access*>(&header + 1);
    const bool promised = entry.acknowledged && !read.files[entry.life].proves_nothing();
    history.transactions.push_back({entry.id,
                                    entry.life,
                                    entry.acknowledged,
                                    promised,
                                    header.mismatch,
                                    header.mismatch_key,
                                    {accesses, header.reads},
                                    {accesses + header.reads, header.writes}});
  }
  history.lives = std::move(read.files);
  return history;
}

}  // namespace logjam::ledger

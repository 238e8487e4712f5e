#include "proof/ledger/resume_state.h"

#include "workloads/parallel_sum.h"

namespace logjam::ledger {
namespace {

struct Writers {
  ResumeState of;
  void add(const Writers& later) {
    for (uint32_t worker = 0; worker < later.of.attempts.size(); ++worker) {
      of.raise(worker, later.of.attempts[worker]);
    }
  }
};

// Calls note(key, row, &writers) for each row, on all cores, and raises `*resume_state` to the
// result.
template <class Row, class Note>
void read(Table& table, ResumeState* resume_state, const Note& note) {
  Writers found = sum_of_parts(Writers{}, [&](uint32_t part, uint32_t parts, Writers* writers) {
    table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
      note(key, *reinterpret_cast<const Row*>(row), &writers->of);
    });
  });
  Writers all{std::move(*resume_state)};
  all.add(found);
  *resume_state = std::move(all.of);
}

}  // namespace

ResumeState read_resume_state(Database& database, CellOrder* order) {
  ResumeState resume_state;
  Table& ledger = database.table("ledger");
  std::vector<uint32_t> generations(ledger.schema().expected_rows);
  read<LedgerRow>(ledger, &resume_state, [&](Key key, const LedgerRow& row, ResumeState* writers) {
    for (const TransactionId id : {row.writer, row.overwritten, row.toggler}) writers->raise(id);
    if (key < generations.size()) generations[key] = row.generation;
  });
  resume_state.generations = std::move(generations);
  const auto note_entry = [](Key, const EntryRow& row, ResumeState* writers) {
    writers->raise(row.writer);
  };
  read<EntryRow>(database.table("entries"), &resume_state, note_entry);
  read<EntryRow>(database.table("slots"), &resume_state, note_entry);
  read<CellRow>(database.table("cells"), &resume_state,
                [&](Key cell, const CellRow& row, ResumeState* writers) {
                  writers->raise(row.writer);
                  order->resume(cell, row.writer, row.present != 0);
                });
  return resume_state;
}

}  // namespace logjam::ledger

// The explorer's watch for data races.
#include <algorithm>

#include "sim/explore/explorer.h"

namespace logjam::sim {

bool Explorer::is_on_a_stack(const void* at) const {
  return std::ranges::any_of(threads_, [at](const auto& thread) {
    return thread->fiber->stack_begin <= at && at < thread->fiber->stack_end;
  });
}

void Explorer::watch(const void* site, const void* at, size_t bytes, DataRaces::Kind kind) {
  if (line_of(at) == kNoLine || is_on_a_stack(at)) return;
  const Unexplored free;
  const auto race = races_->access(current_->id, site, at, bytes, kind);
  if (race) fail(race_in_words(*race));
}

void Explorer::done(const void* site, const void* at, size_t bytes, Operation operation,
                    int order) {
  if (exploring != nullptr)
    watch(site, at, bytes,
          operation == Operation::kLoad ? DataRaces::Kind::kAtomicLoad
                                        : DataRaces::Kind::kAtomicStore);
  const Unexplored free;
  switch (operation) {
    case Operation::kLoad:
      return races_->loaded(current_->id, site, at, order);
    case Operation::kStore:
      return races_->stored(current_->id, site, at, order);
    case Operation::kModify:
      return races_->modified(current_->id, site, at, order);
  }
}

}  // namespace logjam::sim

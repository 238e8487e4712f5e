// The steps that a disk in memory notes, and the states in which a crash may leave it.
#include <glog/logging.h>

#include <memory>
#include <utility>

#include "proof/disk/memory_files.h"

namespace logjam {

FileStep& MemoryFiles::add_step(FileStep::Kind kind, std::string what) {
  FileStep& step = steps_.emplace_back();
  step.kind = kind;
  step.what = std::move(what);
  return step;
}

void MemoryFiles::change_names(std::vector<FileStep::Name> names, bool makes_directory,
                               std::string what) {
  FileStep& step = add_step(FileStep::Kind::kNames, std::move(what));
  step.names = std::move(names);
  step.makes_directory = makes_directory;
}

void MemoryFiles::mark(uint64_t number) {
  const std::lock_guard guard(mutex_);
  add_step(FileStep::Kind::kMark, "mark " + std::to_string(number)).number = number;
}

std::string MemoryFiles::step(size_t index) const {
  const std::lock_guard guard(mutex_);
  return steps_.at(index).what;
}

std::vector<CrashState> MemoryFiles::states_after(size_t step, size_t most, uint64_t seed) const {
  const std::lock_guard guard(mutex_);
  CHECK_LE(step, steps_.size());
  if (disk_ == nullptr || disk_->steps() > step) disk_ = std::make_unique<CrashDisk>(content_);
  while (disk_->steps() < step) disk_->take(steps_[disk_->steps()]);
  return disk_->states(most, seed);
}

}  // namespace logjam

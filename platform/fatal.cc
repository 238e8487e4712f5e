#include "platform/fatal.h"

#include <glog/logging.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace logjam::platform {
namespace {

std::function<void()>& undo_of_refusal() {
  static std::function<void()> undo;
  return undo;
}

}  // namespace

void fatal(const std::string& sentence, int exit_code) {
  std::fflush(stdout);
  google::FlushLogFiles(google::INFO);  // when glog was told to write files, its lines wait there
  std::fprintf(stderr, "logjam: %s\n", sentence.c_str());
  std::_Exit(exit_code);
}

void refuse(const std::string& sentence) {
  if (const auto undo = std::exchange(undo_of_refusal(), nullptr)) undo();
  fatal(sentence, kExitBadInput);
}

RefusalUndo::RefusalUndo(std::function<void()> undo) { undo_of_refusal() = std::move(undo); }

void RefusalUndo::forget() { undo_of_refusal() = nullptr; }

}  // namespace logjam::platform

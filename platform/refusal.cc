#include <utility>
#include <vector>

#include "platform/fatal.h"

namespace logjam::platform {
namespace {

struct Undo {
  const RefusalUndo* owner;
  std::function<void()> undo;
};

std::vector<Undo>& undos_of_refusal() {
  static std::vector<Undo> undos;
  return undos;
}

}  // namespace

void refuse(const std::string& sentence) {
  for (auto& undos = undos_of_refusal(); !undos.empty();) {
    const auto undo = std::move(undos.back().undo);
    undos.pop_back();
    undo();
  }
  fatal(sentence, kExitBadInput);
}

RefusalUndo::RefusalUndo(std::function<void()> undo) {
  undos_of_refusal().push_back({this, std::move(undo)});
}

void RefusalUndo::forget() {
  std::erase_if(undos_of_refusal(), [this](const Undo& undo) { return undo.owner == this; });
}

}  // namespace logjam::platform

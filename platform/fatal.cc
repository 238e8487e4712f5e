#include "platform/fatal.h"

#include <glog/logging.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

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

// Returns the text with codes in place of control characters: a user may have given them, and a
// terminal would obey them.
std::string without_control_characters(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
    shown +=
        std::iscntrl(static_cast<unsigned char>(c)) != 0 ? std::string(hex) : std::string(1, c);
  }
  return shown;
}

}  // namespace

void fatal(const std::string& sentence, int exit_code) {
  std::fflush(stdout);
  google::FlushLogFiles(google::INFO);  // when glog was told to write files, its lines wait there
  std::fprintf(stderr, "logjam: %s\n", without_control_characters(sentence).c_str());
  std::_Exit(exit_code);
}

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

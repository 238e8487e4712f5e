#include "cli/schedule_file.h"

#include <sstream>
#include <utility>

#include "cli/output_claim.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/output_file.h"

namespace logjam {

namespace {

// Reads a file whole, of which no command makes one that is longer. Refuses what is no file.
std::istringstream read_or_refuse(const std::string& what, const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  std::string text;
  if (const int error = platform::read_file(path, &text, kMostBytes); error != 0) {
    platform::refuse(what + " " + path + " cannot be read: " + platform::error_text(error));
  }
  return std::istringstream(std::move(text));
}

}  // namespace

void read_schedule(const std::string& path, platform::Schedule* schedule) {
  schedule->recorded = true;
  std::istringstream file = read_or_refuse("the schedule", path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "turn") {
      platform::Turn turn;
      words >> turn.thread >> turn.steps >> turn.waits >> turn.next >> turn.late >> turn.timers;
      schedule->turns.push_back(turn);
    } else if (kind == "crash") {
      platform::CrashPoint crash;
      words >> crash.thread >> crash.steps >> crash.in_a_file_call >> crash.before_step >>
          crash.number;
      schedule->crash = crash;
    } else {
      words.setstate(std::ios::failbit);
    }
    if (!words) platform::refuse("the schedule " + path + " has the line \"" + line + "\"");
  }
}

std::vector<uint64_t> read_addresses(const std::string& path) {
  std::istringstream file = read_or_refuse("the file", path);
  std::vector<uint64_t> addresses;
  for (uint64_t address = 0; file >> std::hex >> address;) addresses.push_back(address);
  if (!file.eof() || addresses.empty()) {
    platform::refuse("the file " + path + " has no addresses of atomic operations");
  }
  return addresses;
}

void claim_schedule(const std::string& path) {
  claim_replaced("record", path, "a schedule", {"turn ", "crash "});
}

void write_schedule(const std::string& path, const platform::Explored& explored) {
  std::ostringstream text;
  for (const platform::Turn& turn : explored.turns) {
    text << "turn " << turn.thread << ' ' << turn.steps << ' ' << turn.waits << ' ' << turn.next
         << ' ' << turn.late << ' ' << turn.timers << '\n';
  }
  if (explored.judged != 0) {
    const platform::CrashPoint& crash = explored.crash;
    text << "crash " << crash.thread << ' ' << crash.steps << ' ' << crash.in_a_file_call << ' '
         << crash.before_step << ' ' << crash.number << '\n';
  }
  platform::OutputFile(path).write(text.str());
}

}  // namespace logjam

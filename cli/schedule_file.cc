#include "cli/schedule_file.h"

#include <fstream>
#include <sstream>

#include "cli/output_claim.h"
#include "platform/fatal.h"
#include "platform/output_file.h"

namespace logjam {

void read_schedule(const std::string& path, platform::Schedule* schedule) {
  schedule->recorded = true;
  std::ifstream file(path);
  if (!file) platform::refuse("the schedule " + path + " cannot be read");
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
  std::ifstream file(path);
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

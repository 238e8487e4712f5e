#include "cli/choices.h"

#include <gflags/gflags.h>

#include <sstream>

#include "logging/flag_checks.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"

DEFINE_string(workload, "ycsb", "what the clients do (`logjam list workloads`)");
DEFINE_string(cc, "occ", "concurrency control (`logjam list protocols`)");
DEFINE_string(log, "centr", "how the log is written (`logjam list schemes`)");
DEFINE_uint32(threads, 2,
              "workers, or threads of a recovery; a log of commands is replayed by all of them if "
              "--cc is optimistic, else by one");
DEFINE_string(
    wal_dir, "",
    "directories for the log, separated by commas, each on its own device; a scheme with one "
    "stream stripes it over them, other schemes divide their streams among them");
DEFINE_string(
    commit, "pipelined",
    "when to acknowledge: sync, pipelined or async; sync: the worker waits for each "
    "commit; pipelined: it continues, and acknowledges when the commit is durable; async: "
    "it acknowledges at once (UNSAFE)");

namespace logjam {
namespace {

using platform::refuse;

// Returns the end of a sentence that says that `given` is none of `infos`.
template <class Infos>
std::string instead_of(std::string_view given, const Infos& infos) {
  std::vector<std::string_view> names;
  for (const auto& info : infos) names.push_back(info.name);
  return platform::instead_of(given, names);
}

}  // namespace

const WorkloadInfo& workload_named(const std::string& name) {
  if (const WorkloadInfo* info = find_workload(name)) return *info;
  refuse("--workload=" + name + " is not a workload" + instead_of(name, all_workloads()));
}

const ProtocolInfo& protocol_named() {
  if (const ProtocolInfo* info = find_protocol(FLAGS_cc)) return *info;
  refuse("--cc=" + FLAGS_cc + " is not a protocol" + instead_of(FLAGS_cc, all_protocols()));
}

const SchemeInfo& scheme_named(const std::string& name) {
  if (const SchemeInfo* info = find_scheme(name)) return *info;
  refuse("--log=" + name + " is not a scheme" + instead_of(name, all_schemes()));
}

CommitPolicy commit_policy() {
  if (FLAGS_commit == "sync") return CommitPolicy::kSync;
  if (FLAGS_commit == "pipelined") return CommitPolicy::kPipelined;
  if (FLAGS_commit == "async") return CommitPolicy::kAsync;
  refuse("--commit=" + FLAGS_commit + " is not a policy" +
         platform::instead_of(FLAGS_commit, {"sync", "pipelined", "async"}));
}

void refuse_thread_count() {
  constexpr uint32_t kMaxWorkers = 1024;  // a worker's number is 16 bits of a transaction's id
  refuse_if(check_range("threads", FLAGS_threads, 1, kMaxWorkers));
}

std::vector<std::string> given_directories() {
  std::vector<std::string> directories;
  std::istringstream in(FLAGS_wal_dir);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) directories.push_back(part);
  }
  return directories;
}

std::vector<std::string> wal_directories() {
  auto directories = given_directories();
  if (directories.empty()) refuse("which log? name its directory with --wal_dir=DIR[,DIR...]");
  return directories;
}

void refuse_if(const std::string& why) {
  if (!why.empty()) refuse(why);
}

}  // namespace logjam

#include <gflags/gflags.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/flags.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/nearest_name.h"

namespace logjam {
namespace {

constexpr int kMostFlagFiles = 16;  // open at once: a flag file may include others, even itself

// Checks one command line and the flag files that it names.
class FlagCheck {
 public:
  explicit FlagCheck(Commands command) : command_(command) {}

  void arguments(const std::vector<std::string>& given);

 private:
  [[noreturn]] void refuse(const std::string& why) const { platform::refuse(place_ + why); }
  [[noreturn]] void refuse_name(const std::string& name, const std::string& value) const;

  // Checks `text`, "name=value" or "name". Returns the flag if its value is the next argument.
  std::optional<gflags::CommandLineFlagInfo> flag(const std::string& text);
  void value(const gflags::CommandLineFlagInfo& flag, const std::string& value);
  void file(const std::string& path);
  void line(const std::string& text);

  // Returns the names of the command's flags and of flags_of_libraries().
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;

  const Commands command_;
  std::string place_;  // "FILE:LINE: " while a line of a flag file is checked
  int depth_ = 0;      // the number of open flag files
};

std::vector<std::string> FlagCheck::names() const {
  std::vector<std::string> names{"help", "version"};
  for (std::string_view name : flags_of_libraries()) names.emplace_back(name);
  for (const auto& flag : own_flags()) {
    if ((commands_of(flag) & command_) != 0) names.push_back(flag.name);
  }
  return names;
}

bool FlagCheck::has(std::string_view name) const {
  const auto all = names();
  return std::ranges::find(all, name) != all.end();
}

// Returns the flag `meant` with `value`, which replaces N if `meant` is like "range=count:N".
std::string with_value(std::string_view meant, const std::string& value) {
  std::string text = "--" + std::string(meant);
  if (value.empty()) return text;
  return meant.ends_with(":N") ? text.substr(0, text.size() - 1) + value : text + "=" + value;
}

void FlagCheck::refuse_name(const std::string& name, const std::string& value) const {
  const std::string none = "there is no flag " + std::string(name.size() == 1 ? "-" : "--") + name;
  const std::string help = "`logjam " +
                           (command_ == kAllCommands ? "COMMAND" : names_of(command_)) +
                           " --help=all` lists them";
  constexpr std::string_view kOfSimulation[] = {"machine", "cores", "set", "sim_seed", "report"};
  if (std::ranges::find(kOfSimulation, name) != std::end(kOfSimulation)) {
    refuse("--" + name + " is a flag of build-sim/logjam, which `make sim` builds");
  }
  for (std::string_view meant : meant_by(name)) {
    if (!has(meant.substr(0, meant.find('=')))) continue;
    refuse(none + " (did you mean " + with_value(meant, value) + "?); " + help);
  }
  const auto all = names();
  const std::string_view nearest = platform::nearest_name(name, {all.begin(), all.end()});
  refuse(none + (nearest.empty() ? "" : " (did you mean --" + std::string(nearest) + "?)") + "; " +
         help);
}

std::string words_for(const std::string& type) {
  if (type == "bool") return "true or false";
  if (type == "double") return "a number";
  if (type == "uint32") return "a whole number from 0 to 4294967295";
  if (type == "uint64") return "a whole number from 0 to 18446744073709551615";
  if (type == "int32") return "a whole number from -2147483648 to 2147483647";
  return "a whole number";
}

// Returns a clause that asks for a number without a unit, or "" if `value` has no unit.
std::string about_unit(const gflags::CommandLineFlagInfo& flag, const std::string& value) {
  const size_t end = value.find_first_not_of("0123456789.");
  if (flag.type == "bool" || end == 0 || end == value.npos || std::isalpha(value[end]) == 0) {
    return "";
  }
  return "; it takes one without a unit: " + flag.description.substr(0, flag.description.find(';'));
}

void FlagCheck::value(const gflags::CommandLineFlagInfo& flag, const std::string& value) {
  if (flag.name == "flagfile") {
    std::istringstream paths(value);  // gflags accepts a list of paths
    for (std::string path; std::getline(paths, path, ',');) file(path);
    return;
  }
  if (flag.type == "string") return;
  // gflags decides whether it accepts the value: set the flag, and let FlagSaver restore it.
  const gflags::FlagSaver saver;
  if (gflags::SetCommandLineOption(flag.name.c_str(), value.c_str()).empty()) {
    refuse("--" + flag.name + "=" + value + " is not " + words_for(flag.type) +
           about_unit(flag, value));
  }
}

std::optional<gflags::CommandLineFlagInfo> FlagCheck::flag(const std::string& text) {
  const size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  const std::string given = equals == text.npos ? "" : text.substr(equals + 1);
  std::ranges::replace(name, '-', '_');
  gflags::CommandLineFlagInfo flag;
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), &flag)) {
    const bool negated = name.starts_with("no") &&
                         gflags::GetCommandLineFlagInfo(name.c_str() + 2, &flag) &&
                         flag.type == "bool";
    if (!negated) refuse_name(name, given);
    return {};
  }
  if (equals != text.npos) {
    value(flag, given);
    return {};
  }
  return flag.type == "bool" ? std::nullopt : std::optional(flag);
}

// Returns a flag's text after its one or two hyphens, or an empty text.
std::string without_hyphens(const std::string& text) {
  const size_t begin = text.starts_with("--") ? 2 : text.starts_with('-') ? 1 : text.size();
  return begin < text.size() && text[begin] != '-' ? text.substr(begin) : "";
}

// Checks a line of a flag file. Refuses lines after which gflags would ignore flags: a zero byte,
// and a line that is no flag, which gflags takes for a list of the programs that the flags concern.
void FlagCheck::line(const std::string& text) {
  if (text.ends_with('\r')) {
    refuse("the line ends in CR and LF, as Windows ends lines; a flag file's end in LF alone");
  }
  if (std::ranges::any_of(text, [](char c) { return std::iscntrl(c) != 0 && c != '\t'; })) {
    refuse("the line has a control character");
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    refuse("the file begins with a byte order mark, which an editor has put there");
  }
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos || text[begin] == '#') return;
  const std::string flag_text = without_hyphens(text.substr(begin));
  if (flag_text.empty()) {
    const std::string name = text.substr(begin, text.find_first_of(" \t=", begin) - begin);
    refuse("\"" + text.substr(begin) + "\" is no flag" +
           (has(name) ? " (did you mean --" + text.substr(begin) + "?)" : "") +
           "; a line is a flag, empty, or a comment that begins with #");
  }
  const std::string name = flag_text.substr(0, flag_text.find_first_of(" \t="));
  const size_t after = flag_text.find_first_not_of(" \t", name.size());
  if (has(name) && after != flag_text.npos && after > name.size()) {
    refuse("between --" + name + " and its value stands = and no space");
  }
  if (const auto without = flag(flag_text)) refuse("--" + without->name + " needs a value");
}

void FlagCheck::file(const std::string& path) {
  const std::string flag = "--flagfile=" + path;
  if (depth_ == kMostFlagFiles) refuse(flag + " is nested too deeply");
  std::string text_of_file;
  const int error = platform::read_file(path, &text_of_file);
  if (error == EBADFD || error == EISDIR) {
    refuse(flag + " is not a regular file; it is read twice, to check it and to use it");
  }
  if (error != 0) refuse("cannot read " + flag + ": " + platform::error_text(error));
  std::istringstream in(text_of_file);
  const std::string outer = place_;
  ++depth_;
  size_t number = 0;
  for (std::string text; std::getline(in, text);) {
    place_ = path + ":" + std::to_string(++number) + ": ";
    line(text);
  }
  --depth_;
  LJ_ASSERT(depth_ >= 0);
  place_ = outer;
}

void FlagCheck::arguments(const std::vector<std::string>& given) {
  LJ_ASSERT(place_.empty() && depth_ == 0);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == "--") return;
    if (given[i].size() < 2 || given[i][0] != '-') continue;
    const std::string text = without_hyphens(given[i]);
    if (text.empty()) refuse("\"" + given[i] + "\" is no flag; flags begin with --");
    if (const auto with_value = flag(text)) {
      if (i + 1 == given.size()) refuse("--" + with_value->name + " needs a value");
      value(*with_value, given[++i]);
    }
  }
}

// The words by which DBx1000, CCBench, BenchBase, YCSB, sysbench, HammerDB, pgbench and fio name
// settings. A word may stand for several flags; only flags of the given command are proposed.
constexpr FieldWords kWords[] = {
    {"log",
     " scheme log_scheme logging logger log_type log_algorithm log_alg wal wal_scheme algorithm "
     "method log_method "},
    {"cc",
     " protocol cc_alg cc_protocol concurrency concurrency_control isolation isolation_level "
     "alg "},
    {"commit",
     " durability sync_commit synchronous_commit flush_log_at_trx_commit commit_policy ack_mode "
     "commit_mode async "},
    {"threads",
     " t c j num_threads thread_num thread_cnt threadcount thread_count nthreads n_threads "
     "threads_n "
     "workers worker num_workers worker_threads clients connections terminals concurrent jobs "
     "numjobs vu num_vu vus vusers "},
    {"seconds",
     " duration time runtime run_time extime exectime exec_time execution_time maxexecutiontime "
     "max_time measure measure_time secs sec period "},
    {"warmup", " warmup_time warmup_seconds warm_up warmup_secs ramp_time ramp rampup ramp_up "},
    {"transactions",
     " events max_events operationcount operations ops txns txn num_txns max_txns txn_cnt "
     "max_txn_per_part total_iterations iterations requests inserts_n number n count "},
    {"rate", " target rate_iops target_rate arrival_rate tps load offered qps "},
    {"workload", " bench benchmark w b test_type profile "},
    {"range=count:N", " count limit head records transactions txns n number max "},
    {"range=from:N", " from skip offset start "},
    {"range=run:N", " run run_ordinal ordinal "},
    {"ycsb_theta",
     " zipf skew theta zipf_theta zipf_skew zipfian_theta zipfian zipfian_constant alpha zeta "},
    {"ycsb_ratios=read:N",
     " rratio read_ratio readproportion read_proportion read_perc read_pct read_percent "},
    {"ycsb_ratios=insert:N", " insertproportion insert_ratio "},
    {"ycsb_ratios=scan:N", " scanproportion scan_ratio scan_perc "},
    {"ycsb_records",
     " recordcount record_count records rows num_rows tuple_num tuples synth_table_size keys "
     "num_keys "},
    {"ycsb_ops", " max_ope req_per_query ops_per_txn operations_per_transaction "},
    {"ycsb_value_bytes",
     " fieldlength value_size val_size payload record_size row_size tuple_size "},
    {"ycsb_distribution", " requestdistribution distribution "},
    {"ycsb_workload", " mix "},
    {"tpcc_warehouses",
     " warehouses warehouse wh num_wh numwarehouses num_warehouses warehouse_count count_ware "
     "pg_count_ware mysql_count_ware scalefactor scale_factor scale sf s "},
    {"tpcc_mix", " weights txn_mix "},
    {"oltp_rows", " table_size oltp_table_size "},
    {"oltp_tables", " tables "},
    {"oltp_distribution", " rand_type "},
    {"tpcb_branches", " branches "},
    {"tatp_subscribers", " subscribers "},
    {"smallbank_accounts", " accounts num_accounts customers "},
    {"silo_epoch_ms", " epoch_time epoch epoch_us epoch_length "},
    {"wal_dir",
     " dir directory d filename file log_directory log_path wal_path path data_dir datadir "
     "results_dir "},
    {"device", " ioengine direct disk storage backend "},
    {"io_depth", " iodepth queue_depth qd "},
    {"io_bytes", " bs blocksize block_size io_size "},
    {"flush=txns:N", " group_commit_txns batch batch_size group_size "},
    {"flush=us:N", " group_commit_us group_commit_delay commit_delay flush_interval group_commit "},
    {"log_buffer_mb", " buffer buffer_mb buffer_size log_buffer log_buffer_size wal_buffers "},
    {"log_prealloc_mb", " prealloc preallocate log_size log_file_size "},
    {"placement", " affinity pinning numa cpus cpu_list cpus_allowed bind "},
    {"overwrite", " force clobber "},
    {"continue", " resume append "},
    {"verify", " check validate "},
    {"timeline", " report_interval interval progress status_interval "},
    {"cdf", " histogram percentiles latency_file "},
    {"csv", " output out o output_file result results "},
    {"json", " output_format format "},
    {"help", " h usage "},
    {"v", " verbose debug "},
};
static_assert(std::ranges::all_of(kWords, [](const FieldWords& each) {
  return each.words.starts_with(' ') && each.words.ends_with(' ');
}));

}  // namespace

void refuse_bad_flags(const std::vector<std::string>& arguments) {
  Commands command = kAllCommands;
  for (const std::string& argument : arguments) {
    if (command == kAllCommands && command_named(argument) != 0) command = command_named(argument);
  }
  FlagCheck(command).arguments(arguments);
}

std::span<const FieldWords> field_words() { return kWords; }

std::vector<std::string_view> meant_by(std::string_view name) {
  LJ_ASSERT(name.find('-') == name.npos);
  std::string word = " ";
  for (const char letter : name) word += static_cast<char>(std::tolower(letter));
  word += ' ';
  std::vector<std::string_view> meant;
  if (name == "T") meant.push_back("seconds");  // from pgbench, whose -t counts transactions
  for (const FieldWords& each : kWords) {
    if (each.words.find(word) != std::string_view::npos) meant.push_back(each.flag);
  }
  return meant;
}

}  // namespace logjam

// The answers to mistakes that users have made: each whole message, and the exit status. A change
// of a message is seen here.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <regex>
#include <string>

#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

struct Mistake {
  const char* given;  // after `logjam`; $D is a directory of the test
  const char* says;  // after "logjam: "; * stands for what depends on the machine or the registries
  int status = 2;
};

constexpr Mistake kMistakes[] = {
    // Names of flags: misspelled, of other benchmarks, of other commands.
    {"run --treads=4",
     "there is no flag --treads (did you mean --threads?); `logjam run --help=all` lists them"},
    {"run --waldir=$D",
     "there is no flag --waldir (did you mean --wal_dir?); `logjam run --help=all` lists them"},
    {"recover --verfy",
     "there is no flag --verfy (did you mean --verify?); `logjam recover --help=all` lists them"},
    {"run --ycsb_recrods=1000",
     "there is no flag --ycsb_recrods (did you mean --ycsb_records?); `logjam run --help=all` "
     "lists them"},
    {"run --Warmup=1",
     "there is no flag --Warmup (did you mean --warmup?); `logjam run --help=all` lists them"},
    {"run --zipf_theta=0.9",
     "there is no flag --zipf_theta (did you mean --ycsb_theta=0.9?); `logjam run --help=all` "
     "lists them"},
    {"run --zipf=0.9",
     "there is no flag --zipf (did you mean --ycsb_theta=0.9?); `logjam run --help=all` lists "
     "them"},
    {"run --skew=0.9",
     "there is no flag --skew (did you mean --ycsb_theta=0.9?); `logjam run --help=all` lists "
     "them"},
    {"run --theta 0.9",
     "there is no flag --theta (did you mean --ycsb_theta?); `logjam run --help=all` lists them"},
    {"run --scheme=silo",
     "there is no flag --scheme (did you mean --log=silo?); `logjam run --help=all` lists them"},
    {"--scheme=silo run",
     "there is no flag --scheme (did you mean --log=silo?); `logjam run --help=all` lists them"},
    {"run --protocol=occ",
     "there is no flag --protocol (did you mean --cc=occ?); `logjam run --help=all` lists them"},
    {"run --cc-alg=occ",
     "there is no flag --cc_alg (did you mean --cc=occ?); `logjam run --help=all` lists them"},
    {"run --duration=10",
     "there is no flag --duration (did you mean --seconds=10?); `logjam run --help=all` lists "
     "them"},
    {"run --time=10",
     "there is no flag --time (did you mean --seconds=10?); `logjam run --help=all` lists them"},
    {"run --runtime=10",
     "there is no flag --runtime (did you mean --seconds=10?); `logjam run --help=all` lists them"},
    {"run --durability=sync",
     "there is no flag --durability (did you mean --commit=sync?); `logjam run --help=all` lists "
     "them"},
    {"run -t 4",
     "there is no flag -t (did you mean --threads?); `logjam run --help=all` lists them"},
    {"run -T 10",
     "there is no flag -T (did you mean --seconds?); `logjam run --help=all` lists them"},
    {"run --num_threads=4",
     "there is no flag --num_threads (did you mean --threads=4?); `logjam run --help=all` lists "
     "them"},
    {"run --workers=4",
     "there is no flag --workers (did you mean --threads=4?); `logjam run --help=all` lists them"},
    {"run --terminals=4",
     "there is no flag --terminals (did you mean --threads=4?); `logjam run --help=all` lists "
     "them"},
    {"run --warehouses=4",
     "there is no flag --warehouses (did you mean --tpcc_warehouses=4?); `logjam run --help=all` "
     "lists them"},
    {"run --recordcount=1000",
     "there is no flag --recordcount (did you mean --ycsb_records=1000?); `logjam run --help=all` "
     "lists them"},
    {"run --table-size=1000",
     "there is no flag --table_size (did you mean --oltp_rows=1000?); `logjam run --help=all` "
     "lists them"},
    {"run --iodepth=4",
     "there is no flag --iodepth (did you mean --io_depth=4?); `logjam run --help=all` lists "
     "them"},
    {"run --rratio=0.5",
     "there is no flag --rratio (did you mean --ycsb_ratios=read:0.5?); `logjam run --help=all` "
     "lists them"},
    {"dump --count=5",
     "there is no flag --count (did you mean --range=count:5?); `logjam dump --help=all` lists "
     "them"},
    {"dump --limit=5",
     "there is no flag --limit (did you mean --range=count:5?); `logjam dump --help=all` lists "
     "them"},
    {"recover --duration=5", "there is no flag --duration; `logjam recover --help=all` lists them"},
    {"run --xyzzy", "there is no flag --xyzzy; `logjam run --help=all` lists them"},
    {"run ---threads=4", "\"---threads=4\" is no flag; flags begin with --"},
    {"run threads=4", "\"threads=4\" is not a flag; flags begin with --"},
    {"recover --seconds=5", "--seconds is a flag of run, micro and device, not of recover"},
    {"run --floor=copy", "--floor is a flag of micro, not of run"},
    {"runn", "\"runn\" is not a command; did you mean run?"},
    {"bench",
     "\"bench\" is not a command; allowed are run, recover, micro, dump, trim, explore, machine, "
     "device, list and help"},
    {"list shemes", "\"shemes\" cannot be listed; did you mean schemes?"},

    // Choices.
    {"run --log=eleeda", "--log=eleeda is not a scheme; did you mean eleda?"},
    {"run --log=Silo", "--log=Silo is not a scheme; did you mean silo?"},
    {"run --log=mongodb", "--log=mongodb is not a scheme; allowed are aether-c, * and wiredtiger"},
    {"micro --log=eleeda", "--log=eleeda is not a scheme; did you mean eleda?"},
    {"run --workload=tpc-c", "--workload=tpc-c is not a workload; did you mean tpcc?"},
    {"run --workload=TPCC", "--workload=TPCC is not a workload; did you mean tpcc?"},
    {"run --workload=smallbank",
     "--workload=smallbank is not a workload; allowed are ledger, * and ycsb"},
    {"run --cc=OCC", "--cc=OCC is not a protocol; did you mean occ?"},
    {"run --cc=mvcc", "--cc=mvcc is not a protocol; allowed are 2pl-*"},
    {"run --commit=synchronous", "--commit=synchronous is not a policy; did you mean sync?"},
    {"run --commit=never", "--commit=never is not a policy; allowed are sync, pipelined and async"},
    {"run --device=sim",
     "--device=sim is not a device: LATENCY_US is missing (sim:LATENCY_US[:MB_S])"},
    {"run --device=sim:20us",
     "--device=sim:20us is not a device: LATENCY_US is a number from 0 to 1e9, without a unit, not "
     "\"20us\" (sim:LATENCY_US[:MB_S])"},
    {"device --device=sim:20us",
     "--device=sim:20us is not a device: LATENCY_US is a number from 0 to 1e9, without a unit, not "
     "\"20us\" (sim:LATENCY_US[:MB_S])"},
    {"run --device=tape", "--device=tape is not a device; allowed are discard, *, sync"},
    {"run --log=scm --device=file --wal_dir=$D/w",
     "--log=scm persists its records in place and needs --device=nvm[:NS], not --device=file"},
    {"run --device=null --placement=compactt",
     "--placement=compactt is not a placement; did you mean compact?"},
    {"run --device=null --placement=compact:4096",
     "--placement=compact:4096: this process may not use core 4096"},
    {"run --device=null --worker_class=realtime",
     "--worker_class=realtime is not a class; allowed are auto, normal, batch and idle"},
    {"run --ycsb_workload=G",
     "--ycsb_workload=G is not a mix; allowed are A, B, C, D, E, F, dbx1000, eleda, poplar-hybrid, "
     "poplar-write-only, rows-16 and silo"},
    {"run --ycsb_distribution=zipfian",
     "--ycsb_distribution=zipfian is not a choice; did you mean zipf?"},
    {"run --workload=tpcc --tpcc_mix=half",
     "--tpcc_mix is standard, np, neworder, or five weights like 45,43,4,4,4, not \"half\""},

    // Values.
    {"run --threads=0", "--threads=0 is outside 1 to 1024"},
    {"run --threads=two", "--threads=two is not a whole number from 0 to 4294967295"},
    {"run --seconds=-1", "--seconds must be more than 0 and at most 1e9"},
    {"run --seconds=0", "--seconds must be more than 0 and at most 1e9"},
    {"run --seconds=5s",
     "--seconds=5s is not a number; it takes one without a unit: seconds of the measured time"},
    {"run --seconds=0,2", "--seconds=0,2 is not a number"},
    {"run --seconds", "--seconds needs a value"},
    {"run --log_buffer_mb=64MB",
     "--log_buffer_mb=64MB is not a whole number from 0 to 4294967295; it takes one without a "
     "unit: MiB of each stream's log buffer"},
    {"run --rate=100k",
     "--rate=100k is not a number; it takes one without a unit: transactions offered a second "
     "(open loop)"},
    {"run --silo_epoch_ms=40ms",
     "--silo_epoch_ms=40ms is not a number; it takes one without a unit: milliseconds of an epoch"},
    {"run --device=null --flush=us:0.2ms",
     "--flush=us:0.2ms: us needs a whole number from 0 to 1e+12, without a unit, not \"0.2ms\""},
    {"run --device=null --flush=txn:8",
     "--flush=txn:8: \"txn\" is not a key of the list; did you mean txns?"},
    {"run --device=null --flush=txns:8",
     "--flush=txns:8 needs us:N as well, or the last transactions would wait for ever"},
    {"run --ycsb_theta=1",
     "--ycsb_theta is at least 0 and less than 1 (Gray's method has no skew of 1 or more)"},
    {"run --ycsb_theta=-2",
     "--ycsb_theta is at least 0 and less than 1 (Gray's method has no skew of 1 or more)"},
    {"run --ycsb_theta=0.999999999999",
     "--ycsb_theta is 0.999999999 at most (Gray's method loses its digits closer to 1)"},
    {"run --workload=tpcc --tpcc_warehouses=0", "--tpcc_warehouses is 1 to 1048575"},
    {"run --device=null --workload=tpcc --tpcc_warehouses=100000",
     "this scale needs about * MiB, and the log needs 64 MiB (1 buffer(s) of --log_buffer_mb), but "
     "only * MiB of memory are available*"},
    {"run --device=null --transactions=10 --warmup=2",
     "--transactions counts from the first transaction on, so --warmup cannot go with it"},
    {"run --log=$'si\\rlo'", "--log=si\\x0dlo is not a scheme; did you mean silo?"},

    // Settings files.
    {"run --flagfile=$D/none", "cannot read --flagfile=$D/none: No such file or directory"},
    {"run --flagfile=$D",
     "--flagfile=$D is not a regular file; it is read twice, to check it and to use it"},
    {"run --flagfile=<(echo --seconds=1)",
     "--flagfile=/dev/fd/* is not a regular file; it is read twice, to check it and to use it"},
    {"run --flagfile=$(settings 'workload=tpcb\\n--seconds=0.2\\n')",
     "$D/settings:1: \"workload=tpcb\" is no flag (did you mean --workload=tpcb?); a line is a "
     "flag, empty, or a comment that begins with #"},
    {"run --flagfile=$(settings -- '--seconds=0.2\\nTPC-B from here on\\n--workload=tpcb\\n')",
     "$D/settings:2: \"TPC-B from here on\" is no flag; a line is a flag, empty, or a comment that "
     "begins with #"},
    {"run --flagfile=$(settings -- '--seconds=0.2\\nlogjam\\n--workload=tpcb\\n')",
     "$D/settings:2: \"logjam\" is no flag; a line is a flag, empty, or a comment that begins with "
     "#"},
    {"run --flagfile=$(settings -- '--\\n')",
     "$D/settings:1: \"--\" is no flag; a line is a flag, empty, or a comment that begins with #"},
    {"run --flagfile=$(settings -- '\\n# it is\\n--seconds=0.2\\r\\n')",
     "$D/settings:3: the line ends in CR and LF, as Windows ends lines; a flag file's end in LF "
     "alone"},
    {"run --flagfile=$(settings -- '--csv=a\\0b\\n')",
     "$D/settings:1: the line has a control character"},
    {"run --flagfile=$(settings '\\xEF\\xBB\\xBF--seconds=1\\n')",
     "$D/settings:1: the file begins with a byte order mark, which an editor has put there"},
    {"run --flagfile=$(settings -- '--seconds 0.2\\n')",
     "$D/settings:1: between --seconds and its value stands = and no space"},
    {"run --flagfile=$(settings -- '--workload=tpcb # it\\n')",
     "--workload=tpcb # it is not a workload; did you mean tpcb?"},
    {"run --flagfile=$(settings -- '--thraeds=2\\n')",
     "$D/settings:1: there is no flag --thraeds (did you mean --threads?); `logjam run --help=all` "
     "lists them"},
    {"run --flagfile=$(settings -- '--seconds=2,5\\n')",
     "$D/settings:1: --seconds=2,5 is not a number"},
    {"run --flagfile=$(settings -- '--flagfile=inner\n')",
     "$D/settings:1: cannot read --flagfile=inner: No such file or directory"},

    // Directories and files.
    {"run --log=centr", "--log=centr on --device=file needs --wal_dir=DIR[,DIR...]"},
    {"recover", "which log? name its directory with --wal_dir=DIR[,DIR...]"},
    {"recover --wal_dir=$D/none",
     "cannot open the log directory $D/none: No such file or directory"},
    {"recover --wal_dir=$D", "no log is in the log directories: there is no DIR/manifest"},
    {"run --wal_dir=$(settings x)", "cannot create the log directory $D/settings: Not a directory"},
    {"run --device=sync --wal_dir=$D/w,$D/w", "$D/w and $D/w are the same log directory"},
    {"run --device=null --csv=$D/none/r.csv",
     "cannot write --csv=$D/none/r.csv: No such file or directory"},
    {"run --device=null --csv=$(settings 'a,b\\n1,2\\n')",
     "--csv=$D/settings holds rows with other columns; name a new file"},
    {"run --continue --overwrite --wal_dir=$D/w",
     "--continue needs the log that --overwrite drops"},
    {"run --device=null --continue --wal_dir=$D/none",
     "cannot open the log directory $D/none: No such file or directory"},
};

// Runs the program with these words of a command line, as bash reads them. Returns what it says,
// with $D in place of the directory.
Ended given(const std::string& words, const std::string& directory) {
  std::ofstream(directory + "/script")
      << "D=" << directory << "\n"
      << "settings() { [ \"$1\" != -- ] || shift; printf -- \"$1\" >$D/settings; "
      << "echo $D/settings; }\n"
      << "\"$LOGJAM\" " << words << " 2>&1 >/dev/null\n";
  Ended ended = shell("bash " + directory + "/script");
  for (size_t at; (at = ended.output.find(directory)) != std::string::npos;) {
    ended.output.replace(at, directory.size(), "$D");
  }
  // Lines of glog may come before the sentence.
  ended.output.erase(0, ended.output.rfind("\nlogjam: ") + 1);
  return ended;
}

std::regex regex_of(const std::string& pattern) {
  std::string regex;
  for (const char c : pattern) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    regex += c == '*' ? std::string("[^\n]*") : (plain ? "" : "\\") + std::string(1, c);
  }
  return std::regex(regex);
}

TEST(Mistakes, EachGetsItsSentenceAndItsExitStatus) {
  for (const Mistake& mistake : kMistakes) {
    const TemporaryDirectory directory;
    const Ended ended = given(mistake.given, directory.path());
    EXPECT_EQ(ended.status, mistake.status) << mistake.given;
    EXPECT_TRUE(
        std::regex_match(ended.output, regex_of("logjam: " + std::string(mistake.says) + "\n")))
        << mistake.given << "\n"
        << ended.output << "is not\nlogjam: " << mistake.says;
  }
}

}  // namespace
}  // namespace logjam

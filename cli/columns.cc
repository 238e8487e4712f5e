#include "cli/columns.h"

#include <algorithm>

namespace logjam {
namespace {

constexpr Column kColumns[] = {
    {"workload", "run recover dump", "the workload; of a log, that of the run that wrote it"},
    {"scale", "run recover",
     "the workload's mix, size and draws; of YCSB and oltp also the bytes of rows that a "
     "transaction logs, and the number of those that it writes (whole rows are logged)"},
    {"cc", "run recover",
     "the concurrency control protocol; of `recover`, if it executed commands"},
    {"log", "run recover micro dump", "the log scheme, or the floor that `micro` measured"},
    {"commit", "run micro", "the commit policy"},
    {"unsafe", "run recover micro",
     "not empty: some of what was acknowledged may be lost, and why (R8)"},
    {"elr", "run", "whether locks are released before the commit is durable (`--locks`)"},
    {"log_records", "run recover dump", "the granularity of log records"},
    {"device", "run recover micro dump", "the log's device"},
    {"streams", "recover dump", "streams of the log"},
    {"directories", "recover dump", "directories of the log"},
    {"log_threads", "recover dump", "workers of the run that wrote the log"},
    {"log_run", "recover dump", "the number of that run, which its records carry"},
    {"log_revision", "recover dump", "the revision that wrote the log"},
    {"threads", "run recover micro", "workers; of `recover`, the threads that replayed"},
    {"worker_class", "run micro",
     "the scheduling class that workers were granted, and how: `idle, cgroup v1` (or `v2`), "
     "`idle, autogroup off`, `idle, in an idle cgroup`; with `idle, without effect`, `batch` and "
     "`normal` busy workers can delay the log"},
    {"placement", "run micro",
     "the policy, and which workers run on which cores of which socket, in the kernel's numbers: "
     "`0-14:2` is every second one; `(2 physical)`: some workers share a core"},
    {"replay", "recover", "how the log was replayed"},
    {"read_mb_s", "recover", "the bandwidth to which each directory was held; 0: none"},
    {"runs", "recover", "runs of the log that were replayed"},
    {"checkpoint", "recover", "the number of the checkpoint that was loaded"},
    {"checkpoint_bytes", "recover", "its bytes"},
    {"checkpoint_seconds", "recover", "the time to load it"},
    {"bytes", "recover", "bytes of the log that were recovered, of all runs"},
    {"transactions", "run recover dump",
     "acknowledged ones of the measured time; of `recover`, recovered ones of all runs; of "
     "`dump`, those that were looked at"},
    {"records", "recover", "records that were recovered"},
    {"beyond_cut", "recover", "valid records beyond the recovery rule's cut"},
    {"incomplete", "recover", "transactions of which only a part was found"},
    {"load_seconds", "recover", "the time to load the initial database"},
    {"replay_seconds", "recover", "the time to read and replay the log"},
    {"replay_gb_s", "recover", "bytes of the log replayed a second"},
    {"cut", "recover", "the cut of the last run, and why it lies there"},
    {"damage", "recover", "what the log has lost that was durable once"},
    {"error", "recover", "why the log cannot be recovered"},
    {"record_bytes", "micro", "bytes of a record, or the distribution they were drawn from"},
    {"outlier_bytes", "micro", "bytes of the few records that are larger"},
    {"local", "micro", "whether each thread fills a buffer of its own"},
    {"sync_every", "micro", "every N-th insert of a thread depends on another thread's; 0: none"},
    {"logs_per_commit", "micro", "inserts for each commit; 0: nothing is committed"},
    {"seal", "micro", "whether inserts make whole records, with headers and checksums"},
    {"seconds", "run micro", "the measured time"},
    {"tps", "run", "acknowledged transactions a second of the measured time, nothing else"},
    {"offered_s", "run", "with `--rate`: arrivals a second"},
    {"achieved_s", "run", "transactions that ended a second: acknowledged or rolled back"},
    {"backlog", "run", "with `--rate`: arrivals that were left at the end"},
    {"headline", "run", "the name of the rate by which the workload is known"},
    {"headline_rate", "run",
     "that rate: TPC-C's NewOrders a minute, TATP's MQTh, which leaves out failed writes "
     "(`achieved_s` counts them)"},
    {"headline_rollbacks", "run", "whether that rate counts rolled-back transactions"},
    {"misses", "run", "transactions that found nothing, where the workload expects that"},
    {"rollbacks", "run", "transactions that the workload rolled back on purpose"},
    {"aborts", "run", "aborted attempts; misses and rollbacks are none"},
    {"abort_pct", "run", "their share of all attempts"},
    {"aborts_*", "run", "aborted attempts, by reason"},
    {"exec_*_us", "run", "time from the first start to pre-commit"},
    {"inserts", "micro", "inserts of the measured time"},
    {"inserts_s", "micro", "inserts a second"},
    {"mb_s", "micro", "megabytes inserted a second"},
    {"ns_insert", "micro", "nanoseconds of a thread for each insert"},
    {"groups_per_insert", "micro",
     "how often threads of a consolidating scheme went for the log's lock, for each insert"},
    {"commits_s", "micro", "commits a second"},
    {"commit_*_us", "run micro",
     "time from the first start (with `--rate`: the intended one) to the acknowledgement; with "
     "`--rate` also of transactions that are not acknowledged by the end, with the time that they "
     "have waited"},
    {"mean_group_size", "micro", "inserts in a consolidated group"},
    {"consolidated_pct", "micro", "share of inserts that joined a group"},
    {"delegated_releases", "micro", "releases that another thread did"},
    {"sbl_hops", "micro", "how often ELEDA's SBL advanced by a hop"},
    {"sbl_crawls", "micro", "how often it advanced by a crawl"},
    {"sbl_crawl_share", "micro", "share of bytes that crawls covered"},
    {"pipeline_full_pct", "run",
     "share of workers' time in which `--pipeline_depth` transactions were in flight and the "
     "worker waited; well above 0, that depth sets the commit latency, not the scheme alone"},
    {"log_mb_s", "run", "megabytes that went into the log a second, padding included"},
    {"log_mb_s_streams", "run",
     "megabytes a second that became durable, by stream; a stream that is not striped lies in the "
     "directory whose number is the stream's modulo that of directories"},
    {"log_bytes_txn", "run", "bytes of log for each transaction, padding included"},
    {"log_records_txn", "run", "records for each transaction"},
    {"flushes", "run micro", "writes to the device"},
    {"flush_bytes_mean", "run micro", "bytes of a write"},
    {"flush_late_us_mean", "run micro", "how long a write that was due waited for its start"},
    {"scheme_counters", "run micro",
     "what only some schemes count, as `name=value` (`padding_bytes`: Silo's padding); in JSON an "
     "object"},
    {"vol_switches_txn", "run", "voluntary context switches for each transaction"},
    {"invol_switches_txn", "run", "involuntary ones"},
    {"cpu_us_txn", "run", "microseconds of processor for each transaction"},
    {"cpu_pct", "run micro", "share of all cores that the process used"},
    {"memory_start_mb", "run", "resident memory when the measured time began"},
    {"memory_end_mb", "run", "resident memory at the end"},
    {"time_*_pct", "run",
     "where workers' time went, sampled (`--breakdown=false` switches it off); "
     "`time_space_wait_pct`, waiting for room in the log, is timed in full"},
    {"checkpoints", "run", "checkpoints that were completed in the measured time"},
    {"checkpoint_mb", "run", "what one holds"},
    {"checkpoint_longest_s", "run", "the time of the slowest"},
    {"checkpoint_time_pct", "run", "share of the time in which one was being taken"},
    {"checkpoint_tps", "run", "transactions a second in that time"},
    {"between_tps", "run", "transactions a second in the rest"},
    {"run_ordinal", "run", "which run of its log it was: 2 and more continued one"},
    {"log_transactions", "dump", "transactions of the log"},
    {"dump_from", "dump", "the first transaction that was looked at"},
    {"edges", "dump", "pairs of transactions of which one overwrote rows of the other"},
    {"cross_stream_edges", "dump", "those between two streams"},
    {"cross_stream_pct", "dump", "their share"},
    {"tight_edges", "dump", "those of them with few transactions of the earlier stream between"},
    {"tight_pct", "dump", "their share"},
    {"median_gap", "dump", "the median difference of the sequence numbers"},
    {"median_order_gap", "dump", "the median distance in the order of the log"},
    {"longest_path", "dump", "transactions of the longest chain"},
    {"verified", "run recover",
     "the workload's own checks: `passed`, `FAILED`, or empty without `--verify`; `FAILED` also if "
     "the log cannot be recovered"},
    {"interrupted", "run", "whether a signal ended the run"},
    {"revision", "run recover micro dump", "the program's revision"},
    {"machine", "run recover micro dump", "the machine, or the simulated one"},
    {"flags", "run recover micro dump", "each flag that was not the default"},
};

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ')) return true;
  }
  return false;
}

bool matches(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == name;
  return name.size() >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1));
}

}  // namespace

std::span<const Column> all_columns() { return kColumns; }

bool knows_column(std::string_view command, std::string_view name) {
  return std::ranges::any_of(kColumns, [&](const Column& column) {
    return has_word(column.commands, command) && matches(column.name, name);
  });
}

std::string column_table() {
  std::string text = "| column | rows of | what it says |\n|---|---|---|\n";
  for (const Column& column : kColumns) {
    text += "| `" + std::string(column.name) + "` | " + std::string(column.commands) + " | " +
            std::string(column.says) + " |\n";
  }
  return text;
}

}  // namespace logjam

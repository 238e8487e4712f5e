#include "cli/row.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cli/diagnostics.h"
#include "cli/options.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/disk_facts.h"
#include "platform/host.h"
#include "platform/kernel_files.h"
#include "platform/machine_facts.h"
#include "platform/text.h"

namespace logjam {
namespace {

// Returns the length of the UTF-8 character at the begin of `text`, or 0 if there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t length = first < 0x80                     ? 1
                        : first >= 0xc2 && first < 0xe0  ? 2
                        : first >= 0xe0 && first < 0xf0  ? 3
                        : first >= 0xf0 && first <= 0xf4 ? 4
                                                         : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  // Refuses encodings that are longer than needed, surrogates, and numbers above 0x10ffff.
  if (length > 2) {
    const unsigned second = byte(1);
    const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    if (bad) return 0;
  }
  return length;
}

struct RowColumn {
  std::string_view name, commands, says;
};
constexpr RowColumn kColumns[] = {
    {"workload", "run recover dump", "the workload; of a log, the workload of its run"},
    {"scale", "run recover",
     "the workload's mix, size and distributions; of YCSB and oltp also the rows that a "
     "transaction writes, and their bytes in a log of whole rows"},
    {"cc", "run recover",
     "the concurrency control protocol; of `recover`, empty unless it executed commands"},
    {"primitive", "micro",
     "with `--primitive`: the atomic operation or the lock; such rows have no log"},
    {"lines", "micro", "with `--primitive`: shared words, or locks"},
    {"pause_ns", "micro", "with `--primitive`: the pause of a thread after each call"},
    {"log", "run recover micro dump", "the log scheme, or the floor that `micro` measured"},
    {"log_differs", "run micro", "how the log scheme differs from its paper"},
    {"snapshot", "run", "the rule of `--snapshot`; empty: the protocol has no snapshots"},
    {"commit", "run micro", "the commit policy"},
    {"unsafe", "run recover micro",
     "why acknowledged transactions may be lost (R8); empty: none can be"},
    {"unsteady", "run",
     "why the measured window shows no rate: nothing was acknowledged in it, executed and "
     "acknowledged transactions differ by 5 %, or those with a latency and those acknowledged do, "
     "the p99 is above a third of the window, or its halves differ by 10 %; empty: none of these"},
    {"cautions", "run micro",
     "what the machine did to the run, separated by `; `: more than 16 workers a core, a quota of "
     "processor time below the workers, workers that were not pinned, a time stamp counter that "
     "may "
     "not be steady, a log on a file system in memory, a hash index with far more rows than it was "
     "laid out for; empty: nothing of these"},
    {"without_effect", "run",
     "flags that were given and change nothing here, each with what it belongs to: another scheme, "
     "workload or choice; empty: none"},
    {"elr", "run", "whether locks are released before the commit is durable (`--locks`)"},
    {"log_records", "run recover dump",
     "the granularity of log records; with `,range` they hold changed bytes in place of rows"},
    {"device", "run recover micro dump device", "the log's device"},
    {"device_card", "run micro device",
     "with `--device=sim:CARD`: the card's disk, sync method and checksum"},
    {"sync", "run micro device",
     "how the log's writes became durable: `dsync`, `fdatasync`, `fsync` or `none`, and why `none` "
     "is safe if it is; one for each directory, if they differ; empty: the device has no choice"},
    {"io", "run micro",
     "`io_uring` or `pwrite`, by which the log was written; empty: the device has no choice"},
    {"write_bytes", "device", "bytes of a write"},
    {"writes_at_once", "device", "how many writes are under way"},
    {"one_call", "device",
     "whether the thread that writes waits in the call, as a log's daemon does"},
    {"writes_s", "device", "durable writes a second"},
    {"write_mb_s", "device", "durable megabytes a second"},
    {"write_*_us", "device", "time from the start of a write until it is durable"},
    {"file_system", "run recover micro device", "the file system of `--wal_dir`"},
    {"mount_options", "run recover micro device", "its mount options"},
    {"disk", "run recover micro device",
     "the disk below it, also of a partition, as `vda`, and the devices on which it is stacked; "
     "empty: none is known"},
    {"disk_model", "run recover micro device", "the disk's model"},
    {"scheduler", "run recover micro device", "the disk's I/O scheduler"},
    {"write_cache", "run recover micro device",
     "`write back`: a power cut loses what is not synced; `write through`: the kernel expects no "
     "such cache"},
    {"fua", "run recover micro device", "whether the disk can write one request through its cache"},
    {"rotational", "run recover micro device", "whether the disk says that it rotates"},
    {"streams", "recover dump", "streams of the log"},
    {"directories", "recover dump", "directories of the log"},
    {"log_threads", "recover dump", "workers of the run that wrote the log"},
    {"log_run", "recover dump", "the random number of the run that wrote the log"},
    {"log_revision", "recover dump", "the revision of the program that wrote the log"},
    {"log_flags", "recover dump", "the flags of the run that wrote the log, with their values"},
    {"threads", "run recover micro", "workers; of `recover`, the threads that replayed"},
    {"threads_of_log", "run",
     "threads that the log has started: flushers, one for each log file that became longer, and "
     "those that write where io_uring may not be used; threads of the kernel do not count"},
    {"threads_in_all", "run", "`threads` and `threads_of_log` together"},
    {"worker_class", "run micro",
     "the scheduling class that the kernel granted to workers, and by which means: `idle, cgroup "
     "v1` (or `v2`), `idle, autogroup off`, `idle, in an idle cgroup`; with `idle, without "
     "effect`, `batch` and `normal` busy workers can delay the log"},
    {"placement", "run micro",
     "the policy, and the cores of the workers on each socket, in the kernel's numbers: `0-14:2` "
     "is "
     "every second core from 0 to 14; `(2 physical)`: the number of cores, where workers share "
     "some; or that workers were not pinned, and why"},
    {"replay", "recover", "how the log was replayed"},
    {"read_mb_s", "recover", "the limit for reading each directory, in MB/s; 0: none"},
    {"runs", "recover", "runs of the log that were replayed"},
    {"checkpoint", "recover", "the number of the checkpoint that was loaded"},
    {"checkpoint_bytes", "recover", "bytes of that checkpoint"},
    {"checkpoint_seconds", "recover", "the time to load that checkpoint"},
    {"bytes", "recover", "bytes of the log that were recovered, in all runs"},
    {"transactions", "run recover dump",
     "transactions acknowledged in the measured time; of `recover`, transactions recovered from "
     "all runs; of `dump`, transactions whose dependencies were searched"},
    {"records", "recover", "records that were recovered"},
    {"beyond_cut", "recover", "valid records beyond the recovery rule's cut, which are not used"},
    {"incomplete", "recover", "transactions that have begun, and neither committed nor failed"},
    {"load_seconds", "recover", "the time to load the initial database"},
    {"replay_seconds", "recover", "the time to read and replay the log"},
    {"replay_gb_s", "recover", "gigabytes of the log replayed a second"},
    {"cut", "recover", "the cut of the last run, and the reason for it"},
    {"damage", "recover", "the durable bytes that the log has lost; empty: none"},
    {"error", "recover", "why the log cannot be recovered"},
    {"record_bytes", "micro", "bytes of a record, or the distribution of its length"},
    {"outlier_bytes", "micro", "bytes of the one record in 60 that differs; 0: none does"},
    {"local", "micro", "whether each thread fills its own buffer, not the log's (`--fill=local`)"},
    {"sync_every", "micro", "every N-th insert of a thread depends on an earlier one; 0: none"},
    {"logs_per_commit", "micro", "inserts for each commit; 0: nothing is committed"},
    {"seal", "micro",
     "whether inserts make whole records, with headers and checksums "
     "(`--fill=records`)"},
    {"warmup_s", "run", "seconds of the warm-up, whose end `--warmup=S:MOST` leaves to the rate"},
    {"seconds", "run micro device", "the measured time"},
    {"tps", "run", "acknowledged transactions a second of the measured time, nothing else"},
    {"offered_s", "run", "in an open loop: arrivals a second"},
    {"achieved_s", "run", "transactions a second that were acknowledged or rolled back"},
    {"backlog", "run", "in an open loop: arrivals that no worker had begun at the end"},
    {"headline", "run", "the name of the rate by which the workload is known"},
    {"headline_rate", "run",
     "that rate: TPC-C's NewOrders a minute, or TATP's MQTh, which does not count failed writes "
     "(`achieved_s` counts them)"},
    {"headline_rollbacks", "run", "whether `headline_rate` counts rolled-back transactions"},
    {"misses", "run", "transactions that found no row, where the workload expects that"},
    {"rollbacks", "run", "transactions that the workload rolled back on purpose"},
    {"aborts", "run", "aborted attempts; misses and rollbacks do not count"},
    {"abort_pct", "run", "the share of aborted attempts among all attempts"},
    {"aborts_*", "run", "aborted attempts, by reason"},
    {"exec_*_us", "run", "time from the first start to pre-commit"},
    {"inserts", "micro", "inserts of the measured time"},
    {"inserts_s", "micro", "inserts a second"},
    {"least_inserts", "micro",
     "inserts of the thread that made the fewest; it starved if they are far fewer than "
     "`most_inserts`"},
    {"most_inserts", "micro", "inserts of the thread that made the most"},
    {"calls", "micro",
     "with `--primitive`: operations, or critical sections, of the measured time; failed ones "
     "count"},
    {"calls_s", "micro", "calls a second"},
    {"least_calls", "micro", "calls of the thread that made the fewest"},
    {"most_calls", "micro", "calls of the thread that made the most"},
    {"failed_pct", "micro", "share of calls that changed nothing: of `cas` and `tas-once`"},
    {"mb_s", "micro", "megabytes inserted a second"},
    {"ns_insert", "micro", "nanoseconds of a thread for each insert"},
    {"groups_per_insert", "micro",
     "attempts of a consolidating scheme's threads to take the log's lock, for each insert"},
    {"commits_s", "micro", "commits a second"},
    {"commit_*_us", "run micro",
     "time from the first start (with `--rate`: from the intended start) to the acknowledgement; "
     "with `--rate` a transaction without acknowledgement at the end counts with the time that it "
     "has waited"},
    {"reader_commit_*_us", "run",
     "`commit_*_us` of the transactions that changed no row; this and the next are empty unless "
     "there were both kinds"},
    {"writer_commit_*_us", "run", "`commit_*_us` of all other transactions"},
    {"short_commit_*_us", "run",
     "`commit_*_us` of the short transactions; this and the next two are empty unless the workload "
     "mixes long and short transactions (`--ycsb_long_rows`)"},
    {"long_transactions", "run", "long transactions acknowledged in the measured time"},
    {"long_commit_p99_us", "run", "`commit_p99_us` of the long transactions"},
    {"mean_group_size", "micro", "inserts in a consolidated group"},
    {"consolidated_pct", "micro", "share of inserts that joined a group"},
    {"delegated_releases", "micro", "buffer regions that another thread released"},
    {"sbl_hops", "micro", "how often ELEDA's SBL advanced by a hop"},
    {"sbl_crawls", "micro", "how often ELEDA's SBL advanced by a crawl"},
    {"sbl_crawl_share", "micro", "share of bytes that crawls covered"},
    {"pipeline_full_pct", "run",
     "share of workers' time in which `--pipeline_depth` transactions were in flight and the "
     "worker waited; where it is well above 0, that depth sets the commit latency, not the scheme "
     "alone"},
    {"log_mb_s", "run", "megabytes of log a second, padding included"},
    {"log_mb_s_streams", "run",
     "megabytes a second that became durable, by stream; stream S of a log that is not striped is "
     "in directory S modulo the number of directories"},
    {"log_bytes_txn", "run", "bytes of log for each transaction, padding included"},
    {"log_records_txn", "run", "records for each transaction"},
    {"flushes", "run micro", "writes to the device"},
    {"transactions_sync", "run",
     "transactions for each sync of the log; empty if its writes are not synced (`--sync=none`, "
     "`--device=null`)"},
    {"flush_bytes_mean", "run micro",
     "bytes of a write; where the log syncs, each write has a sync, so these are the bytes of a "
     "sync"},
    {"flush_late_us_mean", "run micro", "microseconds from when a write was due to its start"},
    {"scheme_counters", "run micro",
     "counters that only some schemes have, as `name=value` (`padding_bytes`: padding of chunks "
     "and segments); in JSON an object"},
    {"vol_switches_txn", "run", "voluntary context switches for each transaction"},
    {"invol_switches_txn", "run", "involuntary context switches for each transaction"},
    {"cpu_us_txn", "run", "microseconds of processor time for each transaction"},
    {"cpu_pct", "run micro", "share of all cores that the process used"},
    {"system_pct", "run", "the part of `cpu_pct` that the process spent in the kernel"},
    {"cycles_txn", "run",
     "processor cycles of all threads for each transaction; this and the next three come from the "
     "processor's PMU, and are empty without one"},
    {"instructions_txn", "run", "instructions for each transaction"},
    {"llc_misses_txn", "run",
     "reads for each transaction that missed the last-level cache; prefetches may count"},
    {"tlb_misses_txn", "run", "reads for each transaction that missed the data TLB"},
    {"counters_note", "run",
     "why the four columns before are empty, scaled, or of user mode alone; empty: all four are of "
     "user mode and kernel"},
    {"memory_start_mb", "run",
     "resident memory when the measured time began, what inserts may take included"},
    {"memory_end_mb", "run", "resident memory at the end"},
    {"old_versions_mb", "run",
     "megabytes of old versions of rows that waited at once for the ends of transactions, at most, "
     "added over the workers: what long transactions cost under `--cc=si` and `ssn`; empty for "
     "other "
     "protocols. `memory_end_mb` contains them"},
    {"time_*_pct", "run",
     "shares of workers' time, sampled (`--breakdown=false` switches this off); "
     "`time_space_wait_pct`, waiting for room in the log, is timed in full"},
    {"checkpoints", "run", "checkpoints that were completed in the measured time"},
    {"checkpoint_mb", "run", "megabytes of a checkpoint"},
    {"checkpoint_longest_s", "run", "the time of the slowest checkpoint"},
    {"checkpoint_time_pct", "run", "share of the time in which a checkpoint was being taken"},
    {"checkpoint_tps", "run", "transactions a second while a checkpoint was being taken"},
    {"between_tps", "run", "transactions a second in the rest of the time"},
    {"run_ordinal", "run", "the run's number in its log: from 2 on, it continued the log"},
    {"log_transactions", "dump", "transactions of the log"},
    {"dump_from", "dump", "transactions that were left out first (`--range=from:N`)"},
    {"edges", "dump", "dependencies: pairs of transactions where one overwrote rows of the other"},
    {"cross_stream_edges", "dump", "dependencies between two streams"},
    {"cross_stream_pct", "dump", "the share of `cross_stream_edges` in `edges`"},
    {"tight_edges", "dump",
     "dependencies between two streams where the earlier transaction was among the last five of "
     "its stream by then"},
    {"tight_pct", "dump", "the share of `tight_edges` in `cross_stream_edges`"},
    {"median_gap", "dump", "the median difference of a pair's sequence numbers"},
    {"median_order_gap", "dump", "the median distance of a pair in the order of the log"},
    {"longest_path", "dump", "transactions of the longest chain of dependencies"},
    {"verified", "run recover",
     "the result of the workload's own checks: `passed` or `FAILED`; empty without `--verify`; "
     "`FAILED` also if the log cannot be recovered"},
    {"interrupted", "run", "whether a signal ended the run"},
    {"revision", "run recover micro dump device", "the program's revision"},
    {"machine", "run recover micro dump device",
     "the machine: processor, cores that the program may use, kernel; or the simulated one"},
    {"sockets", "run recover micro dump device", "the machine's sockets; empty if simulated"},
    {"governor", "run recover micro dump device",
     "the governor of the first processor's frequency; empty if the kernel has none"},
    {"smt", "run recover micro dump device",
     "whether the siblings of a core are used, in the kernel's words"},
    {"flags", "run recover micro dump device", "the flags that were given, with their values"},
};

Row columns_of(const platform::DiskFacts& facts) {
  const auto flag = [](std::optional<bool> is) { return is ? Value(*is) : Value(); };
  return {{"file_system", facts.file_system},
          {"mount_options", facts.mount_options},
          {"disk", facts.disk},
          {"disk_model", facts.model},
          {"scheduler", facts.scheduler},
          {"write_cache", facts.write_cache},
          {"fua", flag(facts.fua)},
          {"rotational", flag(facts.rotational)}};
}

}  // namespace

Value::Value(std::string_view text) : text_(text) {
  if (!text.empty()) json_ = json_text(text);
}

Value number(double value, int decimals) {
  if (std::isnan(value)) return {};
  const std::string text = platform::with_decimals(value, decimals);
  return {text, std::isfinite(value) ? text : "null"};  // JSON has no infinity
}

double per(double value, double count) {
  return count > 0 ? value / count : std::numeric_limits<double>::quiet_NaN();
}

Value list_of(const std::vector<Value>& members) {
  std::vector<std::string> items;
  for (const Value& member : members) items.push_back(member.json());
  return {platform::join(members, " ", &Value::text), json_array(items)};
}

void add_latency(const std::string& prefix, const HistogramSum& ticks, Row* row) {
  const auto us = [any = ticks.count() != 0](uint64_t t) {
    return any ? number(platform::ticks_to_ns(t) * 1e-3) : Value();
  };
  append(row, {{prefix + "_p50_us", us(ticks.percentile(0.5))},
               {prefix + "_p95_us", us(ticks.percentile(0.95))},
               {prefix + "_p99_us", us(ticks.percentile(0.99))},
               {prefix + "_p999_us", us(ticks.percentile(0.999))},
               {prefix + "_max_us", us(ticks.max())}});
}

Value counter(const Counters& counters, std::string_view name, int decimals) {
  return counters.has(name) ? number(counters.value(name), decimals) : Value();
}

void add_counters(const Counters& counters, Row* row) {
  row->emplace_back("flushes", counter(counters, "flushes", 0));
  row->emplace_back("flush_bytes_mean", counter(counters, "flush_bytes_mean", 0));
  row->emplace_back("flush_late_us_mean", counter(counters, "flush_late_us_mean", 1));
  std::string text;
  std::vector<std::pair<std::string, std::string>> members;
  for (const SchemeCounter& counter : counters) {
    if (counter.name.starts_with("flush")) continue;
    const Value value = number(counter.value(), 2);
    if (value.empty()) continue;
    platform::append_part(&text, " ", counter.name + "=" + value.text());
    members.emplace_back(counter.name, value.json());
  }
  row->emplace_back("scheme_counters", Value(text, json_object(members)));
}

void add_log(const LogFiles& files, size_t directories, Row* row) {
  const LogFileHeader& log = files.header;
  char run[17];
  std::snprintf(run, sizeof run, "%016lx", log.run);
  append(row, {{"log", log.scheme},
               {"log_records", log.log_records},
               {"device", log.device},
               {"streams", files.paths.size()},
               {"directories", directories},
               {"log_threads", log.workers},
               {"log_run", run},
               {"log_revision", log.revision},
               {"log_flags", log.given}});
}

void add_disks(const std::vector<std::string>& directories, Row* row) {
  std::vector<Row> disks;
  for (const std::string& directory : directories) {
    if (platform::is_simulated()) break;
    disks.push_back(columns_of(platform::disk_facts(platform::KernelFiles(), directory)));
  }
  Row all = columns_of({});
  for (size_t column = 0; column < all.size(); ++column) {
    Value& fact = all[column].second;
    std::vector<std::string> texts;
    for (const Row& disk : disks) {
      const Value& of_disk = disk[column].second;
      if (of_disk.empty() || std::ranges::find(texts, of_disk.text()) != texts.end()) continue;
      texts.push_back(of_disk.text());
      fact = texts.size() == 1 ? of_disk : Value(platform::join(texts, "; "));
    }
  }
  append(row, all);
}

void add_origin(Row* row) {
  const platform::MachineFacts facts = platform::is_simulated()
                                           ? platform::MachineFacts()
                                           : platform::machine_facts(platform::KernelFiles());
  append(row, {{"revision", revision()},
               {"machine", platform::host_description()},
               {"sockets", facts.sockets},
               {"governor", facts.governor},
               {"smt", facts.smt},
               {"flags", changed_flags()}});
}

void append(Row* row, const Row& columns) {
  row->insert(row->end(), columns.begin(), columns.end());
}

const std::string& text_of(const Row& row, std::string_view column) {
  const auto found = std::ranges::find(row, column, &Row::value_type::first);
  LJ_ASSERT(found != row.end());
  return found->second.text();
}

void print_summary(const Row& row) {
  for (const auto& [name, value] : row) {
    if (!value.empty()) std::printf("%-22s %s\n", name.c_str(), value.text().c_str());
  }
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char first = text[0];
    if (length == 0) {
      out += '?';
    } else if (first == '"' || first == '\\') {
      out += {'\\', first};
    } else if (static_cast<unsigned char>(first) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(first));
      out += escaped;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

std::string json_object(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out = "{";
  for (const auto& [name, value] : members) {
    LJ_ASSERT(!value.empty());
    out += (out.size() == 1 ? "" : ", ") + json_text(name) + ": " + value;
  }
  return out + "}";
}

std::string json_array(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() == 1 ? "" : ", ") + item;
  return out + "]";
}

void print_table(const std::vector<Line>& lines) {
  LJ_ASSERT(!lines.empty());
  std::vector<size_t> widths(lines[0].size());
  for (const Line& line : lines) {
    LJ_ASSERT(line.size() == widths.size());
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const Line& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      text += line[i];
      if (i + 1 < line.size()) text += std::string(widths[i] - line[i].size() + 2, ' ');
    }
    std::printf("%s\n", text.c_str());
  }
  std::printf("\n");
}

std::string column_table() {
  std::string text = "| column | rows of | what it says |\n|---|---|---|\n";
  for (const RowColumn& column : kColumns) {
    text += "| `" + std::string(column.name) + "` | " + std::string(column.commands) + " | " +
            std::string(column.says) + " |\n";
  }
  return text;
}

}  // namespace logjam

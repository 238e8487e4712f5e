#include "cli/field_words.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace logjam {
namespace {

// The words of DBx1000, CCBench, BenchBase, YCSB, sysbench, HammerDB, pgbench and fio. A word may
// stand for several flags: those of other commands do not count.
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

}  // namespace

std::span<const FieldWords> field_words() { return kWords; }

std::vector<std::string_view> meant_by(std::string_view name) {
  std::string word = " ";
  for (const char letter : name) word += static_cast<char>(std::tolower(letter));
  word += ' ';
  std::vector<std::string_view> meant;
  if (name == "T") meant.push_back("seconds");  // pgbench, whose -t counts transactions
  for (const FieldWords& each : kWords) {
    if (each.words.find(word) != std::string_view::npos) meant.push_back(each.flag);
  }
  return meant;
}

}  // namespace logjam

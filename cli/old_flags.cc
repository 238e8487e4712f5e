#include "cli/old_flags.h"

#include <utility>

namespace logjam {
namespace {

constexpr std::string_view kOtherBuild = "a flag of build-sim/logjam, which `make sim` builds";
constexpr std::string_view kSysbench =
    "gone: a transaction has the statements of sysbench's default";

// Each old name, and the rest of a sentence that begins with "--NAME is".
constexpr std::pair<std::string_view, std::string_view> kOld[] = {
    {"as", "gone: --flagfile=config/papers/NAME.flags has a paper's settings"},
    {"carray_force", "--test=aether_force:N now"},
    {"carray_slots", "--aether_slots now"},
    {"checkpoint_files", "gone: a checkpoint has a file for each core"},
    {"checkpoint_mb", "--checkpoint=mb:N now"},
    {"checkpoint_mb_s", "--checkpoint=mb_s:N now"},
    {"checkpoint_s", "--checkpoint=s:N now"},
    {"cores", kOtherBuild},
    {"dump_from", "--range=from:N now"},
    {"dump_records", "--range=count:N now"},
    {"dump_row_bytes", "gone: 16 bytes of each row are printed"},
    {"dump_run", "--range=run:N now"},
    {"dump_transactions", "--range=count:N now"},
    {"eleda_io_bytes", "--io_bytes now"},
    {"elr", "--locks=early, or for false --locks=write, now"},
    {"epoch_ms", "--silo_epoch_ms now"},
    {"first_core", "--placement=compact:N now"},
    {"flush_bytes", "--flush=bytes:N now"},
    {"flush_txns", "--flush=txns:N now"},
    {"flush_us", "--flush=us:N now"},
    {"history_die_after", "--test=history_die_after:N now"},
    {"hop_bytes", "--eleda_hop_bytes now"},
    {"inserts", "--transactions now"},
    {"io_unit_bytes", "--io_bytes or --poplar_segment_bytes now"},
    {"keep_locks", "--locks=write or all now"},
    {"ledger_cells", "--ledger=cells:N now"},
    {"ledger_dawdle", "--test=ledger_dawdle:N now"},
    {"ledger_die_after", "--test=ledger_die_after:N now"},
    {"ledger_die_early", "--test=ledger_die_early:N now"},
    {"ledger_keys", "--ledger=keys:N now"},
    {"ledger_readers", "--test=ledger_readers:N now"},
    {"ledger_reads", "--ledger=reads:N now"},
    {"ledger_slots", "--ledger=slots:N now"},
    {"ledger_theta", "--ledger=theta:X now"},
    {"ledger_writes", "--ledger=writes:N now"},
    {"ledger_yield", "--test=ledger_yield:N now"},
    {"local", "--fill=local now"},
    {"lockflush_ngroup", "--pwal_ngroup now"},
    {"machine", kOtherBuild},
    {"oltp_delete_inserts", kSysbench},
    {"oltp_index_updates", kSysbench},
    {"oltp_non_index_updates", kSysbench},
    {"oltp_point_selects", kSysbench},
    {"oltp_ranges", kSysbench},
    {"out", "gone: `logjam machine` writes to stdout"},
    {"outlier_bytes", "the second number of --record_bytes=N:N now"},
    {"pin", "--placement now, and --placement=none pins no worker"},
    {"pwal_ack", "--ack now"},
    {"repetitions", "gone: each cost is measured 9 times"},
    {"report", kOtherBuild},
    {"scm_stale_bounds", "--test=scm_stale_bounds:1 now"},
    {"seal", "--fill=records now"},
    {"segment_mb", "the second number of --log_prealloc_mb=N:N now"},
    {"set", kOtherBuild},
    {"sim_seed", kOtherBuild},
    {"tatp_uniform", "--test=tatp_uniform:1 now"},
    {"timeline_ms", "--timeline=FILE:N now"},
    {"ycsb_distinct", "gone: the rows of a transaction differ"},
    {"ycsb_expected_inserts", "gone: it is twice the inserts that --ycsb_records operations have"},
    {"ycsb_insert_order", "gone: the mix says it"},
    {"ycsb_insert_ratio", "--ycsb_ratios=insert:X now"},
    {"ycsb_prefetch", "gone: index entries are always prefetched"},
    {"ycsb_read_ratio", "--ycsb_ratios=read:X now"},
    {"ycsb_scan_ratio", "--ycsb_ratios=scan:X now"},
};

}  // namespace

std::string what_became_of(std::string_view name) {
  for (const auto& [old, now] : kOld) {
    if (old == name) return "--" + std::string(old) + " is " + std::string(now);
  }
  return "";
}

}  // namespace logjam

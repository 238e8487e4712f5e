// `innodb`: the redo log of MySQL 8.0 (WL#10310), written from a description of its steps. LSN by
// fetch-add; workers fill their holes side by side, link the filled records (link_buf.h), and move
// the tail, up to which there is no hole, along the links. Workers follow the links, as in MySQL
// since 2020 (Bug#30088404); in WL#10310 one thread does.
//
// With --flush_help=false one thread writes up to the tail, and workers wait for this thread, like
// MySQL's dedicated log threads. With --flush_help (the default) a worker that waits for its commit
// writes the log, or waits for another worker that is writing, as with
// innodb_log_writer_threads=OFF. MySQL's worker waits until the tail has passed its record, and
// then writes. Our worker does not wait: it writes up to the current tail.
//
// SBL is a copy of the tail. A thread that asks for SBL advances it, even with --flush_help=false.
#include "logging/flag_checks.h"
#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/innodb/link_buf.h"
#include "platform/test_value.h"

namespace logjam {
namespace {

const platform::TestValue window("innodb_window");

// Returns --test=innodb_window or, without it, the default of innodb_log_recent_written_size.
uint64_t window_bytes() { return window.get() != 0 ? window.get() : uint64_t{1} << 20; }

class Innodb final : public FetchAddScheme<LinkBuf> {
 public:
  explicit Innodb(const LogConfig& config) : FetchAddScheme(config, window_bytes()) {}
};

const SchemeRegistration registration(fetch_add_scheme({
    .name = "innodb",
    .differs = "records of any length in place of blocks of 512 bytes with headers; one operation "
               "writes and syncs, where MySQL writes and then syncs; space in the buffer is free "
               "when it is durable, where MySQL frees what is written; one link entry for every 8 "
               "bytes of log, where MySQL has one for every byte; the order of dirty pages, "
               "checkpoints' limit on the log and the resizing of the buffer are left out",
    .buffer = "fetch-add, filled in parallel; links from each record's begin to its end",
    .safe_when = "LSN <= durable",
    .source = "MySQL 8.0, WL#10310 and later",
    .construct = construct<Innodb>,
    .check_flags = [] { return check_power_of_two("test=innodb_window", window_bytes(), 64); },
}));

}  // namespace
}  // namespace logjam

// `postgres`: the write-ahead log of PostgreSQL (9.4 and later), written from a description of its
// steps. A worker inserts under one of eight insertion locks: it takes its LSN under a spin lock,
// and fills its record while holders of the other locks fill theirs (insertion_locks.h). A
// committer whose record is not durable writes the log up to the first hole, for all workers. If
// another committer is writing, the committer waits for this write, and then looks whether its own
// record is durable (Stream::wait; in PostgreSQL, LWLockAcquireOrWait).
//
// The daemon is the WAL writer. --flush=us:T delays a flush, where PostgreSQL's commit_delay is a
// sleep of the committer that is about to flush. --flush_help=false leaves all writes to the
// daemon. Eight locks are a constant in PostgreSQL's source (--test=postgres_insert_locks:N changes
// it). On 64 simulated cores, 128 locks are slower: workers that wait for the spin lock have
// announced old bounds, which delay later records.
//
// No wake-up is lost. A look may stop at a bound that is before the holder's record. The holder
// soon calls Stream::on_publish, or it announces its exact position and then does or starts the
// daemon's work itself (Stream::wait_for_space).
#include "logging/flag_checks.h"
#include "logging/schemes/common/single_stream_scheme.h"
#include "logging/schemes/postgres/insertion_locks.h"

namespace logjam {
namespace {

constexpr uint32_t kInsertLocks = 8, kMostInsertLocks = 1024;

const platform::TestValue given_locks("postgres_insert_locks");

uint64_t insert_locks() { return given_locks.get() != 0 ? given_locks.get() : kInsertLocks; }

class Postgres final : public SingleStreamScheme {
 public:
  explicit Postgres(const LogConfig& config)
      : SingleStreamScheme(config), locks_(static_cast<uint32_t>(insert_locks()), config.workers) {}

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    const uint64_t begin =
        locks_.reserve(worker, bytes, [this](uint64_t end) { return stream().ring().fits(end); });
    const uint64_t waited = stream().wait_for_space(begin + bytes);
    return reservation(begin, bytes, waited);
  }

  void fill_done(uint32_t worker, const LogReservation&, RecordRole) override {
    locks_.release(worker);
  }

 private:
  uint64_t sbl() const override { return locks_.look(); }

  mutable InsertionLocks locks_;
};

const SchemeRegistration registration(lsn_scheme({
    .name = "postgres",
    .differs = "a flusher takes the end of the log at the time of its lock for an inserter's "
               "position, where PostgreSQL's sleeps until the lock is free; a finished flusher "
               "wakes those whose commits are durable, and one more, where PostgreSQL wakes all; "
               "--flush=us:T delays any flush, where commit_delay is a sleep of the flusher; "
               "records without pages and without a link to the record before",
    .buffer = "insertion locks, LSN under a spin lock, filled in parallel",
    .source = "PostgreSQL 9.4, xlog.c",
    .construct = construct<Postgres>,
    .check_flags =
        [] {
          return check_range("test=postgres_insert_locks", static_cast<double>(insert_locks()), 1,
                             kMostInsertLocks);
        },
}));

}  // namespace
}  // namespace logjam

// The interface of a workload: its tables, their initial rows, its clients, and its checks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/storage/database.h"
#include "engine/transaction.h"
#include "platform/registry.h"

namespace logjam {

// One result of verify(), printed on a line of its own.
struct Check {
  std::string name;
  bool passed = false;
  std::string detail;  // what was found, with numbers
};

// What a specification says of one type of transaction. The summary prints it beside what the run
// has observed.
struct SpecifiedMix {
  double share_pct = 0;
  double success_pct = 100;  // of transactions that neither miss nor roll back
};

// How often the clients of a run drew something whose frequency a specification prescribes.
struct Share {
  std::string_view name;
  uint64_t hits = 0;
  uint64_t all = 0;
  double specified_pct = 0;
};

// The rate by which a workload is known: transactions of one type, or of all, in a time of
// `seconds`.
struct Headline {
  std::string_view name;
  std::optional<uint32_t> type;
  double seconds = 1;
  bool with_rollbacks = false;  // rolled-back transactions count
};

// One worker's stream of transactions. A client draws a transaction once, and may execute it many
// times. Only its worker's thread calls it.
class Client {
 public:
  virtual ~Client() = default;

  // Draws the input of the next transaction. Returns its type, an index into Workload::types().
  virtual uint32_t next() = 0;
  // Executes the drawn transaction once. kOk: commit it. kRollback: undo it, it is complete.
  // kAbort: `txn` has returned kAbort. kNotFound: the transaction met a miss that the workload
  // expects; commit it and count it apart.
  virtual Status execute(Transaction& txn) = 0;

  // For logs of commands: the input of the last executed attempt, encoded; valid until the next
  // execute(). It may be empty for a transaction that only reads.
  virtual std::span<const std::byte> command() = 0;
  // For the replay of commands: takes the transaction from `input` in place of next(). Returns
  // false if `input` is no input of that type. What execute() then writes must follow from `input`
  // and from the rows that it reads, and from nothing else. It may be executed before transactions
  // that the run committed earlier, as a transaction of a run is that will be aborted. A row that
  // these insert is then missing, which the client does not see: its call returns kAbort.
  virtual bool take(uint32_t type, std::span<const std::byte> input) = 0;

  // For workloads that keep a history (ledger). committing(): the last executed transaction is
  // about to commit; returns its number in the history, or 0 for none. acknowledged(): the
  // transaction with this number was acknowledged.
  virtual uint64_t committing() { return 0; }
  virtual void acknowledged(uint64_t number) { (void)number; }
  // Who is told when a transaction reaches its serialization point, or null. Asked once.
  virtual CommitObserver* commit_observer() { return nullptr; }
  // True if the client can record or execute nothing more. The run then ends early, without an
  // error.
  virtual bool exhausted() const { return false; }
};

class Workload {
 public:
  virtual ~Workload() = default;

  // Creates the tables, in the same order in every process. Called once, before load().
  virtual void create_tables(Database& database) = 0;
  // Loads part `part` (from 0) of `parts`. Several threads call it at the same time, each with a
  // part and an arena of its own. The loaded rows are the same whatever `parts` is.
  virtual void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) = 0;
  // Called in place of load(), after create_tables(), if the rows were recovered from the log of an
  // earlier process, or are those of another Workload object of the same flags. Finds out what
  // clients need to go on. The number of clients may be another one than before. Clients that are
  // made afterwards use no key that was used before, and verify() counts from the rows that are
  // there now. During the call no transaction runs, and no client exists.
  virtual void resume(Database& database) { (void)database; }

  // The names of the transaction types.
  virtual std::vector<std::string_view> types() const = 0;
  // One element for each type, or none at all.
  virtual std::vector<SpecifiedMix> specified_mix() const { return {}; }
  // What the clients of finished runs have drawn, for the summary. Called after the clients are
  // destroyed.
  virtual std::vector<Share> shares() const { return {}; }
  // The rate to print, if the workload has one.
  virtual std::optional<Headline> headline() const { return std::nullopt; }
  // What a reader of a result with so many transactions a second must know, as for a specification
  // whose rules the run breaks: one sentence, or an empty string.
  virtual std::string caution(double tps) const {
    (void)tps;
    return "";
  }
  // Makes the client of worker `worker` (from 0) of `workers`. The caller owns it.
  virtual std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                              uint64_t seed) = 0;

  // Called before start_history(), so that a history can name it: why acknowledged transactions may
  // be lost (R8).
  virtual void note_unsafe(const std::string& why) { (void)why; }
  // Called before make_client(), and before the run replaces an earlier log: opens the history of
  // `workers` workers, if one is asked for, or refuses. `ordinal`: which run of the log this one
  // is, from 1. From the second on, it goes on with the history of those before, and resume() is
  // called before.
  virtual void start_history(uint32_t workers, uint32_t ordinal) {
    (void)workers;
    (void)ordinal;
  }

  // Makes the client to which a thread of recovery gives commands, of any client of the run.
  virtual std::unique_ptr<Client> make_replayer(Database& database) {
    return make_client(database, 0, 1, 0);
  }

  // Called before verify(): the database was recovered from a log that may hold a worker's
  // transaction without an earlier one of the same worker.
  virtual void note_any_order() {}
  // Runs the workload's own consistency checks. No transaction runs meanwhile.
  virtual std::vector<Check> verify(Database& database) = 0;

  // Checks the recovered database against the history that the clients kept in the file `path` (the
  // ledger's, or those of proof/history/). A workload that keeps no history returns a failed
  // check that says so.
  virtual std::vector<Check> verify_history(Database& database, const std::string& path) {
    (void)database;
    return {{"history", false, "this workload keeps no history, so " + path + " proves nothing"}};
  }

  // Writes the history in the file `path`, with the recovered rows as a last read, to the file
  // `to`, in a format that public checkers read (ledger). Returns why the history cannot be
  // exported, in one sentence, or an empty string. Ends the process if the file cannot be written.
  virtual std::string export_history(Database& database, const std::string& path,
                                     const std::string& to) {
    (void)database;
    (void)to;
    return "only the ledger's history says what was read: " + path + " cannot be exported";
  }

  // One line for the summary, with scale and distribution.
  virtual std::string describe() const = 0;
  // The bytes that the loaded tables will need, so that the command line can refuse what does not
  // fit.
  virtual uint64_t expected_bytes() const = 0;
};

// A named choice of a workload's flags, for `logjam list variants`.
struct WorkloadVariant {
  std::string flag;
  std::string_view what;
};

struct WorkloadInfo {
  std::string_view name;
  std::string_view what;
  std::string_view memory;  // what the loaded tables and indexes take, for each unit of scale
  // The gflags that shape the initial load, or that verify() must know. They are stored in the log,
  // because recovery repeats the load.
  std::vector<std::string_view> load_flags;
  // Returns, in one sentence, why the flags as they are set cannot be used; empty if they can.
  std::function<std::string()> check_flags;
  std::function<std::unique_ptr<Workload>()> make;
  std::vector<WorkloadVariant> variants = {};
  // Whether its own clients keep a history with --history (ledger).
  bool keeps_history = false;
};

// A workload's file holds one static WorkloadRegistration.
using Workloads = platform::Registry<WorkloadInfo>;
using WorkloadRegistration = Workloads::Registration;
inline const std::vector<WorkloadInfo>& all_workloads() { return Workloads::all(); }
inline const WorkloadInfo* find_workload(std::string_view name) { return Workloads::find(name); }

}  // namespace logjam

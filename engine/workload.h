// The interface of a workload.
//
// A new workload must define next() and execute() of Client, and create_tables(), load(), spec(),
// make_client() and verify() of Workload. A run calls, in this order: create_tables(); load(), or
// resume() if the run continues a log; start_history(); make_client() for each worker; the clients'
// functions; shares() and verify(), after the clients are destroyed.
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
#include "platform/fatal.h"
#include "platform/registry.h"

namespace logjam {

// One result of verify().
struct Check {
  std::string name;
  bool passed = false;
  std::string detail;  // the numbers found
};

// The percentages that a specification demands of a type of transaction.
struct SpecifiedMix {
  double share_pct = 0;
  // Of transactions that neither miss nor roll back; none: the specification does not say.
  std::optional<double> success_pct = 100;
};

// A type of transaction.
struct TypeSpecification {
  std::string_view name;
  // Either all types of a workload have a specified mix, or none has.
  std::optional<SpecifiedMix> specified = std::nullopt;
};

// How often the clients of a run made a random choice whose frequency a specification prescribes.
struct Share {
  std::string_view name;
  uint64_t hits = 0;
  uint64_t all = 0;
  double specified_pct = 0;
};

// The figure by which a workload is known: transactions of one or all types per `seconds`.
struct Headline {
  std::string_view name;
  std::optional<uint32_t> type = std::nullopt;  // an index into Specification::types
  double seconds = 1;
  bool with_rollbacks = false;  // rolled-back transactions count
};

// The most that one transaction logs. From it follows the length of the longest record, and a run
// whose log buffers cannot take this record is refused.
struct LargestTransaction {
  uint64_t rows = 0;           // rows that it changes
  uint32_t row_bytes = 0;      // bytes of each of these rows
  uint64_t command_bytes = 0;  // of Client::command()
};

// The facts about a workload that its flags determine.
struct Specification {
  std::string description;      // one line: the workload's name, scale and distribution
  uint64_t expected_bytes = 0;  // memory of the loaded tables; a run that does not fit is refused
  // The most memory that one worker's inserts take per second (for Run::prefault()).
  uint64_t growth_bytes_s = 0;
  std::vector<TypeSpecification> types = {};
  // May stay empty if no transaction logs more than some kilobytes.
  LargestTransaction largest = {};
  std::optional<Headline> headline = std::nullopt;
  bool own_arrivals = false;  // the clients have Client::arrivals_ns()
  // Returns a warning about a result of `tps` transactions per second, or "". Null: no warning.
  std::function<std::string(double tps)> caution = nullptr;
};

// Chooses and executes the transactions of one worker, which owns the client. A client chooses a
// transaction once, and may execute it many times.
class Client {
 public:
  virtual ~Client() = default;

  // Chooses the next transaction. Returns its type, an index into Specification::types.
  virtual uint32_t next() = 0;
  // Executes the chosen transaction once. kOk: commit it. kRollback: undo it, and do not retry it.
  // kAbort: `txn` has returned kAbort. kNotFound: the transaction met a miss that the workload
  // expects; commit it, and count it as a miss. kExists ends the process: the workload decides
  // whether an insert of a present key is a rollback. Under optimistic protocols the rows that an
  // attempt reads may not fit together; the commit of such an attempt fails.
  virtual Status execute(Transaction& txn) = 0;
  // Tells the client that transaction `number` (from committing()) is acknowledged. The worker
  // calls this function for every transaction that commits, and for no other.
  virtual void acknowledged(uint64_t number) { (void)number; }
  // Returns whether the client can execute nothing more. The run then ends early, without an error.
  virtual bool exhausted() const { return false; }
  // Returns when the client's transactions arrive, in nanoseconds from the start of the workers,
  // ascending, for an open loop of the workload's own. If not empty, it has an element for each
  // transaction. The result is valid while the client lives.
  virtual std::span<const uint64_t> arrivals_ns() const { return {}; }

  // Returns whether all transactions of this client are the long ones of a mix of long and short
  // transactions. The latencies of long and of short transactions have columns of their own.
  virtual bool is_long() const { return false; }

  // Functions for logs of commands (WorkloadInfo::has_commands).

  // Returns the input of the last executed attempt, encoded. It is valid until the next execute(),
  // and may be empty for a transaction that only reads.
  virtual std::span<const std::byte> command() { return {}; }
  // Chooses the transaction with this logged `input`, in place of next(). Returns false if `input`
  // is no input of that type. The writes of execute() must follow from `input` and from the rows
  // that it reads. A replay may execute the transaction before an earlier transaction. Then a read
  // of a row that the earlier transaction inserts returns kAbort.
  virtual bool take(uint32_t type, std::span<const std::byte> input) {
    (void)type;
    (void)input;
    return false;
  }

  // Announces that the last executed transaction is about to commit. Returns the number with which
  // acknowledged() will name the transaction: its place in a history, a count of the client, or 0.
  virtual uint64_t committing() { return 0; }
  virtual CommitObserver* commit_observer() { return nullptr; }
};

// The run whose history is kept.
struct HistoryOrigin {
  uint64_t log = 0;          // the log's identity
  uint32_t ordinal = 1;      // the number of the run in its log
  uint32_t after = 0;        // number of the last earlier run that left a record; 0: none
  std::string unsafe = {};   // why acknowledged transactions may be lost (R8), or empty
  bool serializable = true;  // whether the protocol promises a serial order
};

class Workload {
 public:
  virtual ~Workload() = default;

  // Creates the tables, in the same order in every process.
  virtual void create_tables(Database& database) = 0;
  // Loads part `part` (from 0) of `parts`. Several threads call it at once, each with its own part
  // and arena. The loaded rows do not depend on `parts`.
  virtual void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) = 0;
  // Prepares to continue with rows that were recovered from the log of an earlier process, or that
  // belong to another Workload object of the same flags. Later clients, in any number, use no key
  // that was used before, and verify() counts from the present rows. No client exists. A workload
  // that inserts rows must define resume(): without it, recovered inserts are refused.
  virtual void resume(Database& database) {
    for (const auto& table : database.tables()) {
      if (!table->membership_changes()) continue;
      platform::refuse(
          "the workload inserts rows and does not define resume(), so it cannot "
          "continue a log with rows that it inserted into its table " +
          table->schema().name + ": " + spec().description);
    }
  }

  virtual Specification spec() const = 0;
  // Makes the client of worker `worker` (from 0) of `workers`.
  virtual std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                              uint64_t seed) = 0;
  // Runs the workload's own consistency checks. No transaction runs during the call.
  virtual std::vector<Check> verify(Database& database) = 0;
  virtual std::vector<Share> shares() const { return {}; }

  // Makes a client to which a thread of recovery gives the commands of all clients of the run.
  virtual std::unique_ptr<Client> make_replayer(Database& database) {
    return make_client(database, 0, 1, 0);
  }
  // Announces, before verify(), that the log may have lost a transaction and kept a later
  // transaction of the same worker.
  virtual void note_any_order() {}

  // Histories. Only the ledger and the recorder of proof/ have these three functions.

  // Opens a history for `workers` workers, or continues the history of an earlier run, if the flags
  // ask for a history. May end the process with a refusal. The run is not part of the log yet.
  virtual void start_history(uint32_t workers, const HistoryOrigin& origin) {
    (void)workers;
    (void)origin;
  }
  // Gives the history's file its final name, once the run is part of the log.
  virtual void keep_history() {}
  // Checks the recovered database against the history that the clients kept in the file `path`.
  virtual std::vector<Check> verify_history(Database& database, const std::string& path) {
    (void)database;
    return {{"history", false, "this workload keeps no history, so " + path + " proves nothing"}};
  }
  // Copies the history in the file `path` to the file `to`, in a format that public checkers read,
  // with the recovered rows as a last read. Returns in one sentence why this is impossible, or an
  // empty string. Ends the process if the file `to` cannot be written.
  virtual std::string export_history(Database& database, const std::string& path,
                                     const std::string& to) {
    (void)database;
    (void)to;
    return "only the ledger's history says what was read: " + path + " cannot be exported";
  }
};

// A named combination of a workload's flags, for `logjam list variants`.
struct WorkloadVariant {
  std::string flag;
  std::string_view what;
};

struct WorkloadInfo {
  std::string_view name;
  std::string_view what;
  std::string_view memory;  // of the loaded tables and indexes, for each unit of scale
  // The gflags that shape the initial load, or that verify() must know. Recovery reads these
  // flags from the log, and repeats the load.
  std::vector<std::string_view> load_flags;
  // Returns, in one sentence, why the present flags cannot be used; empty if they can.
  std::function<std::string()> check_flags;
  std::function<std::unique_ptr<Workload>()> make;
  std::vector<WorkloadVariant> variants = {};
  // Whether the workload's own clients keep a history with --history, as the ledger's clients do.
  bool keeps_history = false;
  // Whether the clients define command() and take(), so that a run may log commands.
  bool has_commands = false;
  // Whether the clients have an end. Then a run has no warm-up, unless a flag asks for one.
  bool ends = false;
  // The registration's source file. The workload owns all flags that its folder defines.
  std::string_view file = {};
};

// A workload's file holds one static WorkloadRegistration.
using Workloads = platform::Registry<WorkloadInfo>;
using WorkloadRegistration = Workloads::Registration;
inline const std::vector<WorkloadInfo>& all_workloads() { return Workloads::all(); }
inline const WorkloadInfo* find_workload(std::string_view name) { return Workloads::find(name); }

}  // namespace logjam

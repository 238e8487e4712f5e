// What a workload gives the engine: tables, their initial rows, clients, and a check.
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

namespace logjam {

// One result of verify(), printed one by one.
struct Check {
  std::string name;
  bool passed = false;
  std::string detail;  // what was found, with numbers
};

// What a specification says of one type of transaction, to be printed beside what was observed.
struct Norm {
  double share_pct = 0;
  double success_pct = 100;  // neither a miss nor rolled back
};

// How often a run's clients drew something whose frequency a specification prescribes.
struct Share {
  std::string_view name;
  uint64_t hits = 0;
  uint64_t all = 0;
  double norm_pct = 0;
};

// The rate a workload is known by: the transactions of one type in so many seconds.
struct Headline {
  std::string_view name;
  uint32_t type = 0;
  double seconds = 1;
};

// One worker's stream of transactions. A transaction is drawn once and may be executed many times.
class Client {
 public:
  virtual ~Client() = default;

  // Draws the next transaction's input; returns its type, an index into Workload::types().
  virtual uint32_t next() = 0;
  // Executes it. kOk: commit it. kRollback: undo it, it is complete. kAbort: passed up from the
  // transaction. kNotFound: a miss the workload expects; commit it and count it apart.
  virtual Status execute(Transaction& txn) = 0;

  // For logs of commands. What the attempt last executed was asked to do, valid until the next;
  // empty will do for what only reads.
  virtual std::span<const std::byte> command() = 0;
  // The other way round, in place of next(); false if `input` is no such thing. What execute() then
  // writes must follow from this and the rows it reads alone.
  virtual bool take(uint32_t type, std::span<const std::byte> input) = 0;

  // For workloads that keep a history (ledger): the last executed transaction is about to commit
  // (its number is returned, 0: none), and a number was acknowledged.
  virtual uint64_t committing() { return 0; }
  virtual void acknowledged(uint64_t number) { (void)number; }
  // Nothing more can be recorded or executed: the run ends early, cleanly.
  virtual bool exhausted() const { return false; }
};

class Workload {
 public:
  virtual ~Workload() = default;

  virtual void create_tables(Database& database) = 0;
  // Loads part `part` of `parts`, in parallel with the others, deterministic whatever `parts` is.
  virtual void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) = 0;

  virtual std::vector<std::string_view> types() const = 0;
  // One a type, or none.
  virtual std::vector<Norm> norms() const { return {}; }
  // Of the runs that are over, for people; asked after the clients are gone.
  virtual std::vector<Share> shares() const { return {}; }
  virtual std::optional<Headline> headline() const { return std::nullopt; }
  virtual std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                              uint64_t seed) = 0;

  // Before make_client(): why what is acknowledged may be lost (R8), for a history to say so.
  virtual void note_unsafe(const std::string& why) { (void)why; }

  // The client that recovery gives the commands of all others to.
  virtual std::unique_ptr<Client> make_replayer(Database& database) {
    return make_client(database, 0, 1, 0);
  }

  // The workload's own consistency checks, while no transaction runs.
  virtual std::vector<Check> verify(Database& database) = 0;

  // Proves the database, after recovery, against the history its clients kept in the file `path`
  // (ledger). Workloads that keep none say so in a failed check.
  virtual std::vector<Check> verify_history(Database& database, const std::string& path) {
    (void)database;
    return {{"history", false, "this workload keeps no history, so " + path + " proves nothing"}};
  }

  // One line for the summary: scale, distribution.
  virtual std::string describe() const = 0;
  // Bytes the loaded tables will need, to refuse what cannot fit.
  virtual uint64_t expected_bytes() const = 0;
};

struct WorkloadInfo {
  std::string_view name;
  std::string_view what;
  std::string_view memory;  // of the loaded tables, indexes included, for each unit of scale
  // The gflags this workload reads; those that shape the initial load are stored in the log.
  std::vector<std::string_view> load_flags;
  // Why the flags as they are cannot be used, in one sentence; empty if they can.
  std::function<std::string()> check_flags;
  std::function<std::unique_ptr<Workload>()> make;
};

class WorkloadRegistration {
 public:
  explicit WorkloadRegistration(WorkloadInfo info);
};
const std::vector<WorkloadInfo>& all_workloads();
const WorkloadInfo* find_workload(std::string_view name);

}  // namespace logjam

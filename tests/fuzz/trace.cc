// The input is the text of a trace. If the trace is not refused, it is loaded, and one worker
// replays it.
#include <memory>
#include <string>

#include "tests/fuzz/target.h"
#include "tests/workloads/lone_worker.h"
#include "workloads/trace/replay.h"

namespace logjam::fuzz {
namespace {

// The target replays no trace whose rows need more memory: each line may ask for a row of 1 MiB.
constexpr uint64_t kMostRowBytes = 1 << 20;

void replay(const std::shared_ptr<const trace::Trace>& trace) {
  uint64_t bytes = 0;
  for (const trace::TracedTable& table : trace->tables) {
    bytes += (table.rows.size() + table.inserts + 1) * table.row_bytes;
  }
  if (bytes > kMostRowBytes) return;
  const auto workload = trace::make_replay("input", trace);
  Database database;
  Arena arena;
  workload->create_tables(database);
  workload->load(database, 0, 1, arena);
  {
    const LoneWorker worker(database);
    ProtocolTransaction& transaction = worker.transaction();
    const auto client = workload->make_client(database, 0, 1, 0);
    while (!client->exhausted()) {
      client->next();
      transaction.begin(false);
      const Status status = client->execute(transaction);
      require(status != Status::kAbort, "a worker alone never aborts");
      if (status == Status::kRollback) {
        transaction.abort();
        continue;
      }
      const uint64_t number = client->committing();
      require(transaction.commit() == Status::kOk, "a worker alone commits");
      client->acknowledged(number);
    }
  }
  for (const Check& check : workload->verify(database)) {
    require(check.passed, check.name + ": " + check.detail);
  }
}

void read_trace(Input input) {
  auto trace = std::make_shared<trace::Trace>();
  const std::string wrong = trace::parse(text_of(input), trace.get());
  require(wrong.size() < 400, "a refusal is a sentence");
  require(wrong.find('\n') == wrong.npos, "a sentence has one line");
  if (wrong.empty()) replay(trace);
}

const FuzzRegistration registration({.name = "trace", .most_bytes = 600, .run = read_trace});

}  // namespace
}  // namespace logjam::fuzz

// The input is a logged command, which a workload decodes and executes.
//
// input := the workload (1 byte), the type (1 byte), a command
#include <memory>
#include <string>

#include "engine/workload.h"
#include "tests/fuzz/target.h"
#include "tests/workloads/lone_worker.h"
#include "tests/workloads/small_scales.h"

namespace logjam::fuzz {
namespace {

// The target creates its databases anew after this number of commands.
constexpr uint64_t kRenewed = 100'000;

// A small database, and the only worker that executes transactions on it. The worker undoes every
// transaction, but an absent tuple remains in the database for each row that it inserted.
class World {
 public:
  explicit World(const WorkloadInfo& info) {
    for (const auto& [name, value] : small_scale(info.name)) {
      gflags::SetCommandLineOption(name.c_str(), value.c_str());
    }
    workload_ = info.make();
    workload_->create_tables(database_);
    workload_->load(database_, 0, 1, arena_);
    types_ = workload_->spec().types.size();
    worker_ = std::make_unique<LoneWorker>(database_);
    client_ = workload_->make_replayer(database_);
  }

  void execute(uint32_t type, Input command) {
    if (types_ <= type || !client_->take(type, command)) return;
    ProtocolTransaction& transaction = worker_->transaction();
    transaction.begin(false);
    try {
      static_cast<void>(client_->execute(transaction));
    } catch (...) {
      transaction.abort();
      throw;
    }
    transaction.abort();
  }

 private:
  Arena arena_;
  Database database_;
  std::unique_ptr<Workload> workload_;
  size_t types_ = 0;
  std::unique_ptr<LoneWorker> worker_;
  std::unique_ptr<Client> client_;
};

void execute_command(Input input) {
  static auto& worlds = *new std::vector<std::unique_ptr<World>>;
  static uint64_t executed = 0;
  if (++executed % kRenewed == 0) {
    worlds.clear();
    free_arenas();
  }
  if (worlds.empty()) {
    for (const WorkloadInfo& info : all_workloads()) {
      if (info.has_commands) worlds.push_back(std::make_unique<World>(info));
    }
  }
  Parts parts(input);
  World& world = *worlds[parts.byte() % worlds.size()];
  const uint32_t type = parts.byte();
  world.execute(type, parts.rest());
}

const FuzzRegistration registration(
    {.name = "commands", .most_bytes = 512, .run = execute_command, .keeps_memory = true});

}  // namespace
}  // namespace logjam::fuzz

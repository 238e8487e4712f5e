#include "proof/history/with_history.h"

#include <gflags/gflags.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/fatal.h"
#include "proof/history/checker.h"
#include "proof/history/history_files.h"
#include "proof/history/recorder.h"

DECLARE_string(history);
DECLARE_uint64(history_mb);

namespace logjam {
namespace {

using namespace write_history;

class WithHistory final : public Workload {
 public:
  WithHistory(std::string name, std::unique_ptr<Workload> workload)
      : name_(std::move(name)), workload_(std::move(workload)) {}
  ~WithHistory() override {
    if (history_.writer != nullptr) history_.writer->record_end();
  }

  void create_tables(Database& database) override { workload_->create_tables(database); }
  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    workload_->load(database, part, parts, arena);
  }
  void resume(Database& database) override { workload_->resume(database); }
  Specification spec() const override {
    Specification spec = workload_->spec();
    spec.description += ", history in " + FLAGS_history;
    return spec;
  }
  std::vector<Share> shares() const override { return workload_->shares(); }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    return std::make_unique<RecordingClient>(
        workload_->make_client(database, worker, workers, seed), *history_.writer, *order_, worker,
        worker < history_.counts.size() ? history_.counts[worker] : 0);
  }
  // Makes the workload's own client: replay adds nothing to the history, which is the run's.
  std::unique_ptr<Client> make_replayer(Database& database) override {
    return workload_->make_replayer(database);
  }

  void start_history(uint32_t workers, const HistoryOrigin& origin) override {
    const auto counters = static_cast<uint32_t>(workload_->spec().types.size());
    parameters_ = {name_, counters, {}, origin.unsafe, origin.ordinal, origin.after, origin.log};
    history_ = start_life(FLAGS_history, workers, parameters_);
    order_ = std::make_unique<RowOrder>();
    if (RecordingClient::is_full(history_.writer->area(0))) {
      platform::refuse("--history_mb=" + std::to_string(FLAGS_history_mb) + " is too small for " +
                       std::to_string(workers) + " workers");
    }
    workload_->start_history(workers, origin);
  }
  void keep_history() override {
    keep_life(FLAGS_history, parameters_, *history_.writer);
    workload_->keep_history();
  }

  void note_any_order() override { workload_->note_any_order(); }
  std::vector<Check> verify(Database& database) override {
    std::vector<Check> checks = workload_->verify(database);
    if (history_.writer != nullptr) {  // every committed transaction is acknowledged
      history_.writer->record_end();
      checks.push_back(check_history(database, FLAGS_history, name_, type_names()));
    }
    return checks;
  }
  std::vector<Check> verify_history(Database& database, const std::string& path) override {
    return {check_history(database, path, name_, type_names())};
  }

 private:
  std::vector<std::string_view> type_names() const {
    std::vector<std::string_view> names;
    for (const TypeSpecification& type : workload_->spec().types) names.push_back(type.name);
    return names;
  }

  const std::string name_;
  const std::unique_ptr<Workload> workload_;
  std::unique_ptr<RowOrder> order_;  // of a run; a recovery needs none of its 2 MiB
  HistoryFileParameters parameters_;
  StartedHistory history_;
};

}  // namespace

std::unique_ptr<Workload> make_with_history(const WorkloadInfo& info) {
  std::unique_ptr<Workload> workload = info.make();
  if (FLAGS_history.empty() || info.keeps_history) return workload;
  return std::make_unique<WithHistory>(std::string(info.name), std::move(workload));
}

}  // namespace logjam

#include "proof/history/with_history.h"

#include <gflags/gflags.h>

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
  std::vector<std::string_view> types() const override { return workload_->types(); }
  std::vector<SpecifiedMix> specified_mix() const override { return workload_->specified_mix(); }
  std::vector<Share> shares() const override { return workload_->shares(); }
  std::optional<Headline> headline() const override { return workload_->headline(); }
  std::string caution(double tps) const override { return workload_->caution(tps); }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    return std::make_unique<RecordingClient>(
        workload_->make_client(database, worker, workers, seed), *history_.writer, order_, worker,
        worker < history_.counts.size() ? history_.counts[worker] : 0);
  }
  // Makes the workload's own client: replay adds nothing to the history, which is the run's.
  std::unique_ptr<Client> make_replayer(Database& database) override {
    return workload_->make_replayer(database);
  }

  void note_unsafe(const std::string& why) override {
    unsafe_ = why;
    workload_->note_unsafe(why);
  }
  void start_history(uint32_t workers, uint32_t ordinal) override {
    const auto counters = static_cast<uint32_t>(workload_->types().size());
    history_ = start_life(FLAGS_history, workers, {name_, counters, {}, unsafe_, ordinal});
    if (RecordingClient::is_full(history_.writer->area(0))) {
      platform::refuse("--history_mb=" + std::to_string(FLAGS_history_mb) + " is too small for " +
                       std::to_string(workers) + " workers");
    }
    workload_->start_history(workers, ordinal);
  }

  void note_any_order() override { workload_->note_any_order(); }
  std::vector<Check> verify(Database& database) override {
    std::vector<Check> checks = workload_->verify(database);
    if (history_.writer != nullptr) {  // every committed transaction is acknowledged
      history_.writer->record_end();
      checks.push_back(check_history(database, FLAGS_history, name_, types()));
    }
    return checks;
  }
  std::vector<Check> verify_history(Database& database, const std::string& path) override {
    return {check_history(database, path, name_, types())};
  }

  std::string describe() const override {
    return workload_->describe() + ", history in " + FLAGS_history;
  }
  uint64_t expected_bytes() const override { return workload_->expected_bytes(); }

 private:
  const std::string name_;
  const std::unique_ptr<Workload> workload_;
  RowOrder order_;
  std::string unsafe_;
  StartedHistory history_;
};

}  // namespace

std::unique_ptr<Workload> make_with_history(const WorkloadInfo& info) {
  std::unique_ptr<Workload> workload = info.make();
  if (FLAGS_history.empty() || info.keeps_history) return workload;
  return std::make_unique<WithHistory>(std::string(info.name), std::move(workload));
}

}  // namespace logjam

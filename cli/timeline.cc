#include "cli/timeline.h"

#include "cli/output_claim.h"
#include "cli/row.h"
#include "platform/clock.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr char kHeader[] =
    "time_s,seconds,phase,transactions,tps,commit_p50_us,commit_p99_us,aborts_s,log_mb_s,"
    "durable_mb_s,lag_bytes,lag_ms\n";

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kWarmup:
      return "warm-up";
    case Phase::kMeasure:
      return "measure";
    default:
      return "drain";
  }
}

}  // namespace

void TimelineFile::claim(const std::string& path) {
  claim_replaced("--timeline", path, "a time line", {kHeader});
}

TimelineFile::TimelineFile(const std::string& path, CommitPolicy commit)
    : file_(path), knows_lag_(commit != CommitPolicy::kAsync) {
  file_.write(kHeader);
  file_.flush();
}

void TimelineFile::write(const TimelineSample& sample) {
  const auto rate = [&](uint64_t count, double unit, int decimals) {
    const double seconds = sample.seconds > 0 ? sample.seconds : 1;
    return number(static_cast<double>(count) / unit / seconds, decimals);
  };
  const auto latency = [&](double fraction) {
    if (sample.commit.count() == 0) return Value();
    return number(platform::ticks_to_ns(sample.commit.percentile(fraction)) * 1e-3);
  };
  const Value cells[] = {number(sample.time_seconds, 3),
                         number(sample.seconds, 6),
                         name_of(sample.phase),
                         sample.transactions,
                         rate(sample.transactions, 1, 1),
                         latency(0.5),
                         latency(0.99),
                         rate(sample.aborts, 1, 1),
                         rate(sample.log_bytes, 1e6, 2),
                         rate(sample.durable_bytes, 1e6, 2),
                         knows_lag_ ? Value(sample.lag_bytes) : Value(),
                         knows_lag_ ? number(sample.lag_ns * 1e-6, 3) : Value()};
  file_.write(platform::join(cells, ",", &Value::text) + "\n");
  file_.flush();
}

}  // namespace logjam

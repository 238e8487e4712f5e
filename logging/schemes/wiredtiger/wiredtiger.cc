// `wiredtiger`: the write-ahead log of WiredTiger, MongoDB's storage engine, by the steps of its
// log_slot.c. Workers join a slot by compare-and-swap and fill their records in
// parallel (log_slots.h). A write ends at the end of the complete slots. sbl() also counts the
// active slot, so that a flusher finds something to write; filled_to_write() then closes this slot.
//
// No wake-up is lost. A worker releases its record, fences (Stream::on_publish), and looks whether
// the daemon sleeps. The daemon says that it sleeps, fences, and looks at sbl().
#include "logging/schemes/common/single_stream_scheme.h"
#include "logging/schemes/common/worker_states.h"
#include "logging/schemes/wiredtiger/log_slots.h"

namespace logjam {
namespace {

class WiredTiger final : public SingleStreamScheme {
 public:
  explicit WiredTiger(const LogConfig& config)
      : SingleStreamScheme(config),
        slots_(stream().ring().capacity()),
        joined_slots_(config.workers) {}

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    const auto [begin, slot] = slots_.join(bytes);
    joined_slots_[worker] = slot;
    return reservation(begin, bytes, stream().wait_for_space(begin + bytes));
  }

  void fill_done(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    slots_.release(joined_slots_[worker], reservation.bytes);
  }

  std::vector<uint64_t> published_positions() override { return {filled_to_write(0, 0)}; }

  Counters counters() const override {
    return SingleStreamScheme::counters().add({{"slots", static_cast<double>(slots_.closed())}});
  }

 private:
  uint64_t sbl() const override {
    const uint64_t filled = slots_.pass();
    return slots_.pending() ? filled : filled + slots_.open_bytes();
  }
  uint64_t filled_to_write(uint32_t, uint64_t) override {
    const uint64_t filled = slots_.pass();
    if (slots_.pending()) return filled;
    slots_.close_active();
    return slots_.pass();
  }

  mutable LogSlots slots_;
  WorkerStates<uint32_t> joined_slots_;
};

const SchemeRegistration registration(lsn_scheme({
    .name = "wiredtiger",
    .differs = "a flusher writes for all, where in WiredTiger the last worker of a slot writes it; "
               "a synchronous commit does not close its slot, its flusher does; a full slot is "
               "closed by the first record that does not fit; a large record joins a slot of its "
               "own; records in one ring, and not rounded up to 128 bytes",
    .buffer = "slots joined by compare-and-swap, filled in parallel",
    .source = "WiredTiger's log_slot.c",
    .construct = construct<WiredTiger>,
}));

}  // namespace
}  // namespace logjam

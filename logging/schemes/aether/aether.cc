// Aether's log: one stream, with one of Aether's buffers (aether_buffer.h). The five schemes differ
// in two decisions: whether inserts are consolidated, and how regions are released.
//
//   aether-c          Inserts that find the log's lock busy are consolidated. The lock is held
//                     until the whole group is filled (section 5.1).
//   aether-d          The lock is held only to acquire buffer space. Regions are filled in
//                     parallel, and released in LSN order (section 5.2, Alg. 3).
//   aether-cd         Inserts are consolidated as in aether-c, and regions are filled and released
//                     as in aether-d (section 5.3). A group's last member releases its region.
//   aether-cde        As aether-cd, but a worker that would wait to release a region delegates the
//                     release to the worker that releases the region before (section 5.2, Alg. 5,
//                     A.6). With probability 1/32 the worker waits instead (release_queue.h).
//   aether-cd-socket  As aether-cd, with a consolidation array for each socket, so that only the
//                     leaders of groups use cache lines of other sockets (section 7.1).
#include <type_traits>

#include "logging/schemes/aether/aether_buffer.h"
#include "logging/schemes/common/single_stream_scheme.h"

namespace logjam {
namespace {

template <class Release, Consolidate consolidate>
class Aether final : public SingleStreamScheme {
 public:
  explicit Aether(const LogConfig& config)
      : SingleStreamScheme(config), buffer_(config, consolidate, stream()) {}

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    const auto [begin, waited] = buffer_.reserve(worker, bytes);
    return reservation(begin, bytes, waited);
  }
  void fill_done(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    buffer_.fill_done(worker, reservation.bytes);
  }
  void after_publish(uint32_t, RecordRole) override { buffer_.after_publish(); }

  Counters counters() const override {
    return SingleStreamScheme::counters().add(buffer_.counters());
  }

 private:
  uint64_t sbl() const override { return buffer_.filled(); }

  AetherBuffer<Release> buffer_;
};

constexpr std::string_view kBacksOff =
    "a worker that waits for its turn to release pauses for longer the further away its turn is";

template <class Release, Consolidate consolidate>
SchemeInfo info(std::string_view name, std::string_view buffer, std::string_view source,
                std::string_view differs = kBacksOff) {
  return lsn_scheme({
      .name = name,
      .differs = differs,
      .oversubscribed = std::is_same_v<Release, ReleaseInOrder> ? ReleaseInOrder::kOversubscribed
                                                                : std::string_view{},
      .buffer = buffer,
      .source = source,
      .construct = construct<Aether<Release, consolidate>>,
      .check_flags = check_aether_flags,
      .flags = consolidate == Consolidate::kNever ? std::vector<std::string_view>{}
                                                  : std::vector<std::string_view>{"aether_slots"},
  });
}

const SchemeRegistration c(info<ReleaseUnderLock, Consolidate::kTogether>(
    "aether-c", "consolidation array; lock held while filling", "Aether Alg. 2, 4", ""));
const SchemeRegistration d(info<ReleaseInOrder, Consolidate::kNever>(
    "aether-d", "lock to acquire, filled in parallel, released in order", "Aether Alg. 3"));
const SchemeRegistration cd(info<ReleaseInOrder, Consolidate::kTogether>(
    "aether-cd", "consolidation array, filled in parallel, released in order", "Aether 5.3"));
const SchemeRegistration cde(info<ReleaseQueue, Consolidate::kTogether>(
    "aether-cde", "consolidation array, filled in parallel, release delegated",
    "Aether Alg. 5, A.6",
    "the release queue has 1024 nodes, and a worker waits for one under the log's lock"));
const SchemeRegistration cd_socket(info<ReleaseInOrder, Consolidate::kBySocket>(
    "aether-cd-socket", "consolidation array per socket, filled in parallel, released in order",
    "Aether 7.1"));

}  // namespace
}  // namespace logjam

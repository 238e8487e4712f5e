#include "logging/stream/stream.h"

namespace logjam {

void Stream::on_publish(bool commits) {
  state_.count_publish(commits);
  if (state_.discards()) return;
  state_.note_publish();
  tell();
}

void Stream::on_wanted(Flush flush) {
  platform::full_fence();
  if (state_.discards()) return;
  const bool now = flush == Flush::kNow && !state_.policy().immediate();
  state_.note_wanted(now);
  tell(now);
}

void Stream::tell(bool now) {
  lead_.offer([this] { return !state_.idle(); });
  daemon_.on_publish([&] { return now || state_.due(state_.look()) == Due::kByAmount; });
}

Counters Stream::counters() const {
  Counters counters = state_.counters();
  counters.add({{"lead_handovers", static_cast<double>(lead_.handed_over())}});
  return counters;
}

}  // namespace logjam

#include "logging/format/stream_tail.h"

#include "platform/text.h"

namespace logjam {

std::string find_damage(const StreamTails& tails) {
  std::string damage;
  for (size_t s = 0; s < tails.size(); ++s) {
    Voucher best;
    for (const StreamTail& tail : tails) {
      if (s < tail.vouchers.size() && tail.vouchers[s].durable > best.durable) {
        best = tail.vouchers[s];
      }
    }
    const bool vouched = best.durable >= tails[s].durable_record_end;
    const bool started = tails[s].start.durable > tails[s].bytes;
    const bool stored = tails[s].stored_sdl >= tails[s].durable_record_end;
    if (!vouched && !started && !stored && tails[s].lost.empty()) continue;
    platform::append_part(&damage, "; ", "stream " + std::to_string(s));
    damage += " ends at byte " + std::to_string(tails[s].bytes);
    if (!tails[s].lost.empty()) damage += ", because " + tails[s].lost;
    const auto says = [&](uint64_t durable, const std::string& source) {
      damage += " and was once durable up to byte " + std::to_string(durable) + ", says " + source;
    };
    if (started) says(tails[s].start.durable, "the checkpoint");
    if (stored) says(tails[s].stored_sdl, "the SDL in its header");
    if (!vouched) continue;
    says(best.durable, "the record at byte " + std::to_string(best.position) + " of stream " +
                           std::to_string(best.stream));
  }
  return damage;
}

}  // namespace logjam

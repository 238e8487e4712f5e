// `silo`: no order within an epoch, and all of an epoch or nothing (Tu et al. 2013, section 4;
// Zheng et al. 2014; compared in Poplar, section 3.3). Workers are dealt to loggers in turn, one
// for each device. A worker's private buffer is a piece of its logger's ring (buffer/pieces.h);
// what is left of it when it is handed over is padding.
//
// Sequence number (TID). Epoch in the upper bits, and a count: larger than what is read, what is
// overwritten, and this worker's last. It must be drawn before OCC validates: a transaction that
// overwrites what this one has read then locks, and hence draws, after this one's validation, so
// its epoch is not smaller. Then every prefix of epochs is a prefix of the serial order.
//
// Flushing. Full buffers are handed over at once. A thread of its own ends epochs, every
// --epoch_ms. When epoch e has ended, a logger writes a mark of e, and takes the buffers before it
// from workers that are not using theirs. The mark is durable only when all before it is, and there
// lies every buffer that can have a ticket of e: a worker has its buffer when it reads the epoch.
//
// Safe when. Persisted epoch: the least over loggers of the last mark that is durable, which is on
// disk with the marks. A transaction is safe when its epoch is persisted: what it has read from has
// no larger epoch. Cut: the least over streams of their last marks. No record up to there is
// missing in any stream, so the set is closed.
//
// Idle or blocked workers hold up no epoch: a logger takes their buffers, and idle loggers write
// marks (while any stream has an epoch that is not marked yet). A worker that is descheduled
// between reserve and publish holds up its logger, its epoch, and later ones.
//
// Protocol.
//   epoch_           advanced by the epoch thread. A worker loads it after it got its buffer under
//                    the latch, a logger before it places the mark under the latch. So a buffer
//                    that lies behind the mark of e was got by a worker that then loads more.
//   marked           the last epoch with a mark, stored (release) under the latch of its logger's
//                    pieces, when the mark has its place; so is `mark_end`, where it ends.
//   wanted_          the largest epoch with a ticket, raised before the ticket can be waited for.
#include <algorithm>

#include "logging/buffer/pieces.h"
#include "logging/schemes/many_streams.h"
#include "platform/clock.h"

namespace logjam {
namespace {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

constexpr uint32_t kCountBits = 32;
constexpr uint64_t epoch_of(uint64_t tid) { return tid >> kCountBits; }
constexpr uint64_t first_tid(uint64_t epoch) { return epoch << kCountBits; }
constexpr uint64_t last_tid(uint64_t epoch) { return first_tid(epoch + 1) - 1; }

class Silo final : public ManyStreams {
 public:
  explicit Silo(const LogConfig& config)
      : ManyStreams(config),
        epoch_ticks_(platform::ns_to_ticks(static_cast<double>(config.epoch_us) * 1e3)),
        workers_(config.workers) {
    for (uint32_t s = 0; s < streams(); ++s) loggers_.push_back(std::make_unique<Logger>());
    if (streams() == 0) return;
    const uint64_t share =
        stream(0).ring().capacity() / (kPiecesOfRing * (config.workers / streams() + 1));
    piece_bytes_ = std::min(kPieceBytes, share & ~uint64_t{7});
  }

  Traits traits() const override {
    return {.streams = streams(),
            .flushers = streams() + 1,
            .serial_order = false,
            .sequence_before_validation = true,
            .unsafe = ""};
  }

  Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    Worker& me = workers_[worker];
    const uint32_t index = home(worker);
    me.buffer.begin();
    const Piece* piece = me.buffer.piece;
    const bool marked =
        piece != nullptr && piece->begin < loggers_[index]->mark_end.load(memory_order_relaxed);
    if (piece != nullptr && (marked || !fits(me.buffer, bytes))) hand_over(index, me.buffer);
    if (me.buffer.piece == nullptr) deal(worker, index, me.buffer, bytes);

    me.tid = std::max({me.tid, deps.max_read, deps.max_overwritten}) + 1;
    me.tid = std::max(me.tid, first_tid(epoch_.load()));
    return ticket(index, me.buffer.used, bytes, me.tid);
  }

  Point publish(uint32_t worker, const Ticket& ticket, bool, bool commits) override {
    PieceOwner& buffer = workers_[worker].buffer;
    buffer.used += ticket.bytes;
    want(epoch_of(ticket.sequence));
    if (buffer.used == buffer.piece->end) hand_over(ticket.stream, buffer);
    buffer.end();
    stream(ticket.stream).published(commits);
    return {ticket.sequence, kEveryStream};
  }

  Point observe(uint32_t, const Dependencies& deps) override {
    return {deps.max_read, kEveryStream};
  }

  void flush(uint32_t flusher, bool stopping) override {
    if (flusher < streams()) return ManyStreams::flush(flusher, stopping);
    const uint64_t now = platform::ticks();
    if (epoch_end_ == 0) epoch_end_ = now + epoch_ticks_;
    if (now < epoch_end_ && !(stopping && unmarked())) {
      const auto left = static_cast<uint64_t>(platform::ticks_to_ns(epoch_end_ - now));
      return platform::sleep_ns(std::min(stopping ? kStoppingNs : kLongestNs, left));
    }
    epoch_end_ = now + epoch_ticks_;
    epoch_.fetch_add(1);
    platform::full_fence();
    for (uint32_t s = 0; s < streams(); ++s) {
      if (loggers_[s]->marked.load(memory_order_relaxed) < wanted()) poke(s);
    }
  }

  bool idle() const override { return !unmarked() && ManyStreams::idle(); }

  Cut cut(const std::vector<StreamTail>& tails) const override {
    Cut cut;
    for (const StreamTail& tail : tails) {
      cut.bytes.push_back(tail.bytes);
      cut.sequence = std::min(cut.sequence, tail.last_mark);
    }
    cut.why = "epoch " + std::to_string(epoch_of(cut.sequence)) + ", persisted in " +
              std::to_string(tails.size()) + " stream(s)";
    return cut;
  }
  bool survives(const RecordHeader& header, uint32_t, const Cut& cut) const override {
    return header.sequence <= cut.sequence;
  }

 private:
  static constexpr uint64_t kPieceBytes = uint64_t{32} << 10;
  static constexpr uint64_t kPiecesOfRing = 4;  // so many for each worker, at least
  static constexpr uint64_t kManyPieces = 8;    // that wait for an open one
  static constexpr uint64_t kLongestNs = 10'000'000, kStoppingNs = 100'000;

  struct alignas(platform::kCacheLine) Worker {
    PieceOwner buffer;
    uint64_t tid = 0;  // the last
  };
  struct Logger {
    Pieces pieces;
    platform::atomic<uint64_t> marked{0};
    platform::atomic<uint64_t> mark_end{0};
  };

  // The worker's side ------------------------------------------------------------------------

  // What is left of a piece is nothing, or takes a record of padding.
  static bool fits(const PieceOwner& buffer, uint64_t bytes) {
    const uint64_t end = buffer.used + bytes;
    return end == buffer.piece->end || end + kMarkBytes <= buffer.piece->end;
  }

  void deal(uint32_t worker, uint32_t index, PieceOwner& buffer, uint64_t bytes) {
    Pieces& pieces = loggers_[index]->pieces;
    const uint64_t size = bytes + kMarkBytes <= piece_bytes_ ? piece_bytes_ : bytes;
    lock_with_space(index, pieces.latch, pieces.end, size);
    buffer.piece = &pieces.deal(size, worker);
    buffer.used = buffer.piece->begin;
    pieces.latch.unlock();
  }

  // By its worker, or by whoever has taken it.
  void hand_over(uint32_t index, PieceOwner& buffer) {
    Piece& piece = *buffer.piece;
    if (buffer.used != piece.end) write_padding(index, buffer.used, piece.end - buffer.used);
    buffer.piece = nullptr;
    loggers_[index]->pieces.hand_over(piece);
  }

  void want(uint64_t epoch) {
    uint64_t wanted = wanted_.load(memory_order_relaxed);
    while (wanted < epoch && !wanted_.compare_exchange_weak(wanted, epoch)) {
    }
  }
  uint64_t wanted() const { return wanted_.load(memory_order_acquire); }

  // The logger's side ------------------------------------------------------------------------

  bool unmarked() const {
    return std::ranges::any_of(loggers_, [&](const auto& logger) {
      return logger->marked.load(memory_order_acquire) < wanted();
    });
  }

  uint64_t filled(uint32_t index) override {
    Logger& logger = *loggers_[index];
    const uint64_t ended = epoch_.load(memory_order_acquire) - 1;
    const bool must_mark = mark_is_due(logger, ended);
    if (must_mark || logger.pieces.waiting() != 0 || in_the_way(index, logger)) {
      logger.pieces.latch.lock();
      if (must_mark) mark(index, logger, ended);
      pass_pieces(index, logger);
      logger.pieces.latch.unlock();
    }
    return logger.pieces.filled();
  }

  bool mark_is_due(const Logger& logger, uint64_t ended) const {
    const uint64_t marked = logger.marked.load(memory_order_relaxed);
    return marked < wanted() && marked < ended;
  }

  // Whether an open piece keeps others waiting that should be flushed: also a mark for which the
  // ring has no room, or workers that wait for their epoch would wait for ever.
  bool in_the_way(uint32_t index, const Logger& logger) const {
    return logger.pieces.filled() < logger.mark_end.load(memory_order_relaxed) ||
           logger.pieces.waiting() >= kManyPieces || stream(index).ring().waited_for() ||
           mark_is_due(logger, epoch_.load(memory_order_acquire) - 1);
  }

  // Under the latch, like all that follows.
  void mark(uint32_t index, Logger& logger, uint64_t ended) {
    if (logger.marked.load(memory_order_relaxed) >= ended) return;
    Pieces& pieces = logger.pieces;
    if (!stream(index).ring().fits(pieces.end + kMarkBytes)) return;
    write_mark(index, pieces.end, last_tid(ended));
    pieces.hand_over(pieces.deal(kMarkBytes, 0, ended));
    logger.mark_end.store(pieces.end, memory_order_relaxed);
    logger.marked.store(ended, memory_order_release);
  }

  void pass_pieces(uint32_t index, Logger& logger) {
    logger.pieces.pass(
        [&](const Piece& piece) {
          if (!in_the_way(index, logger)) return false;
          PieceOwner& owner = workers_[piece.owner].buffer;
          if (!owner.take()) return false;
          hand_over(index, owner);
          owner.give_back();
          return true;
        },
        [&](const Piece& piece) {
          if (piece.mark != 0) covers(index, piece.end, last_tid(piece.mark));
        });
  }

  const uint64_t epoch_ticks_;
  uint64_t piece_bytes_ = 0;
  std::vector<Worker> workers_;
  std::vector<std::unique_ptr<Logger>> loggers_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> epoch_{1};
  alignas(platform::kCacheLine) platform::atomic<uint64_t> wanted_{0};
  uint64_t epoch_end_ = 0;  // the epoch thread's own
};

const SchemeRegistration registration({
    .name = "silo",
    .streams = "1 per device",
    .buffer = "private, handed to its logger",
    .sequence = "epoch, count: over reads, overwrites",
    .flushed_by = "logger each, leader",
    .safe_when = "epoch <= persisted epoch",
    .cut = "persisted epoch",
    .source = "Silo; Poplar 3.3",
    .stream_count = [](uint32_t directories, const LogConfig&) { return directories; },
    .make = [](const LogConfig& config) { return std::make_unique<Silo>(config); },
});

}  // namespace
}  // namespace logjam

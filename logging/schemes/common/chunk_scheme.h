// The common parts of schemes in which workers fill chunks of the streams' rings as private buffers
// (buffer_chunks.h). Each stream has an equal share of the workers.
#pragma once

#include "logging/schemes/common/buffer_chunks.h"
#include "logging/schemes/common/watermark_scheme.h"

namespace logjam {

// The buffers of the workers and the chunks of the streams.
class ChunkScheme : public WatermarkScheme {
 public:
  Counters counters() const override {
    double padding = buffers_.total(&ChunkOwner::padding_bytes);
    for (const auto& one : chunks_) padding += static_cast<double>(one->padding_bytes());
    return MultiStreamScheme::counters().add({{"padding_bytes", padding}});
  }

 protected:
  explicit ChunkScheme(const LogConfig& config, uint32_t slots = 0)
      : WatermarkScheme(config, slots),
        patience_ticks_(platform::ns_to_ticks(config.parts->patience_us * 1e3)),
        buffers_(config.workers) {
    const auto rule = ChunkLength::rule_of(*config.parts);
    for (uint32_t s = 0; s < streams(); ++s) {
      const uint32_t owners = stream(s).home().writers;
      chunks_.push_back(std::make_unique<BufferChunks>(stream(s), run(), owners, rule));
    }
  }

  // Returns how long a write waits for records that are being filled (LogParts::patience_us).
  uint64_t patience_ticks() const { return patience_ticks_; }
  BufferChunks& chunks(uint32_t index) const { return *chunks_[index]; }

  // Takes a place for a record of `worker`, and hands the filled record over, in this order. Only
  // the thread of `worker` calls these three functions.
  BufferChunks::Place take_place(uint32_t worker, uint32_t bytes) {
    return chunks(home(worker)).reserve(buffers_[worker], worker, bytes);
  }
  void hand_over(uint32_t worker, uint32_t bytes, uint64_t number) {
    chunks(home(worker)).publish(buffers_[worker], bytes, number);
  }
  uint64_t last_number(uint32_t worker) const { return buffers_[worker].sequence; }

  // Passes chunks of stream `index` (BufferChunks::pass). Records the numbers of its watermark
  // records, and calls `note(chunk)` for each other chunk.
  template <class Note>
  void pass_chunks(uint32_t index, BufferChunks& chunks, uint64_t patience, const Note& note)
      LJ_REQUIRES(chunks.passing()) {
    chunks.pass(
        patience, [&](uint32_t worker) -> ChunkOwner& { return buffers_[worker]; },
        [&](const BufferChunk& chunk) {
          if (chunk.watermark) return record_durable_sequence(index, chunk.end, chunk.sequence);
          note(chunk);
        });
  }

 private:
  const uint64_t patience_ticks_;
  WorkerStates<ChunkOwner> buffers_;
  std::vector<std::unique_ptr<BufferChunks>> chunks_;
};

// The common part of schemes in which each write of a stream ends with a watermark record. The
// thread that is about to write also takes the workers' open buffers.
//
// Idle streams (R5). A thread that has passed records notifies the streams whose watermark is below
// the number that the records' commits wait for. These streams write a watermark record even if
// they are idle.
//
// Protocol. wanted() has a slot for each stream, raised when a record is passed, before it is
// durable.
class MarkedWrites : public ChunkScheme {
 protected:
  using ChunkScheme::ChunkScheme;

  // Appends a watermark record (append_watermark, then raise_watermark), or only closes the chunks.
  // May wait `patience` ticks. Returns the rest of the patience.
  virtual uint64_t advance_watermark(uint32_t index, BufferChunks& chunks, uint64_t patience)
      LJ_REQUIRES(chunks.passing()) = 0;
  // Returns the number that every stream's watermark must reach for the commits in the chunk, which
  // is filled.
  virtual uint64_t number_awaited(const BufferChunk& chunk) const = 0;

 private:
  // Counts the last chunk even if it is open, because a thread closes this chunk before it writes.
  uint64_t filled(uint32_t index) override {
    const BufferChunks& chunks = this->chunks(index);
    if (chunks.pass_due()) pass(index, false);
    const uint64_t filled = chunks.filled();
    if (chunks.pending()) return filled;
    const uint64_t dealt = chunks.dealt();
    if (dealt != filled || filled != stream(index).durable()) return dealt;
    return lags(index) ? filled_to_write(index, filled) : filled;
  }

  uint64_t filled_to_write(uint32_t index, uint64_t) override {
    pass(index, true);
    return chunks(index).filled();
  }

  // Passes the chunks that were handed over and, if `closes`, the chunks that workers still have.
  void pass(uint32_t index, bool closes) {
    BufferChunks& chunks = this->chunks(index);
    uint64_t awaited = 0;
    uint64_t patience = closes ? patience_ticks() : 0;
    chunks.passing().lock();
    if (closes && !chunks.pending() && (chunks.dealt_after_boundary() || lags(index))) {
      patience = advance_watermark(index, chunks, patience);
    }
    pass_chunks(index, chunks, patience, [&](const BufferChunk& chunk) {
      awaited = std::max(awaited, number_awaited(chunk));
    });
    const bool others_lag = raise_wanted(index, awaited);
    chunks.passing().unlock();
    if (others_lag) notify_lagging(awaited, Flush::kNow);
  }
};

}  // namespace logjam

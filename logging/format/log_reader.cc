#include "logging/format/log_reader.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "logging/format/log_file.h"
#include "logging/format/manifest_file.h"
#include "logging/format/segments.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/text.h"

namespace logjam {
namespace {

// The length of the shortest window. A record longer than its window is checked piece by piece.
constexpr uint64_t kLeastWindowBytes = uint64_t{64} << 10;
constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 30;
// After the stream's end, the reader looks for valid records that cannot be used, and reports them.
// Garbage may look like a header with any length, so the number of checksummed bytes is bounded.
constexpr uint64_t kLookAheadBytes = uint64_t{64} << 20;
constexpr uint64_t kLookAheadChecksumBytes = 4 * kLookAheadBytes;

// The valid records after the end of a stream.
struct Unused {
  uint64_t records = 0, bytes = 0;
  uint64_t first = 0;  // the position of the first of these records
};

// Returns whether `header` can be a record's header. The stream has `room` bytes from it on.
bool plausible(const RecordHeader& header, uint64_t room) {
  return header.bytes >= sizeof(RecordHeader) && header.bytes % 8 == 0 &&
         header.bytes <= std::min(room, kMaxRecordBytes) && header.kind >= RecordKind::kVoid &&
         header.kind <= RecordKind::kCommand;
}

void add_voucher(std::vector<Voucher>& vouchers, size_t stream, const Voucher& voucher) {
  if (vouchers.size() <= stream) vouchers.resize(stream + 1);
  if (voucher.durable > vouchers[stream].durable) vouchers[stream] = voucher;
}

uint64_t end_of(const RecordBatch& batch, uint64_t from) {
  return batch.records.empty() ? from : batch.positions.back() + batch.records.back()->bytes;
}

bool all_zero(const std::byte* bytes, uint64_t count) {
  // The first byte is zero, and each byte equals the byte before it.
  return count == 0 || (bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

}  // namespace

struct LogReader::State {
  std::vector<DevicePace*> paces;
  std::vector<std::unique_ptr<SegmentedFile>> files;
  Stripes stripes;
  uint64_t limit = ~uint64_t{0};  // no record that ends after this position is used
  uint64_t file_bytes = 0;        // the end of the last byte that any file has
  uint64_t stream_bytes = 0;      // `file_bytes`, but at most `limit`
  uint64_t run = 0;
  uint64_t start = 0;               // the position of the first record
  uint64_t least_window_bytes = 0;  // enough for a watermark record
  ReadMemory memory;
  std::string path;  // the path of the first file
  // The part of the next record that has been read already, and the position of this part.
  LogMemory carry;
  uint64_t carry_position = 0;
  bool ended = false;

  // Returns the length of the window at position `from`. Windows near the start are short, because
  // most streams of a small log are short. The length depends only on `from`, for read_again().
  uint64_t window_at(uint64_t from) const {
    return std::clamp(from - start, least_window_bytes, memory.window_bytes);
  }

  LogMemory allocate(uint64_t bytes) const { return allocate_log_memory(memory.meter, bytes); }

  // Reads up to `count` bytes of the stream from position `from` on. Returns how many it has read:
  // fewer than `count` only at the end of the file. Missing bytes of a striped file are zeros.
  uint64_t read(std::byte* to, uint64_t from, uint64_t count) {
    if (stripes.devices == 1) return read_file(0, to, kLogHeaderBytes + from, count);
    prefetch(from + count);
    for (uint64_t at = from, end; at < from + count; at = end) {
      end = std::min(from + count, stripes.stripe_end(at));
      std::byte* chunk = to + (at - from);
      const uint64_t got = read_file(stripes.device(at), chunk, stripes.file_offset(at), end - at);
      std::memset(chunk + got, 0, end - at - got);
    }
    return count;
  }

  uint64_t stored_sdl() {
    std::vector<std::byte> block(kLogHeaderBytes);
    const bool whole =
        !files.empty() && files[0]->read(block.data(), 0, block.size()) == block.size();
    return whole ? logjam::stored_sdl(block, run) : 0;
  }

  void prefetch(uint64_t from) {
    const uint64_t each = memory.window_bytes / stripes.devices;
    for (uint32_t device = 0; device < stripes.devices; ++device) {
      const uint64_t row = from / stripes.bytes / stripes.devices * stripes.bytes;
      files[device]->will_need(kLogHeaderBytes + row, each + stripes.bytes);
    }
  }

  uint64_t read_file(uint32_t device, std::byte* to, uint64_t from, uint64_t count) {
    if (count == 0) return 0;  // a stream may have no files
    const uint64_t done = files[device]->read(to, from, count);
    if (!paces.empty()) paces[device]->transfer(done);
    return done;
  }

  // Returns `bytes` bytes from position `from` on, or fewer at the stream's end. `before`, if not
  // null, has the first of these bytes.
  LogMemory read_on(const LogMemory& before, uint64_t from, uint64_t bytes) {
    const uint64_t had = before == nullptr ? 0 : before->size();
    const uint64_t wanted = std::min(bytes, std::max(stream_bytes, from + had) - from);
    LogMemory all = allocate(wanted);
    if (had != 0) std::copy_n(before->data(), had, all->data());
    all->resize(had + read(all->data() + had, from + had, wanted - had));
    // The file has shrunk since it was opened.
    if (all->size() < wanted) stream_bytes = from + all->size();
    return all;
  }

  // Reads the batch at position `from`. The batch's records depend on `from` alone, as read_again()
  // requires. Returns whether the stream ends after these records, within the batch's memory.
  bool read_batch(uint64_t from, RecordBatch* batch) {
    batch->records.clear();
    batch->positions.clear();
    LogMemory before = std::move(carry);
    if (carry_position != from) before.reset();
    for (uint64_t want = window_at(from);;) {
      batch->memory = read_on(before, from, want);
      before.reset();
      const uint64_t cut = take_records(from, batch);
      const uint64_t taken = end_of(*batch, from) - from;
      const uint64_t left = batch->memory->size() - taken;
      const bool more_in_file = from + batch->memory->size() < stream_bytes;
      if (!more_in_file || (cut == 0 && left >= sizeof(RecordHeader))) return true;
      if (taken != 0) {
        carry = allocate(left);
        std::copy_n(batch->memory->data() + taken, left, carry->data());
        carry_position = from + taken;
        return false;
      }
      // Checks the record before it allocates: garbage may look like a long record's header.
      if (!valid_in_pieces(*reinterpret_cast<RecordHeader*>(batch->memory->data()), from)) {
        return true;
      }
      want = cut;
      before = std::move(batch->memory);
    }
  }

  // Adds the valid records in the batch's memory, which begins at position `from`, to the batch.
  // Returns the length of the next record if the memory has only a part of this record, else 0.
  uint64_t take_records(uint64_t from, RecordBatch* batch) const {
    const std::vector<std::byte>& bytes = *batch->memory;
    for (uint64_t at = 0; bytes.size() - at >= sizeof(RecordHeader);) {
      const auto* header = reinterpret_cast<const RecordHeader*>(bytes.data() + at);
      if (!plausible(*header, stream_bytes - (from + at))) break;
      if (header->bytes > bytes.size() - at) return header->bytes;
      if (header->checksum != record_checksum(*header, run, from + at)) break;
      batch->records.push_back(header);
      batch->positions.push_back(from + at);
      at += header->bytes;
    }
    return 0;
  }

  // Returns whether the record at position `at` is valid. Only its `header` need be in memory.
  bool valid_in_pieces(const RecordHeader& header, uint64_t at) {
    const uint64_t end = at + header.bytes;
    ChecksumInPieces checksum(run, at);
    const LogMemory piece = allocate(kLeastWindowBytes);
    for (uint64_t from = at + sizeof(header.checksum); from < end;) {
      const uint64_t count = std::min(end - from, kLeastWindowBytes);
      if (read(piece->data(), from, count) < count) return false;
      checksum.add({piece->data(), count});
      from += count;
    }
    return checksum.value() == header.checksum;
  }

  // Calls `found(header, position)` for each valid record after position `end`. If a record is
  // longer than the window, only its header is in memory during the call.
  template <class Found>
  Unused look_ahead(uint64_t end, const Found& found) {
    constexpr uint64_t kZeroBytes = 512;
    Unused unused;
    if (end >= stream_bytes) return unused;
    const uint64_t size = std::min(stream_bytes - end, kLookAheadBytes);
    const LogMemory window = allocate(std::min(size, least_window_bytes));
    uint64_t from = 0, until = 0;  // the window has bytes [end + from, end + until)
    const auto slide_to = [&](uint64_t at) {
      from = at;
      until = at + read(window->data(), end + at, std::min(size - at, window->size()));
    };
    uint64_t checked = 0;
    for (uint64_t at = 8; at + sizeof(RecordHeader) <= size;) {
      if (at + sizeof(RecordHeader) > until) slide_to(at);
      if (at + sizeof(RecordHeader) > until) break;  // the file has shrunk
      // Skips zeros fast: a preallocated file ends in many zeros.
      if (at + kZeroBytes <= until && all_zero(window->data() + (at - from), kZeroBytes)) {
        at += kZeroBytes;
        continue;
      }
      const auto header_at = [&] {
        return reinterpret_cast<const RecordHeader*>(window->data() + (at - from));
      };
      const uint64_t bytes = header_at()->bytes;
      if (plausible(*header_at(), size - at) && checked + bytes <= kLookAheadChecksumBytes) {
        checked += bytes;
        if (at + bytes > until && bytes <= window->size()) slide_to(at);
        const RecordHeader& header = *header_at();
        const bool whole = at + header.bytes <= until;
        if (whole ? header.checksum == record_checksum(header, run, end + at)
                  : valid_in_pieces(header, end + at)) {
          if (unused.records++ == 0) unused.first = end + at;
          unused.bytes += header.bytes;
          found(header, end + at);
          at += header.bytes;
          continue;
        }
      }
      at += 8;
    }
    return unused;
  }

  static std::string why_ended(uint64_t position, bool zeros, const Unused& unused) {
    if (zeros && unused.records == 0) return "end of log";
    std::string why = (zeros ? "zeros at byte " : "torn, stale or corrupt record at byte ") +
                      std::to_string(position);
    if (unused.records != 0) {
      why += "; " + std::to_string(unused.records) + " valid record(s) of " +
             std::to_string(unused.bytes) + " bytes after it are not used";
    }
    return why;
  }
};

LogReader::LogReader(const LogFiles& files, size_t stream, std::vector<DevicePace*> paces,
                     ReadMemory memory)
    : state_(std::make_unique<State>()), header_(files.header) {
  header_.stream = static_cast<uint32_t>(stream);
  state_->paces = std::move(paces);
  if (!files.ends.empty()) state_->limit = files.ends[stream];
  tail_.start = files.start(stream);
  open(files.paths[stream], memory);
}

LogReader::LogReader(const std::vector<std::string>& paths, StreamStart start, ReadMemory memory)
    : state_(std::make_unique<State>()) {
  tail_.start = start;
  for (uint32_t device = 0; device < paths.size(); ++device) {
    LogFileHeader header;
    error_ = read_log_file_header(paths[device], &header);
    if (!error_.empty()) return;
    if (device == 0) header_ = header;
    if (header.stripes != paths.size() || header.stripe != device || header.run != header_.run) {
      error_ = paths[device] + " is not file " + std::to_string(device) + " of a stream of " +
               std::to_string(paths.size());
      return;
    }
  }
  open(paths, memory);
}

void LogReader::open(const std::vector<std::string>& paths, ReadMemory memory) {
  State& state = *state_;
  const uint64_t start = tail_.start.position;
  state.stream_bytes = tail_.bytes = start;
  if (!paths.empty()) state.path = paths[0];
  state.run = header_.run;
  if (!paths.empty()) {
    state.stripes = {static_cast<uint32_t>(paths.size()), header_.stripe_bytes};
  }
  for (uint32_t device = 0; device < paths.size(); ++device) {
    const uint64_t needed = state.stripes.file_end(device, start);
    auto& file = state.files.emplace_back(
        std::make_unique<SegmentedFile>(paths[device], Segments{header_.segment_bytes}, needed));
    error_ = file->error();
    if (!error_.empty()) return;
    // The stream was durable up to its start, so no crash explains a file that ends earlier.
    if (start != 0 && file->bytes() < needed) tail_.lost = paths[device] + " is too short";
    state.stream_bytes =
        std::max(state.stream_bytes, state.stripes.stream_end(device, file->bytes()));
  }
  state.file_bytes = state.stream_bytes;
  state.stream_bytes = std::min(state.stream_bytes, std::max(state.limit, start));
  state.start = start;
  const uint64_t watermark = sizeof(RecordHeader) + uint64_t{header_.streams} * sizeof(uint64_t);
  state.least_window_bytes = std::max(kLeastWindowBytes, watermark);
  memory.window_bytes = std::max(memory.window_bytes, state.least_window_bytes);
  state.memory = memory;
}

LogReader::~LogReader() = default;

bool LogReader::next(RecordBatch* batch) {
  batch->records.clear();
  batch->positions.clear();
  if (!error_.empty() || state_->ended) return false;
  const uint64_t from = tail_.bytes;
  state_->ended = state_->read_batch(from, batch);
  add_to_tail(*batch);
  if (state_->ended && tail_.bytes == state_->limit) {
    end_at_limit();
  } else if (state_->ended) {
    end_stream(std::span(*batch->memory).subspan(tail_.bytes - from));
  }
  return !batch->records.empty();
}

void LogReader::read_again(uint64_t position, RecordBatch* batch) {
  state_->read_batch(position, batch);
  if (!batch->records.empty()) return;
  platform::fail("the log file " + state_->path + " has changed while it was read");
}

void LogReader::add_to_tail(const RecordBatch& batch) {
  std::vector<uint64_t> words;  // the words of watermark records with a body
  for (size_t i = 0; i < batch.records.size(); ++i) {
    const RecordHeader& header = *batch.records[i];
    ++tail_.records;
    tail_.last_sequence = header.sequence;
    if (header.kind != RecordKind::kWatermark) continue;
    tail_.last_watermark = std::max(tail_.last_watermark, header.sequence);
    if (!has_word_for_each_stream(header)) continue;
    words.push_back(tail_.last_watermark);
    std::ranges::copy(watermark_body(header), std::back_inserter(words));
    add_vouchers(header, batch.positions[i]);
  }
  if (!words.empty()) {
    tail_.watermarks.push_back(std::make_shared<const std::vector<uint64_t>>(std::move(words)));
  }
  tail_.bytes = end_of(batch, tail_.bytes);
}

bool LogReader::has_word_for_each_stream(const RecordHeader& header) const {
  return watermark_body(header).size() == header_.streams;
}

void LogReader::add_vouchers(const RecordHeader& header, uint64_t position) {
  const auto words = watermark_body(header);
  for (size_t s = 0; s < words.size(); ++s) {
    add_voucher(tail_.vouchers, s, {WatermarkWord::vouched(words[s]), position, header_.stream});
  }
}

void LogReader::end_at_limit() {
  State& state = *state_;
  tail_.why = "the end that the next run, or a checkpoint, is built on";
  state.stream_bytes = state.file_bytes;
  const uint64_t left = state.file_bytes - tail_.bytes;
  if (left < sizeof(RecordHeader)) return;
  const LogMemory next = state.allocate(sizeof(RecordHeader));
  if (state.read(next->data(), tail_.bytes, next->size()) < next->size()) return;
  const auto& header = *reinterpret_cast<const RecordHeader*>(next->data());
  tail_.goes_on = plausible(header, left) && state.valid_in_pieces(header, tail_.bytes);
  if (tail_.goes_on) tail_.why += "; valid records after it are not used";
}

// Completes tail() at the stream's end. `rest` begins with the bytes that are not a valid record.
void LogReader::end_stream(std::span<const std::byte> rest) {
  const uint64_t end = tail_.bytes;
  const Unused unused = state_->look_ahead(end, [&](const RecordHeader& header, uint64_t position) {
    add_voucher(tail_.vouchers, header_.stream,
                {vouched_position(header, position), position, header_.stream});
    if (header.kind == RecordKind::kWatermark && has_word_for_each_stream(header)) {
      add_vouchers(header, position);
    }
  });
  tail_.why = State::why_ended(
      end, all_zero(rest.data(), std::min<uint64_t>(rest.size(), sizeof(RecordHeader))), unused);

  tail_.stored_sdl = state_->stored_sdl();

  // If the stream was durable up to a later position, a record began at `end`. That record ended
  // where its header says, if the header is whole, and before the next valid record.
  tail_.durable_record_end = end + sizeof(RecordHeader);
  if (rest.size() >= sizeof(RecordHeader)) {
    const auto* header = reinterpret_cast<const RecordHeader*>(rest.data());
    if (plausible(*header, kMaxRecordBytes)) tail_.durable_record_end = end + header->bytes;
  }
  if (unused.records != 0) {
    tail_.durable_record_end = std::min(tail_.durable_record_end, unused.first);
  }
  for (const auto& file : state_->files) {
    if (!file->why_lost().empty()) tail_.lost = file->why_lost();
  }
}

LogFiles files_of_run(const std::vector<std::string>& directories, const ManifestRun& run) {
  LogFiles files;
  files.header = run.header;
  files.ends = run.ends;
  files.paths.resize(run.header.streams);
  if (!run.begun) return files;
  const std::vector<std::string> paths = log_file_paths(run_directories(directories, run.ordinal()),
                                                        run.header.streams, run.header.stripes);
  for (size_t file = 0; file < paths.size(); ++file) {
    files.paths[file / run.header.stripes].push_back(paths[file]);
  }
  return files;
}

std::string check_files(const LogFiles& files, bool* missing) {
  constexpr uint64_t kMostNamed = 4;
  std::string wrong;
  uint64_t faults = 0;
  if (missing != nullptr) *missing = false;
  for (uint32_t stream = 0; stream < files.paths.size(); ++stream) {
    for (uint32_t stripe = 0; stripe < files.paths[stream].size(); ++stripe) {
      const std::string& path = files.paths[stream][stripe];
      platform::FileStatus status;
      if (const int error = platform::files().status(path, &status); error != 0) {
        platform::fail("cannot look at the log file " + path + ": " + platform::error_text(error));
      }
      LogFileHeader header;
      int error = 0;
      const bool there = status.kind != platform::FileKind::kNone;
      if (!there && missing != nullptr) *missing = true;
      std::string why = there ? read_log_file_header(path, &header, &error) : path + " is missing";
      if (error != 0) platform::fail(why);
      LogFileHeader expected = files.header;
      expected.stream = stream;
      expected.stripe = stripe;
      if (why.empty() && header.run != expected.run) {
        why = path + " belongs to run " + hex(header.run) + ", not to run " + hex(expected.run);
      } else if (why.empty() && (header.stream != stream || header.stripe != stripe)) {
        why = path + " says it is stripe " + std::to_string(header.stripe) + " of stream " +
              std::to_string(header.stream);
      } else if (why.empty() && header.lines() != expected.lines()) {
        why = path + " has another header than the manifest says";
      }
      if (!why.empty() && ++faults <= kMostNamed) platform::append_part(&wrong, "; ", why);
    }
  }
  if (faults > kMostNamed) wrong += "; and " + std::to_string(faults - kMostNamed) + " more";
  return wrong;
}

LogFiles find_log_files(const std::vector<std::string>& directories) {
  const FoundManifest found = find_manifest(directories);
  LogFiles files;
  files.error = found.error;
  if (files.error.empty() && found.manifest.runs.empty()) files.error = "the log has no run";
  if (!files.error.empty()) return files;
  files = files_of_run(found.directories, found.manifest.runs.back());
  files.error = check_files(files);
  return files;
}

}  // namespace logjam

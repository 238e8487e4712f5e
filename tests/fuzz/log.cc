// Inputs that a recovery or `logjam dump` reads: a log's records, its directories, its checkpoints.
#include <gflags/gflags.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "engine/checkpoint/load_checkpoint.h"
#include "engine/checkpoint/row_blocks.h"
#include "engine/recovery/applier.h"
#include "engine/recovery/dependencies.h"
#include "engine/recovery/log_chain.h"
#include "engine/recovery/recover.h"
#include "engine/recovery/stream_replay.h"
#include "engine/storage/database.h"
#include "logging/format/log_file.h"
#include "logging/format/log_reader.h"
#include "logging/format/record.h"
#include "logging/format/segments.h"
#include "logging/scheme_registry.h"
#include "proof/disk/memory_files.h"
#include "tests/fuzz/target.h"

DECLARE_string(range);
DECLARE_string(wal_dir);

namespace logjam::fuzz {
namespace {

// A file system in memory with the files of an input.
class InputFiles {
 public:
  InputFiles() { content_.directories.insert("d"); }

  // Adds or replaces a file that has `bytes`, and then `zeros` bytes of 0.
  void add(const std::string& path, Input bytes, uint64_t zeros = 0) {
    for (size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1)) {
      content_.directories.insert(path.substr(0, at));
    }
    FileImage& image = content_.files[path] = image_of(bytes);
    image.resize(bytes.size() + zeros);
  }
  // Lets the process use these files in place of the system's files while this object lives.
  void use() {
    files_ = std::make_unique<MemoryFiles>(content_);
    replace_ = std::make_unique<platform::ReplaceFiles>(*files_);
  }

 private:
  CrashState content_;
  std::unique_ptr<MemoryFiles> files_;
  std::unique_ptr<platform::ReplaceFiles> replace_;
};

// The tables of the targets that apply rows. The rows of four tables are as long as the ledger's
// rows, so that the ledger's logs are valid seeds. The rows of the table `odd` end within a word.
Key first_word(Key, const std::byte* row) {
  Key key;
  std::memcpy(&key, row, sizeof key);
  return key;
}

void create_tables(Database& database) {
  const auto add = [&](const char* name, uint32_t row_bytes,
                       std::vector<SecondarySchema> secondaries = {}) {
    database.create_table({.name = name,
                           .row_bytes = row_bytes,
                           .kind = IndexKind::kOrdered,  // a hash index takes 2 MiB
                           .secondaries = std::move(secondaries)});
  };
  add("ledger", 96);
  add("entries", 24, {{"by_word", IndexKind::kOrdered, false, first_word, true}});
  add("cells", 48);
  add("slots", 24);
  add("odd", 21);
}

// The size of the largest input that has records.
constexpr size_t kMostRecordBytes = 4096;

// A log of records as an input:
//
//   input := shape (32 bytes), the bytes of each stream
//
// The shape selects the scheme whose recovery rule is used, the number and the lengths of the
// streams, the layout of the streams in files, and the range of positions that a recovery reads.
struct RecordInput {
  explicit RecordInput(Input input) {
    Parts shape(input.first(std::min(input.size(), kShapeBytes)));
    scheme = &all_schemes()[shape.byte() % all_schemes().size()];
    const size_t count = 1 + shape.byte() % kMostStreams;
    const uint8_t layout = shape.byte(), limits = shape.byte();
    stripes = 1 + layout % 4;
    segment_bytes = (layout & 4) != 0 ? kLogHeaderBytes : 0;
    merged = (layout & 8) != 0;
    reads_little = (layout & 16) != 0;
    uint64_t lengths[kMostStreams - 1];
    for (uint64_t& length : lengths) length = shape.number(2) * 8;
    starts.resize(count);
    for (StreamStart& start : starts) {
      const uint8_t position = shape.byte(), sequence = shape.byte(), durable = shape.byte();
      if ((limits & 1) != 0) start = {position * uint64_t{8}, sequence, durable * uint64_t{8}};
    }
    if ((limits & 2) != 0) {
      for (size_t s = 0; s < count; ++s) ends.push_back(shape.byte() * uint64_t{8});
    }
    Parts left(input.subspan(std::min(input.size(), kShapeBytes)));
    for (size_t s = 0; s + 1 < count; ++s) streams.push_back(left.take(lengths[s]));
    streams.push_back(left.rest());
  }

  LogFiles add_files(InputFiles* disk) const;

  static constexpr size_t kShapeBytes = 32;
  static constexpr size_t kMostStreams = 4;
  static constexpr uint64_t kRun = 0x1234;

  const SchemeInfo* scheme;
  bool merged, reads_little;
  uint32_t stripes;
  uint64_t segment_bytes;
  std::vector<StreamStart> starts;
  std::vector<uint64_t> ends;  // empty: a recovery reads up to the end of each stream
  std::vector<Input> streams;  // each begins at position 0
};

constexpr uint64_t kStripe = 512;

void put(std::vector<std::byte>* file, uint64_t at, Input bytes) {
  if (file->size() < at + bytes.size()) file->resize(at + bytes.size());
  std::memcpy(file->data() + at, bytes.data(), bytes.size());
}

// The position of a record in the input, and in the record's stream.
struct Place {
  size_t at, bytes;
  uint64_t position;
};

// Returns the records of an input up to the first record whose header has an invalid length.
std::vector<Place> places_in(const std::vector<std::byte>& input) {
  std::vector<Place> places;
  const RecordInput parts(input);
  for (size_t s = 0; s < parts.streams.size(); ++s) {
    const Input stream = parts.streams[s];
    const auto begin = static_cast<size_t>(stream.data() - input.data());
    for (uint64_t at = parts.starts[s].position; at + sizeof(RecordHeader) <= stream.size();) {
      RecordHeader header;
      std::memcpy(&header, stream.data() + at, sizeof header);
      if (header.bytes < sizeof header || header.bytes % 8 != 0) break;
      if (header.bytes > stream.size() - at) break;
      places.push_back({begin + at, header.bytes, at});
      at += header.bytes;
    }
  }
  return places;
}

// Adds `bytes`, which may be negative, to the length of the stream that contains byte number `at`
// of the input.
void note_length(std::vector<std::byte>& input, size_t at, int64_t bytes) {
  const RecordInput parts(input);
  for (size_t s = 0; s + 1 < parts.streams.size(); ++s) {
    const auto end =
        static_cast<size_t>(parts.streams[s].data() - input.data()) + parts.streams[s].size();
    if (at >= end) continue;
    const auto length =
        static_cast<uint16_t>((static_cast<int64_t>(parts.streams[s].size()) + bytes) / 8);
    std::memcpy(&input[4 + 2 * s], &length, sizeof length);
    return;
  }
}

// Changes the list of records, or a field of one record.
void change_record(std::vector<std::byte>& input, platform::SplitMix64& random) {
  const std::vector<Place> places = places_in(input);
  if (places.empty()) return;
  const Place& one = places[random.next() % places.size()];
  const auto begin = input.begin() + static_cast<int64_t>(one.at);
  const auto end = begin + static_cast<int64_t>(one.bytes);
  RecordHeader header;
  std::memcpy(&header, &input[one.at], sizeof header);
  switch (random.next() % 8) {
    case 0:
      note_length(input, one.at, -static_cast<int64_t>(one.bytes));
      input.erase(begin, end);
      return;
    case 1: {
      if (input.size() + one.bytes > kMostRecordBytes) return;
      const std::vector<std::byte> copy(begin, end);
      const size_t to = places[random.next() % places.size()].at;
      note_length(input, to, static_cast<int64_t>(one.bytes));
      input.insert(input.begin() + static_cast<int64_t>(to), copy.begin(), copy.end());
      return;
    }
    case 2:
      header.kind = static_cast<RecordKind>(1 + random.next() % 8);
      break;
    case 3:
      header.flags = static_cast<uint8_t>(random.next());
      break;
    case 4:
      header.sequence = random.next() >> (random.next() % 64);
      break;
    case 5:
      header.txn = random.next() % 4;
      break;
    case 6:
      header.writes = static_cast<uint16_t>(random.next() % 4);
      break;
    default:
      header.bytes += random.next() % 2 == 0 ? 8 : -8;
  }
  std::memcpy(&input[one.at], &header, sizeof header);
}

LogFiles RecordInput::add_files(InputFiles* disk) const {
  LogFiles files;
  files.header.scheme = scheme->name;
  files.header.run = kRun;
  files.header.streams = static_cast<uint32_t>(streams.size());
  files.header.stripes = stripes;
  files.header.stripe_bytes = kStripe;
  files.header.segment_bytes = segment_bytes;
  files.starts = starts;
  files.ends = ends;
  const Stripes layout{stripes, kStripe};
  for (uint32_t s = 0; s < streams.size(); ++s) {
    std::vector<std::vector<std::byte>> contents(stripes);
    for (auto& content : contents) content.resize(kLogHeaderBytes);
    for (uint64_t at = 0, end; at < streams[s].size(); at = end) {
      end = std::min<uint64_t>(streams[s].size(), layout.stripe_end(at));
      put(&contents[layout.device(at)], layout.file_offset(at), streams[s].subspan(at, end - at));
    }
    auto& paths = files.paths.emplace_back();
    for (uint32_t device = 0; device < stripes; ++device) {
      const std::string path = log_file_path("d" + std::to_string(device), s);
      const std::vector<std::byte>& content = contents[device];
      paths.push_back(path);
      const uint64_t each = segment_bytes == 0 ? content.size() : segment_bytes;
      for (uint64_t at = 0; at < content.size(); at += each) {
        const auto length = std::min<uint64_t>(each, content.size() - at);
        disk->add(segment_path(path, at / each), Input(content).subspan(at, length));
      }
    }
  }
  return files;
}

// In half of the inputs, changes, copies or removes one record. Then makes all records valid again.
void mend_records(std::vector<std::byte>& input, platform::SplitMix64& random) {
  if (random.next() % 2 == 0) change_record(input, random);
  // Records of an input need not be aligned to words.
  for (const Place& place : places_in(input)) {
    std::vector<uint64_t> words(place.bytes / sizeof(uint64_t));
    std::memcpy(words.data(), &input[place.at], place.bytes);
    auto* header = reinterpret_cast<RecordHeader*>(words.data());
    header->checksum = record_checksum(*header, RecordInput::kRun, place.position);
    std::memcpy(&input[place.at], header, sizeof header->checksum);
  }
}

// Replays the streams as recover() does, on one thread, and calls `take` for each surviving record.
// Returns false if a stream cannot be read.
bool replay_streams(const LogFiles& files, const RecoveryRule& rule, StreamShare share,
                    LogMemoryMeter& meter, const std::function<void(const BodiesToApply&)>& take) {
  if (!is_for_streams(rule, files.paths.size())) return false;
  RecoveryProgress progress(rule, files.paths.size());
  StreamReplays replays;
  for (uint32_t s = 0; s < files.paths.size(); ++s) {
    replays.push_back(std::make_unique<StreamReplay>(files, s, rule, progress, share, meter,
                                                     std::vector<DevicePace*>{}));
    if (!replays.back()->reader().error().empty()) return false;
    progress.report_read(s, replays.back()->reader().tail(), false);
  }
  for (auto& stream : replays) stream->read();
  BodiesToApply ready;
  for (auto& stream : replays) {
    while (stream->next(&ready) == StreamReplay::Next::kTaken) take(ready);
    require(stream->next(&ready) == StreamReplay::Next::kDone, "all of a stream is taken");
  }
  find_damage(progress.take_tails());
  return true;
}

// With this memory limit, a recovery reads a stream in the smallest possible pieces.
constexpr uint64_t kLittleBytes = 1;

// Reads all bytes of the rows, and of the rows to which the secondary indexes lead.
void touch_rows(Database& database) {
  uint64_t sum = 0;
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte* row) {
      sum += key;
      for (uint32_t i = 0; i < table->row_bytes(); ++i) sum += static_cast<uint64_t>(row[i]);
    });
  }
  volatile uint64_t seen = sum;
  (void)seen;
}

// Recovers the log into a database. If `whole` is true, calls recover(). Otherwise calls, on this
// thread, the functions that recover() uses.
void recover_log(Input bytes, bool whole) {
  const RecordInput input(bytes);
  const RecoveryRule& rule = input.scheme->recovery;
  InputFiles disk;
  const LogFiles files = input.add_files(&disk);
  disk.use();
  Database database;
  create_tables(database);
  if (whole) {
    recover(database, files, rule, 1, input.merged ? ReplayOrder::kMerged : ReplayOrder::kParallel,
            0, input.reads_little ? kLittleBytes : kRecoveryBytes);
  } else {
    LogMemoryMeter meter;
    Applier applier(database, &meter);
    Arena arena;
    const StreamShare share = share_of_stream(kLittleBytes, files.paths.size(), 1);
    if (replay_streams(files, rule, share, meter,
                       [&](const BodiesToApply& ready) { applier.apply(ready, arena); })) {
      applier.finish();
    }
  }
  touch_rows(database);
}

void apply_records(Input bytes) { recover_log(bytes, false); }
void recover_records(Input bytes) { recover_log(bytes, true); }

constexpr const char* kDirectory = "d0";  // the directory of a stream that is not striped

// input := the value of --range, a line break, a log of records
void dump_log(Input bytes) {
  Parts parts(bytes);
  FLAGS_range = parts.line();
  FLAGS_wal_dir = kDirectory;
  RecordInput input(parts.rest());
  input.stripes = 1;
  InputFiles disk;
  const LogFiles files = input.add_files(&disk);
  Manifest manifest;
  ManifestRun& run = manifest.runs.emplace_back();
  run.header = files.header;
  run.begun = true;
  run.ends = files.ends;
  manifest.last_ordinal = run.ordinal();
  const std::string text = manifest.encode();
  require(Manifest().decode(text).empty(), "the input's manifest is read");
  disk.add(std::string(kDirectory) + "/manifest", bytes_of(text));
  disk.use();
  dump_command();
  find_dependencies(files, {});
}

void mend_dump(std::vector<std::byte>& input, platform::SplitMix64& random) {
  const auto end = std::ranges::find(input, std::byte{'\n'});
  if (end == input.end()) return;
  std::vector<std::byte> log(end + 1, input.end());
  mend_records(log, random);
  input.erase(end + 1, input.end());
  input.insert(input.end(), log.begin(), log.end());
}

constexpr size_t kMostNames = 40;
// The number of streams that the target reads, and the bytes that it reads of each file.
constexpr uint64_t kMostStreams = 8, kReadBytes = 4096;

// Reads the beginning and the end of a file, whose length may have any value.
void read_ends(SegmentedFile& file) {
  std::vector<std::byte> bytes(kReadBytes);
  const uint64_t end = file.bytes();
  for (const uint64_t at : {uint64_t{0}, end - std::min(end, kReadBytes)}) {
    require(file.read(bytes.data(), at, kReadBytes) <= kReadBytes, "a read fits its memory");
  }
}

// input := a byte, then (a length (1 byte), a name, a line break)*
void read_names(Input input) {
  Parts parts(input);
  const Segments segments{(1 + parts.byte() % 4) * kLogHeaderBytes};
  InputFiles disk;
  for (size_t i = 0; i < kMostNames && !parts.rest().empty(); ++i) {
    const uint64_t bytes = parts.byte() * uint64_t{256};
    const std::string name(parts.line());
    const bool is_name = !name.empty() && name != "." && name != "..";
    if (is_name && name.find('/') == name.npos) disk.add("d/" + name, {}, bytes);
  }
  disk.use();
  std::vector<SegmentFile> all;
  require(segment_files_in("d", &all) == 0, "the names can be listed");
  std::vector<std::pair<uint32_t, std::string>> logs;
  require(log_files_in("d", &logs) == 0, "the names can be listed");
  for (const auto& [stream, path] : logs) {
    SegmentedFile file(path, segments);
    read_ends(file);
    std::vector<SegmentFile> own;
    require(segment_files_of(path, &own) == 0, "the names can be listed");
    bool hole = false;
    for (size_t i = 0; i < own.size(); ++i) hole = hole || own[i].index != i + 1;
    require(!hole || !file.why_lost().empty(), "a hole in a chain of segments is a loss");
  }
  find_manifest({"d"}, true);
}

// Reads the part of each stream of the run that a recovery would read.
void read_run(const LogFiles& run) {
  check_files(run);
  const SchemeInfo* scheme = find_scheme(run.header.scheme);
  if (scheme == nullptr || run.paths.size() > kMostStreams) return;
  LogMemoryMeter meter;
  replay_streams(run, scheme->recovery, share_of_stream(1, run.paths.size(), 1), meter,
                 [](const BodiesToApply&) {});
}

// input := the text of a manifest, which ends with a byte of 0, and the bytes of each log file
void read_chain(Input input) {
  const std::string_view text = text_of(input);
  const size_t end = std::min(text.find('\0'), text.size());
  const Input rest = input.subspan(std::min(end + 1, input.size()));
  InputFiles disk;
  disk.add("d/manifest", bytes_of(text.substr(0, end)));
  for (const char* directory : {"d", "d/run-2"}) {
    for (uint32_t stream = 0; stream < 2; ++stream) {
      const std::string path = log_file_path(directory, stream);
      disk.add(path, rest.first(std::min(rest.size(), kLogHeaderBytes)));
      disk.add(segment_path(path, 1), rest.subspan(std::min(rest.size(), kLogHeaderBytes)));
    }
  }
  disk.use();
  const LogChain chain = find_log_chain({"d"});
  for (const RecoveryStart& start : chain.starts) {
    for (const LogFiles& run : start.runs) read_run(run);
  }
}

void mend_chain(std::vector<std::byte>& input, platform::SplitMix64&) {
  const auto end = std::ranges::find(input, std::byte{0});
  std::vector<std::byte> text(input.begin(), end);
  mend_text_block(text);
  text.insert(text.end(), end, input.end());
  input = std::move(text);
}

constexpr uint64_t kId = 0x5678;
constexpr size_t kNumbers = 24, kMostBytes = 2048;

void read_row_blocks(Input input) {
  InputFiles disk;
  disk.add("f", input);
  disk.use();
  uint64_t visited = 0;
  const auto visit = [&](const BlockHeader& block) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&block);
    for (uint32_t i = 0; i < block.bytes; ++i) visited += bytes[i] != 0 ? 1 : 0;
    return std::string();
  };
  if (read_blocks({.path = "f", .id = kId, .bytes = input.size()}, nullptr, visit).empty()) {
    require(visited <= input.size(), "blocks do not overlap");
  }
}

// input := numbers (24 bytes), the bytes of the file
void load_rows(Input input) {
  Parts parts(input);
  Checkpoint checkpoint;
  checkpoint.number = 1;
  checkpoint.id = kId;
  CheckpointFile& file = checkpoint.files.emplace_back();
  file.name = "rows-0";
  file.rows = parts.number(8);
  file.tombstones = parts.number(8);
  file.bytes = parts.number(8);
  InputFiles disk;
  disk.add("d/checkpoint-1/rows-0", parts.rest());
  disk.use();
  Database database;
  create_tables(database);
  checkpoint.tables = describe_tables(database);
  const LoadResult loaded = load_checkpoint(database, {"d"}, checkpoint);
  if (!loaded.error.empty()) return;
  uint64_t rows = 0;
  for (const auto& table : database.tables()) rows += table->count_rows();
  require(rows == loaded.rows, "the tables have the rows that were loaded");
}

// Corrects the checksums of the blocks from `begin` up to the first block with an invalid length.
void mend_blocks(std::vector<std::byte>& input, size_t begin) {
  for (size_t at = begin; at + sizeof(BlockHeader) <= input.size();) {
    BlockHeader header;
    std::memcpy(&header, &input[at], sizeof header);
    if (header.bytes < sizeof header || header.bytes > input.size() - at) return;
    std::vector<uint64_t> words(header.bytes / sizeof(uint64_t) + 1);
    std::memcpy(words.data(), &input[at], header.bytes);
    const auto* block = reinterpret_cast<const BlockHeader*>(words.data());
    const uint64_t checksum = block_checksum(*block, kId, at - begin);
    std::memcpy(&input[at], &checksum, sizeof checksum);
    at += header.bytes;
  }
}

void mend_file(std::vector<std::byte>& input, platform::SplitMix64&) { mend_blocks(input, 0); }

// In most inputs, makes the manifest's number for the file's length equal to the file's length.
void mend_checkpoint(std::vector<std::byte>& input, platform::SplitMix64& random) {
  if (input.size() < kNumbers) return;
  const uint64_t bytes = input.size() - kNumbers;
  if (random.next() % 4 != 0) std::memcpy(&input[16], &bytes, sizeof bytes);
  mend_blocks(input, kNumbers);
}

const FuzzRegistration registrations[] = {
    FuzzRegistration({.name = "records",
                      .most_bytes = kMostRecordBytes,
                      .run = apply_records,
                      .mend = mend_records}),
    FuzzRegistration({.name = "recover",
                      .most_bytes = kMostRecordBytes,
                      .run = recover_records,
                      .mend = mend_records}),
    FuzzRegistration({.name = "dump", .most_bytes = 2048, .run = dump_log, .mend = mend_dump}),
    FuzzRegistration({.name = "chain", .most_bytes = 4096, .run = read_chain, .mend = mend_chain}),
    FuzzRegistration({.name = "names", .most_bytes = 800, .run = read_names}),
    FuzzRegistration({.name = "row-blocks",
                      .most_bytes = kMostBytes,
                      .run = read_row_blocks,
                      .mend = mend_file}),
    FuzzRegistration({.name = "checkpoint",
                      .most_bytes = kMostBytes,
                      .run = load_rows,
                      .mend = mend_checkpoint}),
};

}  // namespace
}  // namespace logjam::fuzz

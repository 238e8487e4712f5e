#include "tests/fuzz/record_input.h"

#include <algorithm>
#include <cstring>

#include "logging/format/record.h"
#include "logging/format/segments.h"
#include "logging/format/stripes.h"

namespace logjam::fuzz {
namespace {

constexpr uint64_t kStripe = 512;

void put(std::vector<std::byte>* file, uint64_t at, Input bytes) {
  if (file->size() < at + bytes.size()) file->resize(at + bytes.size());
  std::memcpy(file->data() + at, bytes.data(), bytes.size());
}

// A record of an input: its place there, and in its stream.
struct Place {
  size_t at, bytes;
  uint64_t position;
};

// Returns the records of an input, as far as their lengths lead.
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

// Adds `bytes` to, or takes them from, the length of the stream that has the byte at `at`.
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

// Changes the list of records, or a field of one.
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

}  // namespace

RecordInput::RecordInput(Input input) {
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

LogFiles RecordInput::add_files(ByteFiles* disk) const {
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
        const auto begin = content.begin() + static_cast<int64_t>(at);
        const auto length = std::min<uint64_t>(each, content.size() - at);
        disk->add(segment_path(path, at / each), {begin, begin + static_cast<int64_t>(length)});
      }
    }
  }
  return files;
}

void mend_records(std::vector<std::byte>& input, platform::SplitMix64& random) {
  if (random.next() % 2 == 0) change_record(input, random);
  // The records need not lie on words of the input.
  for (const Place& place : places_in(input)) {
    std::vector<uint64_t> words(place.bytes / sizeof(uint64_t));
    std::memcpy(words.data(), &input[place.at], place.bytes);
    auto* header = reinterpret_cast<RecordHeader*>(words.data());
    header->checksum = record_checksum(*header, RecordInput::kRun, place.position);
    std::memcpy(&input[place.at], header, sizeof header->checksum);
  }
}

}  // namespace logjam::fuzz

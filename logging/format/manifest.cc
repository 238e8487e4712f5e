#include "logging/format/manifest.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "platform/assert.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr std::string_view kFirstLine = "logjam manifest 1";
constexpr std::string_view kRunPrefix = "run.", kCheckpointPrefix = "checkpoint.";
constexpr std::string_view kEnds = "ends", kReleased = "released", kAccepted = "accepted",
                           kBegun = "begun";

std::string text_of(const std::vector<uint64_t>& numbers) {
  return platform::join(numbers, " ", [](uint64_t number) { return std::to_string(number); });
}

bool read_numbers(const std::string& text, std::vector<uint64_t>* numbers) {
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    if (!parse_number(word, 10, &numbers->emplace_back())) return false;
  }
  return true;
}

KeyValues lines_of(const ManifestRun& run) {
  KeyValues lines = run.header.lines();
  lines.emplace_back(kBegun, run.begun ? "1" : "0");
  if (!run.ends.empty()) lines.emplace_back(kEnds, text_of(run.ends));
  if (!run.released.empty()) lines.emplace_back(kReleased, text_of(run.released));
  if (!run.accepted.empty()) lines.emplace_back(kAccepted, run.accepted);
  return lines;
}

std::string read_run(const KeyValues& lines, ManifestRun* run) {
  KeyValues header;
  bool good = true;
  for (const auto& [key, value] : lines) {
    if (key == kBegun) {
      run->begun = value == "1";
    } else if (key == kEnds) {
      good &= read_numbers(value, &run->ends);
    } else if (key == kReleased) {
      good &= read_numbers(value, &run->released);
    } else if (key == kAccepted) {
      run->accepted = value;
    } else {
      header.emplace_back(key, value);
    }
  }
  std::string why = run->header.read(header);
  if (!why.empty()) return why;
  for (const auto* positions : {&run->ends, &run->released}) {
    good &= positions->empty() || positions->size() == run->header.streams;
  }
  return good ? "" : "the positions of a run cannot be read";
}

std::string text_of(const ManifestLife& life) {
  return std::to_string(life.ordinal) + " " + hex(life.run) + " " + (life.history ? "1" : "0");
}

bool read_life(const std::string& text, ManifestLife* life) {
  std::istringstream in(text);
  return static_cast<bool>(in >> life->ordinal >> std::hex >> life->run >> life->history);
}

std::string text_of(const Removable& one) {
  const bool run = one.kind == Removable::Kind::kRun;
  return std::string(run ? "run " : "checkpoint ") + std::to_string(one.number) + " " + hex(one.id);
}

bool read_removable(const std::string& text, Removable* one) {
  std::istringstream in(text);
  std::string kind;
  in >> kind >> one->number >> std::hex >> one->id;
  one->kind = kind == "run" ? Removable::Kind::kRun : Removable::Kind::kCheckpoint;
  const bool run = kind == "run";
  return !in.fail() && (run || kind == "checkpoint") &&
         one->number <= (run ? kMostOrdinal : kMostPosition);
}

// Returns a text about a contradiction or a too large number in the manifest, or an empty string.
std::string contradiction(const Manifest& manifest) {
  if (manifest.directories > kMostLogFiles || manifest.last_ordinal > kMostOrdinal ||
      manifest.generation > kMostPosition || manifest.last_checkpoint > kMostPosition) {
    return "a number in it is too large";
  }
  uint32_t ordinal = 0;
  for (const ManifestRun& run : manifest.runs) {
    for (const auto* positions : {&run.ends, &run.released}) {
      if (std::ranges::any_of(*positions, [](uint64_t at) { return at > kMostPosition; })) {
        return "a position of run " + std::to_string(run.ordinal()) + " is too large";
      }
    }
    if (run.ordinal() <= ordinal || run.ordinal() > manifest.last_ordinal) {
      return "it counts its runs wrongly";
    }
    ordinal = run.ordinal();
    if (std::ranges::count(manifest.removable, run.header.run, &Removable::id) != 0) {
      return "it has run " + std::to_string(ordinal) + ", and calls it removable";
    }
  }
  uint64_t number = 0;
  for (const Checkpoint& checkpoint : manifest.checkpoints) {
    if (checkpoint.number <= number || checkpoint.number > manifest.last_checkpoint) {
      return "it counts its checkpoints wrongly";
    }
    number = checkpoint.number;
    if (std::ranges::count(manifest.removable, checkpoint.id, &Removable::id) != 0) {
      return "it has " + checkpoint.name() + ", and calls it removable";
    }
    const ManifestRun* run = manifest.run(checkpoint.ordinal);
    if (run != nullptr && !checkpoint.at_end && checkpoint.complete &&
        checkpoint.rsn.size() != run->header.streams) {
      return checkpoint.name() + " counts the streams of its run wrongly";
    }
  }
  return "";
}

}  // namespace

std::string Manifest::encode() const {
  KeyValues lines = {
      {"log", hex(log)},
      {"generation", std::to_string(generation)},
      {"directories", std::to_string(directories)},
      {"whole", whole ? "1" : "0"},
      {"last_ordinal", std::to_string(last_ordinal)},
      {"last_checkpoint", std::to_string(last_checkpoint)},
  };
  for (const uint64_t other : replaced) lines.emplace_back("replaced", hex(other));
  for (const ManifestLife& life : lives) lines.emplace_back("life", text_of(life));
  for (const Removable& one : removable) lines.emplace_back("removable", text_of(one));
  const auto add = [&lines](std::string_view prefix, const KeyValues& of) {
    for (const auto& [key, value] : of) lines.emplace_back(std::string(prefix) + key, value);
  };
  for (const ManifestRun& run : runs) {
    lines.emplace_back("run", std::to_string(run.ordinal()));
    add(kRunPrefix, lines_of(run));
  }
  for (const Checkpoint& checkpoint : checkpoints) {
    lines.emplace_back("checkpoint", std::to_string(checkpoint.number));
    add(kCheckpointPrefix, checkpoint.lines());
  }
  return encode_text_block(kFirstLine, lines);
}

std::string Manifest::decode(const std::string& text) {
  KeyValues lines;
  std::string why = decode_text_block(text, kFirstLine, "it", &lines);
  if (!why.empty()) return why;
  Manifest read;
  bool good = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& [key, value] = lines[i];
    // Takes the next lines that begin with `prefix`. Returns these lines without the prefix.
    const auto section = [&](std::string_view prefix) {
      KeyValues taken;
      while (i + 1 < lines.size() && lines[i + 1].first.starts_with(prefix)) {
        ++i;
        taken.emplace_back(lines[i].first.substr(prefix.size()), lines[i].second);
      }
      return taken;
    };
    if (key == "log") {
      good &= parse_number(value, 16, &read.log);
    } else if (key == "generation") {
      good &= parse_number(value, 10, &read.generation);
    } else if (key == "directories") {
      good &= parse_number(value, 10, &read.directories) && read.directories > 0;
    } else if (key == "whole") {
      read.whole = value == "1";
    } else if (key == "last_ordinal") {
      good &= parse_number(value, 10, &read.last_ordinal);
    } else if (key == "last_checkpoint") {
      good &= parse_number(value, 10, &read.last_checkpoint);
    } else if (key == "replaced") {
      good &= parse_number(value, 16, &read.replaced.emplace_back());
    } else if (key == "life") {
      good &= read_life(value, &read.lives.emplace_back());
    } else if (key == "removable") {
      good &= read_removable(value, &read.removable.emplace_back());
    } else if (key == "run") {
      why = read_run(section(kRunPrefix), &read.runs.emplace_back());
      if (!why.empty()) return "of run " + value + ", " + why;
    } else if (key == "checkpoint") {
      why = read.checkpoints.emplace_back().read(section(kCheckpointPrefix));
      if (!why.empty()) return "of checkpoint " + value + ", " + why;
    } else {
      return "it has the unknown key \"" + key + "\"";
    }
  }
  if (!good) return "a number in it cannot be read";
  why = contradiction(read);
  if (why.empty()) *this = std::move(read);
  return why;
}

const ManifestRun* Manifest::run(uint32_t ordinal) const {
  const auto found = std::ranges::find(runs, ordinal, &ManifestRun::ordinal);
  return found == runs.end() ? nullptr : &*found;
}

ManifestRun* Manifest::run(uint32_t ordinal) {
  return const_cast<ManifestRun*>(std::as_const(*this).run(ordinal));
}

void Manifest::remove_run(uint32_t ordinal) {
  const ManifestRun* const removed = run(ordinal);
  LJ_ASSERT(removed != nullptr);
  removable.push_back({Removable::Kind::kRun, ordinal, removed->header.run});
  std::erase_if(runs, [&](const ManifestRun& one) { return one.ordinal() == ordinal; });
}

void Manifest::remove_checkpoint(uint64_t number) {
  const auto found = std::ranges::find(checkpoints, number, &Checkpoint::number);
  LJ_ASSERT(found != checkpoints.end());
  removable.push_back({Removable::Kind::kCheckpoint, number, found->id});
  checkpoints.erase(found);
}

void Manifest::remove_unfinished() {
  const std::vector<Checkpoint> all = checkpoints;
  for (const Checkpoint& one : all) {
    if (!one.complete) remove_checkpoint(one.number);
  }
  const std::vector<ManifestRun> before = runs;
  for (const ManifestRun& run : before) {
    if (run.begun || (runs.size() == 1 && checkpoints.empty())) continue;
    remove_run(run.ordinal());
    std::erase_if(lives,
                  [&run](const ManifestLife& life) { return life.ordinal == run.ordinal(); });
  }
}

std::string run_directory(const std::string& directory, uint32_t ordinal) {
  return ordinal == 1 ? directory : directory + "/run-" + std::to_string(ordinal);
}

std::vector<std::string> run_directories(const std::vector<std::string>& directories,
                                         uint32_t ordinal) {
  std::vector<std::string> found;
  for (const std::string& directory : directories) {
    found.push_back(run_directory(directory, ordinal));
  }
  return found;
}

}  // namespace logjam

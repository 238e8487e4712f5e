#include "logging/format/manifest_file.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "logging/format/remove_files.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr std::string_view kMemberLine = "logjam member 1";
constexpr uint64_t kMostBytes = uint64_t{1} << 28;

std::string manifest_path(const std::string& directory) {
  return directory + "/" + std::string(kManifestName);
}
std::string copy_path(const std::string& directory) { return manifest_path(directory) + ".copy"; }
std::string fresh_path(const std::string& path) { return path + ".new"; }
std::string member_path(const std::string& directory, uint64_t log) {
  return directory + "/member-" + hex(log);
}

void or_end(int error, const char* action, const std::string& path) {
  if (error == 0) return;
  platform::fatal(std::string("cannot ") + action + " " + path + ": " +
                  platform::error_text(error));
}

// Returns false if there is no file. Fails if the file cannot be read.
bool read_or_fail(const std::string& path, std::string* text) {
  const int error = platform::read_file(path, text, kMostBytes);
  if (error == 0 || error == ENOENT) return error == 0;
  platform::fail("cannot read " + path + ": " + platform::error_text(error));
}

std::string member_text(uint64_t log, uint32_t place, uint32_t directories) {
  return encode_text_block(kMemberLine, {{"log", hex(log)},
                                         {"place", std::to_string(place)},
                                         {"directories", std::to_string(directories)}});
}

// Returns the number of `directory` in the log, from 1, or 0 if no member file names the log.
uint32_t place_in(const std::string& directory, const Manifest& manifest) {
  std::string text;
  KeyValues lines;
  if (!read_or_fail(member_path(directory, manifest.log), &text)) return 0;
  if (!decode_text_block(text, kMemberLine, "it", &lines).empty()) return 0;
  uint64_t log = 0;
  uint32_t place = 0;
  for (const auto& [key, value] : lines) {
    if (key == "log" && !parse_number(value, 16, &log)) return 0;
    if (key == "place" && !parse_number(value, 10, &place)) return 0;
  }
  return log == manifest.log && place < manifest.directories ? place : 0;
}

// Puts `directories` into the log's order. The log's manifest is in `directories[first]`. Returns
// an empty string, or why `directories` are not the directories of the log.
std::string put_in_order(const std::vector<std::string>& directories, size_t first,
                         FoundManifest* found) {
  const Manifest& manifest = found->manifest;
  const std::string log = "the log whose manifest is in " + directories[first];
  if (directories.size() != manifest.directories) {
    return log + " has " + std::to_string(manifest.directories) + " director" +
           (manifest.directories == 1 ? "y" : "ies") + ", not " +
           std::to_string(directories.size());
  }
  found->directories.assign(directories.size(), "");
  for (size_t i = 0; i < directories.size(); ++i) {
    const uint32_t place = i == first ? 0 : place_in(directories[i], manifest);
    if (i != first && place == 0) return directories[i] + " is not a directory of " + log;
    if (!found->directories[place].empty()) {
      return directories[i] + " and " + found->directories[place] + " both are directory " +
             std::to_string(place + 1) + " of " + log;
    }
    found->directories[place] = directories[i];
  }
  return "";
}

// A manifest, and the index of its directory.
struct Candidate {
  size_t directory;
  Manifest manifest;
};

void drop_replaced(std::vector<Candidate>* found) {
  const std::vector<Candidate> all = *found;
  std::erase_if(*found, [&all](const Candidate& one) {
    return std::ranges::any_of(all, [&one](const Candidate& other) {
      return std::ranges::count(other.manifest.replaced, one.manifest.log) != 0;
    });
  });
}

// Reads the manifests or their copies. Appends to `why_not` why a file is not a manifest.
std::vector<Candidate> read_all(const std::vector<std::string>& directories,
                                std::string (*path_in)(const std::string&), std::string* why_not) {
  std::vector<Candidate> found;
  for (size_t i = 0; i < directories.size(); ++i) {
    const std::string path = path_in(directories[i]);
    std::string text;
    if (!read_or_fail(path, &text)) continue;
    Candidate one{i, {}};
    const std::string why = one.manifest.decode(text);
    if (why.empty()) {
      found.push_back(std::move(one));
    } else {
      platform::append_part(why_not, "; ", path + " is not a manifest: " + why);
    }
  }
  drop_replaced(&found);
  return found;
}

// Drops each manifest that is older than a copy, if the copy's log is in all of `directories`. A
// copy is written after its manifest, so the newer manifest existed, and is lost. Appends the
// dropped manifests' names to `why_not`.
void drop_older(const std::vector<std::string>& directories, const std::vector<Candidate>& copies,
                std::vector<Candidate>* manifests, std::string* why_not) {
  std::erase_if(*manifests, [&](const Candidate& one) {
    const auto newer = std::ranges::find_if(copies, [&](const Candidate& copy) {
      if (copy.manifest.directories != directories.size()) return false;
      return copy.manifest.log == one.manifest.log
                 ? copy.manifest.generation > one.manifest.generation
                 : std::ranges::count(copy.manifest.replaced, one.manifest.log) != 0;
    });
    if (newer == copies.end()) return false;
    platform::append_part(why_not, "; ",
                          manifest_path(directories[one.directory]) + " is older than " +
                              copy_path(directories[newer->directory]));
    return true;
  });
}

// Calls `visit(path, name)` for each name in the directories.
void visit_names(const std::vector<std::string>& directories,
                 const std::function<void(const std::string&, std::string_view)>& visit) {
  for (const std::string& directory : directories) {
    std::vector<std::string> names;
    if (const int error = platform::names_in(directory, &names); error != 0) {
      platform::fail("cannot list " + directory + ": " + platform::error_text(error));
    }
    for (const std::string& name : names) visit(directory + "/" + name, name);
  }
}

// Returns the number in `name` after `prefix`, or 0 if `name` lacks the prefix or the number.
uint64_t number_in(std::string_view name, std::string_view prefix) {
  uint64_t number = 0;
  if (!name.starts_with(prefix)) return 0;
  return parse_number(name.substr(prefix.size()), 10, &number) ? number : 0;
}

uint64_t checkpoint_at(const std::string& path, std::string_view name) {
  const uint64_t number = number_in(name, "checkpoint-");
  return number != 0 && number < kMostPosition && has_proof(path) ? number : 0;
}

// Returns the path of a part of a run or checkpoint that is not in `manifest`, or an empty string.
// Such a part was in a later manifest. So `manifest` was put back from an old copy.
std::string unknown_part(const std::vector<std::string>& directories, const Manifest& manifest) {
  std::string unknown;
  visit_names(directories, [&](const std::string& path, std::string_view name) {
    if (number_in(name, "run-") > manifest.last_ordinal) {
      const std::string file = log_file_of(manifest.log, path);
      if (!file.empty()) unknown = file;
    }
    // A checkpoint's number is in the manifest before the checkpoint's directory is created.
    if (checkpoint_at(path, name) > manifest.last_checkpoint) unknown = path;
  });
  return unknown;
}

}  // namespace

FoundManifest find_manifest(const std::vector<std::string>& directories, bool use_copy) {
  FoundManifest found;
  std::string why_not, ignored;
  // Copies are read first: if a run changes a manifest meanwhile, it changes the copy later. So no
  // copy that is read here is newer than the manifest that is read next.
  const std::vector<Candidate> copies = read_all(directories, copy_path, &ignored);
  std::vector<Candidate> manifests = read_all(directories, manifest_path, &why_not);
  drop_older(directories, copies, &manifests, &why_not);
  if (manifests.empty()) {
    found.lost = !why_not.empty() || !copies.empty();
    if (why_not.empty()) why_not = "there is no " + manifest_path("DIR");
    found.error = "no log is in the log directories: " + why_not;
    if (copies.size() != 1) return found;
    const Manifest& copy = copies[0].manifest;
    if (copy.directories != directories.size()) {
      found.all = {copy};
      found.error = "the log of which " + directories[copies[0].directory] +
                    " is a directory has " + std::to_string(copy.directories) +
                    " directories, not " + std::to_string(directories.size());
      return found;
    }
    if (!use_copy) {
      found.error = "the log's manifest is lost: " + why_not + "; --accept_damage uses its copy";
      return found;
    }
    found.lost = false;
    found.error.clear();
    found.damage = "the log's manifest is lost (" + why_not + "), and its copy of generation " +
                   std::to_string(copy.generation) + " may be one generation old";
    // The copy is in the last directory. Only the first directory has no member file.
    size_t first = 0;
    while (first + 1 < directories.size() && place_in(directories[first], copy) != 0) ++first;
    manifests = {{first, copy}};
  }
  for (const Candidate& one : manifests) found.all.push_back(one.manifest);
  if (manifests.size() > 1) {
    found.error = "two logs are in the log directories: one in " +
                  directories[manifests[0].directory] + " and one in " +
                  directories[manifests[1].directory];
    return found;
  }
  found.manifest = manifests[0].manifest;
  found.error = put_in_order(directories, manifests[0].directory, &found);
  if (!found.error.empty()) return found;
  const std::string later = unknown_part(directories, found.manifest);
  if (later.empty()) return found;
  const std::string older = "the log's manifest is older than the log: it does not know " + later;
  if (use_copy) {
    platform::append_part(&found.damage, "; ", older);
  } else {
    found.error = older + "; --accept_damage uses what the manifest has";
    found.lost = true;
  }
  return found;
}

uint64_t last_checkpoint_in(const std::vector<std::string>& directories) {
  uint64_t last = 0;
  visit_names(directories, [&last](const std::string& path, std::string_view name) {
    last = std::max(last, checkpoint_at(path, name));
  });
  return last;
}

LogManifest::LogManifest(std::vector<std::string> directories, Manifest manifest)
    : directories_(std::move(directories)), manifest_(std::move(manifest)) {}

Manifest LogManifest::current() const {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  return manifest_;
}

void LogManifest::change(const std::function<void(Manifest&)>& change) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  LJ_ASSERT(!is_prepared_);
  Manifest next = manifest_;
  change(next);
  ++next.generation;
  const std::string text = next.encode();
  for (const std::string& path :
       {manifest_path(directories_.front()), copy_path(directories_.back())}) {
    or_end(platform::replace_file(path, text), "write", path);
  }
  manifest_ = std::move(next);
}

int LogManifest::prepare(const std::function<void(Manifest&)>& change) {
  prepared_ = current();
  change(prepared_);
  ++prepared_.generation;
  {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    is_prepared_ = true;
  }
  for (uint32_t place = 1; place < directories_.size(); ++place) {
    const std::string path = member_path(directories_[place], prepared_.log);
    const int error =
        platform::replace_file(path, member_text(prepared_.log, place, prepared_.directories));
    if (error != 0) return error;
  }
  const std::string text = prepared_.encode();
  platform::Files& files = platform::files();
  const int file = platform::create_file(fresh_path(manifest_path(directories_.front())));
  if (file < 0) return -file;
  int error = platform::write_all(file, 0, std::as_bytes(std::span(text)));
  if (error == 0) error = files.sync(file);
  files.close(file);
  return error;
}

void LogManifest::commit() {
  const std::string path = manifest_path(directories_.front());
  int error = platform::files().rename(fresh_path(path), path);
  if (error == 0) error = platform::sync_parent(path);
  or_end(error, "replace", path);
  const std::string copy = copy_path(directories_.back());
  or_end(platform::replace_file(copy, prepared_.encode()), "write", copy);
  const platform::lock_guard<platform::mutex> hold(mutex_);
  LJ_ASSERT(is_prepared_);
  is_prepared_ = false;
  manifest_ = std::move(prepared_);
}

void LogManifest::undo() {
  platform::files().remove(fresh_path(manifest_path(directories_.front())));
  const Manifest now = current();
  if (now.generation != 0) return;  // the member files existed before prepare(), and stay
  for (uint32_t place = 1; place < directories_.size(); ++place) {
    platform::files().remove(member_path(directories_[place], prepared_.log));
  }
}

void remove_replaced(const LogManifest& log) {
  const Manifest manifest = log.current();
  if (manifest.replaced.empty()) return;
  const auto remove = [](const std::string& path) {
    const int error = platform::files().remove(path);
    if (error != ENOENT) or_end(error, "remove", path);
  };
  const auto remove_manifest = [&](const std::string& path) {
    std::string text;
    Manifest other;
    if (!read_or_fail(path, &text) || !other.decode(text).empty()) return;
    if (std::ranges::count(manifest.replaced, other.log) != 0) remove(path);
  };
  for (const std::string& directory : log.directories()) {
    remove_manifest(manifest_path(directory));
    remove_manifest(copy_path(directory));
    for (const uint64_t other : manifest.replaced) remove(member_path(directory, other));
    or_end(platform::sync_directory(directory), "sync", directory);
  }
}

}  // namespace logjam

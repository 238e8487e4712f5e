// Finds, reads and replaces a log's manifest.
//
// `manifest` lies in the log's first directory, and its copy `manifest.copy` in the last directory.
// Every directory except the first has a *member file* `member-L`, which names the log L and the
// directory's number. So a user may name the directories in any order, but must name all.
//
// A manifest is replaced in one step: it is written to another name, synced and renamed, and the
// directory is synced. The copy is replaced later, so the copy may be one generation older than the
// manifest. The copy is used only if the manifest is lost, or older than the copy: both are damage.
//
// One log may replace another log in the same directories. The new log's manifest names the
// replaced logs. If a crash leaves a replaced log's manifest, this manifest is ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "logging/format/manifest.h"
#include "platform/mutex.h"
#include "platform/thread_annotations.h"

namespace logjam {

inline constexpr std::string_view kManifestName = "manifest";

struct FoundManifest {
  std::string error;   // in one sentence why there is no manifest to use, or empty
  bool lost = false;   // `error` reports damage: there was a manifest once
  std::string damage;  // one sentence if the manifest is lost and a copy is used, else empty
  std::vector<std::string> directories;  // in the log's order
  Manifest manifest;
  std::vector<Manifest> all = {};  // of all logs in the directories; several only by mistake

  bool none() const { return all.empty() && !lost; }
};

// Looks for the log in `directories`, which may be in any order. If `use_copy` is true, uses the
// copy of a lost manifest. Fails if a directory cannot be read.
FoundManifest find_manifest(const std::vector<std::string>& directories, bool use_copy = false);

// Returns the largest number of a checkpoint in `directories`, or 0. Fails on a read error.
uint64_t last_checkpoint_in(const std::vector<std::string>& directories);

// The manifest of a log that this process may change. Any thread may call its functions.
class LogManifest {
 public:
  // `directories` are the directories of the log, in the log's order.
  LogManifest(std::vector<std::string> directories, Manifest manifest);

  const std::vector<std::string>& directories() const { return directories_; }
  Manifest current() const;

  // Applies `change` to the manifest, and waits until the changed manifest is durable. Ends the
  // process if this fails. After a crash the manifest has the whole change or none of it.
  void change(const std::function<void(Manifest&)>& change);

  // Prepares a change: writes the changed manifest under another name, and the member files.
  // Returns 0 or errno. The same thread then calls commit(), which makes the changed manifest
  // current or ends the process, or undo(), which removes the files that prepare() has written.
  int prepare(const std::function<void(Manifest&)>& change);
  void commit();
  void undo();

 private:
  const std::vector<std::string> directories_;
  mutable platform::mutex mutex_;
  Manifest manifest_ LJ_GUARDED_BY(mutex_);
  bool is_prepared_ LJ_GUARDED_BY(mutex_) = false;
  Manifest prepared_;
};

// Removes the manifests, copies and member files of the logs that `log` has replaced.
void remove_replaced(const LogManifest& log);

}  // namespace logjam

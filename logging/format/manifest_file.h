// Finding, reading and replacing a log's manifest (logging/format/manifest.h).
//
// `manifest` lies in the log's first directory, and its copy `manifest.copy` in the last one.
// Every directory but the first has a member file `member-L`, where L is the log's identity. So the
// directories may be named in any order, and one that is missing is noticed.
//
// A manifest is replaced in one step: it is written to another name, synced and renamed, and the
// directory is synced. After a crash it is the earlier one or the new one. The copy follows it, and
// is used only to recover a log whose manifest is lost: the copy may be one generation old, so a
// recovery from it is a recovery from damage. A manifest that is older than its copy counts as
// lost.
//
// One log may replace another in the same directories. Its manifest names the logs that it has
// replaced. If a crash leaves a manifest of one of them in another directory, that one does not
// count.
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
  bool lost = false;   // what `error` says is damage: there was a manifest once
  std::string damage;  // the manifest is lost, and this one is its copy: in one sentence; or empty
  std::vector<std::string> directories;  // in the log's order
  Manifest manifest;
  // The logs in the directories: more than one if they are not one log's, none if there is none.
  std::vector<Manifest> all = {};

  bool none() const { return all.empty() && !lost; }
};

// Looks for the log in `directories`, which may be in any order. If its manifest is lost and
// `use_copy`, takes the copy. Fails if a directory cannot be looked into. Any thread may
// call it.
FoundManifest find_manifest(const std::vector<std::string>& directories, bool use_copy = false);

// Returns the largest number of a checkpoint in the directories, of whichever log, or 0. Ends the
// process if a directory cannot be looked into.
uint64_t last_checkpoint_in(const std::vector<std::string>& directories);

// The manifest of a log that this process may change. Its functions may be called by any thread.
class LogManifest {
 public:
  // `directories` are the log's, in its order; `manifest` is what they have, or will have.
  LogManifest(std::vector<std::string> directories, Manifest manifest);

  const std::vector<std::string>& directories() const { return directories_; }
  Manifest current() const;

  // Makes `change` to the manifest. When this returns, the result is durable; a crash leaves the
  // manifest before or after the change. Calls of several threads follow each other. Ends the
  // process if the manifest cannot be written.
  void change(const std::function<void(Manifest&)>& change);

  // Makes a change in two steps, if it may be refused. prepare() writes the changed manifest
  // beside the current one, and the member files; returns 0 or errno. commit() makes it the
  // current one, or ends the process. The thread that called prepare() calls commit() or undo().
  int prepare(const std::function<void(Manifest&)>& change);
  void commit();
  // Removes what prepare() has written.
  void undo();

 private:
  const std::vector<std::string> directories_;
  mutable platform::mutex mutex_;
  Manifest manifest_ LJ_GUARDED_BY(mutex_);
  bool is_prepared_ LJ_GUARDED_BY(mutex_) = false;
  Manifest prepared_;
};

// Removes from the other directories of `log` the manifests and member files of the logs that it
// has replaced, and the copies of their manifests.
void remove_replaced(const LogManifest& log);

}  // namespace logjam

// Copies of the kernel's cgroup files. A write to a copy has the result that the kernel would give.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "platform/kernel_files.h"
#include "tests/temporary_directory.h"

namespace logjam {

class FakeCgroups {
 public:
  // The process is in the group `path` of a hierarchy that is mounted at /cg.
  FakeCgroups(int version, const std::string& path) : version_(version) {
    put("/proc/self/cgroup", version == 1 ? "9:name=systemd:/x\n4:cpu,cpuacct:" + path + "\n0::/y\n"
                                          : "0::" + path + "\n");
    put("/proc/self/mountinfo",
        "22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n" +
            std::string(version == 1
                            ? "31 22 0:27 / /other rw shared:4 - cgroup cgroup rw,cpuset\n"
                              "32 22 0:28 / /cg rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n"
                            : "32 22 0:28 / /cg rw shared:5 - cgroup2 cgroup2 rw\n"));
    put("/proc/sys/kernel/sched_autogroup_enabled", "1\n");
    std::string group = "/cg";
    group_files(group, true);
    for (const auto& part : std::filesystem::path(path).relative_path()) {
      group += "/" + part.string();
      std::filesystem::create_directories(real(group));
      group_files(group, false);
    }
  }

  platform::KernelFiles kernel() {
    return {directory_.path(), [this](const std::string& path) { changed(path); },
            [this](const std::string& path) {
              for (const auto& entry : std::filesystem::directory_iterator(real(path))) {
                if (entry.is_regular_file()) std::filesystem::remove(entry);
              }
            }};
  }

  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(real(path)).parent_path());
    std::ofstream(real(path)) << text;
  }
  std::string text(const std::string& path) const {
    std::ifstream in(real(path));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string real(const std::string& path) const { return directory_.path() + path; }

  std::set<std::string> worker_groups(const std::string& group) const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(real(group))) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("logjam-workers-")) found.insert(name);
    }
    return found;
  }

  bool has_cpu_idle = true;       // Linux 5.15 or later
  bool cpu_for_children = false;  // version 2: every group enables the controller for its children
  bool may_enable_for_children = true;
  bool may_make_threaded = true;

 private:
  void changed(const std::string& path) {
    if (std::filesystem::is_directory(real(path))) return group_files(path, false);
    if (!path.ends_with("/cgroup.subtree_control") || !may_enable_for_children) return;
    cpu_for_children = true;
    const std::string parent = path.substr(0, path.rfind('/'));
    for (const auto& name : worker_groups(parent)) cpu_files(parent + "/" + name);
  }

  void group_files(const std::string& group, bool is_root) {
    if (version_ == 1) {
      put(group + "/tasks", "");
      if (is_root) put(group + "/release_agent", "");
      return cpu_files(group);
    }
    put(group + "/cgroup.threads", "");
    put(group + "/cgroup.subtree_control", "");
    if (is_root) return;
    if (may_make_threaded) put(group + "/cgroup.type", "domain\n");
    if (cpu_for_children) cpu_files(group);
  }

  void cpu_files(const std::string& group) {
    put(group + (version_ == 1 ? "/cpu.shares" : "/cpu.weight"), "");
    if (has_cpu_idle) put(group + "/cpu.idle", "0\n");
  }

  const int version_;
  const TemporaryDirectory directory_;
};

}  // namespace logjam

// The effect of a run on its directories, and R1 for a log that is already in these directories.
#include "logging/log_directories.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "logging/device/device_file.h"
#include "tests/command_error.h"
#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

constexpr uint64_t kRecords = 20;

// Returns the bytes of every file below the directory, without zeros at the end of a file.
std::map<std::string, std::string> contents(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    std::string bytes;
    if (entry.is_regular_file()) {
      std::ifstream in(entry.path(), std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
      bytes.resize(bytes.find_last_not_of('\0') + 1);
    }
    files[entry.path()] = bytes;
  }
  return files;
}

LogOptions options_of(const char* scheme, const LogDirectory& directory, const std::string& device,
                      uint32_t directories) {
  LogOptions options = log_options(*find_scheme(scheme), directory, device, 3);
  options.config.buffer_bytes = 65536;
  options.config.stripe_bytes = 4096;
  options.overwrite = false;
  options.directories.clear();
  for (uint32_t i = 0; i < directories; ++i) {
    options.directories.push_back(directory.path() + "/" + std::to_string(i));
  }
  return options;
}

uint64_t write_log(const LogOptions& options) {
  Log log(options);
  log.start();
  for (uint64_t i = 0; i < kRecords; ++i) {
    log.scheme().wait_durable(i % 3, publish_record(log, i % 3, i, 400).point);
  }
  log.stop();
  return log.run();
}

// Returns what recovery finds: "N records of scheme S, run R", or the reason why it can use
// nothing. `directories` may have more or fewer directories than the log.
std::string found(std::vector<std::string> directories) {
  LogFiles files = find_log_files(directories);
  if (files.error.ends_with("has 1 directory, not 2")) files = find_log_files({directories[0]});
  if (!files.error.empty()) return files.error;
  uint64_t records = 0;
  for (const auto& paths : files.paths) {
    const ReadLog log = read_log(paths);
    if (!log.error.empty()) return log.error;
    if (log.tail.why != "end of log") return log.tail.why;
    records += log.records.size();
  }
  return std::to_string(records) + " records of " + files.header.origin();
}

// Opens a log in a child process that crashes at `step`. Returns whether the child reached `step`.
bool crashes_at(int step, LogOptions options) {
  const pid_t child = fork();
  if (child == 0) {
    options.after_step = [left = step]() mutable {
      if (--left == 0) _exit(1);
    };
    const Log log(options);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

// Saves a directory. The destructor restores it.
class Saved {
 public:
  explicit Saved(const LogDirectory& directory) : directory_(directory.path()) {
    copy(directory_, aside_.path());
  }
  void put_back() const {
    std::filesystem::remove_all(directory_);
    copy(aside_.path(), directory_);
  }

 private:
  static void copy(const std::string& from, const std::string& to) {
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  }

  const std::string directory_;
  const TemporaryDirectory aside_;
};

struct Replacement {
  const char *from, *to, *device;
  uint32_t from_directories, to_directories;
};

TEST(LogDirectories, ACrashAtAnyStepLeavesTheOldLogOrTheNewOne) {
  for (const Replacement& r :
       {Replacement{"pwal", "centr", "sync", 2, 2}, Replacement{"centr", "pwal", "sync", 1, 1},
        Replacement{"centr", "centr", "file", 1, 2}, Replacement{"pwal", "silo", "nvm", 2, 2}}) {
    SCOPED_TRACE(std::string(r.from) + " to " + r.to);
    LogDirectory directory;
    LogOptions from = options_of(r.from, directory, r.device, r.from_directories);
    LogOptions to = options_of(r.to, directory, r.device, r.to_directories);
    to.overwrite = true;
    from.preallocate_bytes = to.preallocate_bytes = 16384;
    from.segment_bytes = 8192;
    to.segment_bytes = 16384;
    write_log(from);
    const std::string old_log = found(to.directories);
    ASSERT_EQ(old_log.find(std::to_string(kRecords) + " records of scheme "), 0u) << old_log;
    const std::string new_log = std::string("0 records of scheme ") + r.to + ", run ";
    const Saved saved(directory);
    int steps = 0, new_logs = 0;
    while (crashes_at(++steps, to)) {
      const std::string now = found(to.directories);
      new_logs += now.starts_with(new_log) ? 1 : 0;
      EXPECT_TRUE(now == old_log ? new_logs == 0 : now.starts_with(new_log))
          << steps << ": " << now;
      saved.put_back();
    }
    EXPECT_GT(steps, new_logs + 1);
    EXPECT_GT(new_logs, 3);
    EXPECT_TRUE(found(to.directories).starts_with(new_log));
  }
}

// The second run starts from the directories that the crash of the first run has left. To save
// time, the test tries only half of the steps.
TEST(LogDirectories, ACrashAfterACrashLeavesALogToo) {
  LogDirectory directory;
  LogOptions one = options_of("eleda", directory, "sync", 2);
  LogOptions other = options_of("centr", directory, "sync", 2);
  write_log(one);
  one.overwrite = other.overwrite = true;
  const std::string old_log = found(one.directories);
  const Saved saved(directory);
  for (int first = 1; crashes_at(first, other); first += 2) {
    const Saved crashed(directory);
    const bool old = found(one.directories) == old_log;
    for (int second = 1 + first / 2 % 2; crashes_at(second, one); second += 2) {
      const std::string now = found(one.directories);
      EXPECT_TRUE((old && now == old_log) || now.starts_with("0 records of scheme "))
          << first << ", " << second << ": " << now;
      crashed.put_back();
    }
    EXPECT_TRUE(found(one.directories).starts_with("0 records of scheme eleda, run "));
    write_log(other);
    EXPECT_TRUE(found(one.directories).starts_with("20 records of scheme centr, run "));
    saved.put_back();
  }
}

TEST(LogDirectoriesDeathTest, ALogIsReplacedOnlyWhenToldTo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LogDirectory directory;
  LogOptions options = options_of("pwal", directory, "sync", 1);
  const std::string path = options.directories[0];
  write_log(options);
  EXPECT_REFUSED(const Log log(options),
                 "/0 holds a log of scheme pwal, run [0-9a-f]+; --continue goes on with it, "
                 "--overwrite replaces it");
  // A crash before a run has begun leaves an empty log.
  options.overwrite = true;
  for (int step = 1; !found({path}).starts_with("0 records"); ++step) {
    ASSERT_TRUE(crashes_at(step, options));
  }
  options.overwrite = false;
  EXPECT_REFUSED(const Log log(options), "holds a log of scheme pwal");
  // Log files without a manifest also count as a log. So the run refuses the directory.
  for (const char* name : {"/manifest", "/manifest.copy"}) std::filesystem::remove(path + name);
  EXPECT_REFUSED(const Log log(options),
                 "/0 holds .*stream-0.log.db, and no manifest says to which log it belongs");
  for (const auto& [stream, file] : log_files(path)) std::filesystem::remove(file);
  // A refused or crashed run may leave a file of zeros.
  std::ofstream(log_file_path(path, 7)) << std::string(1 << 21, '\0');
  write_log(options);
}

TEST(LogDirectoriesDeathTest, ALostManifestIsDamageAndItsCopyStandsIn) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LogDirectory directory;
  const LogOptions options = options_of("pwal", directory, "sync", 2);
  write_log(options);
  const auto& both = options.directories;
  const std::string manifest = both[0] + "/manifest";
  std::ofstream(manifest, std::ios::in | std::ios::out).seekp(30).put('x');
  FoundManifest found = find_manifest({both[1], both[0]});
  EXPECT_TRUE(found.lost);
  EXPECT_NE(found.error.find("the log's manifest is lost: "), std::string::npos) << found.error;
  EXPECT_REFUSED(const Log log(options), "holds a log that cannot be read");
  std::filesystem::remove(manifest);
  found = find_manifest({both[1], both[0]}, true);
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.directories, both);
  EXPECT_NE(found.damage.find("may be one generation old"), std::string::npos) << found.damage;
  EXPECT_TRUE(found.manifest.runs.at(0).begun);
  std::filesystem::remove(both[1] + "/manifest.copy");
  EXPECT_TRUE(find_manifest(both).none());
}

void limit_file_size(uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(LogDirectoriesDeathTest, ARefusedRunChangesNothing) {
  testing::FLAGS_gtest_death_test_style = "fast";  // the child sees this process's directory
  LogDirectory directory;
  const LogOptions old = options_of("pwal", directory, "sync", 1);
  write_log(old);
  const auto before = contents(directory.path());
  const auto refused = [&](const LogOptions& options, const char* why) {
    EXPECT_EXIT(as_main([&] {
                  limit_file_size(uint64_t{3} << 20);
                  const Log log(options);
                }),
                testing::ExitedWithCode(2), why);
    EXPECT_TRUE(contents(directory.path()) == before) << why;
  };
  LogOptions options = options_of("centr", directory, "sync", 2);
  refused(options, "holds a log of scheme pwal");
  options.overwrite = true;
  options.directories.push_back("/proc/no/such/place");
  refused(options, "cannot create the log directory /proc/no/such/place");
  options.directories.pop_back();
  options.record_bytes = uint64_t{1} << 30;
  refused(options, "raise --log_buffer_mb");
  options.record_bytes = 0;
  options.header.flags["long"] = std::string(kLogHeaderBytes, 'x');
  refused(options, "the flags to be stored in the log's header");
  options.header.flags.clear();
  for (const char* device : {"sync", "file", "nvm"}) {
    options.device = device;
    options.preallocate_bytes = uint64_t{64} << 20;
    refused(options, "cannot preallocate 32 MiB for the log file");
  }
  options = options_of("centr", directory, "sync", 2);
  std::swap(options.directories[0], options.directories[1]);
  const DirectoryLocks reader(old.directories, DirectoryUse::kRead);
  options.overwrite = true;
  refused(options, "/0 is in use by another process, a run or a recovery");
}

TEST(LogDirectoriesDeathTest, ARunHoldsItsDirectoriesAloneAndRecoveriesShareThem) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LogDirectory directory;
  const LogOptions options = options_of("centr", directory, "sync", 2);
  const auto& both = options.directories;
  {
    const Log log(options);
    EXPECT_REFUSED(const DirectoryLocks reader(both, DirectoryUse::kRead),
                   "is in use by another process, a run$");
  }
  const DirectoryLocks reader(both, DirectoryUse::kRead);
  const DirectoryLocks another({both[1], both[0]}, DirectoryUse::kRead);
}

// If another device made the recycled file, the file may have any length.
TEST(DeviceFile, PreallocationKeepsTheBytesOfARecycledFile) {
  LogDirectory directory;
  const std::string bytes((3 << 19) + 123, 'x');
  std::ofstream(directory.file()) << bytes;
  { const DeviceFile file({directory.file(), uint64_t{4} << 20, 1}, 0); }
  EXPECT_EQ(std::filesystem::file_size(directory.file()), uint64_t{4} << 20);
  EXPECT_EQ(contents(directory.path())[directory.file()], bytes);
}

}  // namespace
}  // namespace logjam

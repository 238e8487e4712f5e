// Other programs put files into a log directory, or remove files from the directory. No command may
// then change a byte outside the directory, hang, or hide the loss of acknowledged transactions.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "logging/format/manifest_file.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr int kBadInput = 2, kNoDisk = 3, kViolation = 4;

class Hostile : public testing::Test {
 protected:
  Hostile() { std::ofstream(victim_) << kPrecious; }

  // Runs a script in the test's directory. "$R" in the script is the command of a run with a log.
  Ended script(const std::string& text) const {
    const std::string binary = std::filesystem::absolute("build/logjam");
    return shell("cd " + directory_.path() + "; LOGJAM=${LOGJAM:-" + binary +
                 "}; case $LOGJAM in /*) ;; *) LOGJAM=" + std::filesystem::current_path().string() +
                 "/$LOGJAM;; esac; "
                 "R=\"$LOGJAM run --workload=tpcb --tpcb_branches=1 --tpcb_accounts=1000 "
                 "--threads=1 --transactions=300 --log_buffer_mb=1 --log_prealloc_mb=2:1 "
                 "--wal_dir=log\"; exec 2>&1; " +
                 text);
  }
  // Changes the manifest with `change`, and corrects the manifest's checksum.
  template <class Change>
  void forge(const Change& change) const {
    Manifest manifest = find_manifest({directory_.path_of("log")}).manifest;
    change(manifest);
    std::ofstream(directory_.path_of("log/manifest")) << manifest.encode();
    std::ofstream(directory_.path_of("log/manifest.copy")) << manifest.encode();
  }
  // Replaces `from` by `to` in the manifest, and corrects the manifest's checksum.
  void forge_lines(const std::string& from, const std::string& to) const {
    std::string text = read("log/manifest");
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << text;
    text.replace(at, from.size(), to);
    const size_t end = text.find("\nend ");
    KeyValues lines;
    std::istringstream in(text.substr(0, end + 1));
    std::string first, line;
    std::getline(in, first);
    while (std::getline(in, line)) {
      const size_t equals = line.find('=');
      lines.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    for (const char* name : {"log/manifest", "log/manifest.copy"}) {
      std::ofstream(directory_.path_of(name)) << encode_text_block(first, lines);
    }
  }
  std::string read(const std::string& name) const {
    std::ifstream in(directory_.path_of(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void expect_victim() const { EXPECT_EQ(read("victim"), kPrecious); }

  static constexpr const char* kPrecious = "precious\n";
  const TemporaryDirectory directory_;
  const std::string victim_ = directory_.path_of("victim");
};

TEST_F(Hostile, AnEmptyFileWithASegmentsNameIsDamageWhateverItsIndex) {
  ASSERT_EQ(script("$R").status, 0);
  for (const char* index : {"274877906944", "18446744073709551615", "17592186044416", "40", "9"}) {
    const Ended ended = script("touch log/stream-0.log.db." + std::string(index) +
                               "; $LOGJAM recover --wal_dir=log; s=$?; "
                               "rm log/stream-0.log.db." +
                               index + "; exit $s");
    EXPECT_EQ(ended.status, kViolation) << ended.output;
    EXPECT_NE(ended.output.find("stream-0.log.db." + std::string(index)), std::string::npos)
        << ended.output;
  }
  EXPECT_EQ(script("$LOGJAM recover --wal_dir=log").status, 0);
}

TEST_F(Hostile, NoLinkInALogsDirectoryIsFollowed) {
  for (const char* link : {"ln -s", "ln"}) {
    for (const char* name : {"manifest.new", "manifest.copy.new", "manifest", "manifest.copy",
                             "stream-0.log.db", "stream-0.log.db.1", "stream-0.log.db.9"}) {
      const std::string plant = std::string(link) + " ../victim log/" + name + "; ";
      for (const char* begin : {"mkdir log; ", "$R >/dev/null; rm -f log/"}) {
        std::string before = begin;
        if (before.ends_with('/')) before += std::string(name) + "; ";
        const std::string hard = std::string(link) == "ln"
                                     ? "cd log; ln ../victim " + std::string(name) + "; cd ..; "
                                     : plant;
        for (const char* command :
             {"$R", "$R --overwrite", "$R --continue", "$LOGJAM recover --wal_dir=log",
              "$LOGJAM trim --wal_dir=log"}) {
          const Ended ended = script(before + hard + command + " >out; s=$?; rm -r log; exit $s");
          EXPECT_NE(ended.status, -1) << hard << command << ended.output;
          expect_victim();
        }
      }
    }
  }
}

TEST_F(Hostile, AFifoInALogsDirectoryMakesNoCommandWait) {
  for (const char* name : {"manifest", "manifest.copy", "manifest.new", "stream-0.log.db",
                           "stream-0.log.db.1", "run-2"}) {
    for (const char* command : {"$R --overwrite", "$R --continue", "$LOGJAM recover --wal_dir=log",
                                "$LOGJAM trim --wal_dir=log"}) {
      const Ended ended =
          script(std::string("$R >/dev/null; rm -f log/") + name + "; mkfifo log/" + name +
                 "; timeout 10 " + command + " >out; s=$?; rm -r log; exit $s");
      EXPECT_NE(ended.status, 124) << name << command << ended.output;
      EXPECT_NE(ended.status, -1) << name << command << ended.output;
    }
  }
}

TEST_F(Hostile, TrimLeavesWhatALinkLeadsTo) {
  ASSERT_EQ(script("$R && $R --continue").status, 0);
  const uint64_t log = find_manifest({directory_.path_of("log")}).manifest.log;
  forge([](Manifest& manifest) {
    manifest.removable = {{Removable::Kind::kRun, 3, 7}, {Removable::Kind::kCheckpoint, 7, 7}};
  });
  script(
      "mkdir outside; head -c 8192 /dev/zero >outside/stream-0.log.db; cp outside/stream-0.log.db "
      "outside/stream-0.log.db.1; echo x >outside/rows-0");
  std::ofstream(directory_.path_of("outside/id"))
      << encode_text_block("logjam directory 1", {{"id", hex(7)}});
  const Ended ended = script(
      "cp -r outside before; ln -s ../outside log/run-3; ln -s ../outside log/checkpoint-7; "
      "$LOGJAM trim --wal_dir=log; diff -r outside before && $LOGJAM recover --wal_dir=log");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("left alone"), std::string::npos) << ended.output << log;
}

TEST_F(Hostile, AManifestCannotCallALiveRunRemovable) {
  ASSERT_EQ(script("$R").status, 0);
  forge([](Manifest& manifest) {
    manifest.removable = {{Removable::Kind::kRun, 1, manifest.runs[0].header.run}};
  });
  const Ended ended = script("$LOGJAM trim --wal_dir=log; echo $?; ls log");
  EXPECT_NE(ended.output.find("calls it removable"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("stream-0.log.db\n"), std::string::npos) << ended.output;
}

TEST_F(Hostile, ALogSetsNoFlagButThoseOfItsTablesAndItsRecovery) {
  ASSERT_EQ(script("$R").status, 0);
  const std::string good = read("log/manifest");
  for (const char* flag :
       {"csv=written", "json=written", "export=written", "flagfile=../victim", "verify=false",
        "accept_damage=true", "history=written", "wal_dir=elsewhere", "overwrite=true", "ack=none",
        "tpcb_accounts=x", "tpcb_accounts=99999999999999999999", "threads=2", "nosuch=1"}) {
    std::ofstream(directory_.path_of("log/manifest")) << good;
    forge_lines("run.flag.tpcb_accounts=1000\n",
                "run.flag.tpcb_accounts=1000\nrun.flag." + std::string(flag) + "\n");
    for (const char* command : {"$LOGJAM recover --wal_dir=log", "$R --continue"}) {
      const Ended ended = script(command);
      EXPECT_EQ(ended.status, kBadInput) << flag << ended.output;
      EXPECT_FALSE(std::filesystem::exists(directory_.path_of("written")));
    }
  }
  expect_victim();
}

TEST_F(Hostile, NumbersOfAManifestThatAreTooLargeAreRefused) {
  ASSERT_EQ(script("$R").status, 0);
  const std::string good = read("log/manifest");
  for (const auto& [from, to] : std::vector<std::pair<const char*, const char*>>{
           {"run.streams=1\n", "run.streams=4294967295\n"},
           {"run.streams=1\n", "run.streams=0\n"},
           {"run.stripes=1\n", "run.stripes=4294967295\n"},
           {"run.stripe_bytes=524288\n", "run.stripe_bytes=18446744073709551615\n"},
           {"run.segment_bytes=1048576\n", "run.segment_bytes=18446744073709547520\n"},
           {"run.segment_bytes=1048576\n", "run.segment_bytes=4096\n"},
           {"run.segment_bytes=1048576\n", ""},
           {"run.ordinal=1\n", "run.ordinal=4294967295\n"},
           {"last_ordinal=1\n", "last_ordinal=4294967295\n"},
           {"last_checkpoint=0\n", "last_checkpoint=18446744073709551615\n"},
           {"generation=", "generation=184467440737095516"},
           {"directories=1\n", "directories=4294967295\n"},
           {"run.begun=1\n", "run.begun=1\nrun.ends=18446744073709551608\n"},
           {"run.begun=1\n", "run.begun=1\nrun.released=18446744073709551608\n"},
           {"run.workers=1\n", "run.workers=4294967295\n"},
           {"run.scheme=", "run.scheme=\x1b[31m"},
       }) {
    std::ofstream(directory_.path_of("log/manifest")) << good;
    forge_lines(from, to);
    for (const char* command : {"$LOGJAM recover --wal_dir=log", "$R --continue",
                                "$LOGJAM trim --wal_dir=log", "$LOGJAM dump --wal_dir=log"}) {
      const Ended ended = script("timeout 10 " + std::string(command));
      const bool recovers = std::string(command).find("recover") != std::string::npos;
      EXPECT_TRUE(ended.status >= (recovers ? 1 : 0) && ended.status < 100)
          << to << command << ended.output;
      EXPECT_EQ(ended.output.find('\x1b'), std::string::npos);
    }
  }
}

TEST_F(Hostile, AManifestPutBackFromBeforeARunIsDamage) {
  ASSERT_EQ(script("$R && mkdir old && cp log/manifest log/manifest.copy old && $R --continue && "
                   "cp old/* log/")
                .status,
            0);
  EXPECT_EQ(script("$LOGJAM recover --wal_dir=log").status, kViolation);
  EXPECT_EQ(script("$R --continue").status, kViolation);
  EXPECT_EQ(script("$LOGJAM recover --wal_dir=log --accept_damage").status, 0);
  // A run that continues the log after --accept_damage must not change the files of the lost run.
  EXPECT_EQ(script("$R --continue --accept_damage && ls log/run-2/stream-0.log.db").status, 0);
}

TEST_F(Hostile, AManifestPutBackFromBeforeACheckpointIsDamage) {
  ASSERT_EQ(script("$R && mkdir old && cp log/manifest log/manifest.copy old && $R --continue && "
                   "$LOGJAM recover --wal_dir=log --checkpoint && rm -r log/run-2; cp old/* log/")
                .status,
            0);
  EXPECT_EQ(script("$LOGJAM recover --wal_dir=log").status, kViolation);
  EXPECT_EQ(script("$R --overwrite && $LOGJAM recover --wal_dir=log").status, 0);
}

// The directory is moved when the time line shows that transactions were acknowledged.
TEST_F(Hostile, ARunEndsWhenItsDirectoryIsMovedAndLosesNothing) {
  for (const char* then : {"", "mkdir log; ", "$R >/dev/null; "}) {
    const Ended ended = script(
        "R2=\"$LOGJAM run --workload=ledger --ledger=keys:200,cells:16,slots:8 --threads=1 "
        "--warmup=0 --rate=8000 --seconds=20 --log_buffer_mb=2 --log_prealloc_mb=1:1 "
        "--wal_dir=log --history=h --timeline=t:20\"; rm -rf log moved h t; "
        "$R2 & until grep -qs measure,[1-9] t; do sleep 0.01; done; mv log moved; " +
        std::string(then) +
        "wait $!; s=$?; $LOGJAM recover --wal_dir=moved --history=h || s=9; exit $s");
    EXPECT_EQ(ended.status, kNoDisk) << then << ended.output;
    EXPECT_NE(ended.output.find("is not any more where it was"), std::string::npos) << ended.output;
  }
}

TEST_F(Hostile, TheFilesOfABackupByHardLinksStayAsTheyAre) {
  const Ended ended = script(
      "$R >/dev/null; cp -al log backup; cp -r log copy; $R --overwrite; s=$?; "
      "diff -r backup copy || exit 9; $R --continue && diff -r backup copy || exit 9; exit $s");
  EXPECT_EQ(ended.status, kBadInput) << ended.output;
  EXPECT_NE(ended.output.find("hard link"), std::string::npos) << ended.output;
}

}  // namespace
}  // namespace logjam

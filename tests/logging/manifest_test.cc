// The text of the manifest, and the directories in which the manifest is found.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "logging/format/manifest_file.h"
#include "logging/format/remove_files.h"
#include "logging/format/text_block.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

namespace fs = std::filesystem;

Manifest sample() {
  Manifest manifest;
  manifest.log = 0xabc;
  manifest.generation = 7;
  manifest.directories = 2;
  manifest.replaced = {0x11, 0x12};
  manifest.whole = false;
  manifest.last_ordinal = 4;
  manifest.last_checkpoint = 9;
  ManifestRun& first = manifest.runs.emplace_back();
  first.header.scheme = "poplar";
  first.header.streams = 2;
  first.header.ordinal = 3;
  first.header.run = 0xfeed;
  first.header.flags = {{"workload", "a\nb"}};
  first.begun = true;
  first.ends = {64, 0};
  first.released = {8, 16};
  first.accepted = "stream 1 ends; too early";
  manifest.runs.emplace_back().header.ordinal = 4;
  Checkpoint& checkpoint = manifest.checkpoints.emplace_back();
  checkpoint.number = 9;
  checkpoint.id = 0x55;
  checkpoint.complete = true;
  checkpoint.ordinal = 3;
  checkpoint.rsn = {{1, 2, 3}, {4, 5, 6}};
  checkpoint.tables = "t:8";
  checkpoint.files = {{"rows-0", 10, 20, 30}};
  manifest.lives = {{1, 0xa, true}, {3, 0xfeed, false}};
  manifest.removable = {{Removable::Kind::kRun, 2, 0xb}, {Removable::Kind::kCheckpoint, 8, 0xc}};
  return manifest;
}

TEST(Manifest, ComesBackAsItWasWritten) {
  const Manifest written = sample();
  Manifest read;
  ASSERT_EQ(read.decode(written.encode()), "");
  EXPECT_EQ(read.encode(), written.encode());
  EXPECT_EQ(read.log, 0xabcu);
  EXPECT_FALSE(read.whole);
  ASSERT_EQ(read.runs.size(), 2u);
  EXPECT_EQ(read.run(3)->ends, (std::vector<uint64_t>{64, 0}));
  EXPECT_EQ(read.run(3)->accepted, "stream 1 ends; too early");
  EXPECT_EQ(read.run(3)->header.flags.at("workload"), "a\\x0ab");
  EXPECT_FALSE(read.run(4)->begun);
  EXPECT_EQ(read.checkpoints.at(0).rsn.at(1).durable, 6u);
  EXPECT_EQ(read.lives.at(1).run, 0xfeedu);
  EXPECT_EQ(read.removable, written.removable);
}

TEST(Manifest, EveryChangedByteIsFound) {
  const std::string text = sample().encode();
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    Manifest read;
    EXPECT_NE(read.decode(changed), "") << at;
    EXPECT_NE(read.decode(text.substr(0, at)), "") << at;
  }
}

// The checksum is right, as if another program, or a later version of this program, wrote the file.
TEST(Manifest, EveryNumberThatCannotBeReadIsRefused) {
  const std::string text = sample().encode();
  const std::string first_line = text.substr(0, text.find('\n'));
  KeyValues lines;
  ASSERT_EQ(decode_text_block(text, first_line, "it", &lines), "");
  int refused = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& key = lines[i].first;
    if (key.find('.') != key.npos || key == "whole" || key == "run" || key == "checkpoint")
      continue;
    KeyValues changed = lines;
    changed[i].second = "x";
    Manifest read;
    EXPECT_EQ(read.decode(encode_text_block(first_line, changed)), "a number in it cannot be read")
        << key;
    ++refused;
  }
  EXPECT_EQ(refused, 11);
}

TEST(Manifest, WhatIsRemovedIsRemovable) {
  Manifest manifest = sample();
  manifest.remove_run(3);
  manifest.remove_checkpoint(9);
  EXPECT_EQ(manifest.run(3), nullptr);
  EXPECT_TRUE(manifest.checkpoints.empty());
  EXPECT_EQ(manifest.removable.at(2), (Removable{Removable::Kind::kRun, 3, 0xfeed}));
  EXPECT_EQ(manifest.removable.at(3), (Removable{Removable::Kind::kCheckpoint, 9, 0x55}));
}

class ManifestFile : public testing::Test {
 protected:
  ManifestFile() : a_(directory_.path_of("a")), b_(directory_.path_of("b")) {
    for (const std::string& one : {a_, b_}) fs::create_directory(one);
  }
  std::unique_ptr<LogManifest> begin(const std::vector<std::string>& directories, uint64_t log,
                                     std::vector<uint64_t> replaced = {}) {
    Manifest manifest;
    manifest.log = log;
    manifest.directories = static_cast<uint32_t>(directories.size());
    manifest.replaced = std::move(replaced);
    auto begun = std::make_unique<LogManifest>(directories, std::move(manifest));
    EXPECT_EQ(begun->prepare([](Manifest&) {}), 0);
    begun->commit();
    return begun;
  }

  const TemporaryDirectory directory_;
  const std::string a_, b_;
};

TEST_F(ManifestFile, IsFoundInAnyOrderOfAllItsDirectories) {
  EXPECT_TRUE(find_manifest({a_, b_}).none());
  const auto log = begin({a_, b_}, 5);
  for (const auto& named : {std::vector{a_, b_}, std::vector{b_, a_}}) {
    const FoundManifest found = find_manifest(named);
    EXPECT_EQ(found.error, "");
    EXPECT_EQ(found.directories, (std::vector{a_, b_}));
  }
  EXPECT_EQ(find_manifest({a_}).error,
            "the log whose manifest is in " + a_ + " has 2 directories, not 1");
  const std::string other = directory_.path_of("other");
  fs::create_directory(other);
  EXPECT_EQ(find_manifest({a_, other}).error,
            other + " is not a directory of the log whose manifest is in " + a_);
}

TEST_F(ManifestFile, AChangeIsThereAndWhatIsOnlyPreparedIsNot) {
  const auto log = begin({a_}, 5);
  log->change([](Manifest& manifest) { manifest.last_ordinal = 3; });
  EXPECT_EQ(find_manifest({a_}).manifest.last_ordinal, 3u);
  EXPECT_EQ(log->current().generation, 2u);
  ASSERT_EQ(log->prepare([](Manifest& manifest) { manifest.last_ordinal = 4; }), 0);
  EXPECT_EQ(find_manifest({a_}).manifest.last_ordinal, 3u);
  log->undo();
  EXPECT_FALSE(fs::exists(a_ + "/manifest.new"));
  EXPECT_EQ(find_manifest({a_}).manifest.last_ordinal, 3u);
}

// After a crash, manifests of replaced logs may remain.
TEST_F(ManifestFile, OneThatWasReplacedDoesNotCount) {
  begin({a_}, 5);
  begin({b_}, 6);
  EXPECT_NE(find_manifest({a_, b_}).error.find("two logs are in the log directories"),
            std::string::npos);
  const auto both = begin({a_, b_}, 7, {5, 6});
  EXPECT_EQ(find_manifest({b_, a_}).manifest.log, 7u);
  EXPECT_EQ(find_manifest({b_}).manifest.log, 6u) << "named alone, it is what it was";
  remove_replaced(*both);
  EXPECT_FALSE(find_manifest({b_}).manifest.log == 6u);
  EXPECT_EQ(find_manifest({a_, b_}).manifest.log, 7u);
}

TEST_F(ManifestFile, OnlyWhatProvesThatItIsOfTheLogIsRemoved) {
  const auto write_log_file = [&](uint64_t run) {
    LogFileHeader header;
    header.run = run;
    const auto block = header.encode();
    fs::create_directories(a_ + "/run-2");
    std::ofstream(log_file_path(a_ + "/run-2", 0), std::ios::binary)
        .write(reinterpret_cast<const char*>(block.data()),
               static_cast<std::streamsize>(block.size()));
  };
  const std::vector<Removable> run = {{Removable::Kind::kRun, 2, 22}};
  write_log_file(23);
  RemovedFiles removed = remove_files({a_, b_}, run);
  EXPECT_EQ(removed.notes.size(), 2u) << "the file, and its directory";
  EXPECT_TRUE(fs::exists(log_file_path(a_ + "/run-2", 0)));
  write_log_file(22);
  std::ofstream(log_file_path(a_ + "/run-2", 0) + ".1") << "segment";
  std::ofstream(a_ + "/run-2/thesis") << "mine";
  removed = remove_files({a_, b_}, run);
  EXPECT_FALSE(fs::exists(log_file_path(a_ + "/run-2", 0)));
  EXPECT_FALSE(fs::exists(log_file_path(a_ + "/run-2", 0) + ".1"));
  EXPECT_TRUE(fs::exists(a_ + "/run-2/thesis"));
  EXPECT_EQ(removed.notes.size(), 1u);
  fs::remove(a_ + "/run-2/thesis");
  EXPECT_EQ(remove_files({a_, b_}, run).gone, run);
  EXPECT_FALSE(fs::exists(a_ + "/run-2"));

  ASSERT_EQ(make_directory_of(checkpoint_directory(a_, 3), 33), 0);
  EXPECT_EQ(make_directory_of(checkpoint_directory(a_, 3), 33), EEXIST);
  std::ofstream(checkpoint_directory(a_, 3) + "/rows-0") << "rows";
  EXPECT_EQ(remove_files({a_}, {{Removable::Kind::kCheckpoint, 3, 34}}).notes.size(), 1u);
  EXPECT_TRUE(fs::exists(checkpoint_directory(a_, 3) + "/rows-0"));
  EXPECT_TRUE(remove_files({a_}, {{Removable::Kind::kCheckpoint, 3, 33}}).notes.empty());
  EXPECT_FALSE(fs::exists(checkpoint_directory(a_, 3)));
}

// A killed process may have created the directory of its run without a run in the manifest.
TEST_F(ManifestFile, TheDirectoryOfARunThatNeverWasIsUsedAgain) {
  const std::string path = a_ + "/run-2";
  ASSERT_EQ(make_directory_of(path, 5), 0);
  std::ofstream(path + "/stream-0.log.db") << "zeros";
  EXPECT_FALSE(remove_abandoned_run(path, 6)) << "it is another log's";
  EXPECT_TRUE(fs::exists(path + "/stream-0.log.db"));
  EXPECT_TRUE(remove_abandoned_run(path, 5));
  EXPECT_FALSE(fs::exists(path));
  fs::create_directory(path);
  EXPECT_TRUE(remove_abandoned_run(path, 5)) << "it is empty";
  fs::create_directory(path);
  std::ofstream(path + "/thesis") << "mine";
  EXPECT_FALSE(remove_abandoned_run(path, 5));
  EXPECT_TRUE(fs::exists(path + "/thesis"));
}

}  // namespace
}  // namespace logjam

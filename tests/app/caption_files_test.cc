// Which files a caption run takes, which part of them a machine gets, and what it remembers of its outputs.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>

#include "app/cli/caption_inputs.h"
#include "app/cli/caption_manifest.h"
#include "app/cli/caption_record.h"
#include "app/engine/output_files.h"
#include "tests/support/temp_folder.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;

class CaptionInputsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Names(const CaptionInputs& found) const {
    std::vector<std::string> names;
    for (const CaptionInput& input : found.inputs)
      names.push_back(input.path.lexically_relative(folder_.path()).string());
    return names;
  }
  bool HasFault(const CaptionInputs& found, const std::string& part) const {
    for (const CaptionFault& fault : found.faults) {
      if (fault.message.find(part) != std::string::npos) return true;
    }
    return false;
  }

  TempFolder folder_;
};

TEST_F(CaptionInputsTest, TakesAFoldersOwnMediaFiles) {
  for (const char* name :
       {"b.mp4", "a.MKV", "sound.mp3", "still.png", "notes.txt", "no_extension", ".hidden.mp4", "._b.mp4"}) {
    folder_.Write(name, "x");
  }
  fs::create_directories(folder_ / "sub");
  folder_.Write("sub/c.webm", "x");
  fs::create_directories(folder_ / "dir.mp4");
  const CaptionInputs found = CollectInputs({folder_.path().string()}, false);
  EXPECT_EQ(Names(found), (std::vector<std::string>{"a.MKV", "b.mp4", "sound.mp3", "still.png"}));
  ASSERT_EQ(found.faults.size(), 1u);
  EXPECT_TRUE(HasFault(found, "dir.mp4: is a folder"));
  const CaptionInputs deep = CollectInputs({folder_.path().string()}, true);
  EXPECT_EQ(Names(deep), (std::vector<std::string>{"a.MKV", "b.mp4", "sound.mp3", "still.png", "sub/c.webm"}));
  EXPECT_TRUE(deep.faults.empty());
  EXPECT_EQ(deep.inputs[4].mirror, "sub");
  EXPECT_EQ(deep.inputs[4].shard_key, "sub/c.webm");
}

TEST_F(CaptionInputsTest, FollowsLinksToFilesButNotToFolders) {
  fs::create_directories(folder_ / "in");
  fs::create_directories(folder_ / "elsewhere");
  folder_.Write("elsewhere/x.mp4", "x");
  fs::create_symlink(folder_ / "elsewhere" / "x.mp4", folder_ / "in" / "link.mp4");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "in" / "folder_link");
  fs::create_directory_symlink(folder_ / "in", folder_ / "in" / "loop");
  fs::create_symlink(folder_ / "none.mp4", folder_ / "in" / "broken.mp4");
  ASSERT_EQ(mkfifo((folder_ / "in/pipe.mp4").c_str(), 0600), 0);
  const CaptionInputs found = CollectInputs({(folder_ / "in").string()}, true);
  EXPECT_EQ(Names(found), std::vector<std::string>{"in/link.mp4"});
  EXPECT_EQ(found.faults.size(), 2u);
  EXPECT_TRUE(HasFault(found, "broken.mp4: the link leads nowhere"));
  EXPECT_TRUE(HasFault(found, "pipe.mp4: is no regular file"));
}

TEST_F(CaptionInputsTest, GivenFilesAreInputsWhateverTheyAreAndOnce) {
  folder_.Write("film.weird", "x");
  const std::string path = (folder_ / "film.weird").string();
  const CaptionInputs found =
      CollectInputs({path, path, (folder_.path() / "." / "film.weird").string(), "/nowhere/x.mp4"}, false);
  EXPECT_EQ(found.inputs.size(), 2u);
  EXPECT_TRUE(found.faults.empty());
  fs::create_directories(folder_ / "empty");
  EXPECT_TRUE(HasFault(CollectInputs({(folder_ / "empty").string()}, false), "no video"));
}

TEST(ShardTest, EveryKeyHasOnePartAndPartsAreEven) {
  for (const uint32_t count : {1u, 2u, 7u}) {
    std::vector<int> sizes(count, 0);
    for (int i = 0; i < 2000; ++i) {
      const std::string key = "folder/film" + std::to_string(i) + ".mp4";
      int parts = 0;
      for (uint32_t index = 1; index <= count; ++index) {
        if (!InShard(key, index, count)) continue;
        ++parts;
        ++sizes[index - 1];
      }
      ASSERT_EQ(parts, 1);
    }
    for (const int size : sizes) EXPECT_NEAR(size, 2000.0 / count, 120.0);
  }
  // The split is the same on every machine and in every version: this is part of the contract.
  std::string parts;
  for (const char* key : {"a.mp4", "b.mp4", "sub/c.mkv", "d.webm"}) {
    for (uint32_t index = 1; index <= 4; ++index) {
      if (InShard(key, index, 4)) parts += std::to_string(index);
    }
  }
  EXPECT_EQ(parts, "4312");
}

TEST(CaptionRecordTest, KnowsWhatItWrote) {
  const TempFolder folder;
  const std::string name = "film\xff 100%d.srt";
  {
    CaptionRecord record(folder.path(), 1, 1);
    EXPECT_EQ(record.Assess(name, "s1", "i1"), OutputState::kAbsent);
    ASSERT_TRUE(record.Write(name, "s1", "i1", "text\n").ok());
    EXPECT_EQ(record.Assess(name, "s1", "i1"), OutputState::kFinished);
  }
  CaptionRecord record(folder.path(), 1, 1);
  EXPECT_EQ(record.Assess(name, "s1", "i1"), OutputState::kFinished);
  EXPECT_EQ(record.Assess(name, "s2", "i1"), OutputState::kOutdated);
  EXPECT_EQ(record.Assess(name, "s1", "i2"), OutputState::kOutdated);
  folder.Write(name, "tex");
  EXPECT_EQ(record.Assess(name, "s1", "i1"), OutputState::kOutdated);  // torn
  folder.Write(name, "");
  EXPECT_EQ(record.Assess(name, "s1", "i1"), OutputState::kOutdated);
  folder.Write(name, "text of mine\n");
  EXPECT_EQ(record.Assess(name, "s1", "i1"), OutputState::kEdited);
  folder.Write("other.srt", "x\n");
  EXPECT_EQ(record.Assess("other.srt", "s1", "i1"), OutputState::kForeign);
}

TEST(CaptionRecordTest, SeesWhatAnotherRunWritesMeanwhile) {
  const TempFolder folder;
  CaptionRecord first(folder.path(), 1, 1);
  CaptionRecord second(folder.path(), 2, 3);
  ASSERT_TRUE(second.Write("a.srt", "s", "i", "text\n").ok());
  EXPECT_EQ(first.Assess("a.srt", "s", "i"), OutputState::kFinished);
  EXPECT_TRUE(fs::exists(folder / ".longview-captions.2-of-3.jsonl"));
  EXPECT_FALSE(fs::exists(folder / ".longview-captions.jsonl"));
}

TEST(CaptionRecordTest, LivesWithTornAndHostileRecords) {
  const TempFolder folder;
  {
    CaptionRecord record(folder.path(), 1, 1);
    ASSERT_TRUE(record.Write("a.srt", "s", "i", "text a\n").ok());
    ASSERT_TRUE(record.Write("b.srt", "s", "i", "text b\n").ok());
  }
  const fs::path file = folder / ".longview-captions.jsonl";
  fs::resize_file(file, fs::file_size(file) - 7);
  CaptionRecord torn(folder.path(), 1, 1);
  EXPECT_EQ(torn.Assess("a.srt", "s", "i"), OutputState::kFinished);
  EXPECT_EQ(torn.Assess("b.srt", "s", "i"), OutputState::kForeign);
  ASSERT_TRUE(torn.Write("c.srt", "s", "i", "text c\n").ok());
  EXPECT_EQ(CaptionRecord(folder.path(), 1, 1).Assess("c.srt", "s", "i"), OutputState::kFinished);
  folder.Write(
      ".longview-captions.jsonl",
      "[]\n{}\nnull\n{\"bytes\":-1}\n{\"bytes\":1,\"name_hash\":5,\"hash\":[]}\n\xff\xfe\n" + std::string(100000, '['));
  EXPECT_EQ(CaptionRecord(folder.path(), 1, 1).Assess("a.srt", "s", "i"), OutputState::kForeign);
}

TEST(CaptionManifestTest, IsValidJsonWhateverTheNames) {
  const TempFolder folder;
  CaptionManifest manifest;
  manifest.run = NewRunName();
  EXPECT_NE(manifest.run, NewRunName());
  manifest.outcomes.push_back({"bad\xff\n.mp4", CaptionState::kDone, "fp", {"bad\xff.srt"}, 3, 1.5, ""});
  manifest.outcomes.push_back({"b.mp4", CaptionState::kFailed, "", {}, 0, 0.0, "b.mp4: is empty"});
  manifest.outcomes.emplace_back().video = "c.mp4";
  const Result<fs::path> path = WriteManifest(manifest, folder.path());
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path.value().filename(), "longview-manifest-" + manifest.run + ".json");
  const auto object = nlohmann::json::parse(*ReadWholeFile(path.value(), 1 << 20));
  EXPECT_EQ(object["done"], 1);
  EXPECT_EQ(object["failed"], 1);
  EXPECT_EQ(object["not_done"], 1);
  EXPECT_EQ(object["inputs"][0]["video"], "bad\ufffd\n.mp4");
  EXPECT_EQ(object["inputs"][1]["error"], "b.mp4: is empty");
  EXPECT_EQ(object["inputs"][2]["state"], "not_done");
}

}  // namespace
}  // namespace longview::cli

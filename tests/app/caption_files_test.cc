// Which files a caption run takes, which part of them a machine gets, and what it remembers of its outputs.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

#include "app/cli/caption_inputs.h"
#include "app/cli/caption_manifest.h"
#include "app/cli/caption_plan.h"
#include "app/cli/caption_progress.h"
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
  static CaptionInputs Collect(const std::vector<std::string>& paths, bool recursive) {
    return CollectInputs({paths, {}, recursive, {}, {}});
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
  const CaptionInputs found = Collect({folder_.path().string()}, false);
  EXPECT_EQ(Names(found), (std::vector<std::string>{"a.MKV", "b.mp4", "sound.mp3", "still.png"}));
  ASSERT_EQ(found.faults.size(), 1u);
  EXPECT_TRUE(HasFault(found, "dir.mp4: is a folder"));
  const CaptionInputs deep = Collect({folder_.path().string()}, true);
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
  const CaptionInputs found = Collect({(folder_ / "in").string()}, true);
  EXPECT_EQ(Names(found), std::vector<std::string>{"in/link.mp4"});
  EXPECT_EQ(found.faults.size(), 2u);
  EXPECT_TRUE(HasFault(found, "broken.mp4: the link leads nowhere"));
  EXPECT_TRUE(HasFault(found, "pipe.mp4: is no regular file"));
}

TEST_F(CaptionInputsTest, GivenFilesAreInputsWhateverTheyAreAndOnce) {
  folder_.Write("film.weird", "x");
  const std::string path = (folder_ / "film.weird").string();
  const CaptionInputs found =
      Collect({path, path, (folder_.path() / "." / "film.weird").string(), "/nowhere/x.mp4"}, false);
  EXPECT_EQ(found.inputs.size(), 2u);
  EXPECT_TRUE(found.faults.empty());
  fs::create_directories(folder_ / "empty");
  EXPECT_TRUE(HasFault(Collect({(folder_ / "empty").string()}, false), "no video"));
}

TEST_F(CaptionInputsTest, PatternsAreMatchedBelowTheirFixedPart) {
  for (const char* name : {"x/a.mp4", "x/b.mkv", "x/notes.txt", "x/.hidden.mp4", "x/sub/c.mp4", "x/sub/deep/d.mp4",
                           "x/trailers/e.mp4", "y/f.mp4", "[odd] name.mp4"}) {
    fs::create_directories((folder_ / name).parent_path());
    folder_.Write(name, "x");
  }
  const std::string root = folder_.path().string();
  const auto names = [&](const std::string& pattern, std::vector<std::string> include = {},
                         std::vector<std::string> exclude = {}) {
    return Names(CollectInputs({{root + "/" + pattern}, {}, false, std::move(include), std::move(exclude)}));
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(names("x/*.mp4"), List{"x/a.mp4"});
  EXPECT_EQ(names("x/*"), (List{"x/a.mp4", "x/b.mkv", "x/sub/c.mp4", "x/trailers/e.mp4"}));
  EXPECT_EQ(names("x/*.t?t"), List{"x/notes.txt"});
  EXPECT_EQ(names("**/*.mp4"),
            (List{"[odd] name.mp4", "x/a.mp4", "x/sub/c.mp4", "x/sub/deep/d.mp4", "x/trailers/e.mp4", "y/f.mp4"}));
  EXPECT_EQ(names("x/**/[cd].mp4"), (List{"x/sub/c.mp4", "x/sub/deep/d.mp4"}));
  EXPECT_EQ(names("x/**/*.mp4", {}, {"trailers", "a.*"}), (List{"x/sub/c.mp4", "x/sub/deep/d.mp4"}));
  EXPECT_EQ(names("[odd] name.mp4"), List{"[odd] name.mp4"});  // a file that is there is no pattern
  const CaptionInputs mirrored = CollectInputs({{root + "/x/**/*.mp4"}, {}, false, {}, {}});
  EXPECT_EQ(mirrored.inputs[2].mirror, "sub/deep");
  EXPECT_EQ(mirrored.inputs[2].shard_key, "sub/deep/d.mp4");
  EXPECT_TRUE(HasFault(CollectInputs({{root + "/*.zzz"}, {}, false, {}, {}}), "no file matches"));
  EXPECT_EQ(CollectInputs({{}, {root + "/*.mp4"}, false, {}, {}}).inputs.size(), 1u);  // a list holds names only
}

TEST_F(CaptionInputsTest, IncludeAndExcludeAreHeldAgainstTheNameOrThePathBelow) {
  for (const char* name : {"a.mp4", "b.mkv", "raw.dat", "sub/c.mp4", "sub/old/d.mp4"}) {
    fs::create_directories((folder_ / name).parent_path());
    folder_.Write(name, "x");
  }
  const auto names = [&](std::vector<std::string> include, std::vector<std::string> exclude) {
    return Names(CollectInputs({{folder_.path().string()}, {}, true, std::move(include), std::move(exclude)}));
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(names({"*.mp4"}, {}), (List{"a.mp4", "sub/c.mp4", "sub/old/d.mp4"}));
  EXPECT_EQ(names({"*.dat", "*.mkv"}, {}), (List{"b.mkv", "raw.dat"}));
  EXPECT_EQ(names({}, {"old"}), (List{"a.mp4", "b.mkv", "sub/c.mp4"}));
  EXPECT_EQ(names({}, {"sub/**"}), (List{"a.mp4", "b.mkv"}));
  EXPECT_EQ(names({"sub/*"}, {}), List{"sub/c.mp4"});
  EXPECT_TRUE(HasFault(CollectInputs({{folder_.path().string()}, {}, true, {"*.zzz"}, {}}), "included"));
  EXPECT_TRUE(CollectInputs({{folder_.path().string()}, {}, true, {}, {"*"}}).faults.empty());
}

TEST_F(CaptionInputsTest, ListsAreReadByLineOrByNul) {
  const auto read = [&](const std::string& text) { return *ReadPathList(folder_.Write("list", text).string()); };
  using List = std::vector<std::string>;
  EXPECT_EQ(read("a.mp4\nb c.mp4\r\n\n d.mp4"), (List{"a.mp4", "b c.mp4", " d.mp4"}));
  EXPECT_EQ(read(std::string("a\nb.mp4\0c.mp4\r\0", 15)), (List{"a\nb.mp4", "c.mp4\r"}));
  EXPECT_EQ(read(""), List{});
  const fs::path film = folder_.Write("film", std::string("\x01\0\x02 film", 8));
  EXPECT_EQ(ReadPathList(film.string()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadPathList((folder_ / "none").string()).status().code(), StatusCode::kNotFound);
  // One name that no file has is that file's fault alone.
  EXPECT_EQ(read(std::string("a.mp4\0mis\x1bsing.mp4\0", 19)), (List{"a.mp4", "mis\x1bsing.mp4"}));
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a.mp4\n"),
            List{"a.mp4"})
      << "as editors of other systems write it";
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "a.mp4\nb.mp4\n"; });
  EXPECT_EQ(*ReadPathList(pipe.string()), (List{"a.mp4", "b.mp4"}));
  writer.join();
}

// A folder that may be listed but not entered: what is in it would be left out without a word.
TEST_F(CaptionInputsTest, WhatCannotBeLookedAtIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "the superuser may look at everything";
  fs::create_directories(folder_ / "year" / "sub");
  folder_.Write("year/a.mp4", "x");
  folder_.Write("year/sub/b.mp4", "x");
  fs::permissions(folder_ / "year", fs::perms::owner_read);
  const std::string root = folder_.path().string();
  for (const CaptionInputs& found : {Collect({root}, true), Collect({root + "/**/*.mp4"}, false)}) {
    EXPECT_TRUE(found.inputs.empty());
    EXPECT_TRUE(HasFault(found, "sub: cannot be looked at"));
  }
  EXPECT_TRUE(HasFault(Collect({root}, true), "a.mp4: cannot be looked at"));
  fs::permissions(folder_ / "year", fs::perms::owner_all);
}

TEST_F(CaptionInputsTest, WhatCaptionWroteIsNoInputHoweverWideTheInclude) {
  for (const char* name : {"a.mp4", "raw.dat", "a.visual.en.srt", "a.visual.en.summary.json", "a.xmp",
                           "longview-manifest-20260101T000000Z-1.json"}) {
    folder_.Write(name, "x");
  }
  EXPECT_EQ(Names(CollectInputs({{folder_.path().string()}, {}, true, {"*"}, {}})),
            (std::vector<std::string>{"a.mp4", "raw.dat"}));
}

// The same part whatever the order, and wherever the archive is mounted.
TEST_F(CaptionInputsTest, ShardsDependOnNeitherOrderNorMountPoint) {
  std::vector<std::string> keys[2];
  for (int mount = 0; mount < 2; ++mount) {
    const std::string root = mount == 0 ? "mnt/archive" : "elsewhere/under/another/name";
    for (const char* name : {"a.mp4", "s/b.mp4", "s/c.mp4"}) {
      fs::create_directories((folder_ / (root + "/" + name)).parent_path());
      folder_.Write(root + "/" + name, "x");
    }
    std::vector<std::string> paths = {(folder_ / root).string() + (mount == 0 ? "" : "/"),
                                      (folder_ / "lone.mp4").string()};
    if (mount == 1) std::reverse(paths.begin(), paths.end());
    for (const CaptionInput& input : Collect(paths, true).inputs) keys[mount].push_back(input.shard_key);
    std::sort(keys[mount].begin(), keys[mount].end());
  }
  EXPECT_EQ(keys[0], keys[1]);
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

// What is made with the settings "s1" from the content "i1", of film.mp4.
const OutputOrigin kOrigin = {"s1", "i1", "film.mp4"};

TEST(CaptionRecordTest, KnowsWhatItWrote) {
  const TempFolder folder;
  const std::string name = "film\xff 100%d.srt";
  {
    CaptionRecord record(folder.path(), 1, 1);
    EXPECT_EQ(record.Assess(name, kOrigin), OutputState::kAbsent);
    ASSERT_TRUE(record.Write(name, kOrigin, "text\n", false).ok());
    EXPECT_EQ(record.Assess(name, kOrigin), OutputState::kFinished);
  }
  CaptionRecord record(folder.path(), 1, 1);
  EXPECT_EQ(record.Assess(name, kOrigin), OutputState::kFinished);
  EXPECT_EQ(record.Assess(name, {"s2", "i1", "film.mp4"}), OutputState::kOutdated);
  EXPECT_EQ(record.Assess(name, {"s1", "i2", "film.mp4"}), OutputState::kOutdated);
  for (const char* text : {"text of mine\n", "mine"}) {
    folder.Write(name, text);
    EXPECT_EQ(record.Assess(name, kOrigin), text[0] == 't' ? OutputState::kEdited : OutputState::kTorn) << text;
    EXPECT_FALSE(*record.Write(name, kOrigin, "text\n", false));
    EXPECT_EQ(*ReadWholeFile(folder / name, 1000), text) << "a person's";
  }
  for (const char* text : {"tex", ""}) {
    folder.Write(name, text);
    EXPECT_EQ(record.Assess(name, kOrigin), OutputState::kTorn) << text;
    EXPECT_TRUE(*record.Write(name, kOrigin, "text\n", false));
    EXPECT_EQ(*ReadWholeFile(folder / name, 1000), "text\n") << "cut off";
  }
  folder.Write(name, "mine");
  EXPECT_TRUE(record.Write(name, kOrigin, "text\n", true).ok());
  EXPECT_EQ(*ReadWholeFile(folder / name, 1000), "text\n");
  folder.Write("other.srt", "x\n");
  EXPECT_EQ(record.Assess("other.srt", kOrigin), OutputState::kForeign);
}

TEST(CaptionRecordTest, NothingThatCameMeanwhileIsReplaced) {
  const TempFolder folder;
  CaptionRecord record(folder.path(), 1, 1);
  ASSERT_EQ(record.Assess("a.srt", kOrigin), OutputState::kAbsent);
  folder.Write("a.srt", "a person's\n");
  const Status status = record.Write("a.srt", kOrigin, "text\n", false).status();
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("not written by Longview"), std::string::npos) << status.message();
  EXPECT_EQ(*ReadWholeFile(folder / "a.srt", 1000), "a person's\n");
}

TEST(CaptionRecordTest, AnotherFilesOutputIsNotReplacedWhileThatFileIsThere) {
  const TempFolder folder;
  CaptionRecord record(folder.path(), 1, 1);
  folder.Write("film.mp4", "x");
  ASSERT_TRUE(record.Write("a.srt", kOrigin, "text\n", false).ok());
  const OutputOrigin other = {"s1", "i2", "film.mov"};
  EXPECT_EQ(record.OwnerOf("a.srt", "film.mp4"), NameOwner::kThis);
  EXPECT_EQ(record.OwnerOf("a.srt", "film.mov"), NameOwner::kOther);
  EXPECT_EQ(record.OwnerOf("b.srt", "film.mov"), NameOwner::kNobody);
  EXPECT_EQ(record.Assess("a.srt", other), OutputState::kOthers);
  EXPECT_FALSE(record.Write("a.srt", other, "other\n", false).ok());
  EXPECT_EQ(*ReadWholeFile(folder / "a.srt", 1000), "text\n");
  // A film that was put in another container and taken away.
  fs::remove(folder / "film.mp4");
  EXPECT_EQ(record.OwnerOf("a.srt", "film.mov"), NameOwner::kNobody);
  EXPECT_EQ(record.Assess("a.srt", other), OutputState::kOutdated);
  EXPECT_TRUE(record.Write("a.srt", other, "other\n", false).ok());
  // Names that are no UTF-8 are told apart as well, and never thought to be gone.
  ASSERT_TRUE(record.Write("c.srt", {"s1", "i1", "c\xff.mp4"}, "c\n", false).ok());
  EXPECT_EQ(record.OwnerOf("c.srt", "c\xff.mp4"), NameOwner::kThis);
  EXPECT_EQ(record.OwnerOf("c.srt", "c\xfe.mp4"), NameOwner::kOther);
}

TEST(CaptionRecordTest, ALinkInThePlaceOfTheRecordIsNotFollowed) {
  const TempFolder folder;
  folder.Write("victim.txt", "precious\n");
  fs::create_symlink("victim.txt", folder / ".longview-captions.jsonl");
  CaptionRecord record(folder.path(), 1, 1);
  const Status status = record.Write("a.srt", kOrigin, "text\n", false).status();
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find(".longview-captions.jsonl"), std::string::npos) << status.message();
  EXPECT_EQ(*ReadWholeFile(folder / "victim.txt", 1000), "precious\n");
  EXPECT_FALSE(fs::exists(folder / "a.srt"));
}

TEST(CaptionRecordTest, SeesWhatAnotherRunWritesMeanwhile) {
  const TempFolder folder;
  CaptionRecord first(folder.path(), 1, 1);
  CaptionRecord second(folder.path(), 2, 3);
  ASSERT_TRUE(second.Write("a.srt", kOrigin, "text\n", false).ok());
  EXPECT_EQ(first.Assess("a.srt", kOrigin), OutputState::kFinished);
  EXPECT_TRUE(first.Write("a.srt", kOrigin, "text\n", false).ok());
  EXPECT_TRUE(fs::exists(folder / ".longview-captions.2-of-3.jsonl"));
}

TEST(CaptionRecordTest, LivesWithTornAndHostileRecords) {
  const TempFolder folder;
  {
    CaptionRecord record(folder.path(), 1, 1);
    ASSERT_TRUE(record.Write("a.srt", kOrigin, "text a\n", false).ok());
    ASSERT_TRUE(record.Write("b.srt", kOrigin, "text b\n", false).ok());
  }
  const fs::path file = folder / ".longview-captions.jsonl";
  fs::resize_file(file, fs::file_size(file) - 7);
  CaptionRecord torn(folder.path(), 1, 1);
  EXPECT_EQ(torn.Assess("a.srt", kOrigin), OutputState::kFinished);
  EXPECT_EQ(torn.Assess("b.srt", kOrigin), OutputState::kForeign);
  ASSERT_TRUE(torn.Write("c.srt", kOrigin, "text c\n", false).ok());
  EXPECT_EQ(CaptionRecord(folder.path(), 1, 1).Assess("c.srt", kOrigin), OutputState::kFinished);
  folder.Write(
      ".longview-captions.jsonl",
      "[]\n{}\nnull\n{\"bytes\":-1}\n{\"bytes\":1,\"name_hash\":5,\"hash\":[]}\n\xff\xfe\n" + std::string(100000, '['));
  EXPECT_EQ(CaptionRecord(folder.path(), 1, 1).Assess("a.srt", kOrigin), OutputState::kForeign);
}

constexpr char kRated[] =
    "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
    "<rdf:Description rdf:about='' xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmp:Rating='5'/></rdf:RDF></x:xmpmeta>";

// Writes the sidecars of a folder's films; what was said of those that it could not, line by line.
std::string WriteSidecars(const fs::path& folder, const std::string& out) {
  Args args;
  args.paths = {folder.string()};
  args.caption.out = out;
  args.caption.formats = {CaptionFormat::kXmp};
  Terminal terminal;
  auto plan = PlanCaptions(args);
  if (!plan.ok()) return plan.status().message();
  CaptionOutputs outputs(args.caption, "settings", &terminal);
  outputs.Prepare(&*plan, true);
  std::string faults;
  for (const CaptionTask& task : plan->tasks) {
    CaptionOutcome outcome;
    const auto pending = outputs.FindPending(task, true, &outcome);
    Status status = pending.status();
    const std::vector<Cue> cues = {{0.0, 1.0, "A dog runs"}};
    if (pending.ok() && !pending->empty()) status = outputs.Write(task, pending->front(), cues, {}, &outcome);
    if (!status.ok()) faults += status.message() + "\n";
  }
  return faults;
}

// Whether a sidecar is there with a description, and with the rating of kRated.
std::string SidecarHolds(const fs::path& path) {
  const Result<std::string> text = ReadWholeFile(path, 1 << 20);
  if (!text.ok()) return "nothing";
  const bool described = text->find("A dog runs") != std::string::npos;
  const bool rated = text->find("Rating") != std::string::npos;
  return std::string(described ? "description" : "") + (rated ? " rating" : "");
}

// What was written of several files is neither copied to one of them nor hidden from programs by it.
TEST(CaptionSidecarTest, TheSidecarOfSeveralFilesStaysTheirs) {
  const TempFolder folder;
  fs::create_directories(folder / "in");
  for (const char* name : {"in/IMG.mov", "in/IMG.png", "in/ALONE.mov"}) folder.Write(name, name);
  for (const char* name : {"in/IMG.xmp", "in/ALONE.xmp"}) folder.Write(name, kRated);
  const std::string faults = WriteSidecars(folder / "in", "");
  EXPECT_EQ(std::count(faults.begin(), faults.end(), '\n'), 2) << faults;
  EXPECT_NE(faults.find("IMG.xmp: "), std::string::npos) << faults;
  EXPECT_EQ(SidecarHolds(folder / "in/IMG.xmp"), " rating");
  EXPECT_EQ(SidecarHolds(folder / "in/IMG.mov.xmp"), "nothing");
  EXPECT_EQ(SidecarHolds(folder / "in/ALONE.xmp"), "description rating");
  EXPECT_EQ(WriteSidecars(folder / "in", folder / "out"), "");
  EXPECT_EQ(SidecarHolds(folder / "out/IMG.mov.xmp"), "description");
  EXPECT_EQ(SidecarHolds(folder / "out/IMG.png.xmp"), "description");
  EXPECT_EQ(SidecarHolds(folder / "out/ALONE.xmp"), "description rating");
  // One that is of a file alone is gone on with.
  fs::rename(folder / "in/IMG.xmp", folder / "in/IMG.mov.xmp");
  EXPECT_EQ(WriteSidecars(folder / "in", ""), "");
  EXPECT_EQ(SidecarHolds(folder / "in/IMG.mov.xmp"), "description rating");
  EXPECT_EQ(SidecarHolds(folder / "in/IMG.png.xmp"), "description");
}

TEST(CaptionSidecarTest, TheLongestNamesHaveThemToo) {
  const TempFolder folder;
  for (const size_t length : {246u, 250u, 251u}) folder.Write(std::string(length, 'x') + ".mp4", "x");
  EXPECT_EQ(WriteSidecars(folder.path(), ""), "");
  for (const size_t length : {246u, 250u, 251u}) {
    EXPECT_EQ(SidecarHolds(folder / (std::string(length, 'x') + ".xmp")), "description") << length;
  }
}

nlohmann::json ManifestOf(const std::string& run, const std::string& finished, std::vector<CaptionOutcome> outcomes) {
  for (CaptionOutcome& outcome : outcomes) outcome.checked = finished;
  CaptionManifest manifest;
  manifest.run = run;
  manifest.model = "m";
  manifest.settings = {{"every_s", 0}};
  manifest.shard = "1/2";
  manifest.started = finished;
  manifest.finished = finished;
  manifest.outcomes = std::move(outcomes);
  return nlohmann::json::parse(ManifestJson(manifest).dump());
}

CaptionOutcome Outcome(const std::string& video, CaptionState state, const std::string& error = "") {
  CaptionOutcome outcome;
  outcome.video = video;
  outcome.key = fs::path(video).filename();
  outcome.state = state;
  outcome.error = error;
  if (state == CaptionState::kDone || state == CaptionState::kSkipped) outcome.fingerprint = "fp " + outcome.key;
  return outcome;
}

TEST(ManifestMergeTest, WhatIsKnownOfEachInputWhateverTheOrder) {
  const NamedManifest first{
      "1", ManifestOf("r1", "2026-01-01T00:00:00Z",
                      {Outcome("/m/a.mp4", CaptionState::kDone), Outcome("/m/b.mp4", CaptionState::kFailed, "broken"),
                       Outcome("/m/c.mp4", CaptionState::kNotDone)})};
  const NamedManifest second{
      "2", ManifestOf("r2", "2026-01-02T00:00:00Z",
                      {Outcome("/m/a.mp4", CaptionState::kSkipped), Outcome("/m/b.mp4", CaptionState::kDone),
                       Outcome("/m/c.mp4", CaptionState::kFailed, "still broken")})};
  const NamedManifest other_mount{
      "3", ManifestOf("r3", "2026-01-03T00:00:00Z", {Outcome("/net/b.mp4", CaptionState::kDone)})};
  const auto merged = MergeManifests({first, second, other_mount});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->at("done"), 2);
  EXPECT_EQ(merged->at("failed"), 1);
  EXPECT_EQ(merged->at("not_done"), 0);
  EXPECT_EQ(merged->at("repeated"), 1);  // b, twice
  EXPECT_EQ(merged->at("inputs").size(), 3u);
  EXPECT_EQ(merged->at("runs").size(), 3u);
  EXPECT_EQ(merged->at("inputs")[1]["error"], "still broken");
  EXPECT_EQ(MergeManifests({other_mount, second, first, second})->dump(), merged->dump());
  // Merged ones merge like any other.
  const NamedManifest part{"p", nlohmann::json::parse(MergeManifests({first, second})->dump())};
  const auto again = MergeManifests({part, other_mount});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->at("runs"), merged->at("runs"));
  EXPECT_EQ(again->at("done"), merged->at("done"));
}

TEST(ManifestMergeTest, OtherBatchesAndOtherFilesAreRefused) {
  const NamedManifest sound{"a", ManifestOf("r", "t", {})};
  NamedManifest other = sound;
  other.object["settings"]["every_s"] = 10;
  EXPECT_EQ(MergeManifests({sound, other}).status().code(), StatusCode::kInvalidArgument);
  for (const char* text : {"[]", "{}", "null", R"({"format":"longview-manifest","version":"1","inputs":[]})",
                           R"({"format":"longview-manifest","version":1,"inputs":[1]})",
                           R"({"format":"longview-manifest","version":1,"inputs":[{"video":1,"state":"done"}]})"}) {
    EXPECT_EQ(MergeManifests({{"x", nlohmann::json::parse(text)}}).status().code(), StatusCode::kDamaged) << text;
  }
  EXPECT_EQ(MergeManifests({}).status().code(), StatusCode::kInvalidArgument);
  other = sound;
  other.object["version"] = 2;
  other.object["longview"] = "9.8.7";
  const Status newer = MergeManifests({other}).status();
  EXPECT_EQ(newer.code(), StatusCode::kUnsupported);
  for (const char* part : {"a: ", "version 2", "9.8.7"}) {
    EXPECT_NE(newer.message().find(part), std::string::npos) << newer.message();
  }
}

// Films of one name and one content: as many as there are, in every run and on every mount.
TEST(ManifestMergeTest, CopiesOfOneRunStayApart) {
  const NamedManifest first{
      "1", ManifestOf("r1", "2026-01-01T00:00:00Z",
                      {Outcome("/m/A/x.mp4", CaptionState::kDone), Outcome("/m/B/x.mp4", CaptionState::kDone)})};
  EXPECT_EQ(MergeManifests({first})->at("done"), 2);
  const NamedManifest again{
      "2", ManifestOf("r2", "2026-01-02T00:00:00Z",
                      {Outcome("/m/B/x.mp4", CaptionState::kSkipped), Outcome("/m/A/x.mp4", CaptionState::kSkipped)})};
  EXPECT_EQ(MergeManifests({first, again})->at("inputs").size(), 2u);
  // The first by content alone: it must not take the place of the one that has its name.
  const NamedManifest mixed{
      "3", ManifestOf("r3", "2026-01-03T00:00:00Z",
                      {Outcome("/net/B/x.mp4", CaptionState::kDone), Outcome("/m/A/x.mp4", CaptionState::kDone)})};
  const auto merged = MergeManifests({mixed, again, first});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->at("inputs").size(), 2u);
  EXPECT_EQ(merged->at("repeated"), 2);
}

// What was found out last counts, whichever run ended last and whatever was merged first.
TEST(ManifestMergeTest, TheLatestRecordCounts) {
  const auto manifest = [](const std::string& run, const std::string& finished, const std::string& checked,
                           CaptionState state, const std::string& fingerprint) {
    NamedManifest named{run, ManifestOf(run, finished, {Outcome("/m/a.mp4", state)})};
    named.object["inputs"][0]["checked"] = checked;
    named.object["inputs"][0]["fingerprint"] = fingerprint;
    return named;
  };
  using enum CaptionState;
  const auto state = [](const std::vector<NamedManifest>& manifests) {
    const auto merged = MergeManifests(manifests);
    return merged.ok() && merged->at("inputs").size() == 1 ? merged->at("inputs")[0]["state"].get<std::string>()
                                                           : merged.status().message();
  };
  const NamedManifest made = manifest("r1", "2026-01-02T00:00:00Z", "2026-01-01T01:00:00Z", kDone, "f1");
  const NamedManifest damaged = manifest("r2", "2026-01-01T03:00:00Z", "2026-01-01T02:00:00Z", kFailed, "f2");
  const NamedManifest gone = manifest("r3", "2026-01-01T03:00:00Z", "2026-01-01T02:00:00Z", kFailed, "");
  const NamedManifest stopped = manifest("r4", "2026-01-01T04:00:00Z", "2026-01-01T04:00:00Z", kNotDone, "");
  const NamedManifest found = manifest("r5", "2026-01-01T05:00:00Z", "2026-01-01T05:00:00Z", kSkipped, "f1");
  const NamedManifest retried = manifest("r6", "2026-01-01T05:00:00Z", "2026-01-01T05:00:00Z", kDone, "f2");
  EXPECT_EQ(state({made, damaged}), "failed");
  EXPECT_EQ(state({gone, made}), "failed");
  EXPECT_EQ(state({made, stopped}), "done");
  EXPECT_EQ(state({damaged, stopped}), "failed");
  EXPECT_EQ(state({made, found}), "done");
  EXPECT_EQ(state({damaged, retried}), "done");
  EXPECT_EQ(state({made, damaged, stopped, retried}), "done");
  const NamedManifest part{"p", nlohmann::json::parse(MergeManifests({made, found})->dump())};
  EXPECT_EQ(state({part, damaged}), "done");
  // Of an earlier version, without a time of its own: that of the run.
  NamedManifest old = made;
  old.object["inputs"][0].erase("checked");
  EXPECT_EQ(state({old, damaged}), "done");
  EXPECT_EQ(state({{"p", nlohmann::json::parse(MergeManifests({old})->dump())}, damaged}), "done");
}

TEST(ManifestMergeTest, OnlyAMergedManifestIsReplaced) {
  const TempFolder folder;
  EXPECT_TRUE(CheckMergeTarget(folder / "new.json").ok());
  const nlohmann::json run = ManifestOf("r", "2026-01-01T00:00:00Z", {});
  const fs::path merged = folder.Write("merged.json", MergeManifests({{"r", run}})->dump(2));
  EXPECT_TRUE(CheckMergeTarget(merged).ok());
  for (const std::string& bytes : {std::string("a film"), std::string(), std::string("{}"), run.dump()}) {
    const Status kept = CheckMergeTarget(folder.Write("film.mp4", bytes));
    EXPECT_EQ(kept.code(), StatusCode::kInvalidArgument) << bytes;
    EXPECT_NE(kept.message().find("film.mp4: "), std::string::npos) << kept.message();
  }
}

TEST(CaptionProgressTest, CountsBytesAndLeavesOutWhatWasSkipped) {
  CaptionProgress progress({100, 100, 200}, 2.0);
  EXPECT_FALSE(progress.State(1.0).eta_s.has_value());
  progress.Finish(0, false);       // skipped
  progress.Show(1, {36.0, 72.0});  // 36 s of film read, none captioned
  BatchState state = progress.State(10.0);
  EXPECT_EQ(state.files_done, 1u);
  EXPECT_DOUBLE_EQ(state.share, 50.0 / 300.0);
  EXPECT_DOUBLE_EQ(state.frames_per_s, 7.2);
  EXPECT_DOUBLE_EQ(state.hours, 0.005);
  EXPECT_DOUBLE_EQ(*state.eta_s, 50.0);
  EXPECT_EQ(BatchText(state), "1 of 3 files, 0.01 h, 7.2 frames/s");
  progress.Show(2, {90.0, 100.0});  // its index stood: nothing was read
  EXPECT_DOUBLE_EQ(progress.State(10.0).frames_per_s, 7.2);
  progress.Finish(1, true);
  progress.Finish(2, true);
  EXPECT_DOUBLE_EQ(progress.State(20.0).share, 1.0);
  EXPECT_DOUBLE_EQ(*progress.State(20.0).eta_s, 0.0);
}

TEST(CaptionManifestTest, IsValidJsonWhateverTheNames) {
  const TempFolder folder;
  CaptionManifest manifest;
  manifest.run = NewRunName();
  EXPECT_NE(manifest.run, NewRunName());
  manifest.outcomes.push_back({"bad\xff\n.mp4", CaptionState::kDone, "fp", {"bad\xff.srt"}, 3, 1.5, "", "k", 0});
  manifest.outcomes.push_back({"b.mp4", CaptionState::kFailed, "", {}, 0, 0.0, "b.mp4: is empty", "k2", 0});
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

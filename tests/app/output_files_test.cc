// Output names that never clash or outgrow the file system, and files that are whole or not there.
#include "app/engine/output_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "app/engine/utf8.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

class OutputFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "lv_output_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
};

std::vector<std::string> Bases(const std::vector<fs::path>& inputs, const std::vector<fs::path>& folders) {
  std::vector<std::string> out;
  for (const OutputBase& base : PlanOutputBases(inputs, folders)) out.push_back(base.base);
  return out;
}

TEST(OutputNamesTest, KeepTheStemWhereItIsFree) {
  EXPECT_EQ(Bases({"d/a.mp4", "d/b.tar.mkv", "d/100%d %s.mp4", "d/line\nbreak.mp4", "d/bad\xff\xfe.mp4"},
                  {"d", "d", "d", "d", "d"}),
            (std::vector<std::string>{"a", "b.tar", "100%d %s", "line\nbreak", "bad\xff\xfe"}));
  // The same stem in two folders is no clash.
  EXPECT_EQ(Bases({"d/a.mp4", "d/sub/a.mp4"}, {"d", "d/sub"}), (std::vector<std::string>{"a", "a"}));
}

TEST(OutputNamesTest, KeepTheExtensionWhereTwoShareAStem) {
  EXPECT_EQ(Bases({"d/a.mp4", "d/a.mkv", "d/b.mp4"}, {"d", "d", "d/"}),
            (std::vector<std::string>{"a.mp4", "a.mkv", "b"}));
  // "d" and "d/./" are one folder.
  EXPECT_EQ(Bases({"d/a.mp4", "d/a.mkv"}, {"d", "./d"}), (std::vector<std::string>{"a.mp4", "a.mkv"}));
}

TEST(OutputNamesTest, ClashesThatTheExtensionDoesNotSolve) {
  const std::vector<fs::path> inputs = {"x/a.mp4", "y/a.mp4", "y/a.mp4.mkv", "x/a.mkv"};
  const std::vector<fs::path> folders(4, "out");
  const std::vector<std::string> bases = Bases(inputs, folders);
  EXPECT_EQ(std::set<std::string>(bases.begin(), bases.end()).size(), 4u);
  EXPECT_TRUE(bases[0].starts_with("a.mp4~"));
  EXPECT_EQ(bases[3], "a.mkv");
  // The order of the inputs does not matter.
  const std::vector<std::string> other = Bases({inputs[3], inputs[1], inputs[0], inputs[2]}, folders);
  EXPECT_EQ(other, (std::vector<std::string>{bases[3], bases[1], bases[0], bases[2]}));
}

TEST(OutputNamesTest, ABaseStaysWithItsOwner) {
  const std::vector<fs::path> inputs = {"x/a.mp4", "x/a.mov"};
  const std::vector<fs::path> folders(2, "x");
  const auto bases = [&](const std::map<std::string, size_t>& owners) {
    std::vector<std::string> out;
    const auto owner = [&](size_t i, const std::string& base) {
      const auto found = owners.find(base);
      if (found == owners.end()) return NameOwner::kNobody;
      return found->second == i ? NameOwner::kThis : NameOwner::kOther;
    };
    for (const OutputBase& base : PlanOutputBases(inputs, folders, owner)) out.push_back(base.base);
    return out;
  };
  EXPECT_EQ(bases({}), (std::vector<std::string>{"a.mp4", "a.mov"}));
  EXPECT_EQ(bases({{"a", 0}}), (std::vector<std::string>{"a", "a.mov"}));
  EXPECT_EQ(bases({{"a", 1}}), (std::vector<std::string>{"a.mp4", "a"}));
  EXPECT_EQ(bases({{"a.mov", 1}}), (std::vector<std::string>{"a.mp4", "a.mov"})) << "a player would take a's for both";
  const std::vector<std::string> third = bases({{"a", 2}, {"a.mp4", 3}});
  EXPECT_TRUE(third[0].starts_with("a.mp4~")) << third[0];
  EXPECT_EQ(third[1], "a.mov");
}

TEST(OutputNamesTest, LongNamesAreCutAtACharacter) {
  std::string base;
  for (int i = 0; i < 80; ++i) base += "\xE3\x81\x82";  // 240 bytes
  EXPECT_EQ(OutputName(base, ".visual.en.srt"), base + ".visual.en.srt");
  const std::string cut = OutputName(base, ".visual.en.jsonl");
  EXPECT_LE(cut.size(), 255u);
  EXPECT_GT(cut.size(), 245u);
  EXPECT_EQ(ValidUtf8(cut), cut);
  EXPECT_TRUE(cut.ends_with(".visual.en.jsonl"));
  EXPECT_NE(OutputName(base + "x", ".visual.en.jsonl"), OutputName(base + "y", ".visual.en.jsonl"));
  for (size_t max = 30; max < 60; ++max) {
    const std::string name = OutputName(base, ".visual.en.jsonl", max);
    EXPECT_LE(name.size(), max);
    EXPECT_EQ(ValidUtf8(name), name) << max;
  }
}

TEST(Utf8Test, FindsWhatIsNoUtf8) {
  EXPECT_EQ(ValidUtf8("caf\xC3\xA9 \xF0\x9F\x8E\xAC"), "caf\xC3\xA9 \xF0\x9F\x8E\xAC");
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(ValidUtf8("\xFF\xFEx"), r + r + "x");
  EXPECT_EQ(ValidUtf8("\xC3("), r + "(");
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), r + r + r);          // a surrogate
  EXPECT_EQ(ValidUtf8("\xC0\xAF"), r + r);                  // overlong
  EXPECT_EQ(ValidUtf8("\xE0\x80\x80"), r + r + r);          // overlong
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), r + r + r + r);  // above U+10FFFF
  EXPECT_EQ(ValidUtf8("\xE2\x82"), r + r);                  // cut
  EXPECT_EQ(PrintableText("a\nb\x1b[31m\t\xC2\x9B\xE2\x80\xA8"), "a\\nb\\x1b[31m\\t\\x9b\\u2028");
  EXPECT_EQ(Utf8Prefix("a\xC3\xA9", 2), "a");
  EXPECT_EQ(Utf8Prefix("a\xC3\xA9", 3), "a\xC3\xA9");
  EXPECT_EQ(Utf8Prefix("abc", 0), "");
}

TEST_F(OutputFilesTest, WritesAndReplacesWholeFiles) {
  const fs::path path = folder_ / "a %d\n.srt";
  ASSERT_TRUE(WriteFileAtomically(path, "one").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "two\n").ok());
  EXPECT_EQ(*ReadWholeFile(path, 100), "two\n");
  EXPECT_EQ(Names(), std::vector<std::string>{"a %d\n.srt"});
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path).permissions()), 0666u & ~mask);
}

TEST_F(OutputFilesTest, ANewFileTakesNobodysPlace) {
  const fs::path path = folder_ / "a.srt";
  EXPECT_TRUE(*WriteNewFileAtomically(path, "one"));
  EXPECT_FALSE(*WriteNewFileAtomically(path, "two"));
  EXPECT_EQ(*ReadWholeFile(path, 100), "one");
  EXPECT_EQ(Names(), std::vector<std::string>{"a.srt"});
  EXPECT_EQ(WriteNewFileAtomically(folder_ / "none" / "a.srt", "x").status().code(), StatusCode::kIo);
}

TEST_F(OutputFilesTest, LinesAreAddedToFilesAlone) {
  ASSERT_TRUE(AppendLine(folder_ / "log", "one").ok());
  fs::create_symlink("log", folder_ / "link");
  EXPECT_EQ(AppendLine(folder_ / "link", "two").code(), StatusCode::kIo);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(AppendLine(folder_ / "pipe", "two").code(), StatusCode::kIo);
  EXPECT_EQ(*ReadWholeFile(folder_ / "log", 100), "one\n");
}

TEST_F(OutputFilesTest, AFailedWriteLeavesTheOldFileAndNoTemporary) {
  const fs::path path = folder_ / "a.srt";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 1000;
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  const Status status = WriteFileAtomically(path, std::string(5000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("a.srt"), std::string::npos) << status.message();
  EXPECT_EQ(*ReadWholeFile(path, 100), "old");
  EXPECT_EQ(Names(), std::vector<std::string>{"a.srt"});
}

TEST_F(OutputFilesTest, AFolderUnderTheNameIsAnErrorThatNamesIt) {
  fs::create_directories(folder_ / "a.srt" / "full");
  const Status status = WriteFileAtomically(folder_ / "a.srt", "x");
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("a.srt"), std::string::npos);
  EXPECT_EQ(Names(), std::vector<std::string>{"a.srt"});
}

TEST_F(OutputFilesTest, PreparesFoldersOrSaysWhyNot) {
  EXPECT_TRUE(PrepareOutputFolder(folder_ / "x" / "y").ok());
  EXPECT_TRUE(fs::is_empty(folder_ / "x" / "y"));
  EXPECT_TRUE(PrepareOutputFolder(folder_ / "x").ok());
  std::ofstream(folder_ / "file") << "x";
  const Status status = PrepareOutputFolder(folder_ / "file" / "sub");
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("file/sub"), std::string::npos) << status.message();
  EXPECT_FALSE(PrepareOutputFolder(folder_ / "file").ok());
}

TEST_F(OutputFilesTest, AppendsWholeLinesAlsoAfterATornOne) {
  const fs::path path = folder_ / "log";
  ASSERT_TRUE(AppendLine(path, "one").ok());
  ASSERT_TRUE(AppendLine(path, "two").ok());
  fs::resize_file(path, 6);
  ASSERT_TRUE(AppendLine(path, "three").ok());
  EXPECT_EQ(*ReadWholeFile(path, 100), "one\ntw\nthree\n");
}

TEST_F(OutputFilesTest, ReadsOnlyRegularFilesUpToALimit) {
  EXPECT_EQ(ReadWholeFile(folder_ / "none", 10).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadWholeFile(folder_, 10).status().code(), StatusCode::kIo);
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadWholeFile(folder_ / "fifo", 10).status().code(), StatusCode::kIo);
  std::ofstream(folder_ / "big") << std::string(11, 'x');
  EXPECT_EQ(ReadWholeFile(folder_ / "big", 10).status().code(), StatusCode::kResource);
}

TEST_F(OutputFilesTest, RemovesOnlyOldTemporaries) {
  for (const char* name : {".longview-1-a.tmp", ".longview-2-b.tmp", "film.tmp", ".longview-captions.jsonl"}) {
    std::ofstream(folder_ / name) << "x";
  }
  for (const char* name : {".longview-1-a.tmp", "film.tmp", ".longview-captions.jsonl"}) {
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  RemoveStaleTemporaries(folder_);
  EXPECT_EQ(Names(), (std::vector<std::string>{".longview-2-b.tmp", ".longview-captions.jsonl", "film.tmp"}));
}

}  // namespace
}  // namespace longview

// Files are replaced, links followed, and what is no file is left alone.
#include "core/io/replace_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "tests/support/temp_folder.h"

namespace longview::test {
namespace {

namespace fs = std::filesystem;

void Put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

std::string Read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ReplaceFileTest, ANewFileStandsWhereNoneWas) {
  const TempFolder folder;
  const auto target = FindReplaceTarget(folder / "out.txt");
  ASSERT_TRUE(target.ok()) << target.status().message();
  EXPECT_EQ(target->path, folder / "out.txt");
  Put(folder / "made", "new");
  ASSERT_TRUE(PutInPlace(folder / "made", *target).ok());
  EXPECT_EQ(Read(folder / "out.txt"), "new");
}

TEST(ReplaceFileTest, PermissionsStay) {
  const TempFolder folder;
  Put(folder / "out.txt", "old");
  ASSERT_EQ(chmod((folder / "out.txt").c_str(), 0600), 0);
  const auto target = FindReplaceTarget(folder / "out.txt");
  ASSERT_TRUE(target.ok());
  Put(folder / "made", "new");
  ASSERT_TRUE(PutInPlace(folder / "made", *target).ok());
  struct stat info {};
  ASSERT_EQ(stat((folder / "out.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(Read(folder / "out.txt"), "new");
}

TEST(ReplaceFileTest, ALinkStaysAndWhatItLeadsToIsReplaced) {
  const TempFolder folder;
  fs::create_directory(folder / "far");
  Put(folder / "far" / "real.txt", "old");
  fs::create_symlink("far/real.txt", folder / "link.txt");
  const auto target = FindReplaceTarget(folder / "link.txt");
  ASSERT_TRUE(target.ok());
  Put(folder / "far" / "made", "new");
  ASSERT_TRUE(PutInPlace(folder / "far" / "made", *target).ok());
  EXPECT_TRUE(fs::is_symlink(folder / "link.txt"));
  EXPECT_EQ(Read(folder / "far" / "real.txt"), "new");
}

TEST(ReplaceFileTest, WhatIsNoFileIsRefused) {
  const TempFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_directory(folder / "folder");
  fs::create_symlink("nowhere", folder / "dangling");
  fs::create_symlink("pipe", folder / "to_pipe");
  for (const char* name : {"pipe", "folder", "dangling", "to_pipe"}) {
    const auto target = FindReplaceTarget(folder / name);
    ASSERT_FALSE(target.ok()) << name;
    EXPECT_NE(target.status().message().find(name), std::string::npos) << target.status().message();
  }
  EXPECT_FALSE(FindReplaceTarget("/dev/null").ok());
}

TEST(ReplaceFileTest, AFailureRemovesWhatWasMade) {
  const TempFolder folder;
  Put(folder / "made", "new");
  EXPECT_FALSE(PutInPlace(folder / "made", {folder / "missing" / "out.txt", std::nullopt}).ok());
  EXPECT_FALSE(fs::exists(folder / "made"));
}

}  // namespace
}  // namespace longview::test

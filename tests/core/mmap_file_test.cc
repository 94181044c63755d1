// MmapFile: what it maps, and what it refuses without waiting.
#include "core/io/mmap_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_folder.h"

namespace longview {
namespace {

std::string_view Text(const MmapFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MmapFileTest, MapsAWholeFileAndMoves) {
  const TempFolder folder;
  Result<MmapFile> opened = MmapFile::Open(folder.Write("a", "hello"));
  ASSERT_TRUE(opened.ok());
  MmapFile moved = std::move(*opened);
  EXPECT_EQ(Text(moved), "hello");
  MmapFile other;
  other = std::move(moved);
  EXPECT_EQ(Text(other), "hello");
  EXPECT_TRUE(moved.bytes().empty());
  EXPECT_TRUE(other.CheckStillWhole().ok());
}

TEST(MmapFileTest, RefusalsNameTheFile) {
  const TempFolder folder;
  const auto fifo = folder / "pipe";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const struct {
    std::filesystem::path path;
    StatusCode code;
  } cases[] = {{folder / "missing", StatusCode::kNotFound},
               {folder.path(), StatusCode::kInvalidArgument},
               {folder.Write("empty", ""), StatusCode::kDamaged},
               {fifo, StatusCode::kInvalidArgument},
               {folder.Write("file", "x") / "below", StatusCode::kNotFound}};
  for (const auto& c : cases) {
    const Result<MmapFile> file = MmapFile::Open(c.path);
    ASSERT_FALSE(file.ok()) << c.path;
    EXPECT_EQ(file.status().code(), c.code) << c.path;
    EXPECT_NE(file.status().message().find(c.path.string()), std::string::npos);
  }
  if (::geteuid() != 0) {  // root may read everything
    const auto secret = folder.Write("secret", "x");
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    EXPECT_EQ(MmapFile::Open(secret).status().code(), StatusCode::kIo);
  }
}

TEST(MmapFileTest, NoticesThatAFileWasCut) {
  const TempFolder folder;
  const auto path = folder.Write("a", "0123456789");
  const Result<MmapFile> file = MmapFile::Open(path);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path, 3);
  EXPECT_EQ(file->CheckStillWhole().code(), StatusCode::kDamaged);
}

}  // namespace
}  // namespace longview

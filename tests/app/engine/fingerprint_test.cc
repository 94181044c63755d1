// Fingerprints: equal for equal content, different for a byte changed, moved or added; and what is refused.
#include "app/engine/fingerprint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

TEST(Fingerprint, FollowsContentAndNotTheName) {
  const TempFolder folder;
  const fs::path a = folder.Write("a.mp4", "some bytes");
  const fs::path b = folder.Write("b", "some bytes");
  const fs::path c = folder.Write("c", "some bytez");
  const fs::path d = folder.Write("d", std::string("some bytes\0", 11));
  const std::string print = *Fingerprint(a);
  EXPECT_EQ(print.size(), 32u);
  EXPECT_EQ(*Fingerprint(b), print);
  EXPECT_NE(*Fingerprint(c), print);
  EXPECT_NE(*Fingerprint(d), print);
}

TEST(Fingerprint, LargeFilesAreReadInBlocksFromFirstToLastByte) {
  const TempFolder folder;
  const fs::path file = folder / "large";
  const uint64_t bytes = (uint64_t{300} << 20) + 12345;
  std::ofstream(file, std::ios::binary) << "x";
  fs::resize_file(file, bytes);  // sparse
  const std::string print = *Fingerprint(file);
  const auto with_byte_at = [&](uint64_t offset) {
    {
      std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
      out.seekp(static_cast<std::streamoff>(offset));
      out.put('!');
    }
    const std::string changed = *Fingerprint(file);
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.put(offset == 0 ? 'x' : '\0');
    return changed;
  };
  for (const uint64_t offset : {uint64_t{0}, bytes - 1, (bytes - (256 << 10)) * 128 / 255}) {
    EXPECT_NE(with_byte_at(offset), print) << offset;
  }
  EXPECT_EQ(*Fingerprint(file), print);
  fs::resize_file(file, bytes + 1);
  EXPECT_NE(*Fingerprint(file), print);
}

TEST(Fingerprint, Sha256IsTheStandardOne) {
  const TempFolder folder;
  // FIPS 180-2, appendix B.1.
  const char* abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(*Sha256OfFile(folder.Write("abc", "abc")), abc);
  EXPECT_EQ(Sha256OfText("abc"), abc);
}

TEST(Fingerprint, RefusesWhatIsNoFileWithoutWaiting) {
  const TempFolder folder;
  EXPECT_EQ(Fingerprint(folder / "none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Fingerprint(folder.path()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Fingerprint(folder.Write("empty", "")).status().code(), StatusCode::kDamaged);
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Fingerprint(pipe).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(StampFile("/dev/zero").status().code(), StatusCode::kInvalidArgument);
  const fs::path locked = folder.Write("locked", "x");
  ASSERT_EQ(chmod(locked.c_str(), 0), 0);
  if (geteuid() != 0) {
    EXPECT_EQ(Fingerprint(locked).status().code(), StatusCode::kIo);
  }
  EXPECT_NE(Fingerprint(folder / "none").status().message().find("none"), std::string::npos);
}

TEST(Fingerprint, StopsWhenAsked) {
  const TempFolder folder;
  const fs::path file = folder.Write("a", "some bytes");
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(Fingerprint(file, {source.get_token(), {}}).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace longview

// The library: what is put in comes out, through damage, two openers and read-only folders.
#include "app/engine/library.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

const IndexKey kKey{"f00d", "m0de1", "5e77"};

TEST(Library, RemembersVideosIndexesAndHashesByStamp) {
  const TempFolder folder;
  {
    auto library = Library::Open(folder / "deep/er", {});
    ASSERT_TRUE(library.ok()) << library.status().message();
    ASSERT_TRUE((*library)->PutVideo({"f00d", "/videos/a b.mp4", {10, 20}, 3.5}).ok());
    ASSERT_TRUE((*library)->PutIndex({kKey, "fps=1", IndexState::kComplete, 4, 260, 4096, 3.5}).ok());
    ASSERT_TRUE((*library)->PutSha256("/models/x", {1, 2}, "abc").ok());
  }
  auto library = Library::Open(folder / "deep/er", {});
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(**(*library)->KnownSha256("/models/x", {1, 2}), "abc");
  EXPECT_FALSE((*(*library)->KnownSha256("/models/x", {2, 2})).has_value());
  const auto entries = *(*library)->Entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].last_path, "/videos/a b.mp4");
  EXPECT_EQ(entries[0].index.file, kKey.FileName());
  EXPECT_EQ(entries[0].index.sampling, "fps=1");
  EXPECT_EQ(entries[0].index.state, IndexState::kComplete);
  EXPECT_EQ(entries[0].index.tokens, 260u);
  ASSERT_TRUE((*library)->RemoveIndex(kKey).ok());
  EXPECT_TRUE((*(*library)->Entries()).empty());
}

TEST(Library, FindsCaptionsByWordsAndReplacesThem) {
  const TempFolder folder;
  auto library = Library::Open(folder.path(), {});
  ASSERT_TRUE(library.ok());
  ASSERT_TRUE((*library)->PutVideo({"f00d", "/v.mp4", {1, 1}, 9}).ok());
  ASSERT_TRUE((*library)->PutCaptions(kKey, "scenes", {{0, 2, "A dog runs."}, {2, 5, "A man \"rides\" a bike."}}).ok());
  auto hits = *(*library)->FindCaptions("DOG running", 5);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].caption.text, "A dog runs.");
  EXPECT_EQ(hits[0].path, "/v.mp4");
  // FTS5 syntax and quotes in the words are data.
  for (const char* words : {"\"", "dog OR", "NEAR(", "text:dog", "*", "", "a AND b)"}) {
    EXPECT_TRUE((*library)->FindCaptions(words, 5).ok()) << words;
  }
  ASSERT_TRUE((*library)->PutCaptions(kKey, "scenes", {{0, 5, "A cat."}}).ok());
  EXPECT_TRUE((*library)->FindCaptions("dog", 5)->empty());
  ASSERT_TRUE((*library)->PutCaptions(kKey, "every=10", {{0, 5, "A dog."}}).ok());
  EXPECT_EQ((*library)->FindCaptions("cat", 5)->size(), 1u);
  EXPECT_EQ((*library)->FindCaptions("dog", 5)->size(), 1u);
}

TEST(Library, KeepsAnswers) {
  const TempFolder folder;
  auto library = Library::Open(folder.path(), {});
  ASSERT_TRUE(library.ok());
  Answer answer;
  answer.text = "Yes; it's 'red'.";
  answer.evidence = {{"v.mp4", 1, 2, 0.5}};
  EXPECT_TRUE((*library)->AddAnswer("Is it red?", answer, {"f00d"}).ok());
  EXPECT_TRUE((*library)->AddAnswer("Is it red?", answer, {"f00d", "f00d"}).ok());
}

TEST(Library, ADamagedDatabaseIsMovedAside) {
  const TempFolder folder;
  folder.Write("library.db", std::string(8192, 'x'));
  std::string warning;
  auto library = Library::Open(folder.path(), [&](const std::string& text) { warning = text; });
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_NE(warning.find("library.db.damaged-1"), std::string::npos) << warning;
  EXPECT_TRUE(fs::exists(folder / "library.db.damaged-1"));
  EXPECT_TRUE((*library)->PutSha256("/x", {1, 2}, "abc").ok());
}

TEST(Library, UnusableFoldersAreNamed) {
  const TempFolder folder;
  const fs::path file = folder.Write("file", "x");
  auto in_file = Library::Open(file / "lib", {});
  ASSERT_FALSE(in_file.ok());
  EXPECT_EQ(in_file.status().code(), StatusCode::kIo);
  EXPECT_NE(in_file.status().message().find(file.string()), std::string::npos);
  EXPECT_EQ(Library::Open(file, {}).status().code(), StatusCode::kIo);
  if (geteuid() != 0) {
    const fs::path locked = folder / "locked";
    ASSERT_TRUE(fs::create_directory(locked));
    ASSERT_EQ(chmod(locked.c_str(), 0500), 0);
    EXPECT_EQ(Library::Open(locked, {}).status().code(), StatusCode::kIo);
  }
  EXPECT_TRUE(Library::OpenInMemory().ok());
}

TEST(Library, SeveralProcessesWriteAtOnce) {
  const TempFolder folder;
  constexpr int kProcesses = 4;
  constexpr int kRows = 25;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto library = Library::Open(folder.path(), {});
      if (!library.ok()) _exit(2);
      for (int i = 0; i < kRows; ++i) {
        const IndexKey key{"f" + std::to_string(p), "m", std::to_string(i)};
        if (!(*library)->PutIndex({key, "t", IndexState::kPartial, 1, 1, 1, 1}).ok()) _exit(3);
      }
      _exit(0);
    }
  }
  for (int p = 0; p < kProcesses; ++p) {
    int status = 0;
    ASSERT_GT(wait(&status), 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  auto library = Library::Open(folder.path(), {});
  ASSERT_TRUE(library.ok());
  EXPECT_EQ((*library)->Entries()->size(), static_cast<size_t>(kProcesses * kRows));
}

}  // namespace
}  // namespace longview

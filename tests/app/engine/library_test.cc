// The library: what is put in comes out, through damage, two openers and read-only folders.
#include "app/engine/library.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/engine/library_upkeep.h"
#include "app/engine/video_index.h"
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

TEST(Library, DraftsLastUntilTheCaptionsAreWhole) {
  const TempFolder folder;
  auto library = std::move(Library::Open(folder.path(), {})).value();
  ASSERT_TRUE(library->PutDraft(kKey, "v", {3, 1.5, 2.5, "three"}).ok());
  ASSERT_TRUE(library->PutDraft(kKey, "v", {1, 0.5, 1.5, "one"}).ok());
  ASSERT_TRUE(library->PutDraft(kKey, "v", {1, 0.5, 1.5, "one again"}).ok());
  ASSERT_TRUE(library->PutDraft(kKey, "other", {1, 0.5, 1.5, "else"}).ok());
  const auto drafts = library->Drafts(kKey, "v");
  ASSERT_TRUE(drafts.ok());
  ASSERT_EQ(drafts->size(), 2u);
  EXPECT_EQ((*drafts)[0].text, "one again");
  EXPECT_EQ((*drafts)[1].segment, 3u);
  EXPECT_EQ((*drafts)[1].start, 1.5);
  ASSERT_TRUE(library->PutCaptions(kKey, "v", {{0, 1, "all"}}).ok());
  EXPECT_TRUE(library->Drafts(kKey, "v")->empty());
  EXPECT_EQ(library->Drafts(kKey, "other")->size(), 1u);
  ASSERT_TRUE(library->ClearDrafts(kKey, "other").ok());
  EXPECT_TRUE(library->Drafts(kKey, "other")->empty());
}

TEST(Library, RatesFavourWhatIsNew) {
  const TempFolder folder;
  auto library = std::move(Library::Open(folder.path(), {})).value();
  EXPECT_EQ(library->GetRate("work")->units, 0.0);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(library->AddRate("work", {10.0, 100.0}).ok());
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(library->AddRate("work", {10.0, 1.0}).ok());
  const auto rate = library->GetRate("work");
  EXPECT_NEAR(rate->seconds / rate->units, 0.1, 0.05);
}

// An index under the name that its key gives it.
Result<CacheFileWriter> StartIndex(const fs::path& folder, const IndexKey& key) {
  return CacheFileWriter::Open(folder / key.FileName(), MakeIndexHeader(key, "fps=1", BridgeConfig(), 0),
                               CacheFileSync::kNever);
}

TEST(LibraryUpkeep, WhatSomebodyWritesIsNeitherPrunedNorRepairedAway) {
  const TempFolder folder;
  auto library = std::move(Library::Open(folder.path(), {})).value();
  const IndexKey other{"beef", "m0de1", "5e77"};
  auto writer = StartIndex(folder.path(), kKey);
  ASSERT_TRUE(writer.ok() && StartIndex(folder.path(), other).ok());
  folder.Write("junk.lvidx", "no index");
  folder.Write("left.lvidx.new", "of a killed writer");
  const auto damaged = DamagedIndexes(folder.path(), library.get(), {});
  ASSERT_TRUE(damaged.ok());
  ASSERT_EQ(damaged->size(), 1u);
  EXPECT_TRUE(fs::exists(folder / "junk.lvidx"));
  const auto repaired = RepairIndexes(folder.path(), library.get(), {});
  ASSERT_TRUE(repaired.ok());
  EXPECT_EQ(*repaired, std::vector<std::string>{(folder / "junk.lvidx").string()});
  EXPECT_FALSE(fs::exists(folder / "left.lvidx.new"));
  const uint64_t size = fs::file_size(folder / other.FileName());
  const auto freed = PruneIndexes(folder.path(), library.get(), 0);
  ASSERT_TRUE(freed.ok());
  EXPECT_EQ(*freed, size);
  EXPECT_TRUE(fs::exists(folder / kKey.FileName()));
  EXPECT_FALSE(fs::exists(folder / other.FileName()));
  // The writer is damaged on the disk, and still its own to mend.
  folder.Write(kKey.FileName(), "overwritten");
  EXPECT_TRUE(RepairIndexes(folder.path(), library.get(), {})->empty());
  writer = Status(StatusCode::kCancelled, "closed");
  EXPECT_EQ(RepairIndexes(folder.path(), library.get(), {})->size(), 1u);
  EXPECT_FALSE(fs::exists(folder / kKey.FileName()));
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

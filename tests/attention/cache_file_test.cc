// The index file: what is written is read, what is torn is cut, what is damaged is told.
#include "attention/mla/cache_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kDc = 8, kDr = 8, kWidth = 4;

CacheFileHeader Header(const std::string& key = R"({"video":"abc","model":"m1","fps":1})") {
  CacheFileHeader header;
  header.key = key;
  header.d_c = kDc;
  header.d_r = kDr;
  header.retrieval_width = kWidth;
  return header;
}

// Frame `index` of a film that is the same in every test.
struct TestFrame {
  std::vector<uint16_t> latents, keys;
  std::vector<float> retrieval;
  std::vector<std::byte> thumbnail;
  CacheFileFrame frame;

  explicit TestFrame(size_t index) {
    std::mt19937 random(static_cast<uint32_t>(index) + 1);
    frame.time_s = static_cast<double>(index) * 0.5;
    frame.end_s = frame.time_s + 0.5;
    frame.flags = static_cast<uint32_t>(index * 7);
    frame.tokens = 1 + static_cast<uint32_t>(index % 3);
    latents.resize(size_t{frame.tokens} * kDc);
    keys.resize(size_t{frame.tokens} * kDr);
    for (auto& v : latents) v = static_cast<uint16_t>(random());
    for (auto& v : keys) v = static_cast<uint16_t>(random());
    for (uint32_t i = 0; i < kWidth; ++i) retrieval.push_back(static_cast<float>(random() % 1000));
    thumbnail.resize(index % 4 == 1 ? 0 : 5 + index % 11);
    for (auto& b : thumbnail) b = static_cast<std::byte>(random());
    frame.latents = latents;
    frame.keys = keys;
    frame.retrieval = retrieval;
    frame.thumbnail = thumbnail;
  }
};

Status AppendFrames(CacheFileWriter* writer, size_t first, size_t count) {
  std::vector<TestFrame> frames;
  for (size_t i = first; i < first + count; ++i) frames.emplace_back(i);
  std::vector<CacheFileFrame> list;
  list.reserve(frames.size());
  // Moved vectors keep their buffers, so the spans still hold.
  for (const TestFrame& f : frames) list.push_back(f.frame);
  return writer->Append(list);
}

template <class T>
bool Same(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// Whether a frame that was read is frame `index` of the film, every byte of it.
bool IsFrame(const CacheFileFrame& got, size_t index) {
  const TestFrame expected(index);
  return got.time_s == expected.frame.time_s && got.end_s == expected.frame.end_s &&
         got.flags == expected.frame.flags && got.tokens == expected.frame.tokens &&
         Same(got.latents, expected.frame.latents) && Same(got.keys, expected.frame.keys) &&
         Same(got.retrieval, expected.frame.retrieval) && Same(got.thumbnail, expected.frame.thumbnail);
}

void ExpectFilm(const CacheFileReader& reader, size_t frames) {
  ASSERT_EQ(reader.frames(), frames);
  for (size_t i = 0; i < frames; ++i) {
    const auto frame = reader.Frame(i);
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    EXPECT_TRUE(IsFrame(*frame, i)) << i;
    EXPECT_EQ(reader.info(i).time_s, frame->time_s);
    EXPECT_EQ(reader.info(i).tokens, frame->tokens);
  }
}

Result<CacheFileWriter> OpenWriter(const fs::path& path, const CacheFileHeader& header = Header(), bool fresh = false) {
  return CacheFileWriter::Open(path, header, CacheFileSync::kNever, fresh);
}

std::string ReadBytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteBytes(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST(CacheFile, WhatIsWrittenIsRead) {
  const TempFolder folder;
  const fs::path path = folder / "a.lvi";
  {
    auto writer = CacheFileWriter::Open(path, Header(), CacheFileSync::kEveryChunk);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    EXPECT_EQ(writer->frames(), 0u);
    ASSERT_TRUE(AppendFrames(&*writer, 0, 5).ok());
    ASSERT_TRUE(AppendFrames(&*writer, 5, 1).ok());
    ASSERT_TRUE(AppendFrames(&*writer, 6, 30).ok());
    EXPECT_EQ(writer->frames(), 36u);
    EXPECT_EQ(writer->last_time_s(), 17.5);
    EXPECT_EQ(writer->last_end_s(), 18.0);
    ASSERT_TRUE(writer->Complete(R"({"duration":18})").ok());
    EXPECT_EQ(AppendFrames(&*writer, 36, 1).code(), StatusCode::kInvalidArgument);
  }
  const auto reader = CacheFileReader::Open(path, Header());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ExpectFilm(*reader, 36);
  EXPECT_EQ(reader->tokens(), 72u);
  EXPECT_TRUE(reader->complete());
  EXPECT_EQ(reader->totals(), R"({"duration":18})");
  EXPECT_EQ(reader->bytes(), fs::file_size(path));
  EXPECT_TRUE(reader->VerifyAll().ok());
  EXPECT_EQ(reader->Frame(36).status().code(), StatusCode::kOutOfRange);
  // Rows are where kernels like them.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(reader->Frame(0)->latents.data()) % 64, 0u);
}

TEST(CacheFile, GoesOnWhereItStopped) {
  const TempFolder folder;
  const fs::path whole = folder / "whole.lvi", parts = folder / "parts.lvi";
  {
    auto writer = OpenWriter(whole);
    for (size_t i = 0; i < 5; ++i) ASSERT_TRUE(writer.ok() && AppendFrames(&*writer, i * 4, 4).ok());
    ASSERT_TRUE(writer->Complete("{}").ok());
  }
  for (size_t i = 0; i < 5; ++i) {
    auto writer = OpenWriter(parts);
    ASSERT_TRUE(writer.ok());
    ASSERT_EQ(writer->frames(), i * 4);
    ASSERT_TRUE(AppendFrames(&*writer, i * 4, 4).ok());
    if (i == 4) {
      ASSERT_TRUE(writer->Complete("{}").ok());
    }
  }
  EXPECT_EQ(ReadBytes(whole), ReadBytes(parts));
}

// Resident bytes of this process that are pages of files.
size_t FilePages() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    size_t kib = 0;
    if (word == "RssFile:" && in >> kib) return kib * 1024;
  }
  return 0;
}

// A film of many hours is checked and read in the memory of one chunk.
TEST(CacheFile, WhatWasReadIsGivenBack) {
  const TempFolder folder;
  const fs::path path = folder / "a";
  constexpr size_t kFrames = 64, kTokens = 65536;  // 2 MiB a frame
  std::vector<uint16_t> rows(kTokens * kDc);
  const std::vector<float> retrieval(kWidth);
  {
    auto writer = CacheFileWriter::Open(path, Header(), CacheFileSync::kNever);
    ASSERT_TRUE(writer.ok());
    for (size_t i = 0; i < kFrames; ++i) {
      std::fill(rows.begin(), rows.end(), static_cast<uint16_t>(i));
      CacheFileFrame frame;
      frame.time_s = frame.end_s = static_cast<double>(i);
      frame.tokens = kTokens;
      frame.latents = rows;
      frame.keys = rows;
      frame.retrieval = retrieval;
      ASSERT_TRUE(writer->Append({&frame, 1}).ok());
    }
    ASSERT_TRUE(writer->Complete("{}").ok());
  }
  auto reader = CacheFileReader::Open(path, Header());
  ASSERT_TRUE(reader.ok());
  constexpr size_t kAllowed = size_t{16} << 20;  // of 128 MiB
  const size_t before = FilePages();
  ASSERT_GT(before, 0u);
  ASSERT_TRUE(reader->VerifyAll().ok());
  EXPECT_LT(FilePages(), before + kAllowed);
  std::vector<CacheFileFrame> frames;
  for (size_t i = 0; i < kFrames; ++i) {
    const auto frame = reader->Frame(i);
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ(frame->latents.front(), i);
    EXPECT_EQ(std::count(frame->keys.begin(), frame->keys.end(), i), static_cast<ptrdiff_t>(frame->keys.size()));
    frames.push_back(*frame);
    reader->Release(i);
    ASSERT_LT(FilePages(), before + kAllowed) << i;
  }
  // Rows handed out before are still there.
  for (size_t i = 0; i < kFrames; ++i) ASSERT_EQ(frames[i].latents.back(), i);
}

TEST(CacheFile, ATornTailIsCutAtEveryByte) {
  const TempFolder folder;
  const fs::path path = folder / "torn.lvi";
  size_t before = 0;
  {
    auto writer = OpenWriter(path);
    ASSERT_TRUE(writer.ok() && AppendFrames(&*writer, 0, 3).ok());
    before = fs::file_size(path);
    ASSERT_TRUE(AppendFrames(&*writer, 3, 2).ok());
  }
  const std::string bytes = ReadBytes(path);
  ASSERT_GT(bytes.size(), before);
  for (size_t length = before; length <= bytes.size(); ++length) {
    const fs::path torn = folder / "t.lvi";
    fs::remove(torn);
    WriteBytes(torn, bytes.substr(0, length));
    const size_t frames = length == bytes.size() ? 5 : 3;
    const auto reader = CacheFileReader::Open(torn, Header());
    ASSERT_TRUE(reader.ok()) << length;
    ExpectFilm(*reader, frames);
    // A chunk whose payload was written and whose header was not: zeros where the header will be.
    if (length > before + 64) {
      std::string headless = bytes.substr(0, length);
      std::memset(headless.data() + before, 0, 64);
      WriteBytes(folder / "h.lvi", headless);
      const auto other = CacheFileReader::Open(folder / "h.lvi", Header());
      ASSERT_TRUE(other.ok() && other->frames() == 3u) << length;
    }
    auto writer = OpenWriter(torn);
    ASSERT_TRUE(writer.ok() && writer->frames() == frames) << length;
    EXPECT_EQ(fs::file_size(torn), frames == 5 ? bytes.size() : before);
    ASSERT_TRUE(AppendFrames(&*writer, frames, 5 - frames + 1).ok());
    const auto grown = CacheFileReader::Open(torn, Header());
    ASSERT_TRUE(grown.ok());
    ExpectFilm(*grown, 6);
  }
}

TEST(CacheFile, FlippedBitsNeverGiveWrongData) {
  const TempFolder folder;
  const fs::path path = folder / "good.lvi";
  {
    auto writer = OpenWriter(path);
    ASSERT_TRUE(writer.ok());
    for (size_t i = 0; i < 4; ++i) ASSERT_TRUE(AppendFrames(&*writer, i * 3, 3).ok());
    ASSERT_TRUE(writer->Complete(R"({"duration":6})").ok());
  }
  const std::string bytes = ReadBytes(path);
  std::mt19937 random(2024);
  size_t errors = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string flipped = bytes;
    const size_t flips = 1 + random() % 3;
    for (size_t f = 0; f < flips; ++f) flipped[random() % flipped.size()] ^= static_cast<char>(1u << (random() % 8));
    if (flipped == bytes) continue;
    const fs::path bad = folder / "bad.lvi";
    WriteBytes(bad, flipped);
    const auto reader = CacheFileReader::Open(bad, Header());
    if (!reader.ok()) {
      ++errors;
    } else {
      ASSERT_LE(reader->frames(), 12u);
      if (reader->complete()) {
        ASSERT_EQ(reader->frames(), 12u);
        ASSERT_EQ(reader->totals(), R"({"duration":6})");
      }
      bool damaged = reader->frames() < 12 || !reader->complete();
      for (size_t f = 0; f < reader->frames(); ++f) {
        const auto frame = reader->Frame(f);
        if (!frame.ok()) {
          ASSERT_EQ(frame.status().code(), StatusCode::kDamaged);
          damaged = true;
          continue;
        }
        ASSERT_TRUE(IsFrame(*frame, f)) << "flip " << i << " frame " << f;
      }
      errors += damaged ? 1 : 0;
    }
    // A writer keeps what is right and can complete the rest.
    auto writer = OpenWriter(bad);
    ASSERT_TRUE(writer.ok());
    if (writer->complete()) continue;
    ASSERT_LE(writer->frames(), 12u);
    const size_t kept = writer->frames();
    if (kept < 12) {
      ASSERT_TRUE(AppendFrames(&*writer, kept, 12 - kept).ok());
    }
    const auto mended = CacheFileReader::Open(bad, Header());
    ASSERT_TRUE(mended.ok());
    ExpectFilm(*mended, 12);
    if (HasFatalFailure()) return;
  }
  // Only padding and what follows the closing record may be flipped unnoticed.
  EXPECT_GT(errors, 950u);
}

TEST(CacheFile, ReadersFollowAWriter) {
  const TempFolder folder;
  const fs::path path = folder / "growing.lvi";
  auto writer = OpenWriter(path);
  ASSERT_TRUE(writer.ok());
  auto reader = CacheFileReader::Open(path, Header());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->frames(), 0u);
  EXPECT_FALSE(*reader->Refresh());
  ASSERT_TRUE(AppendFrames(&*writer, 0, 2).ok());
  EXPECT_TRUE(*reader->Refresh());
  const CacheFileFrame early = *reader->Frame(0);
  for (size_t i = 1; i < 20; ++i) {
    ASSERT_TRUE(AppendFrames(&*writer, i * 2, 2).ok());
    EXPECT_TRUE(*reader->Refresh());
    ExpectFilm(*reader, i * 2 + 2);
  }
  EXPECT_TRUE(IsFrame(early, 0));  // what was handed out stays
  EXPECT_FALSE(reader->complete());
  ASSERT_TRUE(writer->Complete("{}").ok());
  EXPECT_TRUE(*reader->Refresh());
  EXPECT_TRUE(reader->complete());
  EXPECT_FALSE(*reader->Refresh());
}

TEST(CacheFile, AStaleIndexIsNeverUsed) {
  const TempFolder folder;
  const fs::path path = folder / "stale.lvi";
  EXPECT_EQ(CacheFileReader::Open(path, Header()).status().code(), StatusCode::kNotFound);
  {
    auto writer = OpenWriter(path);
    ASSERT_TRUE(writer.ok() && AppendFrames(&*writer, 0, 3).ok());
  }
  const auto other = CacheFileReader::Open(path, Header(R"({"video":"changed"})"));
  EXPECT_EQ(other.status().code(), StatusCode::kNotFound);
  EXPECT_NE(other.status().message().find("stale"), std::string::npos);
  CacheFileHeader sizes = Header();
  sizes.d_r = 16;
  EXPECT_EQ(CacheFileReader::Open(path, sizes).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(CacheFileReader::Open(path, std::nullopt).ok());

  // A writer with another key puts a new file in place; who reads the old one keeps it.
  const auto old = CacheFileReader::Open(path, Header());
  ASSERT_TRUE(old.ok());
  auto writer = OpenWriter(path, Header("new"));
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->frames(), 0u);
  ExpectFilm(*old, 3);
  EXPECT_EQ(CacheFileReader::Open(path, Header()).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(AppendFrames(&*writer, 0, 1).ok());
  const auto fresh = CacheFileReader::Open(path, Header("new"));
  ASSERT_TRUE(fresh.ok());
  ExpectFilm(*fresh, 1);
}

TEST(CacheFile, FreshStartsAnew) {
  const TempFolder folder;
  const fs::path path = folder / "fresh.lvi";
  {
    auto writer = OpenWriter(path);
    ASSERT_TRUE(writer.ok() && AppendFrames(&*writer, 0, 3).ok() && writer->Complete("{}").ok());
  }
  {
    auto writer = OpenWriter(path);
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(writer->complete());
  }
  auto writer = OpenWriter(path, Header(), true);
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer->complete());
  EXPECT_EQ(writer->frames(), 0u);
  for (const auto& entry : fs::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path(), path);  // nothing left lying about
}

TEST(CacheFile, OneWriterAtATime) {
  const TempFolder folder;
  const fs::path path = folder / "locked.lvi";
  {
    auto writer = OpenWriter(path);
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(OpenWriter(path).status().code(), StatusCode::kResource);
    EXPECT_EQ(OpenWriter(path, Header("other")).status().code(), StatusCode::kResource);
    ASSERT_TRUE(AppendFrames(&*writer, 0, 1).ok());
    CacheFileWriter moved = std::move(*writer);
    EXPECT_EQ(OpenWriter(path).status().code(), StatusCode::kResource);
  }
  EXPECT_TRUE(OpenWriter(path).ok());
}

TEST(CacheFile, AFileIsRemovedOnlyWhileNobodyWritesIt) {
  const TempFolder folder;
  const fs::path path = folder / "pruned.lvi";
  EXPECT_TRUE(*RemoveCacheFile(path));  // there is none
  {
    auto writer = OpenWriter(path);
    ASSERT_TRUE(writer.ok() && AppendFrames(&*writer, 0, 2).ok());
    EXPECT_FALSE(*RemoveCacheFile(path));
    ASSERT_TRUE(AppendFrames(&*writer, 2, 1).ok());
  }
  const auto reader = CacheFileReader::Open(path, Header());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(*RemoveCacheFile(path));
  EXPECT_FALSE(fs::exists(path));
  ExpectFilm(*reader, 3);  // who had it open keeps it
  auto anew = OpenWriter(path);
  ASSERT_TRUE(anew.ok());
  EXPECT_EQ(anew->frames(), 0u);
}

TEST(CacheFile, AKilledWriterLosesNothingThatWasFinished) {
  const TempFolder folder;
  const fs::path path = folder / "killed.lvi";
  std::mt19937 random(7);
  size_t known = 0;
  for (int round = 0; round < 20; ++round) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto writer = OpenWriter(path);
      if (!writer.ok()) _exit(1);
      for (size_t i = writer->frames();; i += 2) {
        if (!AppendFrames(&*writer, i, 2).ok()) _exit(2);
        const size_t now = writer->frames();
        if (write(told[1], &now, sizeof(now)) != sizeof(now)) _exit(3);
      }
    }
    close(told[1]);
    usleep(500 + random() % 8000);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    for (size_t now = 0; read(told[0], &now, sizeof(now)) == sizeof(now);) known = now;
    close(told[0]);
    const auto reader = CacheFileReader::Open(path, Header());
    if (reader.status().code() == StatusCode::kNotFound && known == 0) continue;  // killed before the file was there
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    ASSERT_GE(reader->frames(), known);
    ExpectFilm(*reader, reader->frames());
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(CacheFile, AFullDiskLeavesTheFileAsItWas) {
  const TempFolder folder;
  const fs::path path = folder / "full.lvi";
  auto writer = OpenWriter(path);
  ASSERT_TRUE(writer.ok() && AppendFrames(&*writer, 0, 3).ok());
  const size_t size = fs::file_size(path);
  // No file may grow beyond this: what a full disk does to a write.
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit tight = before;
  tight.rlim_cur = size + 200;
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  const Status status = AppendFrames(&*writer, 3, 20);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("full.lvi"), std::string::npos);
  EXPECT_EQ(fs::file_size(path), size);
  EXPECT_EQ(writer->frames(), 3u);
  ASSERT_TRUE(AppendFrames(&*writer, 3, 20).ok());
  const auto reader = CacheFileReader::Open(path, Header());
  ASSERT_TRUE(reader.ok());
  ExpectFilm(*reader, 23);
}

TEST(CacheFile, HostileFilesAreErrors) {
  const TempFolder folder;
  const auto code = [&](const std::string& bytes) {
    WriteBytes(folder / "x.lvi", bytes);
    return CacheFileReader::Open(folder / "x.lvi", std::nullopt).status().code();
  };
  EXPECT_EQ(code(""), StatusCode::kDamaged);
  EXPECT_EQ(code("LVINDEX\n"), StatusCode::kDamaged);
  EXPECT_EQ(code(std::string(1000, '\0')), StatusCode::kDamaged);
  EXPECT_EQ(code(std::string(1000, '\xff')), StatusCode::kDamaged);
  std::string newer("LVINDEX\n");
  newer += std::string("\x09\0\0\0", 4) + std::string(500, '\0');
  EXPECT_EQ(code(newer), StatusCode::kUnsupported);
  EXPECT_FALSE(CacheFileReader::Open(folder.path(), std::nullopt).ok());  // a folder
  EXPECT_FALSE(OpenWriter(folder.path()).ok());
  EXPECT_EQ(OpenWriter(folder / "no" / "such.lvi").status().code(), StatusCode::kIo);
  // A writer takes the place of what is no index.
  WriteBytes(folder / "x.lvi", "something else");
  auto writer = OpenWriter(folder / "x.lvi");
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(AppendFrames(&*writer, 0, 2).ok());
}

TEST(CacheFile, RefusesFramesThatDoNotFit) {
  const TempFolder folder;
  auto writer = OpenWriter(folder / "f.lvi");
  ASSERT_TRUE(writer.ok() && AppendFrames(&*writer, 4, 2).ok());
  const auto refused = [&](auto change) {
    const TestFrame good(8);
    CacheFileFrame frame = good.frame;
    change(&frame);
    return writer->Append(std::span(&frame, 1)).code() == StatusCode::kInvalidArgument;
  };
  EXPECT_FALSE(refused([](CacheFileFrame*) {}));
  EXPECT_TRUE(refused([](CacheFileFrame* f) { f->time_s = 1.0; }));
  EXPECT_TRUE(refused([](CacheFileFrame* f) { f->time_s = std::nan(""); }));
  EXPECT_TRUE(refused([](CacheFileFrame* f) { f->end_s = f->time_s - 1.0; }));
  EXPECT_TRUE(refused([](CacheFileFrame* f) { f->tokens = 0; }));
  EXPECT_TRUE(refused([](CacheFileFrame* f) { f->tokens += 1; }));
  EXPECT_TRUE(refused([](CacheFileFrame* f) { f->retrieval = {}; }));
  EXPECT_EQ(writer->Append({}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Complete(std::string(100000, 'x')).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->frames(), 3u);
  CacheFileHeader wide = Header();
  wide.d_c = 5000;
  EXPECT_EQ(OpenWriter(folder / "w.lvi", wide).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace longview

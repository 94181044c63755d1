// Fuzz target: the index file, read in full, and gone on with by a writer. An input whose first byte is 'W' is no file
// but a recipe, for checksums keep a fuzzer out of all but the first record: a small sound file is written, then bytes
// of it are changed.
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "attention/mla/cache_file.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/temp_folder.h"

namespace {

void ReadAll(const longview::CacheFileReader& reader) {
  (void)reader.VerifyAll();
  for (size_t i = 0; i < reader.frames(); ++i) {
    const auto frame = reader.Frame(i);
    if (!frame.ok()) continue;
    longview::fuzz::Touch(frame->latents.data(), frame->latents.size_bytes());
    longview::fuzz::Touch(frame->keys.data(), frame->keys.size_bytes());
    longview::fuzz::Touch(frame->retrieval.data(), frame->retrieval.size_bytes());
    longview::fuzz::Touch(frame->thumbnail.data(), frame->thumbnail.size());
  }
}

// A chunk of one frame after what is there.
bool AppendFrame(longview::CacheFileWriter* writer, const longview::CacheFileHeader& header) {
  const std::vector<uint16_t> latents(header.d_c, 1);
  const std::vector<uint16_t> keys(header.d_r, 2);
  const std::vector<float> retrieval(header.retrieval_width, 3.0f);
  longview::CacheFileFrame frame;
  frame.time_s = writer->last_time_s() + 1.0;
  frame.end_s = frame.time_s + 1.0;
  frame.tokens = 1;
  frame.latents = latents;
  frame.keys = keys;
  frame.retrieval = retrieval;
  return writer->Append({&frame, 1}).ok();
}

// What was added must be readable, whatever stood before it.
void GoOn(const std::filesystem::path& path, const longview::CacheFileHeader& header) {
  auto writer = longview::CacheFileWriter::Open(path, header, longview::CacheFileSync::kNever);
  if (!writer.ok() || writer->complete()) return;
  const uint64_t before = writer->frames();
  if (!AppendFrame(&*writer, header)) return;
  const auto reader = longview::CacheFileReader::Open(path, header);
  if (!reader.ok() || reader->frames() != before + 1 || !reader->Frame(before).ok()) std::abort();
}

// 'W', the number of chunks, whether it is complete, then (offset, offset, flip) for each change.
void WriteByRecipe(const std::filesystem::path& path, const uint8_t* data, size_t size) {
  longview::CacheFileHeader header;
  header.key = "fuzz";
  header.d_c = 8;
  header.d_r = 2;
  header.retrieval_width = 3;
  unlink(path.c_str());
  {
    auto writer = longview::CacheFileWriter::Open(path, header, longview::CacheFileSync::kNever);
    if (!writer.ok()) std::abort();
    const int chunks = size > 1 ? data[1] % 5 : 1;
    for (int i = 0; i < chunks; ++i) {
      if (!AppendFrame(&*writer, header)) std::abort();
    }
    if (size > 2 && (data[2] & 1) != 0 && !writer->Complete("{}").ok()) std::abort();
  }
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto bytes = static_cast<size_t>(std::filesystem::file_size(path));
  for (size_t i = 3; i + 2 < size; i += 3) {
    const auto at = static_cast<std::streamoff>((data[i] * 256u + data[i + 1]) % bytes);
    file.seekg(at);
    const int old = file.get();
    file.seekp(at);
    file.put(static_cast<char>(old ^ data[i + 2]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A writer replaces a file by its name, which a file without one cannot show.
  static const longview::TempFolder folder;
  if (folder.path().empty()) std::abort();
  const std::filesystem::path path = folder / "fuzz.lvidx";
  if (size > 0 && data[0] == 'W') {
    WriteByRecipe(path, data, size);
  } else {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  {
    const auto reader = longview::CacheFileReader::Open(path, std::nullopt);
    if (reader.ok()) {
      ReadAll(*reader);
      GoOn(path, reader->header());
    }
  }
  unlink(path.c_str());
  return 0;
}

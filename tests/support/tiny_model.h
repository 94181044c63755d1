// A model folder with a bridge of random numbers, in the format that tools/train writes: for tests of everything but
// what only training gives.
#ifndef LONGVIEW_TESTS_SUPPORT_TINY_MODEL_H_
#define LONGVIEW_TESTS_SUPPORT_TINY_MODEL_H_

#include <cstdint>
#include <filesystem>

namespace longview::test {

struct TinyModelOptions {
  uint64_t seed = 1;
  bool retrieval = false;  // with (random) retrieval heads
  bool caption = false;    // with a (random) caption head
};

// Writes config.json and bridge.safetensors (about 38 MB) of longview-s's full shapes into `folder`, which is made. The
// hashes in the config are those of the files, and of the ViT and the text decoder found in `parts`. Equal options give
// equal bytes. Fails the calling test where a file cannot be read or written.
void WriteTinyModel(const std::filesystem::path& folder, const std::filesystem::path& parts,
                    const TinyModelOptions& options = {});

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_SUPPORT_TINY_MODEL_H_

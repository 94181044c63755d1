// Replays folders of inputs through one fuzz target, in builds without libFuzzer: fuzz_replay TARGET FOLDER...
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Each target under a name of its own (CMakeLists.txt).
extern "C" {
int FuzzSafetensors(const uint8_t* data, size_t size);
int FuzzGguf(const uint8_t* data, size_t size);
int FuzzOnnx(const uint8_t* data, size_t size);
int FuzzJsonConfig(const uint8_t* data, size_t size);
int FuzzCacheFile(const uint8_t* data, size_t size);
int FuzzTokenizer(const uint8_t* data, size_t size);
int FuzzXmp(const uint8_t* data, size_t size);
}

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  using Target = int (*)(const uint8_t*, size_t);
  const std::map<std::string_view, Target> targets = {{"safetensors", FuzzSafetensors},
                                                      {"gguf", FuzzGguf},
                                                      {"onnx", FuzzOnnx},
                                                      {"json_config", FuzzJsonConfig},
                                                      {"cache_file", FuzzCacheFile},
                                                      {"tokenizer", FuzzTokenizer},
                                                      {"xmp", FuzzXmp}};
  const auto target = argc < 3 ? targets.end() : targets.find(argv[1]);
  if (target == targets.end()) {
    std::fprintf(stderr, "usage: fuzz_replay TARGET FOLDER...\n");
    return 2;
  }
  std::set<fs::path> files;
  for (int i = 2; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) continue;  // no crash of this target was ever found
    for (const auto& entry : fs::directory_iterator(argv[i])) files.insert(entry.path());
  }
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    // The name comes first, so that it is there when the target ends the process.
    std::fprintf(stderr, "%s\n", file.c_str());
    // A copy of exactly this size, so that AddressSanitizer sees a read beyond it.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    target->second(exact.data(), exact.size());
  }
  std::fprintf(stderr, "%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}

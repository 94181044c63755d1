// Reading a film as the index does, without the model: a picture a second, stretched and normalised for the ViT.
//   decode_bench FILM exact|fast|keyframe [THREADS]    prints the processor's seconds, the clock's, and the pictures
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "vision/ingest_pipeline.h"

int main(int argc, char** argv) {
  using longview::DecodeMode;
  if (argc < 3) return 2;
  longview::IngestOptions options;
  const std::string mode = argv[2];
  options.reader.decode = mode == "exact"  ? DecodeMode::kExact
                          : mode == "fast" ? DecodeMode::kFast
                                           : DecodeMode::kKeyframe;
  options.reader.threads = argc > 3 ? std::atoi(argv[3]) : 1;
  options.sampling.fps = 1.0;
  options.sampling.scenes = false;
  options.merge_identical = false;
  const auto began = std::chrono::steady_clock::now();
  const auto read = longview::IngestVideo(
      argv[1], options, {}, [](const std::vector<longview::IngestFrame>&) { return longview::Status::Ok(); });
  if (!read.ok()) {
    std::fprintf(stderr, "%s\n", read.status().message().c_str());
    return 1;
  }
  std::printf("%.3f %.3f %lld\n", static_cast<double>(std::clock()) / CLOCKS_PER_SEC,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(),
              static_cast<long long>(read->kept));
}

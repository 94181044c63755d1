// How fast attention and networks on the GPU are: a line for each number, "name value unit", for tools/gpu_check. Every
// number is the median of seven measurements.
//   gpu_bench [NAME...]   only the measurements whose names begin so
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/bridge/gpu_cross_blocks.h"
#include "attention/bridge/gpu_frame_encoder.h"
#include "attention/decoder/gpu_decoder.h"
#include "attention/kernels/cuda/cuda_mla.h"
#include "attention/kernels/cuda/mla_mirror.h"
#include "core/backend/cuda/cuda_net.h"
#include "vision/vit/gpu_vit.h"

namespace longview {
namespace {

constexpr size_t kHeads = 9, kDc = 128, kDr = 32, kFrameTokens = 64;

struct Measurement {
  const char* name;
  CacheStore store;
  size_t rows;
  size_t tokens;
  uint32_t stages;
  bool streams = false;  // from pinned memory, whatever fits
  bool e4m3 = false;
};

constexpr size_t kMillion = size_t{1} << 20, kThousand = size_t{1} << 10;
constexpr Measurement kMeasurements[] = {
    {"decode_bf16_4m", CacheStore::kBF16, 1, 4 * kMillion, 2, false},
    {"decode_bf16_4m_three_stages", CacheStore::kBF16, 1, 4 * kMillion, 3, false},
    {"decode_int8_4m", CacheStore::kI8, 1, 4 * kMillion, 2, false},
    {"decode_e4m3_4m", CacheStore::kBF16, 1, 4 * kMillion, 2, false, true},
    {"decode_bf16_16k", CacheStore::kBF16, 1, 16 * kThousand, 2, false},
    {"prompt_bf16_256k", CacheStore::kBF16, 16, 256 * kThousand, 2, false},
    {"decode_bf16_10h", CacheStore::kBF16, 1, size_t{36000} * 256, 2, false},
    {"decode_bf16_4m_streamed", CacheStore::kBF16, 1, 4 * kMillion, 2, true},
};

// A frame's rows, which every frame of the cache repeats: speed does not depend on the numbers.
struct Frames {
  std::vector<uint8_t> latents, keys;
  std::vector<float> scales;
  std::vector<CrossAttnRun> runs;

  Frames(CacheStore store, size_t tokens) {
    std::mt19937 random(1);
    latents.resize(kFrameTokens * kDc * CacheStoreNumberBytes(store));
    keys.resize(kFrameTokens * kDr * 2);
    scales.assign(kFrameTokens, 0.01f);
    // bf16 between 0.25 and 2 in size: bytes at random but for the upper half of each number.
    for (uint8_t& byte : latents) byte = static_cast<uint8_t>(random());
    for (uint8_t& byte : keys) byte = static_cast<uint8_t>(random());
    if (store == CacheStore::kBF16) Tame(&latents);
    Tame(&keys);
    CrossAttnRun run;
    run.latents = latents.data();
    run.keys = keys.data();
    run.scales = store == CacheStore::kI8 ? scales.data() : nullptr;
    run.tokens = kFrameTokens;
    run.d_c = run.latent_stride = kDc;
    runs.assign(tokens / kFrameTokens, run);
  }

  static void Tame(std::vector<uint8_t>* bytes) {
    for (size_t i = 1; i < bytes->size(); i += 2) (*bytes)[i] = static_cast<uint8_t>(0x3E | ((*bytes)[i] & 0x81));
  }
};

double Median(std::vector<double> of_seven) {
  std::nth_element(of_seven.begin(), of_seven.begin() + 3, of_seven.end());
  return of_seven[3];
}

Result<double> MedianSeconds(const Measurement& m) {
  LV_ASSIGN_OR_RETURN(const auto backend, OpenCudaMla(0));
  const Frames frames(m.store, m.tokens);
  MlaMirrorOptions options;
  options.store = m.store;
  options.latent_stride = kDc;
  options.d_r = kDr;
  options.stages = m.stages;
  options.e4m3 = m.e4m3;
  if (m.streams) options.memory_bytes = size_t{128} << 20;
  LV_ASSIGN_OR_RETURN(const auto mirror, MlaMirror::Make(backend, frames.runs, options));
  const size_t queries = m.rows * kHeads;
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> q_c(queries * kDc), q_r(queries * kDr), out(queries * kDc), lse(queries);
  for (float& v : q_c) v = normal(random);
  for (float& v : q_r) v = normal(random);
  CrossAttnParams params;
  params.q_c = q_c.data();
  params.q_r = q_r.data();
  params.queries = queries;
  params.d_c = kDc;
  params.d_r = kDr;
  params.scale = 0.1f / std::sqrt(96.0f);
  params.store = m.store;
  params.out = out.data();
  params.lse = lse.data();
  std::vector<double> seconds;
  for (int i = 0; i < 7; ++i) {
    LV_ASSIGN_OR_RETURN(const double one, mirror->SecondsOf(params, m.tokens > kMillion ? 5 : 100));
    seconds.push_back(one);
  }
  return Median(std::move(seconds));
}

// ViT-S/14 with weights at random, all twelve layers, its pixels and its tokens on the device.
Result<double> MedianVitSeconds(size_t pictures) {
  const VitConfig c;
  std::mt19937 random(3);
  const auto numbers = [&](size_t count, float spread) {
    std::uniform_real_distribution<float> uniform(-spread, spread);
    std::vector<float> made(count);
    for (float& v : made) v = uniform(random);
    return made;
  };
  const auto matrix = [&](size_t out, size_t in) {
    return VitFloatMatrix{numbers(out * in, 0.05f), numbers(out, 0.1f)};
  };
  const VitNorm norm{std::vector<float>(c.width, 1.0f), std::vector<float>(c.width, 0.0f)};
  VitFloats weights;
  weights.patch = numbers(c.width * 3 * c.patch * c.patch, 0.05f);
  weights.start = numbers(c.tokens() * c.width, 0.5f);
  weights.norm = norm;
  for (size_t i = 0; i < c.layers; ++i) {
    weights.layers.push_back({norm, norm, matrix(3 * c.width, c.width), matrix(c.width, c.width),
                              matrix(c.mlp, c.width), matrix(c.width, c.mlp)});
  }
  LV_ASSIGN_OR_RETURN(auto net, OpenCudaNet(0));
  LV_ASSIGN_OR_RETURN(const auto vit, GpuVit::Make(std::move(net), c, weights, pictures));
  // Attention of zeros would be as fast, but products of zeros cost a GPU less than others.
  const std::vector<float> pixels = numbers(pictures * 3 * c.image * c.image, 2.0f);
  std::vector<float> tokens(pictures * c.tokens() * c.width);
  std::vector<VitPicture> in(pictures);
  for (size_t i = 0; i < pictures; ++i) in[i].pixels = pixels.data() + i * 3 * c.image * c.image;
  LV_RETURN_IF_ERROR(vit->Encode(in, {tokens.data()}));
  std::vector<double> seconds;
  for (int i = 0; i < 7; ++i) {
    LV_ASSIGN_OR_RETURN(const double one, vit->SecondsOf(pictures, 10));
    seconds.push_back(one);
  }
  return Median(std::move(seconds));
}

// The bridge of longview-s, but for what is read from its file.
BridgeConfig TheBridge() {
  BridgeConfig c;
  c.vit_width = 3 * 384;
  c.retrieval = RetrievalConfig();
  return c;
}

// Numbers for a matrix of `count`, cheap to make.
std::vector<float> SomeNumbers(size_t count) {
  std::vector<float> numbers(count);
  uint32_t state = 1;
  for (float& v : numbers) {
    state = state * 1664525 + 1013904223;
    v = static_cast<float>(static_cast<int32_t>(state) >> 8) * 0x1p-28f;
  }
  return numbers;
}

// The frame encoder, from a ViT's tokens on the device to latents, keys and retrieval vectors on the host.
Result<double> MedianFramesSeconds(size_t frames) {
  const BridgeConfig c = TheBridge();
  using Floats = FrameEncoderFloats;
  const auto matrix = [](size_t out, size_t in) { return Floats::Matrix{SomeNumbers(out * in), SomeNumbers(out)}; };
  const auto norm = [](size_t width) {
    return Floats::Norm{std::vector<float>(width, 1.0f), std::vector<float>(width, 0.0f)};
  };
  Floats weights;
  weights.in_norm = norm(c.vit_width);
  weights.out_norm = norm(c.d_v);
  weights.in = matrix(c.d_v, c.vit_width);
  weights.position = SomeNumbers(c.tokens_per_frame() * c.d_v);
  for (size_t i = 0; i < c.encoder_layers; ++i) {
    weights.layers.push_back({norm(c.d_v), norm(c.d_v), matrix(3 * c.d_v, c.d_v), matrix(c.d_v, c.d_v),
                              matrix(c.encoder_mlp, c.d_v), matrix(c.d_v, c.encoder_mlp)});
  }
  weights.down = {SomeNumbers(c.d_c * c.d_v), {}};
  weights.time_key = {SomeNumbers(c.d_r * c.d_v), {}};
  weights.latent_norm.assign(c.d_c, 1.0f);
  weights.frame_fc1 = matrix(c.retrieval->hidden, c.vit_width);
  weights.frame_fc2 = matrix(c.retrieval->width, c.retrieval->hidden);
  weights.frame_place = SomeNumbers(c.retrieval->parts() * c.retrieval->hidden);
  LV_ASSIGN_OR_RETURN(auto net, OpenCudaNet(0));
  LV_ASSIGN_OR_RETURN(const auto encoder, GpuFrameEncoder::Make(std::move(net), c, weights, frames));
  const size_t numbers = c.vit_tokens() * c.vit_width;
  std::vector<float> vit = SomeNumbers(numbers);
  for (float& v : vit) v *= 100.0f;
  LV_ASSIGN_OR_RETURN(const GpuBuffer room, encoder->Room(frames * numbers));
  // From the host once, so that the kernels are prepared.
  std::vector<FrameInput> inputs(frames, {vit.data(), false, 0.0});
  LV_RETURN_IF_ERROR(encoder->Encode(inputs).status());
  for (size_t i = 0; i < frames; ++i) inputs[i] = {room.As<float>() + i * numbers, true, 0.0};
  std::vector<double> seconds;
  for (int i = 0; i < 7; ++i) {
    constexpr int kTimes = 10;
    const auto start = std::chrono::steady_clock::now();
    for (int j = 0; j < kTimes; ++j) LV_RETURN_IF_ERROR(encoder->Encode(inputs).status());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    seconds.push_back(taken.count() / kTimes);
  }
  return Median(std::move(seconds));
}

// The cross blocks of longview-s over one frame, for one row.
Result<double> MedianCrossSeconds() {
  const BridgeConfig c = TheBridge();
  constexpr size_t kBlocks = 6;
  const CrossBlockFloats block = {std::vector<float>(c.width, 1.0f),
                                  std::vector<float>(c.width, 1.0f),
                                  SomeNumbers(c.heads * (c.d_c + c.d_r) * c.width),
                                  SomeNumbers(c.width * c.heads * c.d_c),
                                  SomeNumbers(c.mlp * c.width),
                                  SomeNumbers(c.width * c.mlp),
                                  SomeNumbers(c.mlp),
                                  SomeNumbers(c.heads)};
  LV_ASSIGN_OR_RETURN(const auto net, OpenCudaNet(0));
  LV_ASSIGN_OR_RETURN(auto memory, OpenCudaNet(0));
  LV_ASSIGN_OR_RETURN(const auto blocks,
                      GpuCrossBlocks::Make(std::move(memory), c, std::vector<CrossBlockFloats>(kBlocks, block)));
  LV_ASSIGN_OR_RETURN(const GpuLatents latents, blocks->Copy(SomeNumbers(c.tokens_per_frame() * c.d_c),
                                                             SomeNumbers(c.tokens_per_frame() * c.d_r)));
  LV_ASSIGN_OR_RETURN(const GpuBuffer h, GpuBuffer::Make(net, GpuStream::Memory::kDevice, c.width * sizeof(float)));
  const std::vector<float> cosines(c.d_r / 2, 0.8f), sines(c.d_r / 2, 0.6f);
  std::vector<double> seconds;
  for (int i = 0; i < 8; ++i) {
    constexpr int kTimes = 50;
    const auto start = std::chrono::steady_clock::now();
    for (int j = 0; j < kTimes; ++j) {
      for (size_t block_number = 0; block_number < kBlocks; ++block_number) {
        LV_RETURN_IF_ERROR(
            blocks->Add(net.get(), block_number, {.few = &latents}, {cosines, sines, c.d_c}, h.As<float>(), 1));
      }
    }
    LV_RETURN_IF_ERROR(net->Finish());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (i > 0) seconds.push_back(taken.count() / kTimes);  // the first prepares the kernels
  }
  return Median(std::move(seconds));
}

// A Full HD picture as a video decoder leaves it to what the ViT reads, and to its thumbnail.
Result<double> MedianPictureSeconds() {
  constexpr size_t kPitch = 2048, kRows = 1080 + 540, kSize = 224, kThumbWidth = 160, kThumbHeight = 90;
  LV_ASSIGN_OR_RETURN(const auto net, OpenCudaNet(0));
  using Memory = GpuStream::Memory;
  LV_ASSIGN_OR_RETURN(const GpuBuffer film, GpuBuffer::Make(net, Memory::kDevice, kPitch * kRows));
  LV_ASSIGN_OR_RETURN(const GpuBuffer chw, GpuBuffer::Make(net, Memory::kDevice, 3 * kSize * kSize * sizeof(float)));
  LV_ASSIGN_OR_RETURN(const GpuBuffer rgb, GpuBuffer::Make(net, Memory::kDevice, 3 * kThumbWidth * kThumbHeight));
  const GpuSurface surface{film.As<std::byte>(), film.As<std::byte>(kPitch * 1080), kPitch, kPitch, 1920, 1080, false};
  const GpuColours colours{16.0f, 255.0f / 219.0f, 1.793f, -0.213f, -0.533f, 2.112f};
  const GpuStretch stretch{surface, colours, chw.As<float>(), kSize, {0.5f, 0.5f, 0.5f}, {0.2f, 0.2f, 0.2f}};
  const GpuShrink shrink{surface, colours, rgb.As<uint8_t>(), kThumbWidth, kThumbHeight};
  std::vector<double> seconds;
  for (int i = 0; i < 8; ++i) {
    constexpr int kTimes = 50;
    const auto start = std::chrono::steady_clock::now();
    for (int j = 0; j < kTimes; ++j) {
      LV_RETURN_IF_ERROR(net->StretchPicture(stretch));
      LV_RETURN_IF_ERROR(net->ShrinkPicture(shrink));
    }
    LV_RETURN_IF_ERROR(net->Finish());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (i > 0) seconds.push_back(taken.count() / kTimes);  // the first loads the kernels
  }
  return Median(std::move(seconds));
}

// A text decoder of SmolLM2-135M's shape with weights at random: a token behind 300 others, with its logits copied
// back.
Result<double> MedianTokenSeconds() {
  TextDecoderConfig c;
  c.layers = 30;
  c.width = 576;
  c.heads = 9;
  c.kv_heads = 3;
  c.head_dim = 64;
  c.ffn = 1536;
  c.vocabulary = 49152;
  c.context = 8192;
  c.rms_epsilon = 1e-5f;
  uint32_t state = 1;
  const auto matrix = [&state](size_t out, size_t in) {
    return TextMatrix{out, in, [&state, in](size_t, float* to) {
                        for (size_t i = 0; i < in; ++i) {
                          state = state * 1664525 + 1013904223;
                          to[i] = static_cast<float>(static_cast<int32_t>(state) >> 8) * 0x1p-28f;
                        }
                      }};
  };
  const std::vector<float> ones(c.width, 1.0f);
  const RopeTable rope(c.head_dim, 100000.0, c.context);
  TextSource source;
  for (size_t i = 0; i < c.layers; ++i) {
    source.layers.push_back({ones, ones, matrix(c.width + 2 * c.kv_heads * c.head_dim, c.width),
                             matrix(c.width, c.width), matrix(2 * c.ffn, c.width), matrix(c.width, c.ffn)});
  }
  source.embedding = matrix(c.vocabulary, c.width);
  source.output_norm = ones;
  source.rope = &rope;
  LV_ASSIGN_OR_RETURN(auto net, OpenCudaNet(0));
  LV_ASSIGN_OR_RETURN(const auto decoder, GpuDecoder::Make(std::move(net), c, source));
  KvCache cache;
  std::vector<int32_t> tokens(300, 7);
  LV_RETURN_IF_ERROR(decoder->Run({.tokens = tokens}, c.layers, &cache).status());
  std::vector<double> seconds;
  for (int i = 0; i < 7; ++i) {
    constexpr size_t kTokens = 20;
    cache.Truncate(tokens.size());
    const auto start = std::chrono::steady_clock::now();
    for (size_t j = 0; j < kTokens; ++j) {
      LV_RETURN_IF_ERROR(decoder->Run({.tokens = std::span(tokens).first(1)}, c.layers, &cache).status());
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    seconds.push_back(taken.count() / kTokens);
  }
  return Median(std::move(seconds));
}

void Print(const Measurement& m, double seconds) {
  const double tokens = static_cast<double>(m.tokens);
  const double bytes =
      tokens * static_cast<double>(CacheStoreVectorBytes(m.e4m3 ? CacheStore::kI8 : m.store, kDc) + 2 * kDr);
  const double flop = 2.0 * static_cast<double>(m.rows * kHeads) * static_cast<double>(2 * kDc + kDr) * tokens;
  std::printf("%s_us %.3f us\n%s_tb_s %.4f TB/s\n%s_tflop_s %.2f TFLOP/s\n", m.name, seconds * 1e6, m.name,
              bytes / seconds * 1e-12, m.name, flop / seconds * 1e-12);
  std::fflush(stdout);
}

}  // namespace
}  // namespace longview

int main(int argc, char** argv) {
  bool failed = false;
  const auto wanted = [&](std::string_view name) {
    return argc == 1 || std::any_of(argv + 1, argv + argc, [&](const char* asked) { return name.starts_with(asked); });
  };
  const auto measure = [&](const char* name, const auto& seconds_of, const auto& print) {
    if (!wanted(name)) return;
    const longview::Result<double> seconds = seconds_of();
    if (seconds.ok()) {
      print(*seconds);
    } else {
      std::fprintf(stderr, "%s: %s\n", name, seconds.status().message().c_str());
      failed = true;
    }
  };
  for (const longview::Measurement& m : longview::kMeasurements) {
    measure(
        m.name, [&] { return longview::MedianSeconds(m); }, [&](double seconds) { longview::Print(m, seconds); });
  }
  for (const size_t pictures : {8, 256}) {
    const std::string name = "vit_s14_bf16_" + std::to_string(pictures);
    measure(
        name.c_str(), [&] { return longview::MedianVitSeconds(pictures); },
        [&](double seconds) {
          std::printf("%s_ms %.4f ms\n%s_frames_s %.1f frames/s\n", name.c_str(), seconds * 1e3, name.c_str(),
                      static_cast<double>(pictures) / seconds);
          std::fflush(stdout);
        });
  }
  for (const size_t frames : {8, 64}) {
    const std::string name = "frame_encoder_" + std::to_string(frames);
    measure(
        name.c_str(), [&] { return longview::MedianFramesSeconds(frames); },
        [&](double seconds) {
          std::printf("%s_ms %.4f ms\n%s_frames_s %.1f frames/s\n", name.c_str(), seconds * 1e3, name.c_str(),
                      static_cast<double>(frames) / seconds);
          std::fflush(stdout);
        });
  }
  measure("cross_blocks_65", longview::MedianCrossSeconds,
          [](double seconds) { std::printf("cross_blocks_65_us %.3f us\n", seconds * 1e6); });
  measure("text_token", longview::MedianTokenSeconds,
          [](double seconds) { std::printf("text_token_us %.3f us\n", seconds * 1e6); });
  measure("picture_1080p", longview::MedianPictureSeconds,
          [](double seconds) { std::printf("picture_1080p_us %.3f us\n", seconds * 1e6); });
  return failed ? 1 : 0;
}

// GpuDecoder: a text decoder's layers on a GPU, in bf16 with the residual stream in fp32. Beneath TextDecoder, which
// checks calls.
#ifndef LONGVIEW_ATTENTION_DECODER_GPU_DECODER_H_
#define LONGVIEW_ATTENTION_DECODER_GPU_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "attention/decoder/kv_cache.h"
#include "attention/decoder/text_decoder.h"
#include "core/backend/gpu_net.h"
#include "core/backend/gpu_weights.h"
#include "core/base/status.h"
#include "core/ops/rope.h"

namespace longview {

// A matrix [out, in] given row by row: row(i, to) writes row i.
struct TextMatrix {
  size_t out = 0, in = 0;
  std::function<void(size_t, float*)> row = {};
};

struct TextLayerSource {
  std::vector<float> attention_norm, ffn_norm;       // [width]
  TextMatrix qkv, attention_out, gate_up, ffn_down;  // as DecoderLayer
};

// A text decoder's weights, to be copied.
struct TextSource {
  std::vector<TextLayerSource> layers;
  TextMatrix embedding;  // [vocabulary, width]
  TextMatrix output;     // the same; without rows: the embedding's
  std::vector<float> output_norm;
  const RopeTable* rope = nullptr;
};

// Thread-safe: one call at a time has the device.
class GpuDecoder {
 public:
  // Copies the weights to the device, where they stay, and reads one token to see that all of it works there.
  // kUnsupported for dimensions that the kernels do not take; kResource without memory.
  static Result<std::unique_ptr<GpuDecoder>> Make(std::shared_ptr<GpuNet> net, const TextDecoderConfig& config,
                                                  const TextSource& source);
  ~GpuDecoder();

  // TextDecoder::Forward through layers [0, end_layer), for a call that was checked; logits only where those are all.
  Result<ForwardResult> Run(const ForwardCall& call, size_t end_layer, KvCache* cache);

  // Stretches of layers that were replayed from a recording (a CUDA graph) rather than launched piece by piece.
  size_t replays() const { return replays_; }

 private:
  // The device and who has it: caches outlive a decoder.
  struct Device;
  class Rows;
  struct Matrix {
    size_t place = 0;  // in weights_
    size_t in = 0, out = 0;
  };
  struct Layer {
    size_t attention_norm = 0, ffn_norm = 0;
    Matrix qkv, attention_out, gate_up, ffn_down;
  };
  // What a call holds on to while its chunks are read.
  struct Reading {
    const ForwardCall& call;
    size_t end_layer;
    KvCache* cache;
    ForwardResult result;
  };

  GpuDecoder(std::shared_ptr<GpuNet> net, const TextDecoderConfig& config);
  Status AddWeights(const TextSource& source);
  Status MakeBuffers();
  Status TryOnce();
  // Room for `length` tokens in the cache.
  Status Reserve(KvCache* cache, size_t length);
  // `rows` tokens from call.tokens[first]; leaves their last states in hidden_.
  Status ReadChunk(Reading* reading, size_t first, size_t rows);
  // What is done before `layer` beside it: captures, the hook; on the processor where the hook does not stay.
  Status Visit(Reading* reading, size_t layer, size_t hook_row, size_t rows);
  // Layers [first, last), replayed where one row is read. `branches` as in ForwardCall.
  Status RunLayers(size_t first, size_t last, size_t rows, size_t branches);
  Status LaunchLayers(size_t first, size_t last, size_t rows, size_t branches);
  Status LaunchLayer(const Layer& layer, size_t index, size_t rows, size_t branches);
  Status Multiply(const Matrix& matrix, GpuGemm::Into into, const uint16_t* x, size_t rows, void* y);
  Status Norm(size_t weight, size_t first, size_t rows);
  // The next token by call.sampler, from the states in row `row`.
  Status SampleRow(const ForwardCall& call, size_t row, int32_t* token);
  // Logits of `rows` states from row `first` on, appended.
  Status AppendLogits(size_t first, size_t rows, std::vector<float>* logits);

  const std::shared_ptr<Device> device_;
  GpuNet* const net_;
  const TextDecoderConfig config_;
  const size_t token_numbers_;  // of a token's keys and values in all layers
  GpuWeights weights_;
  size_t cos_ = 0, sin_ = 0, output_norm_ = 0;
  Matrix embedding_, output_;
  std::vector<Layer> layers_;
  GpuBuffer place_, place_pinned_;  // a GpuTextPlace and the chunk's tokens
  GpuBuffer hidden_, hidden_pinned_;
  GpuBuffer normed_, qkv_, attended_, gate_up_, activated_;
  GpuBuffer logits_, logits_pinned_;
  GpuBuffer choice_, choice_pinned_;  // the token chosen, then those that were seen
  std::map<std::pair<size_t, size_t>, std::unique_ptr<GpuRecording>> recordings_;  // of one row, by layers
  size_t replays_ = 0;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_GPU_DECODER_H_

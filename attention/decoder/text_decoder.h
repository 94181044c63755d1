// TextDecoder: a llama-type language model (SmolLM2-135M-Instruct) on the processor or a GPU, read from a GGUF file.
#ifndef LONGVIEW_ATTENTION_DECODER_TEXT_DECODER_H_
#define LONGVIEW_ATTENTION_DECODER_TEXT_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "attention/decoder/kv_cache.h"
#include "attention/decoder/layer_hook.h"
#include "attention/decoder/token_sampler.h"
#include "core/backend/gpu_net.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/ops/linear.h"
#include "core/ops/rope.h"

namespace longview {

class GpuDecoder;
struct DecoderLayer;
struct TextSource;

// Read from the file's metadata (llama.*) and checked against its tensors.
struct TextDecoderConfig {
  size_t layers = 0;
  size_t width = 0;
  size_t heads = 0;
  size_t kv_heads = 0;  // divides heads
  size_t head_dim = 0;  // even
  size_t ffn = 0;
  size_t vocabulary = 0;
  size_t context = 0;  // positions the model was made for
  float rms_epsilon = 0.0f;
  double rope_base = 0.0;
};

// One call of TextDecoder::Forward.
struct ForwardCall {
  enum class Logits { kNone, kLast, kAll };

  // What to read next, after the cache's tokens. Not empty.
  std::span<const int32_t> tokens = {};
  // Cross-attention, or null: a plain language model. Acts on the rows whose position (cache.length() + index in
  // `tokens`) is >= hook_from.
  LayerHook* hook = nullptr;
  size_t hook_from = 0;
  Logits logits = Logits::kLast;  // kAll takes tokens * vocabulary floats
  // Not null, with kLast: chooses the next token, where the logits are; they are not given. `seen` as Sample's.
  TokenSampler* sampler = nullptr;
  std::span<const int32_t> seen = {};
  // In [0, layers]: also give the hidden states that enter this layer (`layers`: that leave the last, before the final
  // norm), before the hook acts on them. -1: none.
  int capture_layer = -1;
  // Not empty: the states [tokens, width] that enter layer `from_layer`, as HiddenStates gave them for these tokens
  // (for those of each branch) and this cache; the layers below are not computed again, for they see no video. Nothing
  // but branches and calls like this, forgotten with Truncate, may have been read into the cache since.
  std::span<const float> entering = {};
  size_t from_layer = 0;
  // More than 1: `tokens` are so many beginnings of equal length, one behind the other, each of which follows on the
  // cache alone and sees none of the others. The cache stays as it was; kLast gives a row of logits for each. At most
  // kMaxBranchRows tokens in all, and hook_from must not lie behind the cache's end.
  size_t branches = 1;
  // Asked between layers; a stop gives kCancelled.
  std::stop_token stop = {};

  static constexpr size_t kMaxBranchRows = 256;
};

struct ForwardResult {
  std::vector<float> logits;    // [branches or tokens, vocabulary], or empty
  std::vector<float> captured;  // [tokens, width], or empty
  int32_t token = -1;           // that the sampler chose
};

// Immutable after Load; Forward may be called from several threads at once, each with its own cache, hook and pool.
class TextDecoder {
 public:
  // Reads `path`; nothing of the file is needed afterwards. Failures name the file and the key or tensor. With `device`
  // the layers run there, in bf16, one call at a time; where it cannot take them the processor does, and the log says
  // why.
  static Result<std::shared_ptr<const TextDecoder>> Load(const std::filesystem::path& path, WeightStore store,
                                                         std::shared_ptr<GpuNet> device = nullptr);
  ~TextDecoder();

  const TextDecoderConfig& config() const { return config_; }
  // Bytes of weights in memory.
  size_t weight_bytes() const;
  // Whether its layers run on a device: hooks may then act there.
  bool on_device() const { return gpu_ != nullptr; }

  // Reads call.tokens and appends them to `cache` (not where they branch). After a failure the cache holds what it held
  // before. kOutOfRange where the conversation would grow beyond config().context; kInvalidArgument for a token outside
  // the vocabulary or a cache of another model; kResource for a cache that a device had no memory for; otherwise the
  // hook's or the device's own failure.
  Result<ForwardResult> Forward(const ForwardCall& call, KvCache* cache, ThreadPool* pool) const;

  // The hidden states [tokens, width] that enter `layer` (0..layers) when `tokens` follow on `cache`, which stays as it
  // was; the layers above are not computed. Errors as Forward.
  Result<std::vector<float>> HiddenStates(std::span<const int32_t> tokens, size_t layer, KvCache* cache,
                                          ThreadPool* pool) const;

 private:
  struct Scratch;
  TextDecoder();
  Status LoadWeights(const std::filesystem::path& path, WeightStore store);
  // The weights as a device takes them; only as long as this decoder lives.
  TextSource Source() const;
  Status CheckCall(const ForwardCall& call, const KvCache& cache) const;
  // Reads call.tokens through layers [0, end_layer); logits only where those are all.
  Result<ForwardResult> Run(const ForwardCall& call, size_t end_layer, KvCache* cache, ThreadPool* pool) const;
  // One chunk of `rows` tokens from call.tokens[first]; leaves the last hidden states in scratch.
  Status RunChunk(const ForwardCall& call, size_t first, size_t rows, size_t end_layer, KvCache* cache,
                  Scratch* scratch, ForwardResult* result, ThreadPool* pool) const;
  void Attention(size_t layer, size_t rows, size_t branches, KvCache* cache, Scratch* scratch, ThreadPool* pool) const;
  void FeedForward(size_t layer, size_t rows, Scratch* scratch, ThreadPool* pool) const;
  // Logits of `rows` hidden states, appended.
  void AppendLogits(const float* hidden, size_t rows, Scratch* scratch, std::vector<float>* logits,
                    ThreadPool* pool) const;

  TextDecoderConfig config_;
  std::vector<DecoderLayer> layers_;
  Linear embedding_;  // [vocabulary, width]
  Linear output_;     // [vocabulary, width]; shares embedding_'s numbers where the file has no matrix of its own
  bool tied_ = true;
  std::vector<float> output_norm_;
  RopeTable rope_;
  std::unique_ptr<GpuDecoder> gpu_;  // null: the processor's
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_TEXT_DECODER_H_

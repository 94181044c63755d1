// What the launches of a network's forward pass are called with: plain data, the shape beside each pointer, all of it
// in the device's memory. Nothing is checked inside the kernels; GpuNet's users are the border.
#ifndef LONGVIEW_CORE_BACKEND_NET_CALLS_H_
#define LONGVIEW_CORE_BACKEND_NET_CALLS_H_

#include <cstddef>
#include <cstdint>

namespace longview {

// y = x W^T + bias, sums in fp32. in, out and the strides are multiples of 8, pointers of 16 bytes.
struct GpuGemm {
  enum class Into : uint8_t {
    kBF16,  // y is bf16
    kGelu,  // the same of GELU(y), in its tanh form (Hendrycks & Gimpel 2016): within 5e-4 of the exact one
    kF32,   // y is fp32
    kAdd,   // y is fp32 and what is there stays: y += x W^T + bias
  };
  Into into = Into::kBF16;
  const uint16_t* x = nullptr;  // [rows, in] bf16
  size_t x_stride = 0;
  const uint16_t* w = nullptr;  // [out, in] bf16, dense
  const void* bias = nullptr;   // [out] of y's type, or null
  void* y = nullptr;            // [rows, out]
  size_t y_stride = 0;
  size_t rows = 0, in = 0, out = 0;
};

// out = softmax(scale q k^T) v over every row of a picture. Rows [rows, heads, head_dim] in bf16, row_stride numbers
// apart in q, k and v, out_stride in out; pictures lie one behind the other. head_dim is a multiple of 8 up to 128.
struct GpuSdpa {
  const uint16_t* q = nullptr;
  const uint16_t* k = nullptr;
  const uint16_t* v = nullptr;
  size_t row_stride = 0;
  uint16_t* out = nullptr;
  size_t out_stride = 0;
  size_t pictures = 0, rows = 0, heads = 0, head_dim = 0;
  float scale = 1.0f;
};

// Pictures as rows of patches, and the rows that the patches' products are added to.
struct GpuPatchRows {
  const float* chw = nullptr;    // [pictures, 3, image, image]
  const float* start = nullptr;  // [1 + grid grid, width]
  uint16_t* patches = nullptr;   // [pictures, 1 + grid grid, patch_stride] bf16: plane, row, column; row 0 and what is
                                 // behind a patch's 3 patch patch numbers become 0
  float* hidden = nullptr;       // [pictures, 1 + grid grid, width]: becomes `start`
  uint32_t pictures = 0, image = 0, patch = 0, width = 0, patch_stride = 0;
};

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, in bf16 or, where y_float, in fp32.
struct GpuLayerNorm {
  const float* x = nullptr;       // [rows, width]
  const float* weight = nullptr;  // [width]
  const float* bias = nullptr;    // [width]
  void* y = nullptr;              // [rows, width], y_stride numbers apart
  uint32_t y_stride = 0, rows = 0, width = 0;
  float epsilon = 0.0f;
  bool y_float = false;
};

// Rows of a table of token vectors.
struct GpuEmbed {
  const uint16_t* table = nullptr;  // [vocabulary, width] bf16
  const int32_t* tokens = nullptr;  // [rows]
  float* hidden = nullptr;          // [rows, width]
  uint32_t rows = 0, width = 0;
};

// y = x / sqrt(mean(x^2) + epsilon) * weight.
struct GpuRmsNorm {
  const float* x = nullptr;       // [rows, width]
  const float* weight = nullptr;  // [width]
  uint16_t* y = nullptr;          // [rows, width] bf16
  uint32_t rows = 0, width = 0;
  float epsilon = 0.0f;
};

// Where a conversation stands. It lies in the device's memory, so that a recording serves every conversation.
struct GpuTextPlace {
  uint16_t* kv = nullptr;  // [tokens, token_stride] bf16: a token's keys and values of all layers
  uint32_t position = 0;   // tokens held before this call
};

// One layer's attention to the conversation. Row i of the call is the conversation's token position + i and sees all
// tokens up to itself. `qkv` [rows, (heads + 2 kv_heads) head_dim] holds queries, keys and values side by side;
// head_dim is a multiple of 8 up to 128. A token's keys and then values [kv_heads, head_dim] of this layer begin at
// number layer_offset of its own, a multiple of 8, as token_stride is.
struct GpuTextAttention {
  float* qkv = nullptr;  // TextRope turns its queries in place
  const GpuTextPlace* place = nullptr;
  const float* cos = nullptr;  // [context, head_dim / 2], TextRope only; half-split pairs, as RopeTable
  const float* sin = nullptr;
  uint16_t* out = nullptr;  // [rows, heads head_dim] bf16, TextAttention only
  uint32_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;
  uint32_t context = 0;  // most tokens that a conversation has, up to 10,000
  uint32_t token_stride = 0, layer_offset = 0;
  float scale = 1.0f;
};

// Means over squares of a picture's patches.
struct GpuPool {
  const float* tokens = nullptr;  // [pictures, 1 + grid grid, width]: a class token, then patches row by row
  void* out = nullptr;  // [pictures, 1 + pool pool (+ 1), width], fp32 where out_float, else bf16: the class token, the
                        // means of (grid / pool)^2 patches row by row and, where `whole`, that of all patches
  uint32_t pictures = 0, grid = 0, pool = 0, width = 0;  // pool divides grid
  bool whole = false;
  bool out_float = false;

  constexpr uint32_t rows() const { return 1 + pool * pool + (whole ? 1 : 0); }
};

// y = x (1 + erf(x / sqrt(2))) / 2.
struct GpuGelu {
  const float* x = nullptr;  // [count]
  uint16_t* y = nullptr;     // [count] bf16
  uint32_t count = 0;
};

// A cross block's attention to few latents, which are keys and values at once. Queries are absorbed; their time parts
// are turned here, by the question's time.
struct GpuLatentAttention {
  static constexpr uint32_t kMostPairs = 64;

  const float* q = nullptr;        // [rows, heads d_c + heads d_r]: the heads' content parts, then their time parts
  const float* latents = nullptr;  // [tokens, d_c]
  const float* keys = nullptr;     // [tokens, d_r], turned
  const float* sink = nullptr;     // [heads]: the score of one more key, whose value is zero
  uint16_t* out = nullptr;         // [rows, heads, d_c] bf16: zeros from `cut` on
  uint32_t rows = 0, heads = 0;
  uint32_t tokens = 0;         // 1 to 4,096
  uint32_t d_c = 0, cut = 0;   // up to 256; numbers of a latent that count, up to d_c
  uint32_t d_r = 0;            // even, up to 2 kMostPairs
  float scale = 1.0f;          // of the scores
  float cos[kMostPairs] = {};  // [d_r / 2]: pair j is numbers j and j + d_r / 2 of a time part
  float sin[kMostPairs] = {};
};

// The queries of a cross block, as GpuLatentAttention has them, laid out for a kernel that takes content and time parts
// apart (attention/kernels/cuda).
struct GpuPartQueries {
  const float* q = nullptr;  // [rows, heads d_c + heads d_r]
  float* content = nullptr;  // [rows heads, cut]
  float* time = nullptr;     // [rows heads, time_stride], turned; zeros from d_r on
  uint32_t rows = 0, heads = 0, d_c = 0, cut = 0, d_r = 0, time_stride = 0;
  float cos[GpuLatentAttention::kMostPairs] = {};
  float sin[GpuLatentAttention::kMostPairs] = {};
};

// Rows narrowed and padded.
struct GpuNarrow {
  const float* x = nullptr;  // [rows, width]
  uint16_t* y = nullptr;     // [rows, stride] bf16: zeros from `width` on
  uint32_t rows = 0, width = 0, stride = 0;
};

// y = gate / (1 + exp(-gate)) * up (SwiGLU).
struct GpuSiluMul {
  const float* gate_up = nullptr;  // [rows, 2 width]: gates, then what they multiply
  uint16_t* y = nullptr;           // [rows, width] bf16
  uint32_t rows = 0, width = 0;
};

// The next token, as TokenSampler chooses it. The logits are changed.
struct GpuSample {
  float* logits = nullptr;        // [count]
  const int32_t* seen = nullptr;  // [seen_count]: tokens that the penalty applies to, in any order
  int32_t* token = nullptr;       // the token chosen
  uint32_t count = 0, seen_count = 0;
  float penalty = 1.0f;
  float temperature = 0.0f;  // 0: the most likely token
  float top_p = 1.0f;
  double draw = 0.0;  // at random in [0, 1)
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_NET_CALLS_H_

// GpuNet on an emulated device: our own kernels' bodies block by block; what libraries do on a GPU, in plain loops with
// the same roundings.
#ifndef LONGVIEW_TESTS_SUPPORT_EMULATED_NET_H_
#define LONGVIEW_TESTS_SUPPORT_EMULATED_NET_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/backend/cuda/bridge_kernels.h"
#include "core/backend/cuda/latent_attention.h"
#include "core/backend/cuda/picture_kernels.h"
#include "core/backend/cuda/sampling_kernel.h"
#include "core/backend/cuda/text_attention.h"
#include "core/backend/cuda/text_kernels.h"
#include "core/backend/cuda/vision_kernels.h"
#include "core/backend/gpu_net.h"
#include "core/ops/gemm.h"
#include "core/tensor/dtype.h"
#include "tests/support/emulated_stream.h"

namespace longview::test {

class EmulatedNet : public EmulatedStream<GpuNet> {
 public:
  explicit EmulatedNet(size_t device_bytes = size_t{4} << 30) : EmulatedStream(device_bytes) {}

  std::string Name() const override { return "the tests' device"; }
  Result<GpuHandles> Handles() override { return Unsupported("the tests' device has no handles"); }

  Status Gemm(const GpuGemm& call) override {
    if (call.in % 8 != 0 || call.out % 8 != 0 || call.x_stride % 8 != 0 || call.y_stride % 8 != 0) {
      return Unsupported("a product of these sizes");
    }
    return Later([call] { Multiply(call); });
  }
  Status Sdpa(const GpuSdpa& call) override {
    return Later([call] {
      for (size_t picture = 0; picture < call.pictures; ++picture) {
        for (size_t head = 0; head < call.heads; ++head) Attend(call, picture, head);
      }
    });
  }
  Status PatchRows(const GpuPatchRows& call) override {
    const uint32_t grid = call.image / call.patch;
    return Blocks(1 + grid * grid, call.pictures,
                  [call](simt_emulated::Block& block) { simt_emulated::PatchRow(block, call); });
  }
  Status LayerNorm(const GpuLayerNorm& call) override {
    return Blocks(DivideUp(call.rows, simt_emulated::kNormWarps), 1,
                  [call](simt_emulated::Block& block) { simt_emulated::LayerNormRows(block, call); });
  }
  Status Embed(const GpuEmbed& call) override {
    return Blocks(call.rows, 1, [call](simt_emulated::Block& block) { simt_emulated::EmbedRow(block, call); });
  }
  Status RmsNorm(const GpuRmsNorm& call) override {
    return Blocks(
        call.rows, 1, [call](simt_emulated::Block& block) { simt_emulated::RmsNormRow(block, call); },
        simt_emulated::kRmsNormShared);
  }
  Status TextRope(const GpuTextAttention& call) override {
    return Blocks(call.rows, 1, [call](simt_emulated::Block& block) { simt_emulated::TextRopeRow(block, call); });
  }
  Status TextAttention(const GpuTextAttention& call) override {
    return Blocks(
        call.rows, call.heads, [call](simt_emulated::Block& block) { simt_emulated::TextAttendHead(block, call); },
        simt_emulated::TextAttentionShared(call.context));
  }
  Status Pool(const GpuPool& call) override {
    return Blocks(call.rows(), call.pictures,
                  [call](simt_emulated::Block& block) { simt_emulated::PoolRow(block, call); });
  }
  Status Gelu(const GpuGelu& call) override {
    return Blocks(DivideUp(call.count, simt_emulated::kGeluThreads), 1,
                  [call](simt_emulated::Block& block) { simt_emulated::GeluNumbers(block, call); });
  }
  Status PartQueries(const GpuPartQueries& call) override {
    return Blocks(call.rows, call.heads,
                  [call](simt_emulated::Block& block) { simt_emulated::PartQuery(block, call); });
  }
  Status Narrow(const GpuNarrow& call) override {
    return Blocks(call.rows, 1, [call](simt_emulated::Block& block) { simt_emulated::NarrowRow(block, call); });
  }
  Status LatentAttention(const GpuLatentAttention& call) override {
    return Blocks(
        call.rows, call.heads, [call](simt_emulated::Block& block) { simt_emulated::LatentAttendHead(block, call); },
        simt_emulated::LatentAttentionShared(call));
  }
  Status SiluMul(const GpuSiluMul& call) override {
    return Blocks(call.rows, DivideUp(call.width, simt_emulated::kTextThreads),
                  [call](simt_emulated::Block& block) { simt_emulated::SiluMulRow(block, call); });
  }
  Status Sample(const GpuSample& call) override {
    return Blocks(
        1, 1, [call](simt_emulated::Block& block) { simt_emulated::SampleToken(block, call); },
        simt_emulated::kSampleShared);
  }
  Status StretchPicture(const GpuStretch& call) override {
    return Blocks(DivideUp(call.size * call.size, simt_emulated::kStretchThreads), 1,
                  [call](simt_emulated::Block& block) { simt_emulated::StretchPixels(block, call); });
  }
  Status ShrinkPicture(const GpuShrink& call) override {
    return Blocks(DivideUp(call.width, simt_emulated::kShrinkWarps), call.height,
                  [call](simt_emulated::Block& block) { simt_emulated::ShrinkPixels(block, call); });
  }

 private:
  static uint32_t DivideUp(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

  // A launch of `columns` x `rows` blocks, whose `bytes` of shared memory begin as NaN.
  template <class F>
  Status Blocks(uint32_t columns, uint32_t rows, const F& body, size_t bytes = 0) {
    return Later([columns, rows, body, bytes] {
      std::vector<double> shared((bytes + 7) / 8);
      for (uint32_t y = 0; y < rows; ++y) {
        for (uint32_t x = 0; x < columns; ++x) {
          simt_emulated::Block block;
          block.x = x;
          block.y = y;
          std::fill(shared.begin(), shared.end(), NAN);
          block.shared = reinterpret_cast<unsigned char*>(shared.data());
          body(block);
        }
      }
    });
  }

  static std::vector<float> Widened(const uint16_t* from, size_t count) {
    std::vector<float> floats(count);
    for (size_t i = 0; i < count; ++i) floats[i] = BF16ToFloat(from[i]);
    return floats;
  }

  static float TanhGelu(float x) { return 0.5f * x * (1.0f + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }

  static void Multiply(const GpuGemm& call) {
    const bool narrow = call.into == GpuGemm::Into::kBF16 || call.into == GpuGemm::Into::kGelu;
    const std::vector<float> x = Widened(call.x, (call.rows - 1) * call.x_stride + call.in);
    const std::vector<float> w = Widened(call.w, call.out * call.in);
    std::vector<float> y(call.rows * call.out);
    GemmNT(call.rows, call.out, call.in, x.data(), call.x_stride, w.data(), call.in, 0.0f, y.data(), call.out);
    for (size_t row = 0; row < call.rows; ++row) {
      for (size_t i = 0; i < call.out; ++i) {
        float v = y[row * call.out + i];
        if (call.bias != nullptr) {
          v += narrow ? BF16ToFloat(static_cast<const uint16_t*>(call.bias)[i])
                      : static_cast<const float*>(call.bias)[i];
        }
        const size_t to = row * call.y_stride + i;
        if (call.into == GpuGemm::Into::kGelu) v = TanhGelu(v);
        if (narrow) {
          static_cast<uint16_t*>(call.y)[to] = FloatToBF16(v);
        } else if (call.into == GpuGemm::Into::kAdd) {
          static_cast<float*>(call.y)[to] += v;
        } else {
          static_cast<float*>(call.y)[to] = v;
        }
      }
    }
  }

  static void Attend(const GpuSdpa& call, size_t picture, size_t head) {
    const size_t at = picture * call.rows * call.row_stride + head * call.head_dim;
    const size_t d = call.head_dim;
    std::vector<float> q(call.rows * d), k(q.size()), v(q.size()), p(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
      for (size_t i = 0; i < d; ++i) {
        q[row * d + i] = BF16ToFloat(call.q[at + row * call.row_stride + i]);
        k[row * d + i] = BF16ToFloat(call.k[at + row * call.row_stride + i]);
        v[row * d + i] = BF16ToFloat(call.v[at + row * call.row_stride + i]);
      }
    }
    for (size_t row = 0; row < call.rows; ++row) {
      float max = -INFINITY, sum = 0.0f;
      for (size_t key = 0; key < call.rows; ++key) {
        float score = 0.0f;
        for (size_t i = 0; i < d; ++i) score += q[row * d + i] * k[key * d + i];
        p[key] = score * call.scale;
        max = std::max(max, p[key]);
      }
      std::vector<float> out(d, 0.0f);
      for (size_t key = 0; key < call.rows; ++key) {
        const float weight = std::exp(p[key] - max);
        sum += weight;
        for (size_t i = 0; i < d; ++i) out[i] += BF16ToFloat(FloatToBF16(weight)) * v[key * d + i];
      }
      uint16_t* to = call.out + (picture * call.rows + row) * call.out_stride + head * d;
      for (size_t i = 0; i < d; ++i) to[i] = FloatToBF16(out[i] / sum);
    }
  }
};

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_SUPPORT_EMULATED_NET_H_

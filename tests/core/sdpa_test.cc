// Dense attention against its double-precision twin, in the layouts that the models use.
#include "core/ops/sdpa.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/ops/reference.h"
#include "tests/core/random_tensors.h"
#include "tests/support/tensor_compare.h"

namespace longview {
namespace {

struct Shape {
  size_t q_rows;
  size_t kv_rows;
  size_t heads;
  size_t kv_heads;
  size_t dim;
  bool causal;
};

// Queries [row][head][dim]; keys and values as a cache [kv_head][capacity][dim] with NaN in its unused tail; out with
// NaN between the rows, which must stay.
void CheckShape(const Shape& s, ThreadPool* pool) {
  SCOPED_TRACE(std::to_string(s.q_rows) + " queries, " + std::to_string(s.kv_rows) + " keys, " +
               std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + " heads of " + std::to_string(s.dim));
  const size_t capacity = s.kv_rows + 5;
  const size_t width = s.heads * s.dim;
  const std::vector<float> q = PoisonedRows(s.q_rows, width, width + 7, 1);
  std::vector<float> k = RandomFloats(s.kv_heads * capacity * s.dim, 2);
  std::vector<float> v = RandomFloats(s.kv_heads * capacity * s.dim, 3);
  for (size_t h = 0; h < s.kv_heads; ++h) {
    for (size_t i = s.kv_rows * s.dim; i < capacity * s.dim; ++i) {
      k[h * capacity * s.dim + i] = v[h * capacity * s.dim + i] = kPoison;
    }
  }
  std::vector<float> out(s.q_rows * (width + 2), kPoison);
  SdpaParams p;
  p.q = q.data();
  p.q_stride = width + 7;
  p.q_head_stride = s.dim;
  p.k = k.data();
  p.v = v.data();
  p.k_stride = p.v_stride = s.dim;
  p.k_head_stride = p.v_head_stride = capacity * s.dim;
  p.out = out.data();
  p.out_stride = width + 2;
  p.out_head_stride = s.dim;
  p.q_rows = s.q_rows;
  p.kv_rows = s.kv_rows;
  p.heads = s.heads;
  p.kv_heads = s.kv_heads;
  p.head_dim = s.dim;
  p.scale = 1.0f / std::sqrt(static_cast<float>(s.dim));
  p.causal = s.causal;
  std::vector<float> expected = out;
  Sdpa(p, pool);
  p.out = expected.data();
  reference::Sdpa(p);
  EXPECT_TRUE(TensorsNear(out, expected, {5e-6, 1e-5, 0.999999}));
}

TEST(SdpaTest, AgreesWithReference) {
  ThreadPool one(1);
  ThreadPool three(3);
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &one, &three}) {
    for (const size_t rows : {1, 2, 4, 5, 17, 64, 65, 131}) {
      CheckShape({rows, rows, 3, 3, 16, false}, pool);
      CheckShape({rows, rows, 9, 3, 64, true}, pool);
      CheckShape({rows, rows + 29, 9, 3, 64, true}, pool);
      CheckShape({rows, 31, 2, 1, 7, false}, pool);
    }
    CheckShape({0, 3, 3, 3, 8, false}, pool);
    CheckShape({3, 0, 3, 3, 8, false}, pool);
    CheckShape({1, 1, 1, 1, 1, true}, pool);
    CheckShape({257, 257, 6, 6, 64, false}, pool);  // the ViT
    CheckShape({1, 700, 9, 3, 64, true}, pool);     // the decoder's next token
  }
}

TEST(SdpaTest, PackedQkvRows) {
  const size_t rows = 65;
  const size_t heads = 6;
  const size_t dim = 64;
  const size_t width = heads * dim;
  const std::vector<float> qkv = RandomFloats(rows * 3 * width, 1);
  std::vector<float> out(rows * width), expected(rows * width);
  SdpaParams p;
  p.q = qkv.data();
  p.k = qkv.data() + width;
  p.v = qkv.data() + 2 * width;
  p.q_stride = p.k_stride = p.v_stride = 3 * width;
  p.q_head_stride = p.k_head_stride = p.v_head_stride = p.out_head_stride = dim;
  p.out = out.data();
  p.out_stride = width;
  p.q_rows = p.kv_rows = rows;
  p.heads = p.kv_heads = heads;
  p.head_dim = dim;
  p.scale = 0.125f;
  Sdpa(p, nullptr);
  p.out = expected.data();
  reference::Sdpa(p);
  EXPECT_TRUE(TensorsNear(out, expected, {5e-6, 1e-5, 0.999999}));
}

TEST(SdpaTest, LaterKeysDoNotChangeEarlierCausalRows) {
  const size_t dim = 8;
  std::vector<float> k = RandomFloats(20 * dim, 1);
  std::vector<float> v = RandomFloats(20 * dim, 2);
  const std::vector<float> q = RandomFloats(20 * dim, 3);
  SdpaParams p;
  p.q = q.data();
  p.k = k.data();
  p.v = v.data();
  p.q_stride = p.k_stride = p.v_stride = p.out_stride = dim;
  p.q_rows = p.kv_rows = 20;
  p.heads = p.kv_heads = 1;
  p.head_dim = dim;
  p.causal = true;
  std::vector<float> before(20 * dim), after(20 * dim);
  p.out = before.data();
  Sdpa(p, nullptr);
  for (size_t i = 15 * dim; i < 20 * dim; ++i) k[i] = v[i] = 1e6f;
  p.out = after.data();
  Sdpa(p, nullptr);
  before.resize(15 * dim);
  after.resize(15 * dim);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace longview

// Linear: keeps the weights as asked for and hands each call to the kernel that suits its number of rows.
#include "core/ops/linear.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/arena.h"
#include "core/base/check.h"
#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"
#include "core/ops/matvec.h"
#include "core/ops/reference.h"
#include "core/simd/level.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

// Below this many multiplications the threads' meeting costs more than it brings.
constexpr size_t kMinParallelWork = size_t{1} << 16;

// Floats of decoded weights that stay in a core's L2 cache while they are multiplied.
constexpr size_t kPanelFloats = size_t{1} << 17;

bool IsFloatOrBlock(DType dtype) {
  return dtype != DType::kI8 && dtype != DType::kU8 && dtype != DType::kI32 && dtype != DType::kI64;
}

DType StoredType(DType dtype, WeightStore store) {
  if (store == WeightStore::kBF16) return DType::kBF16;
  if (store == WeightStore::kI8) return DType::kI8;
  if (store == WeightStore::kF32) return DType::kF32;
  return dtype;
}

void AddBias(const std::vector<float>& bias, size_t first, size_t last, size_t rows, float* y, size_t y_stride) {
  if (bias.empty()) return;
  for (size_t r = 0; r < rows; ++r) Add(bias.data() + first, last - first, y + r * y_stride + first);
}

}  // namespace

struct Linear::Data {
  DType dtype = DType::kF32;
  const uint8_t* weights = nullptr;
  size_t row_bytes = 0;
  size_t in = 0;
  size_t out = 0;
  std::vector<float> bias;
  std::vector<float> scales;  // [out] for weights in int8, else empty
  AlignedBuffer owned;        // empty where the weights lie in somebody else's memory

  Status Keep(const TensorView& weight, WeightStore store, bool copy);
  void Int8(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride, ThreadPool* pool) const;
  void Few(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride, ThreadPool* pool) const;
  void Many(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride, ThreadPool* pool) const;
  void ManyBf16(const uint16_t* x, size_t x_stride, size_t rows, float* y, size_t y_stride, ThreadPool* pool) const;
  void ManyF32(size_t first, size_t last, const float* x, size_t x_stride, size_t rows, float* y,
               size_t y_stride) const;
  // Runs body(first, last) over the outputs, split over the pool where `rows` rows are work enough.
  template <typename Body>
  void Split(size_t rows, ThreadPool* pool, const Body& body) const {
    if (pool == nullptr || in * out * rows < kMinParallelWork) {
      body(size_t{0}, out);
    } else {
      pool->ParallelFor(out, [&](size_t first, size_t last, int) { body(first, last); });
    }
  }
};

Status Linear::Data::Keep(const TensorView& weight, WeightStore store, bool copy) {
  LV_ASSIGN_OR_RETURN(row_bytes, DTypeBytes(dtype, in));
  const auto bytes = MulSize(row_bytes, out);
  if (!bytes) return Damaged("a weight of shape " + weight.ShapeText() + " is larger than any memory");
  const bool as_is = dtype == weight.dtype;
  const bool aligned = reinterpret_cast<uintptr_t>(weight.data) % (DTypeBlockSize(dtype) > 1 ? 1 : row_bytes / in) == 0;
  if (as_is && !copy && store == WeightStore::kAsStored && aligned) {
    weights = static_cast<const uint8_t*>(weight.data);
    return Status::Ok();
  }
  LV_ASSIGN_OR_RETURN(owned, Arena::Process().Allocate(*bytes, "weights"));
  auto* to = static_cast<uint8_t*>(owned.data());
  weights = to;
  if (as_is) {
    std::memcpy(to, weight.data, *bytes);
    return Status::Ok();
  }
  LV_ASSIGN_OR_RETURN(const size_t from_row_bytes, DTypeBytes(weight.dtype, in));
  std::vector<float> row(in);
  for (size_t o = 0; o < out; ++o) {
    LV_RETURN_IF_ERROR(
        ConvertToFloat(weight.dtype, static_cast<const uint8_t*>(weight.data) + o * from_row_bytes, row));
    if (dtype == DType::kI8) {
      scales.push_back(internal::QuantiseRow(row.data(), in, to + o * row_bytes));
      for (size_t i = 0; i < in; ++i) to[o * row_bytes + i] ^= internal::kInt8Offset;
    } else if (dtype == DType::kF32) {
      std::memcpy(to + o * row_bytes, row.data(), row_bytes);
    } else {
      RoundToBf16(row.data(), in, reinterpret_cast<uint16_t*>(to + o * row_bytes));
    }
  }
  return Status::Ok();
}

void Linear::Data::Int8(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride,
                        ThreadPool* pool) const {
  std::vector<uint8_t> narrow(rows * in);
  std::vector<float> row_scales(rows);
  for (size_t r = 0; r < rows; ++r) {
    row_scales[r] = internal::QuantiseRow(x + r * x_stride, in, narrow.data() + r * in);
  }
  Split(rows, pool, [&](size_t first, size_t last) {
    const size_t count = last - first;
    std::vector<int32_t> sums(rows * count);
    const auto* w = reinterpret_cast<const int8_t*>(weights) + first * in;
    GemmInt8NT(rows, count, in, narrow.data(), in, internal::kInt8Offset, w, in, sums.data(), count);
    for (size_t r = 0; r < rows; ++r) {
      internal::ScaleSums(sums.data() + r * count, row_scales[r], scales.data() + first,
                          bias.empty() ? nullptr : bias.data() + first, count, y + r * y_stride + first);
    }
  });
}

void Linear::Data::Few(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride,
                       ThreadPool* pool) const {
  internal::MatVecParams params;
  params.dtype = dtype;
  params.weights = weights;
  params.row_bytes = row_bytes;
  params.in = in;
  params.bias = bias.empty() ? nullptr : bias.data();
  params.x = x;
  params.x_stride = x_stride;
  params.y = y;
  params.y_stride = y_stride;
  params.rows = rows;
  std::vector<float> sums;
  if (internal::NeedsGroupSums(dtype)) {
    sums.resize(rows * (in / 32));
    internal::GroupSums(x, x_stride, rows, in, sums.data());
    params.sums = sums.data();
  }
  Split(rows, pool, [&](size_t first, size_t last) {
    internal::MatVecParams part = params;
    part.first = first;
    part.last = last;
    internal::MatVec(part);
  });
}

void Linear::Data::ManyF32(size_t first, size_t last, const float* x, size_t x_stride, size_t rows, float* y,
                           size_t y_stride) const {
  if (dtype == DType::kF32) {
    const auto* w = reinterpret_cast<const float*>(weights) + first * in;
    GemmNT(rows, last - first, in, x, x_stride, w, in, 0.0f, y + first, y_stride);
    AddBias(bias, first, last, rows, y, y_stride);
    return;
  }
  // A multiple of 48 columns suits every register tile that oneDNN uses.
  const size_t panel = std::max<size_t>(48, kPanelFloats / std::max<size_t>(in, 1) / 48 * 48);
  // Kept by its thread: fresh memory for each product would cost as much as the decoding.
  thread_local std::vector<float> decoded;
  if (decoded.size() < std::min(panel, last - first) * in) decoded.resize(std::min(panel, last - first) * in);
  for (size_t o = first; o < last; o += panel) {
    const size_t end = std::min(last, o + panel);
    internal::DecodeRows(dtype, weights, row_bytes, in, o, end, decoded.data());
    GemmNT(rows, end - o, in, x, x_stride, decoded.data(), in, 0.0f, y + o, y_stride);
  }
  AddBias(bias, first, last, rows, y, y_stride);
}

void Linear::Data::Many(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride,
                        ThreadPool* pool) const {
  if (dtype != DType::kBF16 || !HasBf16Gemm() || in == 0) {
    Split(rows, pool, [&](size_t first, size_t last) { ManyF32(first, last, x, x_stride, rows, y, y_stride); });
    return;
  }
  std::vector<uint16_t> narrow(rows * in);
  for (size_t r = 0; r < rows; ++r) RoundToBf16(x + r * x_stride, in, narrow.data() + r * in);
  ManyBf16(narrow.data(), in, rows, y, y_stride, pool);
}

void Linear::Data::ManyBf16(const uint16_t* x, size_t x_stride, size_t rows, float* y, size_t y_stride,
                            ThreadPool* pool) const {
  Split(rows, pool, [&](size_t first, size_t last) {
    const auto* w = reinterpret_cast<const uint16_t*>(weights) + first * in;
    if (GemmBf16NT(rows, last - first, in, x, x_stride, w, in, y + first, y_stride)) {
      AddBias(bias, first, last, rows, y, y_stride);
      return;
    }
    std::vector<float> wide(rows * in);
    for (size_t i = 0; i < rows * in; ++i) wide[i] = BF16ToFloat(x[i / in * x_stride + i % in]);
    ManyF32(first, last, wide.data(), in, rows, y, y_stride);
  });
}

Result<Linear> Linear::Make(const TensorView& weight, std::vector<float> bias, WeightStore store, bool copy) {
  if (weight.shape.size() != 2) return Damaged("a weight of shape " + weight.ShapeText() + " is not a matrix");
  if (!bias.empty() && bias.size() != weight.shape[0]) {
    return Damaged("a bias of " + std::to_string(bias.size()) + " numbers does not fit a weight of shape " +
                   weight.ShapeText());
  }
  auto data = std::make_shared<Data>();
  data->dtype = StoredType(weight.dtype, store);
  data->out = weight.shape[0];
  data->in = weight.shape[1];
  data->bias = std::move(bias);
  if (!IsFloatOrBlock(store == WeightStore::kI8 ? weight.dtype : data->dtype)) {
    return Unsupported("weights of type " + std::string(DTypeName(weight.dtype)) + " cannot be multiplied as stored");
  }
  (void)ActiveSimdLevel();  // before the first dispatch through Highway
  LV_RETURN_IF_ERROR(data->Keep(weight, store, copy));
  Linear linear;
  linear.in_ = data->in;
  linear.out_ = data->out;
  linear.data_ = std::move(data);
  return linear;
}

size_t Linear::bytes() const {
  return data_ == nullptr ? 0
                          : data_->row_bytes * data_->out + (data_->bias.size() + data_->scales.size()) * sizeof(float);
}

void Linear::Forward(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride, ThreadPool* pool) const {
  if (rows == 0 || out_ == 0) return;
  const Data& data = *data_;
  if (data.dtype == DType::kI8) {
    data.Int8(x, x_stride, rows, y, y_stride, pool);
  } else if (ActiveSimdLevel() == SimdLevel::kNone) {
    const float* bias = data.bias.empty() ? nullptr : data.bias.data();
    data.Split(rows, pool, [&](size_t first, size_t last) {
      reference::Linear(data.dtype, data.weights, data.row_bytes, in_, first, last, bias, x, x_stride, rows, y,
                        y_stride);
    });
  } else if (rows <= internal::kMatVecMaxRows) {
    data.Few(x, x_stride, rows, y, y_stride, pool);
  } else {
    data.Many(x, x_stride, rows, y, y_stride, pool);
  }
}

bool Linear::TakesBf16() const { return data_ != nullptr && data_->dtype == DType::kBF16 && in_ > 0 && HasBf16Gemm(); }

void Linear::ForwardBf16(const uint16_t* x, size_t x_stride, size_t rows, float* y, size_t y_stride,
                         ThreadPool* pool) const {
  if (rows == 0 || out_ == 0) return;
  data_->ManyBf16(x, x_stride, rows, y, y_stride, pool);
}

std::vector<float> Linear::bias() const { return data_ == nullptr ? std::vector<float>() : data_->bias; }

void Linear::CopyRow(size_t index, float* out) const {
  LV_CHECK_LT(index, out_);
  if (data_->dtype == DType::kI8) {
    const auto* row = reinterpret_cast<const int8_t*>(data_->weights) + index * in_;
    for (size_t i = 0; i < in_; ++i) out[i] = data_->scales[index] * static_cast<float>(row[i]);
    return;
  }
  LV_CHECK(ConvertToFloat(data_->dtype, data_->weights + index * data_->row_bytes, {out, in_}).ok());
}

}  // namespace longview

// simt.h on the device: one thread is one lane; the rest is PTX (ISA 8.x: ldmatrix, mma.m16n8k16, cp.async).
#ifndef LONGVIEW_CORE_BACKEND_CUDA_SIMT_DEVICE_CUH_
#define LONGVIEW_CORE_BACKEND_CUDA_SIMT_DEVICE_CUH_

#include <cstdint>

#include "core/backend/cuda/simt.h"

namespace longview::LV_SIMT {

// One thread block: where it stands in the grid, its shared memory, its barrier and its copies on the way.
struct Block {
  uint32_t x;
  uint32_t y;
  unsigned char* shared;

  __device__ Block(unsigned char* memory) : x(blockIdx.x), y(blockIdx.y), shared(memory) {}

  LV_DEVICE void Sync() { __syncthreads(); }
  // Starts a copy of 16 bytes to shared memory, of which `bytes` are read and the rest become zero.
  LV_DEVICE void CopyAsync(void* to, const void* from, uint32_t bytes) {
    const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
  }
  // Closes a group of copies. Every thread closes as many.
  LV_DEVICE void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  // Waits until at most `open` (0 or 1) of this thread's newest groups are still on their way.
  LV_DEVICE void WaitCopies(int open) {
    if (open == 0) {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    }
  }
};

template <int kWarps, class F>
LV_DEVICE void ForWarps(Block&, F f) {
  f(static_cast<int>(threadIdx.x / 32));
}

template <int kThreads, class F>
LV_DEVICE void ForThreads(Block&, F f) {
  f(static_cast<int>(threadIdx.x));
}

template <class F>
LV_DEVICE void ForLanes(F f) {
  f(static_cast<int>(threadIdx.x % 32));
}

LV_DEVICE float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
LV_DEVICE float Log2(float x) { return log2f(x); }
LV_DEVICE float Max(float a, float b) { return fmaxf(a, b); }
LV_DEVICE float SquareRoot(float x) { return sqrtf(x); }
LV_DEVICE float Erf(float x) { return erff(x); }

// Two floats as bf16, nearest even; `low` in the lower half.
LV_DEVICE uint32_t PackBF16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// One float as bf16, nearest even, and back.
LV_DEVICE uint16_t NarrowBF16(float x) { return static_cast<uint16_t>(PackBF16(x, 0.0f)); }
LV_DEVICE float WidenBF16(uint16_t x) { return __uint_as_float(static_cast<uint32_t>(x) << 16); }

LV_DEVICE uint32_t BitsOf(float x) { return __float_as_uint(x); }

// What other blocks wrote, read past the first-level cache.
LV_DEVICE float LoadPublished(const float* from) { return __ldcg(from); }
// Four of them; `from` on a multiple of 16 bytes.
LV_DEVICE F4 LoadPublished4(const float* from) {
  const float4 v = __ldcg(reinterpret_cast<const float4*>(from));
  return F4{{v.x, v.y, v.z, v.w}};
}

// Makes what this thread wrote visible to every block.
LV_DEVICE void Publish() { __threadfence(); }

// Adds one and returns what was there.
LV_DEVICE uint32_t Arrive(uint32_t* counter) { return atomicAdd(counter, 1u); }

// Four 8 x 8 matrices of bf16; the lanes 8i .. 8i + 7 hold the addresses of matrix i's rows. A lane gets of each matrix
// the pair at row lane / 4, columns 2 (lane % 4) and one on; with kTransposed of the matrix turned over.
template <bool kTransposed>
LV_DEVICE void LoadMatrices(const PerLane<const uint16_t*>& rows, PerLane<U4>& to) {
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(rows[0]));
  uint32_t* v = to[0].v;
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at)
                 : "memory");
  }
}

// c[16, 8] += a[16, 16] b[16, 8] in bf16 with fp32 sums; b is registers 2 * half and 2 * half + 1 of `b`.
LV_DEVICE void MultiplyAdd(const PerLane<U4>& a, const PerLane<U4>& b, int half, PerLane<F4>& c) {
  const uint32_t* x = a[0].v;
  const uint32_t* y = b[0].v + 2 * half;
  float* z = c[0].v;
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// The greatest, or the sum, over the four lanes that share lane / 4: a row of an accumulator.
LV_DEVICE void QuadMax(PerLane<float>& v) {
  v[0] = fmaxf(v[0], __shfl_xor_sync(0xffffffffu, v[0], 1));
  v[0] = fmaxf(v[0], __shfl_xor_sync(0xffffffffu, v[0], 2));
}
LV_DEVICE void QuadSum(PerLane<float>& v) {
  v[0] += __shfl_xor_sync(0xffffffffu, v[0], 1);
  v[0] += __shfl_xor_sync(0xffffffffu, v[0], 2);
}
// The sum over all lanes, in each.
LV_DEVICE void WarpSum(PerLane<float>& v) {
  LV_UNROLL
  for (int far = 16; far > 0; far /= 2) v[0] += __shfl_xor_sync(0xffffffffu, v[0], far);
}

// The greatest over all lanes, in each.
LV_DEVICE void WarpMax(PerLane<float>& v) {
  LV_UNROLL
  for (int far = 16; far > 0; far /= 2) v[0] = fmaxf(v[0], __shfl_xor_sync(0xffffffffu, v[0], far));
}

// Eight bf16 as four pairs; `from` on a multiple of 16 bytes.
LV_DEVICE U4 LoadPairs(const uint16_t* from) {
  const uint4 v = *reinterpret_cast<const uint4*>(from);
  return U4{{v.x, v.y, v.z, v.w}};
}

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_SIMT_DEVICE_CUH_

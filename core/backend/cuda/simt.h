// The few things that a GPU kernel's body needs of its machine, in two forms: as CUDA, for the device, and as plain
// C++, where the lanes of a warp and the warps of a block are loops. A body written against them is the same source in
// both, so that its index arithmetic is tested on machines without a GPU.
//
// A body is a row of phases. Within a phase the warps (ForWarps) or threads (ForThreads) of a block work side by side;
// between phases that share memory stands block.Sync(). What a lane keeps in registers is a PerLane, what a warp keeps
// from one phase to the next a PerWarp. The loops run one phase to its end before the next begins, so a Sync() that is
// missing shows on a device alone (compute-sanitizer, tools/gpu_check).
#ifndef LONGVIEW_CORE_BACKEND_CUDA_SIMT_H_
#define LONGVIEW_CORE_BACKEND_CUDA_SIMT_H_

#include <cstdint>

#ifdef __CUDACC__
#define LV_SIMT simt_device
#define LV_DEVICE __device__ __forceinline__
#define LV_HOST_DEVICE __host__ __device__ __forceinline__
#define LV_UNROLL _Pragma("unroll")
#else
#define LV_SIMT simt_emulated
#define LV_DEVICE inline
#define LV_HOST_DEVICE inline
#define LV_UNROLL
#endif

// The two forms never meet in one file, but they do in one program.
namespace longview::LV_SIMT {

// Four registers of a lane: a fragment of A or two of B (pairs of bf16), or of an accumulator.
struct U4 {
  uint32_t v[4];
};
struct F4 {
  float v[4];
};

#ifdef __CUDACC__
inline constexpr int kLanesHere = 1;  // a lane sees itself
#else
inline constexpr int kLanesHere = 32;
#endif

template <class T>
class PerLane {
 public:
  LV_DEVICE T& operator[](int lane) { return v_[lane % kLanesHere]; }
  LV_DEVICE const T& operator[](int lane) const { return v_[lane % kLanesHere]; }

 private:
  T v_[kLanesHere];
};

template <class T, int kWarps>
class PerWarp {
 public:
#ifdef __CUDACC__
  LV_DEVICE T& operator[](int) { return v_[0]; }

 private:
  T v_[1];
#else
  T& operator[](int warp) { return v_[warp]; }

 private:
  T v_[kWarps];
#endif
};

}  // namespace longview::LV_SIMT

#ifdef __CUDACC__
#include "core/backend/cuda/simt_device.cuh"
#else
#include "core/backend/cuda/simt_emulated.h"
#endif

#endif  // LONGVIEW_CORE_BACKEND_CUDA_SIMT_H_

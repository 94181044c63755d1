// simt.h in plain C++: the layouts of fragments are those of the PTX manual ("Matrix fragments for mma.m16n8k16",
// "ldmatrix"); copies arrive only when they are waited for, so that a wait which comes too late or a buffer which is
// filled too early gives wrong numbers here as well.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_SIMT_EMULATED_H_
#define LONGVIEW_CORE_BACKEND_CUDA_SIMT_EMULATED_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "core/backend/cuda/simt.h"
#include "core/tensor/dtype.h"

namespace longview::LV_SIMT {

// One thread block, see simt_device.cuh.
struct Block {
  uint32_t x = 0;
  uint32_t y = 0;
  unsigned char* shared = nullptr;

  void Sync() {}
  void CopyAsync(void* to, const void* from, uint32_t bytes) { open_.push_back({to, from, bytes}); }
  // The copies of all threads are one group: a block closes it once, from outside ForThreads.
  void CommitCopies() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  void WaitCopies(int open) {
    while (groups_.size() > static_cast<size_t>(open)) {
      for (const Copy& copy : groups_.front()) {
        std::memset(copy.to, 0, 16);
        std::memcpy(copy.to, copy.from, copy.bytes);
      }
      groups_.pop_front();
    }
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    uint32_t bytes;
  };
  std::vector<Copy> open_;
  std::deque<std::vector<Copy>> groups_;
};

template <int kWarps, class F>
void ForWarps(Block&, F f) {
  for (int warp = 0; warp < kWarps; ++warp) f(warp);
}

template <int kThreads, class F>
void ForThreads(Block&, F f) {
  for (int thread = 0; thread < kThreads; ++thread) f(thread);
}

template <class F>
void ForLanes(F f) {
  for (int lane = 0; lane < 32; ++lane) f(lane);
}

inline float Exp2(float x) { return std::exp2(x); }
inline float Log2(float x) { return std::log2(x); }
inline float Max(float a, float b) { return std::max(a, b); }
inline float SquareRoot(float x) { return std::sqrt(x); }
inline float Erf(float x) { return std::erf(x); }

inline uint32_t PackBF16(float low, float high) {
  return FloatToBF16(low) | static_cast<uint32_t>(FloatToBF16(high)) << 16;
}

inline uint16_t NarrowBF16(float x) { return FloatToBF16(x); }
inline float WidenBF16(uint16_t x) { return BF16ToFloat(x); }

inline uint32_t BitsOf(float x) { return std::bit_cast<uint32_t>(x); }

inline float LoadPublished(const float* from) { return *from; }
inline F4 LoadPublished4(const float* from) { return F4{{from[0], from[1], from[2], from[3]}}; }
inline void Publish() {}
inline uint32_t Arrive(uint32_t* counter) { return (*counter)++; }

template <bool kTransposed>
void LoadMatrices(const PerLane<const uint16_t*>& rows, PerLane<U4>& to) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      const int major = lane / 4, minor = 2 * (lane % 4);
      uint32_t pair[2];
      for (int i = 0; i < 2; ++i) {
        const int row = kTransposed ? minor + i : major;
        const int column = kTransposed ? major : minor + i;
        pair[i] = rows[8 * matrix + row][column];
      }
      to[lane].v[matrix] = pair[0] | pair[1] << 16;
    }
  }
}

inline float HalfOf(uint32_t pair, int which) { return BF16ToFloat(static_cast<uint16_t>(pair >> (16 * which))); }

inline void MultiplyAdd(const PerLane<U4>& a, const PerLane<U4>& b, int half, PerLane<F4>& c) {
  float x[16][16], y[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, pair = 2 * (lane % 4);
    for (int r = 0; r < 4; ++r) {
      for (int i = 0; i < 2; ++i) x[group + 8 * (r % 2)][pair + 8 * (r / 2) + i] = HalfOf(a[lane].v[r], i);
    }
    for (int r = 0; r < 2; ++r) {
      for (int i = 0; i < 2; ++i) y[pair + 8 * r + i][group] = HalfOf(b[lane].v[2 * half + r], i);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      const int row = lane / 4 + 8 * (r / 2), column = 2 * (lane % 4) + r % 2;
      float sum = c[lane].v[r];
      for (int k = 0; k < 16; ++k) sum += x[row][k] * y[k][column];
      c[lane].v[r] = sum;
    }
  }
}

inline void QuadMax(PerLane<float>& v) {
  for (int lane = 0; lane < 32; lane += 4) {
    const float max = std::max({v[lane], v[lane + 1], v[lane + 2], v[lane + 3]});
    for (int i = 0; i < 4; ++i) v[lane + i] = max;
  }
}
inline void QuadSum(PerLane<float>& v) {
  for (int lane = 0; lane < 32; lane += 4) {
    const float sum = (v[lane] + v[lane + 1]) + (v[lane + 2] + v[lane + 3]);
    for (int i = 0; i < 4; ++i) v[lane + i] = sum;
  }
}
inline void WarpSum(PerLane<float>& v) {
  float sum = 0.0f;
  for (int lane = 0; lane < 32; ++lane) sum += v[lane];
  for (int lane = 0; lane < 32; ++lane) v[lane] = sum;
}

inline void WarpMax(PerLane<float>& v) {
  float max = v[0];
  for (int lane = 1; lane < 32; ++lane) max = std::max(max, v[lane]);
  for (int lane = 0; lane < 32; ++lane) v[lane] = max;
}

inline U4 LoadPairs(const uint16_t* from) {
  U4 pairs;
  std::memcpy(pairs.v, from, sizeof pairs.v);
  return pairs;
}

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_SIMT_EMULATED_H_

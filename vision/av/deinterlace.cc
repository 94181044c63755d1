// KeepField: see the header.
#include "vision/av/deinterlace.h"

#include <algorithm>

namespace longview::av {
namespace {

template <typename T>
void FillLine(const T* far_above, const T* above, const T* below, const T* far_below, T* out, int samples,
              int max_value) {
  for (int x = 0; x < samples; ++x) {
    const int sum = 9 * (above[x] + below[x]) - far_above[x] - far_below[x];
    out[x] = static_cast<T>(std::clamp((sum + 8) >> 4, 0, max_value));
  }
}

template <typename T>
void Fill(uint8_t* plane, ptrdiff_t stride, int samples, int rows, int max_value, bool top) {
  const int kept = top ? 0 : 1;
  const int last = rows - 1 - ((rows - 1 - kept) & 1);  // of the kept field
  const auto line = [&](int y) { return reinterpret_cast<T*>(plane + std::clamp(y, kept, last) * stride); };
  for (int y = 1 - kept; y < rows; y += 2) {
    T* out = reinterpret_cast<T*>(plane + y * stride);
    FillLine<T>(line(y - 3), line(y - 1), line(y + 1), line(y + 3), out, samples, max_value);
  }
}

}  // namespace

void KeepField(uint8_t* plane, ptrdiff_t stride, int samples, int rows, int sample_bytes, int max_value, bool top) {
  if (rows < 2) return;
  if (sample_bytes == 2) {
    Fill<uint16_t>(plane, stride, samples, rows, max_value, top);
  } else {
    Fill<uint8_t>(plane, stride, samples, rows, max_value, top);
  }
}

}  // namespace longview::av

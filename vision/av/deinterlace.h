// Keeps one field of an interlaced plane and fills the lines of the other from it. Pure.
//
// Spatial on purpose: a filter that looks at neighbouring frames gives another picture after a seek than by reading
// through, and the picture then has the time of its own first field.
#ifndef LONGVIEW_VISION_AV_DEINTERLACE_H_
#define LONGVIEW_VISION_AV_DEINTERLACE_H_

#include <cstddef>
#include <cstdint>

namespace longview::av {

// `rows` rows of `samples` samples of `sample_bytes` (1, or 2 little-endian) each, `stride` bytes apart. Lines of the
// kept field (even lines for the top one) stay; each other line becomes the 4-tap cubic mean (-1, 9, 9, -1) / 16 of the
// kept lines around it, at the edges the nearest. Values are clamped to [0, max_value]. Fewer than 2 rows: nothing
// happens.
void KeepField(uint8_t* plane, ptrdiff_t stride, int samples, int rows, int sample_bytes, int max_value, bool top);

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_DEINTERLACE_H_

// HDR to SDR: PQ and HLG signals in BT.2020 to 8-bit display values in BT.709. Pure.
#ifndef LONGVIEW_VISION_AV_TONE_MAP_H_
#define LONGVIEW_VISION_AV_TONE_MAP_H_

#include <cstddef>
#include <cstdint>

namespace longview::av {

enum class HdrTransfer {
  kPq,   // SMPTE ST 2084: absolute, up to 10,000 cd/m2
  kHlg,  // ARIB STD-B67, shown as on a 1,000 cd/m2 display (BT.2100 OOTF, gamma 1.2)
};

// `pixels` pixels of 16-bit full-range R'G'B' (BT.2020 primaries) to 8-bit R'G'B' (BT.709 primaries, sRGB curve).
//
// Light is scaled so that reference white (203 cd/m2, BT.2408) is 1, brought to BT.709, and pressed into 0..1 by a
// Mobius curve on the largest channel (straight up to 0.3, 1,000 cd/m2 becomes 1): hue and saturation stay, 203 cd/m2
// comes out near 215.
void ToneMapRow(const uint16_t* rgb16, uint8_t* rgb8, size_t pixels, HdrTransfer transfer);

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_TONE_MAP_H_

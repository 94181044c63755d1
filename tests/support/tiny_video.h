// The inputs of tests/cases/make_cases.sh, made once for a build folder, and readers of what their pictures say.
#ifndef LONGVIEW_TESTS_SUPPORT_TINY_VIDEO_H_
#define LONGVIEW_TESTS_SUPPORT_TINY_VIDEO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longview::test {

// The path of an input, e.g. Case("vfr_burst.mp4"). The first call on a machine makes all of them (a minute or two, a
// few MB, in the build folder; other processes wait for it); fails the calling test where that cannot be done.
std::string Case(std::string_view name);

// The number that a picture of these inputs shows in its upper half: `bits` blocks, the first is bit 0, white is 1.
int ReadBlocks(const uint8_t* rgb, int width, int height, int bits = 8);

// Which of red, green, blue, yellow, cyan, magenta, white, black a pixel is nearest to.
std::string ColourName(const uint8_t* pixel);

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_SUPPORT_TINY_VIDEO_H_

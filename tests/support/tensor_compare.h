// Compares tensors in three steps: where numbers are not finite, number by number (absolute or relative), and as
// directions.
#ifndef LONGVIEW_TESTS_SUPPORT_TENSOR_COMPARE_H_
#define LONGVIEW_TESTS_SUPPORT_TENSOR_COMPARE_H_

#include <gtest/gtest.h>

#include <span>

namespace longview {

// A number is near enough where it is within `absolute` or within `relative` times the expected one.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
  double min_cosine = -1.0;
};

// Success where `actual` has the length of `expected`, the same NaNs and infinities in the same places, every number
// near enough, and the cosine of the finite numbers is at least min_cosine. A failure names the worst index and both
// numbers.
testing::AssertionResult TensorsNear(std::span<const float> actual, std::span<const float> expected,
                                     const Tolerance& tolerance);

}  // namespace longview

#endif  // LONGVIEW_TESTS_SUPPORT_TENSOR_COMPARE_H_

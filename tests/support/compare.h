// Numbers against numbers: cosine and largest difference, with the place of the worst.
#ifndef LONGVIEW_TESTS_SUPPORT_COMPARE_H_
#define LONGVIEW_TESTS_SUPPORT_COMPARE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace longview {

struct Difference {
  double cosine = 1.0;
  double max_error = 0.0;  // infinite where a number is not finite or the lengths differ
  size_t worst = 0;
};

inline Difference Compare(std::span<const float> actual, std::span<const float> expected) {
  Difference d;
  if (actual.size() != expected.size()) return {0.0, HUGE_VAL, std::min(actual.size(), expected.size())};
  double dot = 0.0, a = 0.0, b = 0.0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double x = actual[i], y = expected[i];
    if (!std::isfinite(x) || !std::isfinite(y)) return {0.0, HUGE_VAL, i};
    dot += x * y;
    a += x * x;
    b += y * y;
    if (std::abs(x - y) > d.max_error) d = {0.0, std::abs(x - y), i};
  }
  d.cosine = a > 0.0 && b > 0.0 ? dot / std::sqrt(a * b) : (a == b ? 1.0 : 0.0);
  return d;
}

}  // namespace longview

#endif  // LONGVIEW_TESTS_SUPPORT_COMPARE_H_

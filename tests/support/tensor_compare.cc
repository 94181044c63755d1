// TensorsNear, see the header.
#include "tests/support/tensor_compare.h"

#include <cmath>
#include <cstddef>

namespace longview {
namespace {

// True where both are finite, or both the same non-finite value.
bool SameKind(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

}  // namespace

testing::AssertionResult TensorsNear(std::span<const float> actual, std::span<const float> expected,
                                     const Tolerance& tolerance) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure() << actual.size() << " numbers instead of " << expected.size();
  }
  size_t worst = 0;
  size_t bad = 0;
  double worst_excess = 0.0;
  double dot = 0.0;
  double actual_square = 0.0;
  double expected_square = 0.0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!SameKind(actual[i], expected[i])) {
      return testing::AssertionFailure() << "at " << i << ": " << actual[i] << " instead of " << expected[i];
    }
    if (!std::isfinite(expected[i])) continue;
    const double a = actual[i];
    const double e = expected[i];
    dot += a * e;
    actual_square += a * a;
    expected_square += e * e;
    const double excess = std::abs(a - e) - std::max(tolerance.absolute, tolerance.relative * std::abs(e));
    if (excess <= 0.0) continue;
    ++bad;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (bad > 0) {
    return testing::AssertionFailure() << bad << " of " << actual.size() << " numbers differ, worst at " << worst
                                       << ": " << actual[worst] << " instead of " << expected[worst];
  }
  if (actual_square == 0.0 && expected_square == 0.0) return testing::AssertionSuccess();
  const double cosine = dot / std::sqrt(actual_square * expected_square);
  if (!(cosine >= tolerance.min_cosine)) return testing::AssertionFailure() << "cosine " << cosine;
  return testing::AssertionSuccess();
}

}  // namespace longview

// CHECK and DCHECK for broken invariants (never for bad input: that is a Status), and products and sums of sizes that
// notice an overflow.
#ifndef LONGVIEW_CORE_BASE_CHECK_H_
#define LONGVIEW_CORE_BASE_CHECK_H_

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

namespace longview {

// a * b * ..., or nothing where the product does not fit a size_t.
template <typename... Rest>
[[nodiscard]] constexpr std::optional<size_t> MulSize(size_t a, size_t b, Rest... rest) {
  size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  if constexpr (sizeof...(rest) > 0) {
    return MulSize(product, static_cast<size_t>(rest)...);
  } else {
    return product;
  }
}

// a + b + ..., or nothing where the sum does not fit a size_t.
template <typename... Rest>
[[nodiscard]] constexpr std::optional<size_t> AddSize(size_t a, size_t b, Rest... rest) {
  size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  if constexpr (sizeof...(rest) > 0) {
    return AddSize(sum, static_cast<size_t>(rest)...);
  } else {
    return sum;
  }
}

namespace internal {

// Writes the failed check to stderr and aborts.
[[noreturn]] inline void CheckFailed(const char* file, int line, const char* text, const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s\n", file, line, text, values.c_str());
  std::fflush(stderr);
  std::abort();
}

// " (a against b)" for the message of a failed comparison.
template <typename A, typename B>
std::string CheckValues(const A& a, const B& b) {
  std::ostringstream out;
  out << " (" << a << " against " << b << ")";
  return out.str();
}

}  // namespace internal
}  // namespace longview

// Aborts with the place and the text of the condition where it does not hold; in every build.
#define LV_CHECK(condition)                                                  \
  do {                                                                       \
    if (!(condition)) [[unlikely]] {                                         \
      ::longview::internal::CheckFailed(__FILE__, __LINE__, #condition, ""); \
    }                                                                        \
  } while (false)

// The same with both values in the message.
#define LV_CHECK_OP_(op, a, b)                                                            \
  do {                                                                                    \
    const auto& lv_a_ = (a);                                                              \
    const auto& lv_b_ = (b);                                                              \
    if (!(lv_a_ op lv_b_)) [[unlikely]] {                                                 \
      ::longview::internal::CheckFailed(__FILE__, __LINE__, #a " " #op " " #b,            \
                                        ::longview::internal::CheckValues(lv_a_, lv_b_)); \
    }                                                                                     \
  } while (false)
#define LV_CHECK_EQ(a, b) LV_CHECK_OP_(==, a, b)
#define LV_CHECK_NE(a, b) LV_CHECK_OP_(!=, a, b)
#define LV_CHECK_LT(a, b) LV_CHECK_OP_(<, a, b)
#define LV_CHECK_LE(a, b) LV_CHECK_OP_(<=, a, b)
#define LV_CHECK_GT(a, b) LV_CHECK_OP_(>, a, b)
#define LV_CHECK_GE(a, b) LV_CHECK_OP_(>=, a, b)

// Only in builds without NDEBUG; still compiled, so that it cannot rot.
#ifdef NDEBUG
#define LV_DCHECK(condition)        \
  do {                              \
    if (false) LV_CHECK(condition); \
  } while (false)
#else
#define LV_DCHECK(condition) LV_CHECK(condition)
#endif

#endif  // LONGVIEW_CORE_BASE_CHECK_H_

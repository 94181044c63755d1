// What the tests of the text decoder read into it, on the processor and on a device.
#ifndef LONGVIEW_TESTS_ATTENTION_DECODER_CALLS_H_
#define LONGVIEW_TESTS_ATTENTION_DECODER_CALLS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attention/decoder/text_decoder.h"

namespace longview {

// Of TinyDecoder's vocabulary.
inline std::vector<int32_t> SomeTokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>((i * i * 7 + 3 * i + 11) % 300);
  return tokens;
}

inline ForwardCall AllLogits(std::span<const int32_t> tokens) {
  return {.tokens = tokens, .logits = ForwardCall::Logits::kAll};
}

// Adds a constant before the layers that it acts at (none given: all), and notes the calls.
class AddingHook : public LayerHook {
 public:
  explicit AddingHook(float value, int fail_at = -1, std::vector<int> layers = {})
      : value_(value), fail_at_(fail_at), layers_(std::move(layers)) {}
  bool ActsBefore(int layer) const override {
    return layers_.empty() || std::count(layers_.begin(), layers_.end(), layer) != 0;
  }
  Status BeforeLayer(int layer, float* h, size_t rows, size_t width) override {
    if (!ActsBefore(layer)) return Status::Ok();
    calls.emplace_back(layer, rows);
    if (layer == fail_at_) return ResourceError("the hook gave up");
    for (size_t i = 0; i < rows * width; ++i) h[i] += value_;
    return Status::Ok();
  }
  std::vector<std::pair<int, size_t>> calls;

 private:
  float value_;
  int fail_at_;
  std::vector<int> layers_;
};

}  // namespace longview

#endif  // LONGVIEW_TESTS_ATTENTION_DECODER_CALLS_H_

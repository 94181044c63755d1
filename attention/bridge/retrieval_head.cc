// The two-layer heads that place frames and words in one space.
#include "attention/bridge/retrieval_head.h"

#include <algorithm>
#include <cmath>

#include "core/ops/elementwise.h"

namespace longview::internal {

std::vector<float> ApplyRetrievalHead(const RetrievalHeadWeights& head, const float* x) {
  std::vector<float> hidden(head.fc1.out()), out(head.fc2.out());
  head.fc1.Forward(x, head.fc1.in(), 1, hidden.data(), hidden.size(), nullptr);
  Gelu(hidden.data(), hidden.size(), hidden.data());
  head.fc2.Forward(hidden.data(), hidden.size(), 1, out.data(), out.size(), nullptr);
  // As torch.nn.functional.normalize.
  const float length = std::max(std::sqrt(Dot(out.data(), out.data(), out.size())), 1e-12f);
  for (float& v : out) v /= length;
  return out;
}

}  // namespace longview::internal

// Private to attention/bridge: a retrieval head's arithmetic, shared by frames and text.
#ifndef LONGVIEW_ATTENTION_BRIDGE_RETRIEVAL_HEAD_H_
#define LONGVIEW_ATTENTION_BRIDGE_RETRIEVAL_HEAD_H_

#include <vector>

#include "attention/bridge/bridge_weights.h"

namespace longview::internal {

// fc2(gelu(fc1(x))) divided by its length (a vector of zeros stays one). x has head.fc1.in() numbers.
std::vector<float> ApplyRetrievalHead(const RetrievalHeadWeights& head, const float* x);

}  // namespace longview::internal

#endif  // LONGVIEW_ATTENTION_BRIDGE_RETRIEVAL_HEAD_H_

// Retrieval: how well words fit a frame. Each word looks for the part of the picture that is most like it (late
// interaction: Khattab and Zaharia 2020, arXiv:2004.12832, for text; Yao et al. 2021, arXiv:2111.07783, for pictures).
#ifndef LONGVIEW_ATTENTION_BRIDGE_RETRIEVAL_H_
#define LONGVIEW_ATTENTION_BRIDGE_RETRIEVAL_H_

#include <cstddef>
#include <span>
#include <vector>

#include "attention/bridge/bridge_weights.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {

// The words of a question or a search, a vector for each of its tokens.
struct WordVectors {
  std::vector<float> vectors;  // [words, retrieval width], each L2-normalised
  std::vector<float> shares;   // [words], how much each counts; their sum is 1
};

// What the index keeps of a frame for searches: vit [1 + patch_grid^2, vit_width] as the ViT gives it -> [parts,
// retrieval width], each L2-normalised: the class token, pool^2 parts of the picture row by row, and the mean of all.
// Made from the ViT's tokens, not from the encoder's: what the encoder makes of them is for describing, and finds
// pictures less well. Empty where the bridge has no retrieval heads.
std::vector<float> FrameVectors(const BridgeWeights& weights, const float* vit, ThreadPool* pool);

// Divides each row of [count, width] by its length, as FrameVectors does last.
void NormaliseVectors(float* rows, size_t count, size_t width);

// embedded, hidden [rows, width]: the states that enter the decoder's layer 0 and layer config.retrieval->layer, of the
// question's own tokens. Each is divided by its root mean square. kUnsupported without heads; kInvalidArgument for no
// rows or another width.
Result<WordVectors> ReadWords(const BridgeWeights& weights, const float* embedded, const float* hidden, size_t rows,
                              size_t width);

// -1..1, higher is better: the mean over the words, as much as each counts, of the smooth maximum of its cosines with
// the frame's parts, (1 / s) log mean exp(s cosine). `frame` [parts, retrieval width] as FrameVectors made it.
double Fit(const RetrievalConfig& config, const WordVectors& words, std::span<const float> frame);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_RETRIEVAL_H_

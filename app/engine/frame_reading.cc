// Passes of the prompt's last token through the upper layers, a row for each frame.
#include "app/engine/frame_reading.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace longview {
namespace {

// Frames that go through the decoder side by side: as many rows as its products take without a row's result depending
// on the others (Linear::Forward).
constexpr size_t kTogether = 4;

// The rows of a call in equal parts, one for each hook.
class EachItsOwn : public LayerHook {
 public:
  explicit EachItsOwn(std::span<const std::unique_ptr<CrossBlocks>> hooks) : hooks_(hooks) {}

  bool ActsBefore(int layer) const override {
    return std::any_of(hooks_.begin(), hooks_.end(), [layer](const auto& hook) { return hook->ActsBefore(layer); });
  }
  Status BeforeLayer(int layer, float* h, size_t rows, size_t width) override {
    const size_t each = rows / hooks_.size();
    for (size_t i = 0; i < hooks_.size(); ++i) {
      LV_RETURN_IF_ERROR(hooks_[i]->BeforeLayer(layer, h + i * each * width, each, width));
    }
    return Status::Ok();
  }
  bool OnDevice() const override {
    return std::all_of(hooks_.begin(), hooks_.end(), [](const auto& hook) { return hook->OnDevice(); });
  }
  Status BeforeLayerOn(GpuNet* net, int layer, float* h, size_t rows, size_t width) override {
    const size_t each = rows / hooks_.size();
    for (size_t i = 0; i < hooks_.size(); ++i) {
      LV_RETURN_IF_ERROR(hooks_[i]->BeforeLayerOn(net, layer, h + i * each * width, each, width));
    }
    return Status::Ok();
  }

 private:
  std::span<const std::unique_ptr<CrossBlocks>> hooks_;
};

}  // namespace

double ShareNotDenied(const Tokenizer& tokenizer, std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double all = 0.0;
  for (const float x : logits) all += std::exp(x - top);
  double denied = 0.0;
  for (const char* word : {"No", "Not"}) {
    const std::vector<int32_t> ids = tokenizer.Encode(word);
    if (!ids.empty()) denied += std::exp(logits[static_cast<size_t>(ids.front())] - top);
  }
  return std::clamp(1.0 - denied / all, 0.0, 1.0);
}

Result<std::vector<float>> ReadWith(const Session& session, const ChatPrompt& prompt,
                                    std::span<const std::unique_ptr<CrossBlocks>> hooks, ForwardCall::Logits logits,
                                    PromptReading* reading, ThreadPool* pool, const std::stop_token& stop) {
  const TextDecoder& decoder = *session.text().decoder;
  const std::span<const int32_t> tokens(prompt.tokens), rest = tokens.subspan(prompt.cross_from);
  if (reading->kv.length() < prompt.cross_from) {
    ForwardCall before;
    before.tokens = tokens.first(prompt.cross_from).subspan(reading->kv.length());
    before.logits = ForwardCall::Logits::kNone;
    before.stop = stop;
    LV_RETURN_IF_ERROR(decoder.Forward(before, &reading->kv, pool).status());
  }
  if (reading->entering.empty()) {
    reading->from_layer = static_cast<size_t>(session.bridge().config.cross_layers.front());
    LV_ASSIGN_OR_RETURN(reading->entering, decoder.HiddenStates(rest, reading->from_layer, &reading->kv, pool));
  }
  EachItsOwn hook(hooks);
  std::vector<int32_t> branches;
  std::vector<float> entering;
  for (size_t i = 0; i < hooks.size(); ++i) {
    branches.insert(branches.end(), rest.begin(), rest.end());
    entering.insert(entering.end(), reading->entering.begin(), reading->entering.end());
  }
  ForwardCall call;
  call.tokens = branches;
  call.hook = &hook;
  call.hook_from = prompt.cross_from;
  call.logits = logits;
  call.entering = entering;
  call.from_layer = reading->from_layer;
  call.branches = hooks.size();
  call.stop = stop;
  LV_ASSIGN_OR_RETURN(ForwardResult result, decoder.Forward(call, &reading->kv, pool));
  reading->kv.Truncate(prompt.cross_from);
  return std::move(result.logits);
}

Result<std::vector<double>> ReadAlone(const Session& session, const ChatPrompt& prompt, std::span<const size_t> frames,
                                      double question_time_s, PromptReading* reading, ThreadPool* pool,
                                      const std::stop_token& stop) {
  const size_t vocabulary = session.text().decoder->config().vocabulary;
  std::vector<double> shown;
  for (size_t first = 0; first < frames.size(); first += kTogether) {
    std::vector<std::unique_ptr<CrossBlocks>> hooks;
    for (const size_t frame : frames.subspan(first, std::min(kTogether, frames.size() - first))) {
      LV_ASSIGN_OR_RETURN(auto cross, session.Attend(std::span(&frame, 1), question_time_s, pool));
      hooks.push_back(std::move(cross));
    }
    LV_ASSIGN_OR_RETURN(const std::vector<float> logits,
                        ReadWith(session, prompt, hooks, ForwardCall::Logits::kLast, reading, pool, stop));
    for (size_t i = 0; i < hooks.size(); ++i) {
      shown.push_back(ShareNotDenied(*session.text().tokenizer, std::span(logits).subspan(i * vocabulary, vocabulary)));
    }
  }
  return shown;
}

size_t ChooseFrame(std::span<const double> shown) {
  const auto surest = std::max_element(shown.begin(), shown.end());
  if (*surest >= kShown) return static_cast<size_t>(surest - shown.begin());
  const auto denies = std::find_if(shown.begin(), shown.end(), [](double s) { return s <= 0.5; });
  return static_cast<size_t>((denies != shown.end() ? denies : std::min_element(shown.begin(), shown.end())) -
                             shown.begin());
}

}  // namespace longview

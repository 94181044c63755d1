// One pass of the prompt's last token through the upper layers for each frame.
#include "app/engine/frame_reading.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace longview {

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

Result<std::vector<double>> ReadAlone(const Session& session, const ChatPrompt& prompt, std::span<const size_t> frames,
                                      double question_time_s, KvCache* kv, ThreadPool* pool,
                                      const std::stop_token& stop) {
  const TextDecoder& decoder = *session.text().decoder;
  const std::span<const int32_t> tokens(prompt.tokens);
  if (kv->length() < prompt.cross_from) {
    ForwardCall before;
    before.tokens = tokens.first(prompt.cross_from).subspan(kv->length());
    before.logits = ForwardCall::Logits::kNone;
    before.stop = stop;
    LV_RETURN_IF_ERROR(decoder.Forward(before, kv, pool).status());
  }
  ForwardCall call;
  call.tokens = tokens.subspan(prompt.cross_from);
  call.hook_from = prompt.cross_from;
  call.capture_layer = session.bridge().config.cross_layers.front();
  call.stop = stop;
  std::vector<float> entering;
  std::vector<double> shown;
  for (const size_t frame : frames) {
    LV_ASSIGN_OR_RETURN(const auto cross, session.Attend(std::span(&frame, 1), question_time_s, pool));
    call.hook = cross.get();
    LV_ASSIGN_OR_RETURN(ForwardResult result, decoder.Forward(call, kv, pool));
    kv->Truncate(prompt.cross_from);
    shown.push_back(ShareNotDenied(*session.text().tokenizer, result.logits));
    if (!call.entering.empty()) continue;
    entering = std::move(result.captured);
    call.entering = entering;
    call.from_layer = static_cast<size_t>(call.capture_layer);
    call.capture_layer = -1;
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

// ChatPrompt: a question as the token ids that SmolLM2-Instruct was trained on (ChatML), with and without a video.
#ifndef LONGVIEW_ATTENTION_DECODER_CHAT_PROMPT_H_
#define LONGVIEW_ATTENTION_DECODER_CHAT_PROMPT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/decoder/tokenizer.h"
#include "core/base/status.h"

namespace longview {

struct ChatTurn {
  enum class Role { kSystem, kUser, kAssistant };
  Role role = Role::kUser;
  std::string text;  // as typed; never read for control tokens
};

struct ChatPrompt {
  std::vector<int32_t> tokens;
  // Positions of the last user turn's own words: [text_begin, text_end); tokens[text_end] is its <|im_end|>.
  size_t text_begin = 0;
  size_t text_end = 0;
  // The prompt's last token, from which cross-attention acts (TextDecoder's `hook_from`): what stands before it is the
  // same for every video, so it is read once, and a question costs one row of attention over the cache before its
  // answer begins.
  size_t cross_from = 0;
};

// `turns` end with a user turn. Each becomes "<|im_start|>{role}\n{text}<|im_end|>\n"; then comes
// "<|im_start|>assistant\n". `default_system` puts the model's own system turn first where `turns` do not begin with
// one: how plain SmolLM2 is asked. With a video there is none. kInvalidArgument where the last turn is not the user's.
Result<ChatPrompt> MakeChatPrompt(const Tokenizer& tokenizer, std::span<const ChatTurn> turns, bool default_system);

// The prompt of one question, in the form that the bridge was trained on (`with_video`) or that of plain SmolLM2.
Result<ChatPrompt> MakeQuestionPrompt(const Tokenizer& tokenizer, std::string_view question, bool with_video);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_CHAT_PROMPT_H_

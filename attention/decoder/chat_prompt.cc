// ChatML with SmolLM2's vocabulary: control tokens by id, everything else through the tokenizer as plain text.
#include "attention/decoder/chat_prompt.h"

namespace longview {
namespace {

std::string_view RoleName(ChatTurn::Role role) {
  switch (role) {
    case ChatTurn::Role::kSystem:
      return "system";
    case ChatTurn::Role::kUser:
      return "user";
    case ChatTurn::Role::kAssistant:
      return "assistant";
  }
  return "user";
}

}  // namespace

Result<ChatPrompt> MakeChatPrompt(const Tokenizer& tokenizer, std::span<const ChatTurn> turns, bool default_system) {
  if (turns.empty() || turns.back().role != ChatTurn::Role::kUser) {
    return InvalidArgument("a conversation must end with the user's turn");
  }
  LV_ASSIGN_OR_RETURN(const int32_t start, tokenizer.ControlToken("<|im_start|>"));
  LV_ASSIGN_OR_RETURN(const int32_t end, tokenizer.ControlToken("<|im_end|>"));
  ChatPrompt prompt;
  const auto append = [&](std::string_view text) {
    const std::vector<int32_t> ids = tokenizer.Encode(text);
    prompt.tokens.insert(prompt.tokens.end(), ids.begin(), ids.end());
  };
  const auto append_turn = [&](ChatTurn::Role role, std::string_view text) {
    const std::string head = std::string(RoleName(role)) + "\n";
    prompt.tokens.push_back(start);
    // Encoded with its head, as the template's text is: a text that begins with spaces joins the newline. Where the
    // head's own tokens end is then known only where nothing joined; otherwise the joint token counts as text.
    const size_t head_at = prompt.tokens.size();
    append(head + std::string(text));
    const std::vector<int32_t> head_ids = tokenizer.Encode(head);
    size_t shared = 0;
    while (shared < head_ids.size() && head_at + shared < prompt.tokens.size() &&
           prompt.tokens[head_at + shared] == head_ids[shared]) {
      ++shared;
    }
    prompt.text_begin = head_at + shared;
    prompt.text_end = prompt.tokens.size();
    prompt.tokens.push_back(end);
    append("\n");
  };
  if (default_system && turns.front().role != ChatTurn::Role::kSystem && !tokenizer.default_system().empty()) {
    append_turn(ChatTurn::Role::kSystem, tokenizer.default_system());
  }
  for (const ChatTurn& turn : turns) append_turn(turn.role, turn.text);
  prompt.tokens.push_back(start);
  append("assistant\n");
  prompt.cross_from = prompt.tokens.size() - 1;
  return prompt;
}

Result<ChatPrompt> MakeQuestionPrompt(const Tokenizer& tokenizer, std::string_view question, bool with_video) {
  const ChatTurn turn{ChatTurn::Role::kUser, std::string(question)};
  return MakeChatPrompt(tokenizer, std::span(&turn, 1), /*default_system=*/!with_video);
}

}  // namespace longview

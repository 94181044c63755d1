// Tokenizer: byte-level byte-pair encoding as SmolLM2 uses it, with its vocabulary read from the decoder's own GGUF
// file.
#ifndef LONGVIEW_ATTENTION_DECODER_TOKENIZER_H_
#define LONGVIEW_ATTENTION_DECODER_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/status.h"

namespace longview {

// What a GGUF file says about its tokenizer (keys tokenizer.ggml.*).
struct TokenizerSpec {
  std::string model = {};                 // must be "gpt2": byte-level BPE
  std::string pre = {};                   // must be "smollm": digits one by one, then GPT-2's split
  std::vector<std::string> tokens = {};   // by id, in GPT-2's printable alphabet for bytes
  std::vector<int32_t> token_types = {};  // by id: 1 normal, 3 control, 4 user defined; empty: all normal
  std::vector<std::string> merges = {};   // "left right", best first
  std::string chat_template = {};         // Jinja; only its default system turn is read. May be empty
};

// Immutable; every method may be called from several threads at once.
class Tokenizer {
 public:
  // Reads the metadata of the GGUF file `path`. Failures name the file and the key.
  static Result<std::shared_ptr<const Tokenizer>> Load(const std::filesystem::path& path);
  // `source` is how messages name where `spec` came from.
  static Result<std::shared_ptr<const Tokenizer>> Make(const TokenizerSpec& spec, std::string_view source);

  // Ids of `text` (UTF-8; ill-formed parts are read as U+FFFD, see RepairUtf8). Text never becomes a control token:
  // "<|im_end|>" gives several ordinary ones. The same ids as Hugging Face tokenizers gives for text without control
  // strings; letters, numbers and spaces are ICU's, so a number newer than its Unicode version may split otherwise.
  // Time is O(n log n) in the text's length, whatever it holds.
  std::vector<int32_t> Encode(std::string_view text) const;

  // The id of a control token such as "<|im_end|>"; kNotFound where the vocabulary has none of that name.
  Result<int32_t> ControlToken(std::string_view name) const;
  bool IsControl(int32_t id) const;

  // The text of `ids`, control tokens and ids outside the vocabulary left out, ill-formed UTF-8 as U+FFFD.
  std::string Decode(std::span<const int32_t> ids) const;
  // The bytes that one token stands for: possibly part of a character. Empty for control tokens and foreign ids.
  std::string_view TokenBytes(int32_t id) const;

  size_t vocabulary_size() const { return bytes_.size(); }
  // The system turn with which the model's own chat template begins, or empty.
  const std::string& default_system() const { return default_system_; }

 private:
  struct Merge {
    uint32_t rank;
    int32_t id;
  };
  Tokenizer() = default;
  Status AddTokens(const TokenizerSpec& spec, std::string_view source);
  Status AddMerges(const TokenizerSpec& spec, std::string_view source);
  void EncodeWord(std::string_view word, std::vector<int32_t>* ids) const;

  std::vector<std::string> bytes_;                        // by id
  std::vector<uint8_t> control_;                          // by id
  std::unordered_map<std::string, int32_t> control_ids_;  // by name
  int32_t byte_ids_[256] = {};                            // -1: the vocabulary lacks this byte
  std::unordered_map<uint64_t, Merge> merges_;            // by (left id << 32 | right id)
  std::unordered_map<std::string, int32_t> whole_words_;  // ordinary tokens by bytes: most words need no merging
  std::string default_system_;
};

// Turns a stream of tokens into whole characters: what Push and Finish return, joined, is Decode of all the ids, and no
// character is ever cut.
class StreamDecoder {
 public:
  // `tokenizer` must outlive this.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  // The text that token `id` completes, possibly none.
  std::string Push(int32_t id);
  // What was held back, as U+FFFD. The decoder is then as new.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;  // the start of a well-formed character, at most 3 bytes
};

// `text` with every ill-formed part replaced by U+FFFD (one for each maximal subpart, Unicode 15 §3.9, as browsers do).
std::string RepairUtf8(std::string_view text);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_TOKENIZER_H_

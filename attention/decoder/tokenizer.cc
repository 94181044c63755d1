// Tokenizer: the split into words (GPT-2's pattern after single digits), byte-pair merging, and the way back to text.
#include "attention/decoder/tokenizer.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "core/io/gguf.h"

namespace longview {
namespace {

constexpr int32_t kNormal = 1;
constexpr int32_t kControl = 3;
constexpr int32_t kUserDefined = 4;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// What GPT-2's pattern tells apart.
enum class CharClass : uint8_t { kLetter, kNumber, kSpace, kOther };

// One character of a text: where it begins, and its class.
struct Char {
  size_t offset;
  UChar32 code;
  CharClass kind;
};

CharClass Classify(UChar32 c) {
  const uint32_t mask = U_GET_GC_MASK(c);
  if ((mask & U_GC_L_MASK) != 0) return CharClass::kLetter;
  if ((mask & U_GC_N_MASK) != 0) return CharClass::kNumber;
  return u_isUWhiteSpace(c) ? CharClass::kSpace : CharClass::kOther;
}

// `text` is well-formed.
std::vector<Char> ReadChars(std::string_view text) {
  std::vector<Char> chars;
  chars.reserve(text.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t i = 0; i < text.size();) {
    const size_t offset = i;
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(bytes, i, text.size(), c);
    chars.push_back({offset, c, Classify(c)});
  }
  return chars;
}

// Length in characters of 's 't 're 've 'm 'll 'd at `at`, or 0.
size_t ContractionLength(std::span<const Char> chars, size_t at) {
  if (chars[at].code != '\'') return 0;
  const UChar32 a = at + 1 < chars.size() ? chars[at + 1].code : 0;
  const UChar32 b = at + 2 < chars.size() ? chars[at + 2].code : 0;
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
  return 0;
}

// The end of the word that begins at `at`, in a piece without numbers:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t WordEnd(std::span<const Char> chars, size_t at) {
  if (const size_t length = ContractionLength(chars, at); length > 0) return at + length;
  size_t first = at;
  if (chars[first].code == ' ' && first + 1 < chars.size()) ++first;
  const CharClass kind = chars[first].kind;
  if (kind != CharClass::kSpace) {
    size_t end = first + 1;
    while (end < chars.size() && chars[end].kind == kind) ++end;
    return end;
  }
  size_t end = at + 1;
  while (end < chars.size() && chars[end].kind == CharClass::kSpace) ++end;
  // The last space before a word stays for the word, unless it is the only one (and then not ' ', or it had gone
  // above).
  return end == chars.size() || end == at + 1 ? end : end - 1;
}

// GPT-2's printable alphabet: which byte each code point below 512 stands for, or -1.
std::array<int16_t, 512> AlphabetToByte() {
  std::array<int16_t, 512> table;
  table.fill(-1);
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    table[static_cast<size_t>(printable ? byte : next++)] = static_cast<int16_t>(byte);
  }
  return table;
}

// The bytes that `token` stands for, or false where it holds a character outside the alphabet.
bool TokenToBytes(std::string_view token, const std::array<int16_t, 512>& alphabet, std::string* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(token.data());
  for (size_t i = 0; i < token.size();) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(bytes, i, token.size(), c);
    if (c >= 512 || alphabet[static_cast<size_t>(c)] < 0) return false;
    out->push_back(static_cast<char>(alphabet[static_cast<size_t>(c)]));
  }
  return true;
}

uint64_t PairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// The text of the default system turn in a ChatML template: what stands literally between its first
// "<|im_start|>system" and the next "<|im_end|>". Jinja sources write the newline as it is or as \n.
std::string DefaultSystem(std::string_view chat_template) {
  constexpr std::string_view kStart = "<|im_start|>system";
  const size_t start = chat_template.find(kStart);
  if (start == std::string_view::npos) return {};
  std::string_view rest = chat_template.substr(start + kStart.size());
  if (rest.starts_with("\n")) {
    rest.remove_prefix(1);
  } else if (rest.starts_with("\\n")) {
    rest.remove_prefix(2);
  } else {
    return {};
  }
  const size_t end = rest.find("<|im_end|>");
  return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
}

}  // namespace

std::string RepairUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t i = 0; i < text.size();) {
    const size_t offset = i;
    UChar32 c = 0;
    U8_NEXT(bytes, i, text.size(), c);
    out.append(c < 0 ? kReplacement : text.substr(offset, i - offset));
  }
  return out;
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::Load(const std::filesystem::path& path) {
  LV_ASSIGN_OR_RETURN(const std::shared_ptr<const GgufFile> file, GgufFile::Open(path));
  TokenizerSpec spec;
  LV_ASSIGN_OR_RETURN(spec.model, file->String("tokenizer.ggml.model"));
  LV_ASSIGN_OR_RETURN(spec.pre, file->String("tokenizer.ggml.pre"));
  LV_ASSIGN_OR_RETURN(const std::vector<std::string>* tokens, file->Strings("tokenizer.ggml.tokens"));
  LV_ASSIGN_OR_RETURN(const std::vector<std::string>* merges, file->Strings("tokenizer.ggml.merges"));
  spec.tokens = *tokens;
  spec.merges = *merges;
  if (file->Has("tokenizer.ggml.token_type")) {
    LV_ASSIGN_OR_RETURN(const std::vector<int64_t> types, file->Ints("tokenizer.ggml.token_type"));
    // A type outside int32_t is none that is known: it reads as an ordinary token.
    for (const int64_t type : types) spec.token_types.push_back(static_cast<int32_t>(type));
  }
  if (file->Has("tokenizer.chat_template")) {
    LV_ASSIGN_OR_RETURN(spec.chat_template, file->String("tokenizer.chat_template"));
  }
  return Make(spec, path.string());
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::Make(const TokenizerSpec& spec, std::string_view source) {
  const std::string where(source);
  if (spec.model != "gpt2" || spec.pre != "smollm") {
    return Unsupported(where + ": its tokenizer is of type '" + spec.model + "' with word split '" + spec.pre +
                       "'; only 'gpt2' with 'smollm' is understood");
  }
  auto tokenizer = std::shared_ptr<Tokenizer>(new Tokenizer());
  LV_RETURN_IF_ERROR(tokenizer->AddTokens(spec, source));
  LV_RETURN_IF_ERROR(tokenizer->AddMerges(spec, source));
  tokenizer->default_system_ = DefaultSystem(spec.chat_template);
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

Status Tokenizer::AddTokens(const TokenizerSpec& spec, std::string_view source) {
  const std::string where(source);
  if (spec.tokens.empty()) return Damaged(where + ": tokenizer.ggml.tokens is empty");
  if (!spec.token_types.empty() && spec.token_types.size() != spec.tokens.size()) {
    return Damaged(where + ": tokenizer.ggml.token_type has " + std::to_string(spec.token_types.size()) +
                   " entries for " + std::to_string(spec.tokens.size()) + " tokens");
  }
  const std::array<int16_t, 512> alphabet = AlphabetToByte();
  bytes_.resize(spec.tokens.size());
  control_.assign(spec.tokens.size(), 0);
  std::fill(std::begin(byte_ids_), std::end(byte_ids_), -1);
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const int32_t type = spec.token_types.empty() ? kNormal : spec.token_types[i];
    const int32_t id = static_cast<int32_t>(i);
    if (type == kControl) {
      control_[i] = 1;
      control_ids_.emplace(spec.tokens[i], id);
    } else if (type == kUserDefined) {
      bytes_[i] = spec.tokens[i];  // stands for itself, not in the alphabet
    } else {
      if (!TokenToBytes(spec.tokens[i], alphabet, &bytes_[i])) {
        return Damaged(where + ": token " + std::to_string(i) +
                       " of its tokenizer holds characters outside byte-level BPE");
      }
      if (bytes_[i].size() == 1) byte_ids_[static_cast<uint8_t>(bytes_[i][0])] = id;
    }
  }
  return Status::Ok();
}

Status Tokenizer::AddMerges(const TokenizerSpec& spec, std::string_view source) {
  const std::string where(source);
  std::unordered_map<std::string_view, int32_t> ids;
  ids.reserve(spec.tokens.size());
  for (size_t i = 0; i < spec.tokens.size(); ++i) ids.emplace(spec.tokens[i], static_cast<int32_t>(i));
  merges_.reserve(spec.merges.size());
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const std::string& merge = spec.merges[rank];
    const size_t space = merge.find(' ');
    const std::string label = where + ": merge " + std::to_string(rank) + " of its tokenizer ";
    if (space == std::string::npos || space == 0 || space + 1 == merge.size()) {
      return Damaged(label + "is not two tokens");
    }
    const auto left = ids.find(std::string_view(merge).substr(0, space));
    const auto right = ids.find(std::string_view(merge).substr(space + 1));
    const std::string joined = merge.substr(0, space) + merge.substr(space + 1);
    const auto both = ids.find(joined);
    if (left == ids.end() || right == ids.end() || both == ids.end()) {
      return Damaged(label + "names a token that the vocabulary lacks");
    }
    if (control_[static_cast<size_t>(both->second)] != 0) return Damaged(label + "makes a control token out of text");
    merges_.emplace(PairKey(left->second, right->second), Merge{static_cast<uint32_t>(rank), both->second});
  }
  return Status::Ok();
}

std::vector<int32_t> Tokenizer::Encode(std::string_view text) const {
  const std::string repaired = RepairUtf8(text);
  const std::vector<Char> chars = ReadChars(repaired);
  const auto offset_of = [&](size_t index) { return index < chars.size() ? chars[index].offset : repaired.size(); };
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 4);
  // Every number character is a piece of its own; what lies between two is split by itself, as if the text ended there.
  for (size_t first = 0; first < chars.size();) {
    size_t last = first;
    while (last < chars.size() && chars[last].kind != CharClass::kNumber) ++last;
    const std::span<const Char> piece(chars.data() + first, last - first);
    for (size_t at = 0; at < piece.size();) {
      const size_t end = WordEnd(piece, at);
      const size_t begin = offset_of(first + at);
      EncodeWord(std::string_view(repaired).substr(begin, offset_of(first + end) - begin), &ids);
      at = end;
    }
    if (last < chars.size()) {
      EncodeWord(std::string_view(repaired).substr(offset_of(last), offset_of(last + 1) - offset_of(last)), &ids);
      ++last;
    }
    first = last;
  }
  return ids;
}

void Tokenizer::EncodeWord(std::string_view word, std::vector<int32_t>* ids) const {
  // A linked list of symbols; the queue holds possible merges, the best rank first and of equals the leftmost. An entry
  // whose symbols have changed since is dropped when it comes up.
  constexpr size_t kNone = static_cast<size_t>(-1);
  struct Symbol {
    int32_t id;
    size_t previous, next;
  };
  struct Candidate {
    uint32_t rank;
    size_t at;
    int32_t left, right, merged;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (const char c : word) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    if (id < 0) continue;  // the reference drops bytes that the vocabulary lacks
    const size_t at = symbols.size();
    if (at > 0) symbols[at - 1].next = at;
    symbols.push_back({id, at > 0 ? at - 1 : kNone, kNone});
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](size_t at) {
    if (at == kNone || symbols[at].next == kNone) return;
    const int32_t left = symbols[at].id;
    const int32_t right = symbols[symbols[at].next].id;
    const auto merge = merges_.find(PairKey(left, right));
    if (merge != merges_.end()) queue.push({merge->second.rank, at, left, right, merge->second.id});
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    if (left.id != best.left || left.next == kNone || symbols[left.next].id != best.right) continue;
    Symbol& right = symbols[left.next];
    right.id = -1;  // gone: entries that begin there no longer match
    left.id = best.merged;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = best.at;
    offer(left.previous);
    offer(best.at);
  }
  for (size_t at = symbols.empty() ? kNone : 0; at != kNone; at = symbols[at].next) ids->push_back(symbols[at].id);
}

Result<int32_t> Tokenizer::ControlToken(std::string_view name) const {
  const auto found = control_ids_.find(std::string(name));
  if (found == control_ids_.end()) {
    return NotFound("the text decoder's vocabulary has no control token " + std::string(name));
  }
  return found->second;
}

bool Tokenizer::IsControl(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < control_.size() && control_[static_cast<size_t>(id)] != 0;
}

std::string_view Tokenizer::TokenBytes(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= bytes_.size()) return {};
  return bytes_[static_cast<size_t>(id)];
}

std::string Tokenizer::Decode(std::span<const int32_t> ids) const {
  std::string bytes;
  for (const int32_t id : ids) bytes.append(TokenBytes(id));
  return RepairUtf8(bytes);
}

std::string StreamDecoder::Push(int32_t id) {
  pending_.append(tokenizer_->TokenBytes(id));
  // Only the last three bytes can be an unfinished character.
  const size_t tail = pending_.size() - std::min<size_t>(pending_.size(), 3);
  const auto* bytes = reinterpret_cast<const uint8_t*>(pending_.data()) + tail;
  int32_t length = static_cast<int32_t>(pending_.size() - tail);
  U8_TRUNCATE_IF_INCOMPLETE(bytes, 0, length);
  const size_t whole = tail + static_cast<size_t>(length);
  std::string text = RepairUtf8(std::string_view(pending_).substr(0, whole));
  pending_.erase(0, whole);
  return text;
}

std::string StreamDecoder::Finish() {
  std::string text = RepairUtf8(pending_);
  pending_.clear();
  return text;
}

}  // namespace longview

// Merging equal neighbouring captions.
#include "app/engine/caption_merge.h"

#include <algorithm>
#include <utility>

namespace longview {
namespace {

// Captions less than this apart are neighbours; times come from frame spans and meet but for rounding.
constexpr double kNeighbourGap = 0.5;

bool IsPlain(unsigned char c) {
  return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The letters and digits of a text, ASCII lower-cased, words parted by one blank.
std::string Essence(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsPlain(byte)) {
      out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f) {
      if (!out.empty() && out.back() != ' ') out.push_back(' ');
    } else {
      out.push_back(c);
    }
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

bool SameCaption(std::string_view a, std::string_view b) { return Essence(a) == Essence(b); }

Status CaptionMerger::Add(CaptionEvent event) {
  event.text = OneLine(event.text);
  if (event.text.empty()) return Status::Ok();
  if (pending_ && event.start - pending_->end < kNeighbourGap && SameCaption(pending_->text, event.text)) {
    pending_->end = std::max(pending_->end, event.end);
    return Status::Ok();
  }
  LV_RETURN_IF_ERROR(Finish());
  pending_ = std::move(event);
  return Status::Ok();
}

Status CaptionMerger::Finish() {
  if (!pending_) return Status::Ok();
  const CaptionEvent event = *std::exchange(pending_, std::nullopt);
  ++events_;
  return sink_(event);
}

}  // namespace longview

// Reading indexes.
#include "app/engine/video_index.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/json.h"

namespace longview {
namespace {

constexpr char kFormat[] = "longview-index";

// nlohmann throws on text that is no UTF-8; ours is ASCII, and the handler is the second guard.
std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

CacheFileHeader MakeIndexHeader(const IndexKey& key, const std::string& sampling_text, const BridgeConfig& bridge,
                                size_t latent) {
  CacheFileHeader header;
  // nlohmann sorts the keys, so equal choices give equal bytes.
  header.key = Dump({{"format", kFormat},
                     {"video", key.fingerprint},
                     {"model", key.model},
                     {"settings", key.settings},
                     {"sampling", sampling_text}});
  header.d_c = static_cast<uint32_t>(latent == 0 ? bridge.d_c : latent);
  header.d_r = static_cast<uint32_t>(bridge.d_r);
  header.retrieval_width =
      bridge.retrieval ? static_cast<uint32_t>(bridge.retrieval->parts() * bridge.retrieval->width) : 0;
  return header;
}

Result<IndexKey> ParseIndexKey(const std::string& key_text, std::string* sampling_text) {
  LV_ASSIGN_OR_RETURN(const Json json, Json::Parse(key_text, "index key"));
  LV_ASSIGN_OR_RETURN(const std::string format, json.GetString("format"));
  if (format != kFormat) return Damaged("index key: format '" + format + "' is not " + kFormat);
  IndexKey key;
  LV_ASSIGN_OR_RETURN(key.fingerprint, json.GetString("video"));
  LV_ASSIGN_OR_RETURN(key.model, json.GetString("model"));
  LV_ASSIGN_OR_RETURN(key.settings, json.GetString("settings"));
  LV_ASSIGN_OR_RETURN(*sampling_text, json.GetString("sampling"));
  return key;
}

std::string IndexTotals::ToJson() const {
  nlohmann::ordered_json object = {{"duration_s", duration_s}, {"first_time_s", first_time_s}, {"still", still}};
  if (!damage.empty()) object["damage"] = damage;
  return Dump(object);
}

Result<IndexTotals> IndexTotals::FromJson(const std::string& text, const std::string& where) {
  LV_ASSIGN_OR_RETURN(const Json json, Json::Parse(text, where));
  IndexTotals totals;
  LV_ASSIGN_OR_RETURN(totals.duration_s, json.GetDouble("duration_s"));
  LV_ASSIGN_OR_RETURN(totals.first_time_s, json.GetDouble("first_time_s"));
  LV_ASSIGN_OR_RETURN(totals.still, json.GetBool("still"));
  if (json.Has("damage")) {
    LV_ASSIGN_OR_RETURN(totals.damage, json.GetString("damage"));
  }
  return totals;
}

Status MemoryFrames::Append(std::span<const CacheFileFrame> frames) {
  for (const CacheFileFrame& frame : frames) {
    if (frame.latents.size() != size_t{frame.tokens} * header_.d_c ||
        frame.keys.size() != size_t{frame.tokens} * header_.d_r || frame.retrieval.size() != header_.retrieval_width) {
      return InternalError("a frame's rows do not fit the index");
    }
    infos_.push_back({frame.time_s, frame.end_s, frame.flags, frame.tokens});
    rows_.push_back({{frame.latents.begin(), frame.latents.end()},
                     {frame.keys.begin(), frame.keys.end()},
                     {frame.retrieval.begin(), frame.retrieval.end()},
                     {frame.thumbnail.begin(), frame.thumbnail.end()}});
  }
  return Status::Ok();
}

CacheFileFrame MemoryFrames::Frame(size_t index) const {
  const CacheFileFrameInfo& info = infos_[index];
  const Rows& rows = rows_[index];
  CacheFileFrame frame;
  frame.time_s = info.time_s;
  frame.end_s = info.end_s;
  frame.flags = info.flags;
  frame.tokens = info.tokens;
  frame.latents = rows.latents;
  frame.keys = rows.keys;
  frame.retrieval = rows.retrieval;
  frame.thumbnail = rows.thumbnail;
  return frame;
}

size_t MemoryFrames::bytes() const {
  size_t bytes = 0;
  for (const Rows& rows : rows_) {
    bytes += (rows.latents.size() + rows.keys.size()) * 2 + rows.retrieval.size() * 4 + rows.thumbnail.size();
  }
  return bytes;
}

Result<std::shared_ptr<const VideoIndex>> VideoIndex::Open(const std::filesystem::path& path,
                                                           const CacheFileHeader& header) {
  LV_ASSIGN_OR_RETURN(CacheFileReader reader, CacheFileReader::Open(path, header));
  std::shared_ptr<VideoIndex> index(new VideoIndex());
  index->tokens_ = reader.tokens();
  index->complete_ = reader.complete();
  if (index->complete_) {
    LV_ASSIGN_OR_RETURN(index->totals_, IndexTotals::FromJson(reader.totals(), path.string()));
  }
  index->reader_ = std::make_shared<const CacheFileReader>(std::move(reader));
  return std::shared_ptr<const VideoIndex>(std::move(index));
}

std::shared_ptr<const VideoIndex> VideoIndex::FromMemory(std::shared_ptr<const MemoryFrames> frames,
                                                         const IndexTotals& totals) {
  std::shared_ptr<VideoIndex> index(new VideoIndex());
  for (size_t i = 0; i < frames->frames(); ++i) index->tokens_ += frames->info(i).tokens;
  index->memory_ = std::move(frames);
  index->totals_ = totals;
  index->complete_ = true;
  return index;
}

size_t VideoIndex::frames() const { return memory_ != nullptr ? memory_->frames() : reader_->frames(); }

size_t VideoIndex::latent() const { return memory_ != nullptr ? memory_->header().d_c : reader_->header().d_c; }

uint64_t VideoIndex::bytes() const { return memory_ != nullptr ? memory_->bytes() : reader_->bytes(); }

const CacheFileFrameInfo& VideoIndex::info(size_t index) const {
  return memory_ != nullptr ? memory_->info(index) : reader_->info(index);
}

Result<CacheFileFrame> VideoIndex::Frame(size_t index) const {
  return memory_ != nullptr ? Result<CacheFileFrame>(memory_->Frame(index)) : reader_->Frame(index);
}

Status VideoIndex::Verify() const { return memory_ != nullptr ? Status::Ok() : reader_->VerifyAll(); }

void VideoIndex::Release(size_t index) const {
  if (reader_ != nullptr) reader_->Release(index);
}

std::vector<uint32_t> VideoIndex::ShotNumbers() const {
  std::vector<uint32_t> shots(frames());
  uint32_t shot = 0;
  for (size_t i = 0; i < shots.size(); ++i) {
    if (i > 0 && (info(i).flags & kFrameShotStart) != 0) ++shot;
    shots[i] = shot;
  }
  return shots;
}

}  // namespace longview

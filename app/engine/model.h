// Model: the parts of longview-s, found by their config, checked once, and loaded when first needed.
#ifndef LONGVIEW_APP_ENGINE_MODEL_H_
#define LONGVIEW_APP_ENGINE_MODEL_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/events.h"
#include "app/engine/library.h"
#include "attention/bridge/bridge_config.h"
#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/frame_encoder.h"
#include "attention/bridge/gpu_cross_blocks.h"
#include "attention/decoder/text_decoder.h"
#include "attention/decoder/tokenizer.h"
#include "core/backend/device.h"
#include "core/backend/gpu_net.h"
#include "core/base/progress.h"
#include "core/base/status.h"
#include "core/ops/linear.h"
#include "vision/av/video_reader.h"
#include "vision/preprocess.h"
#include "vision/vit/vit_encoder.h"

namespace longview {

// A file that config.json names.
struct PartConfig {
  std::string file;    // a plain name, never a path
  std::string sha256;  // 64 hex digits, lower case
};

// config.json of a model folder, format "longview-model" version 1.
struct ModelConfig {
  std::string name;
  PartConfig vit, text, bridge;
  VitConfig vit_shape;
  PreprocessSpec preprocess;
  BridgeConfig bridge_shape;
  std::string caption_prompt;
};

// kDamaged names the key that is missing or wrong; `where` opens every message.
Result<ModelConfig> ParseModelConfig(std::string_view json_text, std::string_view where);

// 12 hex digits: what an index depends on, the ViT, the bridge and the pictures' preprocessing.
std::string IndexModelHash(const ModelConfig& config);
// 12 hex digits over every part.
std::string WholeModelHash(const ModelConfig& config);

struct ModelFolders {
  std::filesystem::path assets;  // config.json and the bridge
  std::filesystem::path parts;   // the ViT and the text decoder
};

// The decoder and its own tokenizer.
struct TextPart {
  std::shared_ptr<const TextDecoder> decoder;
  std::shared_ptr<const Tokenizer> tokenizer;
};

// Thread-safe. A part that fails to load is tried again by the next call: the user may have put it in place meanwhile.
class Model {
 public:
  // `library` remembers hashes; it is asked for when one is needed, and may give null: then nothing is remembered.
  // Parts that can compute on `device` are loaded for it.
  Model(ModelFolders folders, WeightStore store, std::function<Library*()> library, ComputeDevice device);

  Result<std::shared_ptr<const ModelConfig>> Config();
  // Every part's file with its state; reads files only where their stamp is new.
  std::vector<PartStatus> Check(const JobContext& job);

  // Each is loaded at most once, after its SHA-256 was found right. kNotFound, kDamaged: the file and what to do.
  Result<std::shared_ptr<const VitEncoder>> Vit(const JobContext& job);
  // A decoder of videos on the device whose pictures `vit` reads there, for one reading; null where the processor
  // decodes, and the log says why.
  std::shared_ptr<av::HardwareDecoding> Decoding(const VitEncoder& vit) const;
  // The ViT with its weights in `store` on the processor, loaded anew: for measurements.
  Result<std::shared_ptr<const VitEncoder>> LoadVit(WeightStore store, const JobContext& job);
  Result<TextPart> Text(const JobContext& job);
  Result<std::shared_ptr<const BridgeWeights>> Bridge(const JobContext& job);
  // The bridge's cross blocks on the device that the text decoder runs on; null where that is the processor, or where
  // the device cannot take them, which the log says.
  Result<std::shared_ptr<const GpuCrossBlocks>> CrossOnDevice(const JobContext& job);
  // The bridge's frame encoder, where the device allows on it.
  Result<std::shared_ptr<const FrameEncoder>> Frames(const JobContext& job);

 private:
  std::filesystem::path PathOf(const ModelConfig& config, const PartConfig& part) const;
  PartStatus CheckPart(std::string name, const std::filesystem::path& path, const PartConfig& part,
                       const JobContext& job);
  Result<std::shared_ptr<const VitEncoder>> LoadVitFor(std::shared_ptr<GpuNet> device, WeightStore store,
                                                       const JobContext& job);
  // For one part; null, and said in the log, where the device cannot be used.
  std::shared_ptr<GpuNet> OpenDevice() const;
  Status RequirePart(const std::string& name, const ModelConfig& config, const PartConfig& part, const JobContext& job);

  const ModelFolders folders_;
  const WeightStore store_;
  const std::function<Library*()> library_;
  const ComputeDevice device_;
  std::mutex config_mutex_, vit_mutex_, text_mutex_, bridge_mutex_, frames_mutex_, cross_mutex_;
  std::shared_ptr<const ModelConfig> config_;
  std::shared_ptr<const VitEncoder> vit_;
  TextPart text_;
  std::shared_ptr<const BridgeWeights> bridge_;
  std::shared_ptr<const FrameEncoder> frames_;
  std::optional<std::shared_ptr<const GpuCrossBlocks>> cross_;  // once it was tried
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_MODEL_H_

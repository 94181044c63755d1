// Reading the model's config, checking its parts, and loading them.
#include "app/engine/model.h"

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "app/engine/fingerprint.h"
#include "app/engine/paths.h"
#include "attention/bridge/cross_device.h"
#include "core/base/log.h"
#include "core/io/json.h"
#include "core/io/weights.h"
#include "core/ops/gemm.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPromptBytes = 4096;

Result<PartConfig> ParsePart(const Json& json) {
  PartConfig part;
  LV_ASSIGN_OR_RETURN(part.file, json.GetString("file"));
  LV_ASSIGN_OR_RETURN(part.sha256, json.GetString("sha256"));
  if (part.file.empty() || part.file == "." || part.file == ".." || part.file.find('/') != std::string::npos ||
      part.file.find('\0') != std::string::npos) {
    return Damaged(json.place() + ".file: '" + part.file + "' is not a plain file name");
  }
  if (part.sha256.size() != 64 || part.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return Damaged(json.place() + ".sha256: is not 64 hexadecimal digits in lower case");
  }
  return part;
}

// A size in 1..limit.
Result<size_t> GetSize(const Json& json, std::string_view key, uint64_t limit) {
  LV_ASSIGN_OR_RETURN(const uint64_t value, json.GetUint(key));
  if (value < 1 || value > limit) {
    return Damaged(json.place() + "." + std::string(key) + ": " + std::to_string(value) + " is not in 1.." +
                   std::to_string(limit));
  }
  return static_cast<size_t>(value);
}

Result<std::array<float, 3>> GetChannels(const Json& json, std::string_view key, float smallest) {
  LV_ASSIGN_OR_RETURN(const std::vector<double> values, json.GetDoubles(key));
  const std::string place = json.place() + "." + std::string(key);
  if (values.size() != 3) return Damaged(place + ": has " + std::to_string(values.size()) + " numbers, not 3");
  std::array<float, 3> channels{};
  for (size_t i = 0; i < 3; ++i) {
    channels[i] = static_cast<float>(values[i]);
    if (!(channels[i] >= smallest && channels[i] <= 10.0f)) return Damaged(place + ": a number is out of range");
  }
  return channels;
}

Status ParseVit(const Json& json, ModelConfig* config) {
  LV_ASSIGN_OR_RETURN(config->vit, ParsePart(json));
  VitConfig& shape = config->vit_shape;
  LV_ASSIGN_OR_RETURN(shape.layers, GetSize(json, "layers", 256));
  LV_ASSIGN_OR_RETURN(shape.width, GetSize(json, "width", 8192));
  LV_ASSIGN_OR_RETURN(shape.heads, GetSize(json, "heads", 256));
  LV_ASSIGN_OR_RETURN(shape.patch, GetSize(json, "patch", 256));
  LV_ASSIGN_OR_RETURN(shape.image, GetSize(json, "image", 4096));
  LV_ASSIGN_OR_RETURN(shape.mlp, GetSize(json, "mlp", 65536));
  if (shape.width % shape.heads != 0) return Damaged(json.place() + ": heads do not divide width");
  if (shape.image % shape.patch != 0) return Damaged(json.place() + ": patch does not divide image");
  if (json.Has("taps")) {
    LV_ASSIGN_OR_RETURN(const std::vector<uint64_t> taps, json.GetUints("taps"));
    shape.taps.assign(taps.begin(), taps.end());
  }
  config->preprocess.size = static_cast<int>(shape.image);
  LV_ASSIGN_OR_RETURN(config->preprocess.mean, GetChannels(json, "mean", 0.0f));
  LV_ASSIGN_OR_RETURN(config->preprocess.std, GetChannels(json, "std", 1e-3f));
  return Status::Ok();
}

std::string ShortHash(const std::string& text) { return Sha256OfText(text).substr(0, 12); }

}  // namespace

Result<ModelConfig> ParseModelConfig(std::string_view json_text, std::string_view where) {
  LV_ASSIGN_OR_RETURN(const Json json, Json::Parse(json_text, where));
  LV_ASSIGN_OR_RETURN(const std::string format, json.GetString("format"));
  if (format != "longview-model") return Damaged(json.place() + ": format '" + format + "' is not longview-model");
  LV_ASSIGN_OR_RETURN(const uint64_t version, json.GetUint("version"));
  if (version != 1) {
    return Unsupported(json.place() + ": version " + std::to_string(version) +
                       " is not one that this Longview reads (1)");
  }
  ModelConfig config;
  LV_ASSIGN_OR_RETURN(config.name, json.GetString("name"));
  LV_ASSIGN_OR_RETURN(const Json vit, json.Get("vit"));
  LV_RETURN_IF_ERROR(ParseVit(vit, &config));
  LV_ASSIGN_OR_RETURN(const Json text, json.Get("text"));
  LV_ASSIGN_OR_RETURN(config.text, ParsePart(text));
  LV_ASSIGN_OR_RETURN(const Json bridge, json.Get("bridge"));
  LV_ASSIGN_OR_RETURN(config.bridge, ParsePart(bridge));
  LV_ASSIGN_OR_RETURN(config.bridge_shape, ParseBridgeConfig(json_text, where));
  LV_ASSIGN_OR_RETURN(const Json prompts, json.Get("prompts"));
  LV_ASSIGN_OR_RETURN(config.caption_prompt, prompts.GetString("caption"));
  if (config.caption_prompt.empty() || config.caption_prompt.size() > kMaxPromptBytes) {
    return Damaged(prompts.place() + ".caption: is empty or longer than 4096 bytes");
  }
  return config;
}

std::string IndexModelHash(const ModelConfig& config) {
  std::string text = "vit " + config.vit.sha256 + " bridge " + config.bridge.sha256 + " pool " +
                     std::to_string(config.bridge_shape.pool) + " size " + std::to_string(config.preprocess.size);
  for (const size_t tap : config.vit_shape.taps) text += " tap " + std::to_string(tap);
  for (size_t i = 0; i < 3; ++i) {
    text += " " + std::to_string(config.preprocess.mean[i]) + " " + std::to_string(config.preprocess.std[i]);
  }
  return ShortHash(text);
}

std::string WholeModelHash(const ModelConfig& config) {
  return ShortHash(IndexModelHash(config) + " text " + config.text.sha256);
}

Model::Model(ModelFolders folders, WeightStore store, std::function<Library*()> library, ComputeDevice device)
    : folders_(std::move(folders)), store_(store), library_(std::move(library)), device_(std::move(device)) {}

Result<std::shared_ptr<const ModelConfig>> Model::Config() {
  const std::scoped_lock lock(config_mutex_);
  if (config_ != nullptr) return config_;
  const fs::path path = folders_.assets / "config.json";
  const auto stamp = StampFile(path);
  if (!stamp.ok()) {
    return Status(stamp.status().code(), "the model's config: " + stamp.status().message() +
                                             "; LONGVIEW_ASSETS may name the folder that has it");
  }
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return IoError(path.string() + ": cannot be read");
  LV_ASSIGN_OR_RETURN(ModelConfig config, ParseModelConfig(text, path.string()));
  config_ = std::make_shared<const ModelConfig>(std::move(config));
  return config_;
}

fs::path Model::PathOf(const ModelConfig& config, const PartConfig& part) const {
  return (&part == &config.bridge ? folders_.assets : folders_.parts) / part.file;
}

PartStatus Model::CheckPart(std::string name, const fs::path& path, const PartConfig& part, const JobContext& job) {
  PartStatus status;
  status.name = std::move(name);
  status.path = path;
  status.expected = part.sha256;
  const auto stamp = StampFile(path);
  if (!stamp.ok()) {
    status.state = stamp.status().code() == StatusCode::kDamaged ? PartState::kDamaged : PartState::kMissing;
    status.detail = stamp.status().message() + "; " + std::string(kHowToGetParts);
    return status;
  }
  status.bytes = stamp->bytes;
  Library* library = library_();
  if (library != nullptr) {
    const auto known = library->KnownSha256(path, *stamp);
    if (known.ok()) status.sha256 = known->value_or("");
  }
  if (status.sha256.empty()) {
    auto hash = Sha256OfFile(path, job);
    if (!hash.ok()) {
      status.state = PartState::kDamaged;
      status.detail = hash.status().message();
      return status;
    }
    status.sha256 = std::move(hash).value();
    // A hash that cannot be kept costs time only.
    if (library != nullptr) (void)library->PutSha256(path, *stamp, status.sha256).ok();
  }
  if (status.sha256 == part.sha256) {
    status.state = PartState::kOk;
  } else {
    status.state = PartState::kDamaged;
    status.detail = path.string() + ": is damaged or another version (SHA-256 " + status.sha256.substr(0, 12) +
                    "…, expected " + part.sha256.substr(0, 12) + "…); " + std::string(kHowToGetParts);
  }
  return status;
}

std::vector<PartStatus> Model::Check(const JobContext& job) {
  PartStatus config_status;
  config_status.name = "config";
  config_status.path = folders_.assets / "config.json";
  const auto config = Config();
  if (!config.ok()) {
    config_status.state = config.status().code() == StatusCode::kNotFound ? PartState::kMissing : PartState::kDamaged;
    config_status.detail = config.status().message();
    return {config_status};
  }
  config_status.state = PartState::kOk;
  if (const auto stamp = StampFile(config_status.path); stamp.ok()) config_status.bytes = stamp->bytes;
  if (const auto hash = Sha256OfFile(config_status.path); hash.ok()) config_status.sha256 = *hash;
  const ModelConfig& c = **config;
  return {config_status, CheckPart("vit", PathOf(c, c.vit), c.vit, job),
          CheckPart("text", PathOf(c, c.text), c.text, job), CheckPart("bridge", PathOf(c, c.bridge), c.bridge, job)};
}

Status Model::RequirePart(const std::string& name, const ModelConfig& config, const PartConfig& part,
                          const JobContext& job) {
  const PartStatus status = CheckPart(name, PathOf(config, part), part, job);
  if (job.stop.stop_requested()) return Cancelled();
  if (status.state == PartState::kOk) return Status::Ok();
  const std::string message = "the model part '" + name + "': " + status.detail;
  return (status.state == PartState::kMissing ? NotFound(message) : Damaged(message))
      .About(status.path.string(), StatusReason::kModelPart);
}

Result<std::shared_ptr<const VitEncoder>> Model::Vit(const JobContext& job) {
  const std::scoped_lock lock(vit_mutex_);
  if (vit_ == nullptr) {
    // Where the processor multiplies bf16 as such, it reads pictures twice as fast in it; elsewhere nothing is gained.
    const bool narrow = store_ == WeightStore::kAsStored && HasBf16Gemm();
    LV_ASSIGN_OR_RETURN(vit_, LoadVitFor(OpenDevice(), narrow ? WeightStore::kBF16 : store_, job));
  }
  return vit_;
}

Result<std::shared_ptr<const VitEncoder>> Model::LoadVit(WeightStore store, const JobContext& job) {
  return LoadVitFor(nullptr, store, job);
}

Result<std::shared_ptr<const VitEncoder>> Model::LoadVitFor(std::shared_ptr<GpuNet> device, WeightStore store,
                                                            const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const auto config, Config());
  LV_RETURN_IF_ERROR(RequirePart("vit", *config, config->vit, job));
  return VitEncoder::Load(PathOf(*config, config->vit), config->vit_shape, store, std::move(device));
}

std::shared_ptr<GpuNet> Model::OpenDevice() const {
  auto net = OpenGpuNet(device_);
  if (net.ok()) return std::move(net).value();
  LogWarning("the model's networks stay with the processor: " + net.status().message());
  return nullptr;
}

std::shared_ptr<av::HardwareDecoding> Model::Decoding(const VitEncoder& vit) const {
  if (!vit.on_device()) return nullptr;
  const auto open = [&]() -> Result<std::shared_ptr<av::HardwareDecoding>> {
    LV_ASSIGN_OR_RETURN(auto net, OpenGpuNet(device_));
    return OpenHardwareDecoding(std::move(net));
  };
  auto decoding = open();
  if (decoding.ok()) return std::move(decoding).value();
  LogInfo("videos are decoded by the processor: " + decoding.status().message());
  return nullptr;
}

Result<TextPart> Model::Text(const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const auto config, Config());
  const std::scoped_lock lock(text_mutex_);
  if (text_.decoder == nullptr) {
    LV_RETURN_IF_ERROR(RequirePart("text", *config, config->text, job));
    const fs::path path = PathOf(*config, config->text);
    TextPart text;
    LV_ASSIGN_OR_RETURN(text.tokenizer, Tokenizer::Load(path));
    LV_ASSIGN_OR_RETURN(text.decoder, TextDecoder::Load(path, store_, OpenDevice()));
    text_ = std::move(text);
  }
  return text_;
}

Result<std::shared_ptr<const BridgeWeights>> Model::Bridge(const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const auto config, Config());
  const std::scoped_lock lock(bridge_mutex_);
  if (bridge_ == nullptr) {
    LV_RETURN_IF_ERROR(RequirePart("bridge", *config, config->bridge, job));
    LV_ASSIGN_OR_RETURN(const auto file, WeightFile::Open(PathOf(*config, config->bridge)));
    LV_ASSIGN_OR_RETURN(bridge_, LoadBridge(config->bridge_shape, *file, store_));
  }
  return bridge_;
}

Result<std::shared_ptr<const GpuCrossBlocks>> Model::CrossOnDevice(const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const TextPart text, Text(job));
  LV_ASSIGN_OR_RETURN(const auto bridge, Bridge(job));
  if (!text.decoder->on_device()) return std::shared_ptr<const GpuCrossBlocks>();
  const std::scoped_lock lock(cross_mutex_);
  if (!cross_) {
    cross_.emplace();
    if (auto net = OpenDevice()) {
      auto made = MakeGpuCrossBlocks(*bridge, std::move(net));
      if (made.ok()) {
        cross_ = std::move(made).value();
      } else {
        LogInfo("the cross blocks stay with the processor: " + made.status().message());
      }
    }
  }
  return *cross_;
}

Result<std::shared_ptr<const FrameEncoder>> Model::Frames(const JobContext& job) {
  LV_ASSIGN_OR_RETURN(auto bridge, Bridge(job));
  const std::scoped_lock lock(frames_mutex_);
  if (frames_ == nullptr) frames_ = std::make_shared<const FrameEncoder>(std::move(bridge), OpenDevice());
  return frames_;
}

}  // namespace longview

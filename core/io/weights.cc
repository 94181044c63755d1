// WeightFile: tells the containers apart, and finds tensors by name and shape.
#include "core/io/weights.h"

#include <cstring>
#include <utility>

#include "core/io/gguf.h"
#include "core/io/onnx_init.h"
#include "core/io/safetensors.h"

namespace longview {
namespace {

// A parser's result as one of the base class.
template <typename File>
Result<std::shared_ptr<const WeightFile>> AsWeights(Result<std::shared_ptr<const File>> file) {
  if (!file.ok()) return file.status();
  return std::shared_ptr<const WeightFile>(std::move(file).value());
}

}  // namespace

Result<std::shared_ptr<const WeightFile>> WeightFile::Open(const std::filesystem::path& path) {
  LV_ASSIGN_OR_RETURN(MmapFile file, MmapFile::Open(path));
  const auto bytes = file.bytes();
  const auto at = [&](size_t i) { return i < bytes.size() ? std::to_integer<int>(bytes[i]) : -1; };
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0)
    return AsWeights(GgufFile::Parse(std::move(file)));
  // The header of safetensors is an object. Where that is damaged, the name says whose message serves the reader best.
  if (at(8) == '{' || path.extension() == ".safetensors") return AsWeights(SafetensorsFile::Parse(std::move(file)));
  // ONNX has no magic; its first field is always the version of its form.
  if (at(0) == 0x08 || path.extension() == ".onnx") return AsWeights(OnnxFile::Parse(std::move(file)));
  return Damaged(path.string() + ": is none of safetensors, GGUF and ONNX; bring it again");
}

Result<TensorView> WeightFile::Get(std::string_view name, const std::vector<uint64_t>& shape) const {
  TensorView wanted;
  wanted.shape = shape;
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) {
    return NotFound(path_.string() + ": there is no tensor '" + std::string(name) + "' (" + wanted.ShapeText() +
                    " was expected)");
  }
  if (it->second.shape != shape) {
    return Damaged(path_.string() + ": the tensor '" + std::string(name) + "' is " + it->second.ShapeText() + ", not " +
                   wanted.ShapeText());
  }
  return it->second;
}

Result<std::vector<float>> WeightFile::GetFloat(std::string_view name, const std::vector<uint64_t>& shape) const {
  LV_ASSIGN_OR_RETURN(const TensorView view, Get(name, shape));
  LV_RETURN_IF_ERROR(CheckStillWhole());
  Result<std::vector<float>> numbers = view.CopyToFloat();
  if (!numbers.ok()) return numbers.status().WithContext(path_.string() + ": the tensor '" + std::string(name) + "'");
  return numbers;
}

}  // namespace longview

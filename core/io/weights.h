// WeightFile: one file of weights, whatever its container, as named tensors over mapped memory.
#ifndef LONGVIEW_CORE_IO_WEIGHTS_H_
#define LONGVIEW_CORE_IO_WEIGHTS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/io/mmap_file.h"
#include "core/tensor/tensor.h"

namespace longview {

// Name -> view. Views point into the mapping that the owning WeightFile keeps.
using TensorTable = std::map<std::string, TensorView, std::less<>>;

// Opens .safetensors, .gguf and .onnx by content, not by name. Every count, offset and shape is checked against the
// file before use; a damaged file is kDamaged with the file's name and what was wrong. A file cut short after opening
// is an error at the next CheckStillWhole(), not a crash where it can be helped (callers copy what they compute with at
// load).
class WeightFile {
 public:
  static Result<std::shared_ptr<const WeightFile>> Open(const std::filesystem::path& path);
  virtual ~WeightFile() = default;

  const std::filesystem::path& path() const { return path_; }
  const TensorTable& tensors() const { return tensors_; }

  // kDamaged where the file has become shorter since it was opened: asked for before reading much of it.
  Status CheckStillWhole() const { return file_.CheckStillWhole(); }

  // The tensor of that name, whose shape must be exactly `shape`. kNotFound or kDamaged name the file, the tensor, both
  // shapes.
  Result<TensorView> Get(std::string_view name, const std::vector<uint64_t>& shape) const;
  // The same, copied to float.
  Result<std::vector<float>> GetFloat(std::string_view name, const std::vector<uint64_t>& shape) const;

 protected:
  WeightFile(std::filesystem::path path, MmapFile file) : path_(std::move(path)), file_(std::move(file)) {}
  std::filesystem::path path_;
  MmapFile file_;
  TensorTable tensors_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_IO_WEIGHTS_H_

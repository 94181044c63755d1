// safetensors (https://github.com/huggingface/safetensors#format): 8 bytes of header length, a JSON header, the
// numbers.
#ifndef LONGVIEW_CORE_IO_SAFETENSORS_H_
#define LONGVIEW_CORE_IO_SAFETENSORS_H_

#include <map>
#include <memory>
#include <string>

#include "core/io/weights.h"

namespace longview {

// Tensors of type F32, F16, BF16, I8, U8, BOOL (as u8), I32, I64; any other makes the file kUnsupported.
class SafetensorsFile : public WeightFile {
 public:
  static Result<std::shared_ptr<const SafetensorsFile>> Open(const std::filesystem::path& path);
  // The same over a mapping.
  static Result<std::shared_ptr<const SafetensorsFile>> Parse(MmapFile file);

  // The texts under "__metadata__".
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  using WeightFile::WeightFile;
  std::map<std::string, std::string> metadata_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_IO_SAFETENSORS_H_

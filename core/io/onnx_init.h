// ONNX (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto): the initialisers of a model's graph, and its list of
// nodes, by which weights with generated names are told apart. Nothing is run.
#ifndef LONGVIEW_CORE_IO_ONNX_INIT_H_
#define LONGVIEW_CORE_IO_ONNX_INIT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/weights.h"

namespace longview {

// One node of the graph, in the file's (topological) order. An absent optional input is an empty name.
struct OnnxNode {
  std::string op_type;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// Initialisers of type FLOAT, FLOAT16, BFLOAT16, INT8, UINT8, INT32, INT64 whose numbers lie in raw_data become views
// of the mapping; those in float_data, int32_data or int64_data are copied. Other types are left out of tensors(). A
// shape is as stored: the weight of `MatMul(x, W)` is [in, out].
class OnnxFile : public WeightFile {
 public:
  static Result<std::shared_ptr<const OnnxFile>> Open(const std::filesystem::path& path);
  // The same over a mapping.
  static Result<std::shared_ptr<const OnnxFile>> Parse(MmapFile file);

  const std::vector<OnnxNode>& nodes() const { return nodes_; }
  // The node of that name; kNotFound names the file.
  Result<const OnnxNode*> Node(std::string_view name) const;
  // Of the node named `node_name`, the one input that is an initialiser: its name in tensors(). kNotFound where there
  // is none, kDamaged where there are several.
  Result<std::string> WeightOfNode(std::string_view node_name) const;

 private:
  friend class OnnxReader;
  using WeightFile::WeightFile;
  std::vector<OnnxNode> nodes_;
  std::vector<std::vector<std::byte>> copies_;  // of numbers that are not raw in the file
};

}  // namespace longview

#endif  // LONGVIEW_CORE_IO_ONNX_INIT_H_

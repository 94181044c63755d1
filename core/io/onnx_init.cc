// ONNX through protobuf's CodedInputStream: only the fields that are wanted are looked at, each message within its own
// span of the mapping, and big tensors are never copied.
#include "core/io/onnx_init.h"

#include <google/protobuf/io/coded_stream.h>

#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/base/check.h"

namespace longview {
namespace {

constexpr size_t kMaxNodes = size_t{1} << 20;
constexpr size_t kMaxNames = size_t{1} << 22;  // inputs and outputs of all nodes together
constexpr size_t kMaxTensors = size_t{1} << 20;
constexpr size_t kMaxDims = 16;
constexpr size_t kMaxTextBytes = 4096;

using Bytes = std::span<const std::byte>;

enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field of a message: its number, and its value by wire type.
struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t value = 0;  // kVarint, kFixed32, kFixed64
  Bytes bytes;         // kBytes: a view
};

// Walks the fields of one message.
class Message {
 public:
  explicit Message(Bytes bytes)
      : bytes_(bytes), stream_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  // False at the end, or where the bytes are no message: then broken() says so.
  bool Next(Field* field) {
    if (Position() == bytes_.size()) return false;
    const uint32_t tag = stream_.ReadTag();
    field->number = tag >> 3;
    field->wire = tag & 7;
    broken_ = field->number == 0 || !ReadValue(field);
    return !broken_;
  }
  bool broken() const { return broken_; }

 private:
  size_t Position() const { return static_cast<size_t>(stream_.CurrentPosition()); }

  bool ReadValue(Field* field) {
    switch (field->wire) {
      case kVarint:
        return stream_.ReadVarint64(&field->value);
      case kFixed64:
        return stream_.ReadLittleEndian64(&field->value);
      case kFixed32: {
        uint32_t value = 0;
        const bool ok = stream_.ReadLittleEndian32(&value);
        field->value = value;
        return ok;
      }
      case kBytes: {
        uint32_t length = 0;
        if (!stream_.ReadVarint32(&length)) return false;
        const size_t begin = Position();
        if (length > bytes_.size() - begin || !stream_.Skip(static_cast<int>(length))) return false;
        field->bytes = bytes_.subspan(begin, length);
        return true;
      }
      default:
        return false;  // groups are not part of ONNX
    }
  }

  Bytes bytes_;
  google::protobuf::io::CodedInputStream stream_;
  bool broken_ = false;
};

std::optional<DType> DTypeOf(uint64_t onnx_type) {
  switch (onnx_type) {
    case 1:
      return DType::kF32;
    case 2:
    case 9:  // bool
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 10:
      return DType::kF16;
    case 16:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

// Appends the low `size` bytes of `value`.
void AppendNumber(uint64_t value, size_t size, std::vector<std::byte>* out) {
  const size_t at = out->size();
  out->resize(at + size);
  std::memcpy(out->data() + at, &value, size);
}

// What a TensorProto says, before it is checked.
struct RawTensor {
  std::string name;
  std::vector<uint64_t> dims;
  uint64_t type = 0;
  std::optional<Bytes> raw;
  std::vector<Field> typed;  // float_data, int32_data, int64_data
  bool external = false;
};

}  // namespace

// Fills an OnnxFile from the bytes of its mapping.
class OnnxReader {
 public:
  explicit OnnxReader(OnnxFile* file) : file_(file) {}

  Status ReadModel(Bytes bytes) {
    Message model(bytes);
    Field field;
    bool graph = false;
    while (model.Next(&field)) {
      if (field.number != 7 || field.wire != kBytes) continue;
      if (graph) return Bad("has two graphs");
      graph = true;
      LV_RETURN_IF_ERROR(ReadGraph(field.bytes));
    }
    if (model.broken() || !graph) return Bad("is not an ONNX model, or is incomplete; bring it again");
    return Status::Ok();
  }

 private:
  Status Bad(const std::string& what) const { return Damaged(file_->path_.string() + ": " + what); }
  Status Broken() const { return Bad("its graph is damaged; bring it again"); }

  Status ReadGraph(Bytes bytes) {
    Message graph(bytes);
    Field field;
    while (graph.Next(&field)) {
      if (field.wire != kBytes) continue;
      if (field.number == 1) LV_RETURN_IF_ERROR(ReadNode(field.bytes));
      if (field.number == 5) LV_RETURN_IF_ERROR(ReadTensor(field.bytes));
    }
    return graph.broken() ? Broken() : Status::Ok();
  }

  Status ReadText(const Field& field, std::string* text) const {
    if (field.bytes.size() > kMaxTextBytes) return Bad("a name in its graph is too long");
    text->assign(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
    return Status::Ok();
  }

  Status ReadNode(Bytes bytes) {
    if (file_->nodes_.size() >= kMaxNodes) return Bad("has too many nodes");
    OnnxNode node;
    Message message(bytes);
    Field field;
    while (message.Next(&field)) {
      if (field.wire != kBytes) continue;
      if (field.number == 1 || field.number == 2) {
        if (++names_ > kMaxNames) return Bad("has too many connections");
        auto& list = field.number == 1 ? node.inputs : node.outputs;
        LV_RETURN_IF_ERROR(ReadText(field, &list.emplace_back()));
      } else if (field.number == 3) {
        LV_RETURN_IF_ERROR(ReadText(field, &node.name));
      } else if (field.number == 4) {
        LV_RETURN_IF_ERROR(ReadText(field, &node.op_type));
      }
    }
    if (message.broken()) return Broken();
    file_->nodes_.push_back(std::move(node));
    return Status::Ok();
  }

  Status ReadDims(const Field& field, std::vector<uint64_t>* dims) const {
    std::vector<uint64_t> values;
    if (field.wire == kVarint) values.push_back(field.value);
    if (field.wire == kBytes) {  // packed
      google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(field.bytes.data()),
                                                    static_cast<int>(field.bytes.size()));
      uint64_t value = 0;
      while (static_cast<size_t>(stream.CurrentPosition()) < field.bytes.size() && values.size() <= kMaxDims) {
        if (!stream.ReadVarint64(&value)) return Broken();
        values.push_back(value);
      }
    }
    dims->insert(dims->end(), values.begin(), values.end());
    if (dims->size() > kMaxDims) return Bad("a tensor has too many dimensions");
    return Status::Ok();
  }

  Status ReadTensor(Bytes bytes) {
    RawTensor raw;
    Message message(bytes);
    Field field;
    while (message.Next(&field)) {
      const bool text = field.wire == kBytes;
      if (field.number == 1) LV_RETURN_IF_ERROR(ReadDims(field, &raw.dims));
      if (field.number == 2 && field.wire == kVarint) raw.type = field.value;
      if (field.number == 4 || field.number == 5 || field.number == 7) raw.typed.push_back(field);
      if (field.number == 8 && text) LV_RETURN_IF_ERROR(ReadText(field, &raw.name));
      if (field.number == 9 && text) raw.raw = field.bytes;
      if (field.number == 13 || (field.number == 14 && field.value == 1)) raw.external = true;
      field = Field();
    }
    if (message.broken()) return Broken();
    return AddTensor(raw);
  }

  Status AddTensor(const RawTensor& raw) {
    const std::string place = "the tensor '" + raw.name + "' ";
    if (file_->tensors_.size() >= kMaxTensors) return Bad("has too many tensors");
    if (!seen_.insert(raw.name).second) return Bad(place + "stands twice");
    if (raw.external) {
      return Unsupported(file_->path_.string() + ": " + place + "lies in another file, which is not supported");
    }
    const std::optional<DType> dtype = DTypeOf(raw.type);
    if (!dtype) return Status::Ok();  // no weight of ours: texts, doubles
    TensorView view;
    view.dtype = *dtype;
    view.shape = raw.dims;
    size_t count = 1;
    for (uint64_t d : raw.dims) {
      const auto product = MulSize(count, static_cast<size_t>(d));
      if (!product) return Bad(place + "has a shape larger than any file");
      count = *product;
    }
    const auto bytes = MulSize(count, DTypeBlockBytes(*dtype));
    if (!bytes) return Bad(place + "has a shape larger than any file");
    Bytes data;
    if (raw.raw) {
      data = *raw.raw;
    } else {
      LV_ASSIGN_OR_RETURN(data, CopyTyped(raw, *dtype, place));
    }
    if (data.size() != *bytes) {
      return Bad(place + "has " + std::to_string(data.size()) + " bytes, not the " + std::to_string(*bytes) +
                 " that its shape " + view.ShapeText() + " takes");
    }
    view.data = data.data();
    file_->tensors_.emplace(raw.name, std::move(view));
    return Status::Ok();
  }

  // Numbers of float_data (4), int32_data (5) and int64_data (7), packed or one a field, as bytes of the tensor's type.
  Result<Bytes> CopyTyped(const RawTensor& raw, DType dtype, const std::string& place) {
    const size_t size = DTypeBlockBytes(dtype);
    std::vector<std::byte>& out = file_->copies_.emplace_back();
    for (const Field& field : raw.typed) {
      if (field.wire != kBytes) {
        AppendNumber(field.value, size, &out);
      } else if (field.number == 4) {
        if (dtype != DType::kF32) return Bad(place + "has floats that are not of its type");
        out.insert(out.end(), field.bytes.begin(), field.bytes.end());
      } else {
        google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(field.bytes.data()),
                                                      static_cast<int>(field.bytes.size()));
        uint64_t value = 0;
        while (static_cast<size_t>(stream.CurrentPosition()) < field.bytes.size()) {
          if (!stream.ReadVarint64(&value)) return Broken();
          AppendNumber(value, size, &out);
        }
      }
    }
    return Bytes(out);
  }

  OnnxFile* file_;
  std::set<std::string> seen_;
  size_t names_ = 0;
};

Result<std::shared_ptr<const OnnxFile>> OnnxFile::Open(const std::filesystem::path& path) {
  LV_ASSIGN_OR_RETURN(MmapFile file, MmapFile::Open(path));
  return Parse(std::move(file));
}

Result<std::shared_ptr<const OnnxFile>> OnnxFile::Parse(MmapFile file) {
  const auto bytes = file.bytes();
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return Unsupported(file.path().string() + ": is larger than the 2 GB that an ONNX file may have");
  }
  std::shared_ptr<OnnxFile> result(new OnnxFile(file.path(), MmapFile()));
  LV_RETURN_IF_ERROR(OnnxReader(result.get()).ReadModel(bytes));
  result->file_ = std::move(file);
  return std::shared_ptr<const OnnxFile>(std::move(result));
}

Result<const OnnxNode*> OnnxFile::Node(std::string_view name) const {
  for (const OnnxNode& node : nodes_) {
    if (node.name == name) return &node;
  }
  return NotFound(path_.string() + ": there is no node '" + std::string(name) + "'");
}

Result<std::string> OnnxFile::WeightOfNode(std::string_view node_name) const {
  LV_ASSIGN_OR_RETURN(const OnnxNode* node, Node(node_name));
  const std::string place = path_.string() + ": the node '" + std::string(node_name) + "' ";
  const std::string* weight = nullptr;
  for (const std::string& input : node->inputs) {
    if (tensors_.find(input) == tensors_.end()) continue;
    if (weight != nullptr) return Damaged(place + "takes several tensors");
    weight = &input;
  }
  if (weight == nullptr) return NotFound(place + "takes no tensor of the file");
  return *weight;
}

}  // namespace longview

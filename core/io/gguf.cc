// GGUF: metadata and tensor table are read once, with every count held against the bytes that are left.
#include "core/io/gguf.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/io/byte_reader.h"

namespace longview {
namespace {

constexpr uint32_t kVersion = 3;
constexpr size_t kMaxKeyBytes = 65535;
constexpr size_t kMaxNameBytes = 1024;
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kMaxArray = uint64_t{1} << 22;  // a vocabulary has some hundred thousand
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
constexpr uint64_t kDefaultAlignment = 32;

enum ValueType : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64, kTypes };

// The fewest bytes that a value of the type takes.
uint64_t MinBytes(uint32_t type) {
  static constexpr uint64_t kBytes[kTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return kBytes[type];
}

std::optional<DType> DTypeOf(uint32_t ggml_type) {
  switch (ggml_type) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 2:
      return DType::kQ4_0;
    case 3:
      return DType::kQ4_1;
    case 8:
      return DType::kQ8_0;
    case 12:
      return DType::kQ4_K;
    case 14:
      return DType::kQ6_K;
    case 24:
      return DType::kI8;
    case 26:
      return DType::kI32;
    case 27:
      return DType::kI64;
    case 30:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

// A tensor before the data's place is known.
struct Entry {
  std::string name;
  TensorView view;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Reads the parts of one file; failures name it.
class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string file) : reader_(bytes), file_(std::move(file)) {}

  ByteReader& reader() { return reader_; }
  Status Bad(const std::string& what) const { return Damaged(file_ + ": " + what); }
  Status Cut() const { return Bad("the file ends within its header; it is incomplete, bring it again"); }

  template <typename T>
  Result<T> Number() {
    const std::optional<T> value = reader_.Take<T>();
    if (!value) return Cut();
    return *value;
  }

  Result<std::string> Text(size_t max_bytes) {
    LV_ASSIGN_OR_RETURN(const uint64_t length, Number<uint64_t>());
    if (length > max_bytes) return Bad("a text of " + std::to_string(length) + " bytes is too long");
    const auto bytes = reader_.TakeBytes(length);
    if (!bytes) return Cut();
    return std::string(*bytes);
  }

  Result<bool> Boolean() {
    LV_ASSIGN_OR_RETURN(const uint8_t value, Number<uint8_t>());
    if (value > 1) return Bad("a yes-or-no value is neither");
    return value == 1;
  }

  Result<GgufValue> Value(uint32_t type);
  Result<Entry> Tensor();

 private:
  // A list of numbers stored as T, kept as Kept.
  template <typename T, typename Kept>
  Result<GgufValue> Numbers(uint64_t count) {
    std::vector<Kept> list;
    list.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      LV_ASSIGN_OR_RETURN(const T value, Number<T>());
      list.push_back(static_cast<Kept>(value));
    }
    return GgufValue(std::move(list));
  }
  template <typename T, typename Kept>
  Result<GgufValue> One() {
    LV_ASSIGN_OR_RETURN(const T value, Number<T>());
    return GgufValue(static_cast<Kept>(value));
  }
  Result<GgufValue> Array();

  ByteReader reader_;
  std::string file_;
};

Result<GgufValue> Parser::Array() {
  LV_ASSIGN_OR_RETURN(const uint32_t type, Number<uint32_t>());
  LV_ASSIGN_OR_RETURN(const uint64_t count, Number<uint64_t>());
  if (type >= kTypes || type == kArray)
    return Bad("a list of values of type " + std::to_string(type) + " is not known");
  if (count > kMaxArray || count > reader_.left() / MinBytes(type)) {
    return Bad("a list claims " + std::to_string(count) + " values, more than the file or the limit holds");
  }
  switch (type) {
    case kU8:
      return Numbers<uint8_t, uint64_t>(count);
    case kI8:
      return Numbers<int8_t, int64_t>(count);
    case kU16:
      return Numbers<uint16_t, uint64_t>(count);
    case kI16:
      return Numbers<int16_t, int64_t>(count);
    case kU32:
      return Numbers<uint32_t, uint64_t>(count);
    case kI32:
      return Numbers<int32_t, int64_t>(count);
    case kF32:
      return Numbers<float, double>(count);
    case kU64:
      return Numbers<uint64_t, uint64_t>(count);
    case kI64:
      return Numbers<int64_t, int64_t>(count);
    case kF64:
      return Numbers<double, double>(count);
    case kBool: {
      std::vector<uint64_t> list(count);
      for (uint64_t& item : list) {
        LV_ASSIGN_OR_RETURN(item, Boolean());
      }
      return GgufValue(std::move(list));
    }
    default: {
      std::vector<std::string> list(count);
      for (std::string& item : list) {
        LV_ASSIGN_OR_RETURN(item, Text(reader_.left()));
      }
      return GgufValue(std::move(list));
    }
  }
}

Result<GgufValue> Parser::Value(uint32_t type) {
  switch (type) {
    case kU8:
      return One<uint8_t, uint64_t>();
    case kI8:
      return One<int8_t, int64_t>();
    case kU16:
      return One<uint16_t, uint64_t>();
    case kI16:
      return One<int16_t, int64_t>();
    case kU32:
      return One<uint32_t, uint64_t>();
    case kI32:
      return One<int32_t, int64_t>();
    case kF32:
      return One<float, double>();
    case kU64:
      return One<uint64_t, uint64_t>();
    case kI64:
      return One<int64_t, int64_t>();
    case kF64:
      return One<double, double>();
    case kBool: {
      LV_ASSIGN_OR_RETURN(const bool value, Boolean());
      return GgufValue(value);
    }
    case kString: {
      LV_ASSIGN_OR_RETURN(std::string value, Text(reader_.left()));
      return GgufValue(std::move(value));
    }
    case kArray:
      return Array();
    default:
      return Bad("a value of type " + std::to_string(type) + " is not known");
  }
}

Result<Entry> Parser::Tensor() {
  Entry entry;
  LV_ASSIGN_OR_RETURN(entry.name, Text(kMaxNameBytes));
  const std::string place = "the tensor '" + entry.name + "': ";
  LV_ASSIGN_OR_RETURN(const uint32_t dims, Number<uint32_t>());
  if (dims > kMaxDims) return Bad(place + std::to_string(dims) + " dimensions are too many");
  size_t count = 1;
  uint64_t row = 1;
  for (uint32_t i = 0; i < dims; ++i) {
    LV_ASSIGN_OR_RETURN(const uint64_t size, Number<uint64_t>());
    if (i == 0) row = size;
    const auto product = MulSize(count, static_cast<size_t>(size));
    if (!product) return Bad(place + "its dimensions multiply to more than any file holds");
    count = *product;
    entry.view.shape.insert(entry.view.shape.begin(), size);  // ggml writes the fastest dimension first
  }
  LV_ASSIGN_OR_RETURN(const uint32_t type, Number<uint32_t>());
  LV_ASSIGN_OR_RETURN(entry.offset, Number<uint64_t>());
  const std::optional<DType> dtype = DTypeOf(type);
  if (!dtype) return Unsupported(file_ + ": " + place + "type " + std::to_string(type) + " is not supported");
  entry.view.dtype = *dtype;
  if (row % DTypeBlockSize(*dtype) != 0) {
    return Bad(place + "rows of " + std::to_string(row) + " numbers are not whole blocks of " +
               std::string(DTypeName(*dtype)));
  }
  Result<size_t> bytes = DTypeBytes(*dtype, count);
  if (!bytes.ok()) return bytes.status().WithContext(file_ + ": the tensor '" + entry.name + "'");
  entry.bytes = *bytes;
  return entry;
}

// Gives every entry its place in `data` and puts it into `table`.
Status PlaceTensors(const Parser& parser, std::vector<Entry> entries, std::span<const std::byte> data,
                    uint64_t alignment, TensorTable* table) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  uint64_t end = 0;
  for (Entry& entry : entries) {
    const std::string place = "the tensor '" + entry.name + "' ";
    if (entry.offset % alignment != 0) return parser.Bad(place + "is not aligned");
    if (entry.offset < end) return parser.Bad(place + "overlaps another");
    if (entry.offset > data.size() || entry.bytes > data.size() - entry.offset) {
      return parser.Bad(place + "ends after the end of the file; it is incomplete, bring it again");
    }
    end = entry.offset + entry.bytes;
    entry.view.data = data.data() + entry.offset;
    if (!table->emplace(entry.name, std::move(entry.view)).second) return parser.Bad(place + "stands twice");
  }
  return Status::Ok();
}

}  // namespace

Result<std::shared_ptr<const GgufFile>> GgufFile::Open(const std::filesystem::path& path) {
  LV_ASSIGN_OR_RETURN(MmapFile file, MmapFile::Open(path));
  return Parse(std::move(file));
}

Result<std::shared_ptr<const GgufFile>> GgufFile::Parse(MmapFile file) {
  const auto bytes = file.bytes();
  Parser parser(bytes, file.path().string());
  const auto magic = parser.reader().TakeBytes(4);
  if (!magic || *magic != "GGUF") return parser.Bad("is not a GGUF file; bring it again");
  LV_ASSIGN_OR_RETURN(const uint32_t version, parser.Number<uint32_t>());
  if (version != kVersion) {
    return Unsupported(file.path().string() + ": GGUF version " + std::to_string(version) +
                       " is not supported (3 in little-endian order is)");
  }
  LV_ASSIGN_OR_RETURN(const uint64_t tensors, parser.Number<uint64_t>());
  LV_ASSIGN_OR_RETURN(const uint64_t keys, parser.Number<uint64_t>());
  // A key and value take at least 13 bytes, a tensor's entry 24.
  if (keys > parser.reader().left() / 13) return parser.Bad("claims more metadata than the file holds");
  if (tensors > parser.reader().left() / 24) return parser.Bad("claims more tensors than the file holds");

  std::shared_ptr<GgufFile> result(new GgufFile(file.path(), MmapFile()));
  for (uint64_t i = 0; i < keys; ++i) {
    LV_ASSIGN_OR_RETURN(std::string key, parser.Text(kMaxKeyBytes));
    LV_ASSIGN_OR_RETURN(const uint32_t type, parser.Number<uint32_t>());
    LV_ASSIGN_OR_RETURN(GgufValue value, parser.Value(type));
    if (!result->metadata_.emplace(key, std::move(value)).second)
      return parser.Bad("the key '" + key + "' stands twice");
  }
  uint64_t alignment = kDefaultAlignment;
  if (result->Has("general.alignment")) {
    LV_ASSIGN_OR_RETURN(alignment, result->Uint("general.alignment"));
    const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment > kMaxAlignment) return parser.Bad("an alignment that cannot be is asked for");
  }
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < tensors; ++i) {
    LV_ASSIGN_OR_RETURN(Entry entry, parser.Tensor());
    entries.push_back(std::move(entry));
  }
  const size_t begin = (parser.reader().position() + alignment - 1) / alignment * alignment;
  const auto data = bytes.subspan(std::min(begin, bytes.size()));
  LV_RETURN_IF_ERROR(PlaceTensors(parser, std::move(entries), data, alignment, &result->tensors_));
  result->file_ = std::move(file);
  return std::shared_ptr<const GgufFile>(std::move(result));
}

Result<const GgufValue*> GgufFile::Find(std::string_view key) const {
  const auto it = metadata_.find(key);
  if (it == metadata_.end()) return NotFound(path_.string() + ": the key '" + std::string(key) + "' is missing");
  return &it->second;
}

Status GgufFile::WrongType(std::string_view key, std::string_view wanted) const {
  return Damaged(path_.string() + ": the key '" + std::string(key) + "' is not " + std::string(wanted));
}

Result<uint64_t> GgufFile::Uint(std::string_view key) const {
  LV_ASSIGN_OR_RETURN(const GgufValue* value, Find(key));
  if (const auto* number = std::get_if<uint64_t>(value)) return *number;
  if (const auto* number = std::get_if<int64_t>(value); number != nullptr && *number >= 0) {
    return static_cast<uint64_t>(*number);
  }
  return WrongType(key, "a whole number, 0 or more");
}

Result<int64_t> GgufFile::Int(std::string_view key) const {
  LV_ASSIGN_OR_RETURN(const GgufValue* value, Find(key));
  if (const auto* number = std::get_if<int64_t>(value)) return *number;
  const auto* number = std::get_if<uint64_t>(value);
  if (number != nullptr && *number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return static_cast<int64_t>(*number);
  }
  return WrongType(key, "a whole number that fits");
}

Result<double> GgufFile::Double(std::string_view key) const {
  LV_ASSIGN_OR_RETURN(const GgufValue* value, Find(key));
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* number = std::get_if<uint64_t>(value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<int64_t>(value)) return static_cast<double>(*number);
  return WrongType(key, "a number");
}

Result<bool> GgufFile::Bool(std::string_view key) const {
  LV_ASSIGN_OR_RETURN(const GgufValue* value, Find(key));
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  return WrongType(key, "a yes or no");
}

Result<std::string> GgufFile::String(std::string_view key) const {
  LV_ASSIGN_OR_RETURN(const GgufValue* value, Find(key));
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  return WrongType(key, "a text");
}

Result<const std::vector<std::string>*> GgufFile::Strings(std::string_view key) const {
  LV_ASSIGN_OR_RETURN(const GgufValue* value, Find(key));
  if (const auto* list = std::get_if<std::vector<std::string>>(value)) return list;
  return WrongType(key, "a list of texts");
}

Result<std::vector<int64_t>> GgufFile::Ints(std::string_view key) const {
  LV_ASSIGN_OR_RETURN(const GgufValue* value, Find(key));
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return *list;
  const auto* list = std::get_if<std::vector<uint64_t>>(value);
  if (list == nullptr) return WrongType(key, "a list of whole numbers");
  const auto fits = [](uint64_t n) { return n <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()); };
  if (!std::all_of(list->begin(), list->end(), fits)) return WrongType(key, "a list of whole numbers that fit");
  return std::vector<int64_t>(list->begin(), list->end());
}

Result<std::vector<double>> GgufFile::Doubles(std::string_view key) const {
  LV_ASSIGN_OR_RETURN(const GgufValue* value, Find(key));
  if (const auto* list = std::get_if<std::vector<double>>(value)) return *list;
  return WrongType(key, "a list of numbers");
}

}  // namespace longview

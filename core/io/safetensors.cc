// safetensors: everything in the header is checked against the file before a view is made.
#include "core/io/safetensors.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/io/byte_reader.h"
#include "core/io/json.h"

namespace longview {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as the reference library
constexpr size_t kMaxDims = 16;

std::optional<DType> DTypeOf(std::string_view name) {
  if (name == "F32") return DType::kF32;
  if (name == "F16") return DType::kF16;
  if (name == "BF16") return DType::kBF16;
  if (name == "I8") return DType::kI8;
  if (name == "U8" || name == "BOOL") return DType::kU8;
  if (name == "I32") return DType::kI32;
  if (name == "I64") return DType::kI64;
  return std::nullopt;
}

// A tensor and the part of the data that it claims.
struct Entry {
  std::string name;
  TensorView view;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Result<Entry> ReadEntry(const Json& header, const std::string& name) {
  Entry entry;
  entry.name = name;
  LV_ASSIGN_OR_RETURN(const Json fields, header.Get(name));
  LV_ASSIGN_OR_RETURN(const std::string dtype, fields.GetString("dtype"));
  const std::optional<DType> known = DTypeOf(dtype);
  if (!known) return Unsupported(fields.place() + ": the type '" + dtype.substr(0, 40) + "' is not known");
  entry.view.dtype = *known;
  LV_ASSIGN_OR_RETURN(entry.view.shape, fields.GetUints("shape"));
  if (entry.view.shape.size() > kMaxDims) return Damaged(fields.place() + ": has too many dimensions");
  LV_ASSIGN_OR_RETURN(const std::vector<uint64_t> offsets, fields.GetUints("data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return Damaged(fields.place() + ": data_offsets are not a begin and an end");
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  size_t count = 1;
  for (uint64_t d : entry.view.shape) {
    const auto product = MulSize(count, static_cast<size_t>(d));
    if (!product) return Damaged(fields.place() + ": the shape " + entry.view.ShapeText() + " is larger than any file");
    count = *product;
  }
  const auto bytes = MulSize(count, DTypeBlockBytes(*known));
  if (!bytes) return Damaged(fields.place() + ": the shape " + entry.view.ShapeText() + " is larger than any file");
  if (*bytes != entry.end - entry.begin) {
    return Damaged(fields.place() + ": " + std::to_string(entry.end - entry.begin) + " bytes are not what the shape " +
                   entry.view.ShapeText() + " takes (" + std::to_string(*bytes) + ")");
  }
  return entry;
}

}  // namespace

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::Open(const std::filesystem::path& path) {
  LV_ASSIGN_OR_RETURN(MmapFile file, MmapFile::Open(path));
  return Parse(std::move(file));
}

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::Parse(MmapFile file) {
  const std::string name = file.path().string();
  const auto bytes = file.bytes();
  ByteReader reader(bytes);
  const auto header_bytes = reader.Take<uint64_t>();
  if (!header_bytes) return Damaged(name + ": is too short for a safetensors file; bring it again");
  if (*header_bytes > kMaxHeaderBytes || *header_bytes > reader.left()) {
    return Damaged(name + ": its header claims " + std::to_string(*header_bytes) + " bytes of a file of " +
                   std::to_string(bytes.size()) + "; it is damaged or incomplete, bring it again");
  }
  const std::string_view text = *reader.TakeBytes(*header_bytes);
  JsonLimits limits;
  limits.max_bytes = kMaxHeaderBytes;
  LV_ASSIGN_OR_RETURN(const Json header, Json::Parse(text, name, limits));
  if (!header.is_object()) return Damaged(name + ": its header is not a table of tensors");

  std::shared_ptr<SafetensorsFile> result(new SafetensorsFile(file.path(), MmapFile()));
  const std::span<const std::byte> data = bytes.subspan(reader.position());
  std::vector<Entry> entries;
  for (const std::string& key : header.Keys()) {
    if (key == "__metadata__") {
      LV_ASSIGN_OR_RETURN(const Json metadata, header.Get(key));
      if (!metadata.is_object()) return Damaged(metadata.place() + ": is not a table of texts");
      for (const std::string& item : metadata.Keys()) {
        LV_ASSIGN_OR_RETURN(result->metadata_[item], metadata.GetString(item));
      }
      continue;
    }
    LV_ASSIGN_OR_RETURN(Entry entry, ReadEntry(header, key));
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  uint64_t expected = 0;
  for (Entry& entry : entries) {
    if (entry.begin != expected) {
      return Damaged(name + ": the tensor '" + entry.name + "' begins at " + std::to_string(entry.begin) +
                     ", not where the one before it ends (" + std::to_string(expected) + ")");
    }
    if (entry.end > data.size()) {
      return Damaged(name + ": the file is incomplete: the tensor '" + entry.name + "' ends at byte " +
                     std::to_string(entry.end) + " of " + std::to_string(data.size()) + "; bring it again");
    }
    expected = entry.end;
    entry.view.data = data.data() + entry.begin;
    result->tensors_.emplace(std::move(entry.name), std::move(entry.view));
  }
  if (expected != data.size()) {
    return Damaged(name + ": " + std::to_string(data.size() - expected) +
                   " bytes after the last tensor belong to none");
  }
  result->file_ = std::move(file);
  return std::shared_ptr<const SafetensorsFile>(std::move(result));
}

}  // namespace longview

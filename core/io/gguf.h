// GGUF version 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): llama.cpp's container of weights and
// metadata.
#ifndef LONGVIEW_CORE_IO_GGUF_H_
#define LONGVIEW_CORE_IO_GGUF_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/io/weights.h"

namespace longview {

// A metadata value. Every unsigned type is kept as uint64_t, signed as int64_t, floating as double; arrays alike
// (arrays of booleans become uint64_t 0 and 1).
using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string, std::vector<uint64_t>,
                               std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

// Tensors of type F32, F16, BF16, I8, I32, I64, Q4_0, Q4_1, Q8_0, Q4_K, Q6_K; any other makes the file kUnsupported.
// Shapes are turned round from ggml's order: a linear layer's weight is [out, in].
class GgufFile : public WeightFile {
 public:
  static Result<std::shared_ptr<const GgufFile>> Open(const std::filesystem::path& path);
  // The same over a mapping.
  static Result<std::shared_ptr<const GgufFile>> Parse(MmapFile file);

  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  bool Has(std::string_view key) const { return metadata_.find(key) != metadata_.end(); }

  // The value of `key` as a type; kNotFound where it is missing, kDamaged where it is of another type or does not fit;
  // the messages name the file and the key. Uint takes any whole number >= 0, Int any that fits, Double any number.
  Result<uint64_t> Uint(std::string_view key) const;
  Result<int64_t> Int(std::string_view key) const;
  Result<double> Double(std::string_view key) const;
  Result<bool> Bool(std::string_view key) const;
  Result<std::string> String(std::string_view key) const;
  // Pointers into metadata(): no copy of 49,152 tokens.
  Result<const std::vector<std::string>*> Strings(std::string_view key) const;
  // A list of whole numbers, whatever its sign type.
  Result<std::vector<int64_t>> Ints(std::string_view key) const;
  Result<std::vector<double>> Doubles(std::string_view key) const;

 private:
  using WeightFile::WeightFile;
  Result<const GgufValue*> Find(std::string_view key) const;
  Status WrongType(std::string_view key, std::string_view wanted) const;
  std::map<std::string, GgufValue, std::less<>> metadata_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_IO_GGUF_H_

// Json: reads JSON from bytes that nobody vouches for. A thin, exception-free face over nlohmann/json.
#ifndef LONGVIEW_CORE_IO_JSON_H_
#define LONGVIEW_CORE_IO_JSON_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview {

struct JsonLimits {
  size_t max_bytes = size_t{16} << 20;
  size_t max_depth = 64;  // arrays and objects inside one another
};

// An immutable value within a parsed document; cheap to copy, keeps the document alive. Getters fail with kDamaged and
// a message such as "config.json: vit.layers: a whole number was expected".
class Json {
 public:
  // Parses UTF-8 `bytes`. `name` (a file name) opens every message. kDamaged: not JSON, nested too deep, or a key that
  // stands twice in one object; kResource: longer than the limit.
  static Result<Json> Parse(std::string_view bytes, std::string_view name, const JsonLimits& limits = {});
  // Reads and parses a file.
  static Result<Json> ParseFile(const std::string& path, const JsonLimits& limits = {});

  bool is_null() const;
  bool is_bool() const;
  bool is_number() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  // This value as a type. Whole numbers must be written as such (2, not 2.0 or 2.5) and fit.
  Result<bool> AsBool() const;
  Result<int64_t> AsInt() const;
  Result<uint64_t> AsUint() const;
  Result<double> AsDouble() const;
  Result<std::string> AsString() const;
  Result<std::vector<double>> AsDoubles() const;
  Result<std::vector<int64_t>> AsInts() const;
  Result<std::vector<uint64_t>> AsUints() const;
  Result<std::vector<std::string>> AsStrings() const;

  // Members of an object.
  bool Has(std::string_view key) const;
  Result<Json> Get(std::string_view key) const;  // kDamaged where it is missing
  Result<bool> GetBool(std::string_view key) const;
  Result<int64_t> GetInt(std::string_view key) const;
  Result<uint64_t> GetUint(std::string_view key) const;
  Result<double> GetDouble(std::string_view key) const;
  Result<std::string> GetString(std::string_view key) const;
  Result<std::vector<double>> GetDoubles(std::string_view key) const;
  Result<std::vector<int64_t>> GetInts(std::string_view key) const;
  Result<std::vector<uint64_t>> GetUints(std::string_view key) const;
  Result<std::vector<std::string>> GetStrings(std::string_view key) const;
  // Keys in alphabetical order; empty where this is no object.
  std::vector<std::string> Keys() const;

  // Elements of an array, or members of an object; 0 for anything else.
  size_t size() const;
  Result<Json> At(size_t index) const;

  // Where in the document: "config.json: vit.layers".
  const std::string& place() const { return place_; }

 private:
  Json() = default;
  Status Expected(std::string_view what) const;
  template <typename T, typename F>
  Result<std::vector<T>> List(F as) const;

  std::shared_ptr<const void> document_;
  const void* value_ = nullptr;  // the nlohmann::json node inside document_
  std::string place_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_IO_JSON_H_

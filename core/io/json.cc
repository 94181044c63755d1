// Json over nlohmann/json: a first pass refuses what is nested too deep or ambiguous, the second builds the document.
#include "core/io/json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/io/mmap_file.h"

namespace longview {
namespace {

using Node = nlohmann::json;

const Node& AsNode(const void* value) { return *static_cast<const Node*>(value); }

// Follows the events of a document and stops at the first thing that is refused.
class Validator : public nlohmann::json_sax<Node> {
 public:
  explicit Validator(size_t max_depth) : max_depth_(max_depth) {}
  const std::string& problem() const { return problem_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool start_array(size_t) override { return Enter(); }
  bool end_array() override { return Leave(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    problem_ = "the key '" + name.substr(0, 100) + "' stands twice in one object";
    return false;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem_ = "is not valid JSON at byte " + std::to_string(position);
    return false;
  }

 private:
  bool Enter() {
    keys_.emplace_back();
    if (keys_.size() <= max_depth_) return true;
    problem_ = "is nested deeper than " + std::to_string(max_depth_) + " levels";
    return false;
  }
  bool Leave() {
    keys_.pop_back();
    return true;
  }

  size_t max_depth_;
  std::vector<std::set<std::string>> keys_;  // of every object that is open (empty for arrays)
  std::string problem_;
};

}  // namespace

Result<Json> Json::Parse(std::string_view bytes, std::string_view name, const JsonLimits& limits) {
  const std::string place(name);
  if (bytes.size() > limits.max_bytes) {
    return ResourceError(place + ": " + std::to_string(bytes.size()) + " bytes of JSON are more than the limit of " +
                         std::to_string(limits.max_bytes));
  }
  Validator validator(limits.max_depth);
  if (!Node::sax_parse(bytes.begin(), bytes.end(), &validator)) return Damaged(place + ": " + validator.problem());
  auto document = std::make_shared<Node>(Node::parse(bytes.begin(), bytes.end(), nullptr, /*allow_exceptions=*/false));
  if (document->is_discarded()) return Damaged(place + ": is not valid JSON");
  Json json;
  json.value_ = document.get();
  json.document_ = std::move(document);
  json.place_ = place;
  return json;
}

Result<Json> Json::ParseFile(const std::string& path, const JsonLimits& limits) {
  LV_ASSIGN_OR_RETURN(const MmapFile file, MmapFile::Open(path));
  const auto bytes = file.bytes();
  return Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, limits);
}

Status Json::Expected(std::string_view what) const {
  return Damaged(place_ + ": " + std::string(what) + " was expected");
}

bool Json::is_null() const { return AsNode(value_).is_null(); }
bool Json::is_bool() const { return AsNode(value_).is_boolean(); }
bool Json::is_number() const { return AsNode(value_).is_number(); }
bool Json::is_string() const { return AsNode(value_).is_string(); }
bool Json::is_array() const { return AsNode(value_).is_array(); }
bool Json::is_object() const { return AsNode(value_).is_object(); }

Result<bool> Json::AsBool() const {
  if (!is_bool()) return Expected("true or false");
  return AsNode(value_).get<bool>();
}

Result<int64_t> Json::AsInt() const {
  const Node& node = AsNode(value_);
  if (!node.is_number_integer()) return Expected("a whole number");
  if (node.is_number_unsigned() && node.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Expected("a smaller whole number");
  }
  return node.get<int64_t>();
}

Result<uint64_t> Json::AsUint() const {
  if (!AsNode(value_).is_number_unsigned()) return Expected("a whole number, 0 or more,");
  return AsNode(value_).get<uint64_t>();
}

Result<double> Json::AsDouble() const {
  if (!is_number()) return Expected("a number");
  return AsNode(value_).get<double>();
}

Result<std::string> Json::AsString() const {
  if (!is_string()) return Expected("a text");
  return AsNode(value_).get<std::string>();
}

template <typename T, typename F>
Result<std::vector<T>> Json::List(F as) const {
  if (!is_array()) return Expected("a list");
  std::vector<T> list;
  list.reserve(size());
  for (size_t i = 0; i < size(); ++i) {
    LV_ASSIGN_OR_RETURN(const Json item, At(i));
    LV_ASSIGN_OR_RETURN(T value, (item.*as)());
    list.push_back(std::move(value));
  }
  return list;
}

Result<std::vector<double>> Json::AsDoubles() const { return List<double>(&Json::AsDouble); }
Result<std::vector<int64_t>> Json::AsInts() const { return List<int64_t>(&Json::AsInt); }
Result<std::vector<uint64_t>> Json::AsUints() const { return List<uint64_t>(&Json::AsUint); }
Result<std::vector<std::string>> Json::AsStrings() const { return List<std::string>(&Json::AsString); }

bool Json::Has(std::string_view key) const { return is_object() && AsNode(value_).contains(key); }

Result<Json> Json::Get(std::string_view key) const {
  if (!is_object()) return Expected("an object");
  const Node& node = AsNode(value_);
  const auto it = node.find(key);
  const bool at_root = document_.get() == value_;
  if (it == node.end()) return Damaged(place_ + (at_root ? ": " : ".") + std::string(key) + ": is missing");
  Json json;
  json.document_ = document_;
  json.value_ = &*it;
  json.place_ = place_ + (at_root ? ": " : ".") + std::string(key);
  return json;
}

namespace {

// Get(key), then `as` of it.
template <typename T>
Result<T> Member(const Json& json, std::string_view key, Result<T> (Json::*as)() const) {
  LV_ASSIGN_OR_RETURN(const Json member, json.Get(key));
  return (member.*as)();
}

}  // namespace

Result<bool> Json::GetBool(std::string_view key) const { return Member(*this, key, &Json::AsBool); }
Result<int64_t> Json::GetInt(std::string_view key) const { return Member(*this, key, &Json::AsInt); }
Result<uint64_t> Json::GetUint(std::string_view key) const { return Member(*this, key, &Json::AsUint); }
Result<double> Json::GetDouble(std::string_view key) const { return Member(*this, key, &Json::AsDouble); }
Result<std::string> Json::GetString(std::string_view key) const { return Member(*this, key, &Json::AsString); }
Result<std::vector<double>> Json::GetDoubles(std::string_view key) const {
  return Member(*this, key, &Json::AsDoubles);
}
Result<std::vector<int64_t>> Json::GetInts(std::string_view key) const { return Member(*this, key, &Json::AsInts); }
Result<std::vector<uint64_t>> Json::GetUints(std::string_view key) const { return Member(*this, key, &Json::AsUints); }
Result<std::vector<std::string>> Json::GetStrings(std::string_view key) const {
  return Member(*this, key, &Json::AsStrings);
}

std::vector<std::string> Json::Keys() const {
  std::vector<std::string> keys;
  if (!is_object()) return keys;
  for (const auto& [key, unused] : AsNode(value_).items()) keys.push_back(key);
  return keys;
}

size_t Json::size() const { return is_array() || is_object() ? AsNode(value_).size() : 0; }

Result<Json> Json::At(size_t index) const {
  if (!is_array()) return Expected("a list");
  if (index >= size()) return Expected("a list of more than " + std::to_string(index) + " items");
  Json json;
  json.document_ = document_;
  json.value_ = &AsNode(value_)[index];
  json.place_ = place_ + "[" + std::to_string(index) + "]";
  return json;
}

}  // namespace longview

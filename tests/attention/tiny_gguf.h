// Writes small GGUF files, so that tests need no downloaded model: any metadata, F32 tensors.
#ifndef LONGVIEW_TESTS_ATTENTION_TINY_GGUF_H_
#define LONGVIEW_TESTS_ATTENTION_TINY_GGUF_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace longview {

class TinyGguf {
 public:
  struct Tensor {
    std::vector<uint64_t> shape;  // [out, in]
    std::vector<float> numbers;
  };
  std::map<std::string, uint32_t> uints;
  std::map<std::string, float> floats;
  std::map<std::string, std::string> strings;
  std::map<std::string, Tensor> tensors;

  // The file's bytes (GGUF version 3, little-endian, data aligned to 32).
  std::string Bytes() const {
    std::string out = "GGUF";
    Put<uint32_t>(&out, 3);
    Put<uint64_t>(&out, tensors.size());
    Put<uint64_t>(&out, uints.size() + floats.size() + strings.size());
    for (const auto& [key, value] : uints) PutKey(&out, key, 4), Put(&out, value);
    for (const auto& [key, value] : floats) PutKey(&out, key, 6), Put(&out, value);
    for (const auto& [key, value] : strings) PutKey(&out, key, 8), PutText(&out, value);
    uint64_t offset = 0;
    for (const auto& [name, tensor] : tensors) {
      PutText(&out, name);
      Put<uint32_t>(&out, static_cast<uint32_t>(tensor.shape.size()));
      for (size_t i = tensor.shape.size(); i-- > 0;) Put<uint64_t>(&out, tensor.shape[i]);
      Put<uint32_t>(&out, 0);  // F32
      Put<uint64_t>(&out, offset);
      offset += (tensor.numbers.size() * sizeof(float) + 31) / 32 * 32;
    }
    out.resize((out.size() + 31) / 32 * 32);
    for (const auto& [name, tensor] : tensors) {
      out.append(reinterpret_cast<const char*>(tensor.numbers.data()), tensor.numbers.size() * sizeof(float));
      out.resize((out.size() + 31) / 32 * 32);
    }
    return out;
  }

 private:
  template <typename T>
  static void Put(std::string* out, T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out->append(bytes, sizeof(T));
  }
  static void PutText(std::string* out, const std::string& text) {
    Put<uint64_t>(out, text.size());
    out->append(text);
  }
  static void PutKey(std::string* out, const std::string& key, uint32_t type) {
    PutText(out, key);
    Put(out, type);
  }
};

}  // namespace longview

#endif  // LONGVIEW_TESTS_ATTENTION_TINY_GGUF_H_

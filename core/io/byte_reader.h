// ByteReader: takes little-endian numbers and runs of bytes from memory, never past its end. Private to the weight
// readers.
#ifndef LONGVIEW_CORE_IO_BYTE_READER_H_
#define LONGVIEW_CORE_IO_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace longview {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  // The next sizeof(T) bytes as a number; nothing where fewer are left.
  template <typename T>
  std::optional<T> Take() {
    if (left() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // The next `count` bytes; nothing where fewer are left.
  std::optional<std::string_view> TakeBytes(uint64_t count) {
    if (count > left()) return std::nullopt;
    const auto* begin = reinterpret_cast<const char*>(bytes_.data() + position_);
    position_ += static_cast<size_t>(count);
    return std::string_view(begin, static_cast<size_t>(count));
  }

 private:
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_IO_BYTE_READER_H_

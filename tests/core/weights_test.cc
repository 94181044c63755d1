// The readers of weights: sound files, and every hostile one of the collected cases (each refused with the file's name,
// fast and without large allocations).
#include "core/io/weights.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/io/gguf.h"
#include "core/io/onnx_init.h"
#include "core/io/safetensors.h"
#include "tests/support/temp_folder.h"

namespace longview {
namespace {

template <typename T>
std::string Le(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
std::string U32(uint64_t value) { return Le(static_cast<uint32_t>(value)); }
std::string U64(uint64_t value) { return Le(value); }
std::string Zeros(size_t count) { return std::string(count, '\0'); }

long PeakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Opens each file and expects a refusal that names it.
void ExpectAllRefused(const std::map<std::string, std::string>& files, const std::string& extension) {
  const TempFolder folder;
  const long before = PeakKilobytes();
  for (const auto& [name, bytes] : files) {
    const auto path = folder.Write(name + extension, bytes);
    const auto file = WeightFile::Open(path);
    ASSERT_FALSE(file.ok()) << name;
    EXPECT_NE(file.status().message().find(path.string()), std::string::npos) << file.status().message();
    EXPECT_NE(file.status().code(), StatusCode::kInternal) << name;
  }
  EXPECT_LT(PeakKilobytes() - before, 200 * 1024);
}

// ---- safetensors

std::string Safetensors(const std::string& header, const std::string& data = "") {
  return U64(header.size()) + header + data;
}

std::string Entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string OneTensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":)" + Entry(dtype, shape, offsets) + "}";
}

TEST(SafetensorsTest, ReadsTensorsAndMetadata) {
  const TempFolder folder;
  const std::string header = R"({"__metadata__":{"format":"pt"},"b":)" + Entry("BF16", "[3]", "[16,22]") + R"(,"a":)" +
                             Entry("F32", "[2,2]", "[0,16]") + R"(,"none":)" + Entry("F32", "[0,5]", "[22,22]") + "}  ";
  std::string data = Le(1.0f) + Le(2.0f) + Le(-3.0f) + Le(4.5f);
  for (const float value : {1.0f, 2.0f, -3.0f}) data += Le(FloatToBF16(value));
  const auto path = folder.Write("x.weights", Safetensors(header, data));  // told by content
  const auto file = WeightFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->tensors().size(), 3u);
  EXPECT_EQ(*(*file)->GetFloat("a", {2, 2}), (std::vector<float>{1.0f, 2.0f, -3.0f, 4.5f}));
  EXPECT_EQ(*(*file)->GetFloat("b", {3}), (std::vector<float>{1.0f, 2.0f, -3.0f}));
  EXPECT_TRUE((*file)->GetFloat("none", {0, 5})->empty());
  EXPECT_EQ((*file)->Get("z", {3}).status().code(), StatusCode::kNotFound);
  const Status wrong = (*file)->Get("a", {4}).status();
  EXPECT_EQ(wrong.code(), StatusCode::kDamaged);
  EXPECT_EQ(wrong.message(), path.string() + ": the tensor 'a' is [2, 2], not [4]");
  const auto same = SafetensorsFile::Open(path);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ((*same)->metadata().at("format"), "pt");
}

TEST(SafetensorsTest, NoticesThatTheFileWasCutWhileOpen) {
  const TempFolder folder;
  const auto path = folder.Write("t.safetensors", Safetensors(OneTensor("F32", "[2,2]", "[0,16]"), Zeros(16)));
  const auto file = WeightFile::Open(path);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path, 4);
  EXPECT_EQ((*file)->GetFloat("t", {2, 2}).status().code(), StatusCode::kDamaged);
}

TEST(SafetensorsTest, RefusesHostileFiles) {
  const std::string ok = Safetensors(OneTensor("F32", "[2,2]", "[0,16]"), Zeros(16));
  const std::string deep = R"({"__metadata__":)" + std::string(100000, '[') + std::string(100000, ']') + "}";
  const std::string t = R"("t":)";
  const std::map<std::string, std::string> files = {
      {"len_max", U64(UINT64_MAX) + "{}"},
      {"len_minus5", U64(UINT64_MAX - 4) + "{}"},
      {"len_1tb", U64(uint64_t{1} << 40) + "{}"},
      {"len_99mb", U64(99'000'000) + "{}"},
      {"len_0", U64(0)},
      {"empty", ""},
      {"seven_bytes", std::string("\1\0\0\0\0\0\0", 7)},
      {"not_json", Safetensors(Zeros(64))},
      {"not_object", Safetensors("[1]")},
      {"offset_past_end", Safetensors(OneTensor("F32", "[2,2]", "[0,1099511627776]"), Zeros(16))},
      {"offset_reversed", Safetensors(OneTensor("F32", "[2,2]", "[16,0]"), Zeros(16))},
      {"offset_negative", Safetensors(OneTensor("F32", "[2,2]", "[-16,0]"), Zeros(16))},
      {"overlap",
       Safetensors("{\"a\":" + Entry("F32", "[2,2]", "[0,16]") + ",\"b\":" + Entry("F32", "[2,2]", "[8,24]") + "}",
                   Zeros(24))},
      {"hole",
       Safetensors("{\"a\":" + Entry("F32", "[2,2]", "[0,16]") + ",\"b\":" + Entry("F32", "[2,2]", "[20,36]") + "}",
                   Zeros(36))},
      {"left_over", Safetensors(OneTensor("F32", "[2,2]", "[0,16]"), Zeros(17))},
      {"unknown_dtype", Safetensors(OneTensor("Q9", "[4]", "[0,16]"), Zeros(16))},
      {"one_offset", Safetensors(OneTensor("F32", "[4]", "[0]"), Zeros(16))},
      {"twice",
       Safetensors("{" + t + Entry("F32", "[4]", "[0,16]") + "," + t + Entry("F32", "[4096]", "[0,16384]") + "}",
                   Zeros(16))},
      {"deep", Safetensors(deep)},
      {"float_dim", Safetensors(OneTensor("F32", "[2.5,2]", "[0,20]"), Zeros(20))},
      {"dims_wrap", Safetensors(OneTensor("F32", "[4294967296,4294967296]", "[0,0]"))},
      {"bytes_wrap", Safetensors(OneTensor("F32", "[4611686018427387904]", "[0,0]"))},
      {"cut_data", ok.substr(0, ok.size() - 9)},
  };
  ExpectAllRefused(files, ".safetensors");
  const TempFolder folder;
  const Status cut = WeightFile::Open(folder.Write("cut.safetensors", files.at("cut_data"))).status();
  EXPECT_NE(cut.message().find("the file is incomplete"), std::string::npos) << cut.message();
}

// ---- GGUF

std::string Str(const std::string& text) { return U64(text.size()) + text; }
std::string GgufHeader(uint64_t tensors, uint64_t keys) { return "GGUF" + U32(3) + U64(tensors) + U64(keys); }

// The table's entry of a tensor.
std::string GgufTensor(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
  std::string bytes = Str(name) + U32(dims.size());
  for (const uint64_t d : dims) bytes += U64(d);
  return bytes + U32(type) + U64(offset);
}

// A whole file: its head, padded to 32, and the data.
std::string WithData(std::string head, const std::string& data) {
  head += Zeros((32 - head.size() % 32) % 32);
  return head + data;
}

const std::string kArchitecture = Str("general.architecture") + U32(8) + Str("x");

TEST(GgufTest, ReadsMetadataAndTensors) {
  std::string keys = kArchitecture;
  keys += Str("u8") + U32(0) + Le(uint8_t{200}) + Str("i32") + U32(5) + Le(int32_t{-5}) + Str("f") + U32(6) + Le(0.5f);
  keys += Str("yes") + U32(7) + Le(uint8_t{1}) + Str("u64") + U32(10) + U64(UINT64_MAX) + Str("d") + U32(12) + Le(0.25);
  keys += Str("words") + U32(9) + U32(8) + U64(2) + Str("a") + Str("bc");
  keys += Str("types") + U32(9) + U32(5) + U64(2) + Le(int32_t{-1}) + Le(int32_t{3});
  keys += Str("floats") + U32(9) + U32(6) + U64(1) + Le(1.5f);
  const std::string head = GgufHeader(2, 10) + keys + GgufTensor("m", {3, 2}, 0, 0) + GgufTensor("q", {32, 1}, 8, 32);
  std::string data;
  for (int i = 0; i < 6; ++i) data += Le(static_cast<float>(i));
  data += Zeros(8) + Le(FloatToF16(2.0f)) + std::string(32, '\x03');
  const TempFolder folder;
  const auto file = GgufFile::Open(folder.Write("a.gguf", WithData(head, data)));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const GgufFile& g = **file;
  EXPECT_EQ(*g.String("general.architecture"), "x");
  EXPECT_EQ(*g.Uint("u8"), 200u);
  EXPECT_EQ(*g.Int("i32"), -5);
  EXPECT_EQ(*g.Double("f"), 0.5);
  EXPECT_EQ(*g.Double("u8"), 200.0);
  EXPECT_TRUE(*g.Bool("yes"));
  EXPECT_EQ(*g.Uint("u64"), UINT64_MAX);
  EXPECT_EQ(**g.Strings("words"), (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(*g.Ints("types"), (std::vector<int64_t>{-1, 3}));
  EXPECT_EQ(*g.Doubles("floats"), (std::vector<double>{1.5}));
  EXPECT_FALSE(g.Int("u64").ok());
  EXPECT_FALSE(g.Uint("i32").ok());
  EXPECT_EQ(g.Uint("nothing").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(g.Uint("yes").status().code(), StatusCode::kDamaged);
  // ggml's [3, 2] is two rows of three.
  EXPECT_EQ(*g.GetFloat("m", {2, 3}), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(*g.GetFloat("q", {1, 32}), std::vector<float>(32, 6.0f));
}

TEST(GgufTest, RefusesHostileFiles) {
  const auto tn = [](const std::vector<uint64_t>& dims, uint32_t type = 0, uint64_t offset = 0) {
    return GgufTensor("t", dims, type, offset);
  };
  const std::string h11 = GgufHeader(1, 1) + kArchitecture;
  const std::string ok = WithData(h11 + tn({8}), Zeros(32));
  {
    const TempFolder folder;
    ASSERT_TRUE(WeightFile::Open(folder.Write("ok.gguf", ok)).ok());
  }
  std::string big_endian = "GGUF";
  for (const char* part : {"\0\0\0\3", "\0\0\0\0\0\0\0\1", "\0\0\0\0\0\0\0\1"}) {
    big_endian += std::string(part, big_endian.size() == 4 ? 4 : 8);
  }
  const std::map<std::string, std::string> files = {
      {"nkv_max", GgufHeader(0, UINT64_MAX)},
      {"ntensors_max", GgufHeader((uint64_t{1} << 63) / 8, 0)},
      {"string_max", GgufHeader(0, 1) + U64(UINT64_MAX) + "a"},
      {"string_1g", GgufHeader(0, 1) + Str("k") + U32(8) + U64(uint64_t{1} << 30)},
      {"ndims_9", h11 + tn(std::vector<uint64_t>(9, 1))},
      {"ndims_max", h11 + Str("t") + U32(UINT32_MAX) + Zeros(64)},
      {"dims_wrap", h11 + tn({uint64_t{1} << 32, uint64_t{1} << 32}) + Zeros(64)},
      {"dim_2_42", h11 + tn({1152, (uint64_t{1} << 42) + 1}) + Zeros(64)},
      {"type_unknown", h11 + tn({8}, 99) + Zeros(64)},
      {"offset_past_end", h11 + tn({8}, 0, uint64_t{1} << 62) + Zeros(64)},
      {"offset_wrap", h11 + tn({8}, 0, UINT64_MAX - 31) + Zeros(64)},
      {"array_max", GgufHeader(0, 1) + Str("k") + U32(9) + U32(4) + U64(uint64_t{1} << 62)},
      {"array_nested", GgufHeader(0, 1) + Str("k") + U32(9) + U32(9) + U64(1) + Zeros(64)},
      {"version_big_endian", big_endian},
      {"version_2", "GGUF" + U32(2) + U64(0) + U64(0)},
      {"cut", ok.substr(0, ok.size() - 40)},
      {"magic_only", "GGUF"},
      {"value_type", GgufHeader(0, 1) + Str("k") + U32(13) + Zeros(16)},
      {"bool_2", GgufHeader(0, 1) + Str("key") + U32(7) + "\2" + Zeros(16)},
      {"key_twice", GgufHeader(0, 2) + kArchitecture + kArchitecture},
      {"tensor_twice", WithData(GgufHeader(2, 0) + tn({8}) + tn({8}, 0, 32), Zeros(64))},
      {"overlap", WithData(GgufHeader(2, 0) + tn({16}) + GgufTensor("u", {8}, 0, 32), Zeros(64))},
      {"unaligned", WithData(GgufHeader(1, 0) + tn({2}, 0, 4), Zeros(64))},
      {"not_whole_blocks", WithData(GgufHeader(1, 0) + tn({33}, 3), Zeros(64))},
      {"rows_not_whole_blocks", WithData(GgufHeader(1, 0) + tn({16, 2}, 3), Zeros(64))},
      {"alignment_0", GgufHeader(0, 1) + Str("general.alignment") + U32(4) + U32(0) + Zeros(32)},
      {"alignment_3", GgufHeader(0, 1) + Str("general.alignment") + U32(4) + U32(3) + Zeros(32)},
  };
  ExpectAllRefused(files, ".gguf");
}

TEST(GgufTest, EveryCutOfASoundFileIsRefused) {
  const TempFolder folder;
  const std::string ok = WithData(GgufHeader(1, 1) + kArchitecture + GgufTensor("t", {8}, 0, 0), Zeros(32));
  for (size_t length = 1; length < ok.size(); ++length) {
    ASSERT_FALSE(WeightFile::Open(folder.Write("cut.gguf", ok.substr(0, length))).ok()) << length;
  }
}

// ---- ONNX

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
std::string Number(int field, uint64_t value) { return Varint(static_cast<uint64_t>(field) << 3) + Varint(value); }
std::string Bytes(int field, const std::string& bytes) {
  return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(bytes.size()) + bytes;
}

std::string Tensor(const std::string& name, const std::vector<uint64_t>& dims, uint64_t type, const std::string& rest) {
  std::string bytes;
  for (const uint64_t d : dims) bytes += Number(1, d);
  return bytes + Number(2, type) + Bytes(8, name) + rest;
}
std::string Model(const std::string& graph) { return Number(1, 8) + Bytes(2, "maker") + Bytes(7, graph); }

TEST(OnnxTest, ReadsInitialisersAndNodes) {
  const std::string node = Bytes(1, "x") + Bytes(1, "onnx::MatMul_1") + Bytes(2, "y") + Bytes(3, "/fc/MatMul") +
                           Bytes(4, "MatMul") + Bytes(5, "attribute");
  const std::string graph =
      Bytes(1, node) + Bytes(2, "graph") +
      Bytes(5, Tensor("onnx::MatMul_1", {2, 2}, 1, Bytes(9, Le(1.0f) + Le(2.0f) + Le(3.0f) + Le(4.0f)))) +
      Bytes(5, Bytes(1, Varint(2)) + Number(2, 1) + Bytes(4, Le(5.0f) + Le(6.0f)) + Bytes(8, "floats")) +
      Bytes(5, Tensor("halves", {1}, 10, Number(5, FloatToF16(1.5f)))) +
      Bytes(5, Tensor("long", {2}, 7, Bytes(7, Varint(7) + Varint(UINT64_MAX)))) +
      Bytes(5, Tensor("text", {1}, 8, Bytes(6, "left out")));
  const TempFolder folder;
  const auto opened = WeightFile::Open(folder.Write("model", Model(graph)));  // told by content
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const auto* file = dynamic_cast<const OnnxFile*>(opened->get());
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(*file->GetFloat("onnx::MatMul_1", {2, 2}), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(*file->GetFloat("floats", {2}), (std::vector<float>{5, 6}));
  EXPECT_EQ(*file->GetFloat("halves", {1}), (std::vector<float>{1.5f}));
  int64_t numbers[2];
  std::memcpy(numbers, file->Get("long", {2})->data, sizeof(numbers));
  EXPECT_EQ(numbers[0], 7);
  EXPECT_EQ(numbers[1], -1);
  ASSERT_EQ(file->nodes().size(), 1u);
  EXPECT_EQ(file->nodes()[0].op_type, "MatMul");
  EXPECT_EQ(file->nodes()[0].outputs, (std::vector<std::string>{"y"}));
  EXPECT_EQ(*file->WeightOfNode("/fc/MatMul"), "onnx::MatMul_1");
  EXPECT_EQ(file->WeightOfNode("/other").status().code(), StatusCode::kNotFound);
}

TEST(OnnxTest, RefusesHostileFiles) {
  const auto with = [](const std::string& tensor) { return Model(Bytes(5, tensor)); };
  const std::string raw4 = Bytes(9, Zeros(4));
  const std::string ok = with(Tensor("t", {1}, 1, raw4));
  const std::map<std::string, std::string> files = {
      {"no_graph", Number(1, 8)},
      {"two_graphs", Model("") + Bytes(7, "")},
      {"wrong_size", with(Tensor("t", {2}, 1, raw4))},
      {"dims_wrap", with(Tensor("t", {uint64_t{1} << 32, uint64_t{1} << 32}, 1, raw4))},
      {"negative_dim", with(Tensor("t", {UINT64_MAX}, 1, raw4))},
      {"no_data", with(Tensor("t", {1}, 1, ""))},
      {"external", with(Tensor("t", {1}, 1, Number(14, 1)))},
      {"many_dims", with(Tensor("t", std::vector<uint64_t>(1000, 1), 1, raw4))},
      {"twice", Model(Bytes(5, Tensor("t", {1}, 1, raw4)) + Bytes(5, Tensor("t", {1}, 1, raw4)))},
      {"length_past_end", Number(1, 8) + Varint(7 << 3 | 2) + Varint(1 << 30) + "abc"},
      {"length_4g", Number(1, 8) + Varint(7 << 3 | 2) + Varint(UINT32_MAX) + "abc"},
      {"varint_endless", Number(1, 8) + std::string(40, '\xff')},
      {"group", Number(1, 8) + Varint(7 << 3 | 3) + Zeros(8)},
      {"field_zero", Number(1, 8) + Zeros(16)},
      {"inner_past_end", Model(Varint(5 << 3 | 2) + Varint(100) + "abc")},
      {"floats_in_ints", with(Tensor("t", {1}, 7, Bytes(4, Zeros(8))))},
      {"cut", ok.substr(0, ok.size() - 2)},
      {"empty", ""},
      {"garbage", "not an onnx file at all"},
  };
  ExpectAllRefused(files, ".onnx");
  const TempFolder folder;
  EXPECT_TRUE(WeightFile::Open(folder.Write("ok.onnx", ok)).ok());
}

TEST(WeightFileTest, UnknownContentAndMissingFiles) {
  ExpectAllRefused({{"movie", "ftypisom and more"}, {"one_byte", "x"}}, ".bin");
  EXPECT_EQ(WeightFile::Open("/nonexistent/model.gguf").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace longview

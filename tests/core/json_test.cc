// Json: what is read, and what is refused with its place named.
#include "core/io/json.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/temp_folder.h"

namespace longview {
namespace {

Json ParseOrDie(std::string_view text) {
  Result<Json> json = Json::Parse(text, "f.json");
  EXPECT_TRUE(json.ok()) << json.status().message();
  return std::move(json).value();
}

std::string Refused(std::string_view text, const JsonLimits& limits = {}) {
  const Result<Json> json = Json::Parse(text, "f.json", limits);
  EXPECT_FALSE(json.ok());
  return json.status().message();
}

TEST(JsonTest, ReadsEveryType) {
  const Json json = ParseOrDie(
      R"({"a":1,"b":-2,"c":2.5,"d":"x\u00e9","e":true,"f":null,"g":[1,2],"h":{"i":[{"j":7}]},"k":["p","q"],"l":18446744073709551615})");
  EXPECT_EQ(*json.GetInt("a"), 1);
  EXPECT_EQ(*json.GetUint("a"), 1u);
  EXPECT_EQ(*json.GetInt("b"), -2);
  EXPECT_EQ(*json.GetDouble("c"), 2.5);
  EXPECT_EQ(*json.GetDouble("a"), 1.0);
  EXPECT_EQ(*json.GetString("d"), "x\xc3\xa9");
  EXPECT_TRUE(*json.GetBool("e"));
  EXPECT_TRUE(json.Get("f")->is_null());
  EXPECT_EQ(*json.GetInts("g"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*json.GetDoubles("g"), (std::vector<double>{1, 2}));
  EXPECT_EQ(*json.GetStrings("k"), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(*json.GetUint("l"), UINT64_MAX);
  EXPECT_EQ(*json.Get("h")->Get("i")->At(0)->GetInt("j"), 7);
  EXPECT_TRUE(json.Has("a"));
  EXPECT_FALSE(json.Has("z"));
  EXPECT_EQ(ParseOrDie(R"({"b":1,"a":2})").Keys(), (std::vector<std::string>{"a", "b"}));
}

TEST(JsonTest, MessagesNameFileAndPlace) {
  const Json json = ParseOrDie(R"({"h":{"i":[1,"x"]},"n":1.5,"l":18446744073709551615,"m":-1})");
  EXPECT_EQ(json.GetInt("z").status().message(), "f.json: z: is missing");
  EXPECT_EQ(json.Get("h")->GetInts("i").status().message(), "f.json: h.i[1]: a whole number was expected");
  EXPECT_FALSE(json.GetInt("n").ok());
  EXPECT_FALSE(json.GetInt("l").ok());
  EXPECT_FALSE(json.GetUint("m").ok());
  EXPECT_FALSE(json.Get("n")->Get("x").ok());
  EXPECT_FALSE(json.Get("h")->Get("i")->At(2).ok());
}

TEST(JsonTest, RefusesWhatIsNotJson) {
  for (const std::string_view text : {"", "{", "nul", "{\"a\":1}x", "[1,]", "\"\xff\"", "{\"a\" 1}", "1e999"}) {
    EXPECT_NE(Refused(text).find("f.json: is not valid JSON"), std::string::npos) << text;
  }
}

TEST(JsonTest, RefusesDuplicatesDepthAndSize) {
  EXPECT_NE(Refused(R"({"t":1,"u":{"t":1},"t":2})").find("'t' stands twice"), std::string::npos);
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_NE(Refused(deep).find("nested deeper than 64"), std::string::npos);
  EXPECT_TRUE(Json::Parse(std::string(64, '[') + std::string(64, ']'), "f").ok());
  EXPECT_FALSE(Json::Parse(std::string(65, '[') + std::string(65, ']'), "f").ok());
  JsonLimits limits;
  limits.max_bytes = 3;
  EXPECT_NE(Refused("[1,2]", limits).find("limit"), std::string::npos);
}

TEST(JsonTest, ReadsFiles) {
  const TempFolder folder;
  const auto path = folder.Write("c.json", "{\"a\":1}");
  EXPECT_EQ(*Json::ParseFile(path.string())->GetInt("a"), 1);
  EXPECT_EQ(Json::ParseFile((folder / "none.json").string()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace longview

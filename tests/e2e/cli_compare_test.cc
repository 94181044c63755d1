// `compare`, `bench`, `--budget` and the forms of the cache through the real program.
#include <cmath>
#include <map>
#include <set>

#include "tests/e2e/cli_fixture.h"

namespace longview::test {
namespace {

using CliCompare = CliTest;
using Keys = std::vector<std::string>;
using nlohmann::json;

// "mla 64 int8" -> its row.
std::map<std::string, json> ByName(const json& rows) {
  std::map<std::string, json> named;
  for (const json& row : rows) {
    const json& latent = row["latent"];
    const std::string size =
        latent.is_null() ? ""
                         : " " + (latent.is_string() ? latent.get<std::string>() : std::to_string(latent.get<int>()));
    named[row["mode"].get<std::string>() + size + " " + row["store"].get<std::string>()] = row;
  }
  return named;
}

void ExpectRowShape(const json& row) {
  EXPECT_EQ(row["groups"].is_number(), row["mode"] == "gqa") << row;
  EXPECT_EQ(row["latent"].is_null(), row["mode"] != "mla") << row;
  EXPECT_EQ(row["measured"], true) << row;
  for (const char* key : {"first_token_s", "token_s", "bytes", "bytes_per_token"}) {
    EXPECT_GT(row[key].get<double>(), 0.0) << key << row;
  }
  EXPECT_GE(row["kl"].get<double>(), 0.0);
  EXPECT_TRUE(std::isfinite(row["nll"].get<double>()));
  EXPECT_GE(row["agreement"].get<double>(), 0.0);
  EXPECT_LE(row["agreement"].get<double>(), 1.0);
  // Every buffer is accounted for: what was predicted is what was allocated.
  const double predicted = row["predicted_bytes"].get<double>();
  EXPECT_NEAR(row["bytes"].get<double>(), predicted, 0.01 * predicted) << row;
  for (const char* hours : {"1", "3", "10"}) {
    EXPECT_NEAR(row["hours"][hours].get<double>(), std::stod(hours) * 3600 * 65 * row["bytes_per_token"].get<double>(),
                65.0 * 3600)
        << row;
  }
}

TEST_F(CliCompare, EveryModeSideBySide) {
  const std::string clip = CopyClip("film.mp4").string();
  const json report = RunJson({"compare", clip});
  EXPECT_EQ(KeysOf(report), (Keys{"rows", "tokens"}));
  const auto tokens = report["tokens"].get<uint64_t>();
  EXPECT_EQ(tokens % 65, 0u);
  ASSERT_EQ(report["rows"].size(), 19u);
  for (const json& row : report["rows"]) {
    EXPECT_EQ(KeysOf(row), (Keys{"agreement", "bytes", "bytes_per_token", "first_token_s", "groups", "hours", "kl",
                                 "latent", "measured", "mode", "nll", "predicted_bytes", "store", "token_s"}));
    ExpectRowShape(row);
    EXPECT_NEAR(row["predicted_bytes"].get<double>(),
                static_cast<double>(tokens) * row["bytes_per_token"].get<double>(), 1.0);
  }
  std::map<std::string, json> rows = ByName(report["rows"]);
  ASSERT_EQ(rows.size(), 19u);
  const auto value = [&](const std::string& name, const char* key) {
    EXPECT_TRUE(rows.contains(name)) << name;
    return rows[name][key].get<double>();
  };
  // The formulas of design §2 for the random model's eight layers.
  EXPECT_EQ(value("mha fp32", "bytes_per_token"), 4.0 * (2 * 8 * 9 * 64 + 32));
  EXPECT_EQ(value("gqa bf16", "bytes_per_token"), 2.0 * (2 * 8 * 3 * 64 + 32));
  EXPECT_EQ(value("mqa bf16", "bytes_per_token"), 2.0 * (2 * 8 * 64 + 32));
  EXPECT_EQ(value("mla 128 bf16", "bytes_per_token"), 320.0);
  EXPECT_EQ(value("mla 128 int8", "bytes_per_token"), 196.0);
  EXPECT_EQ(value("mla 32 bf16", "bytes_per_token"), 128.0);
  EXPECT_LE(value("mla auto bf16", "bytes_per_token"), 192.0);
  EXPECT_NEAR(value("states bf16", "bytes_per_token"), 2.0 * (384 + 1 + 32), 8.0);
  // What is exact is near the reference; what pools or cuts is farther off than what only rounds.
  EXPECT_LT(value("mha fp32", "kl"), 1e-3);
  EXPECT_GE(value("mha fp32", "agreement"), 0.98);
  EXPECT_LT(value("mla 128 bf16", "kl"), 0.05);
  EXPECT_LT(value("states bf16", "kl"), 0.05);
  EXPECT_GT(value("mqa bf16", "kl"), value("mha bf16", "kl"));
  EXPECT_GT(value("mla 32 bf16", "kl"), value("mla 128 bf16", "kl"));
}

TEST_F(CliCompare, TheTableForPeople) {
  // Of one picture: the table is what counts here.
  const RunOutcome text = Run({"compare", CliEnvironment::ShortClip().string(), "--max-frames", "1"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"B/token", "mha fp32", "mla auto int8", "Best of their size", "mean pooling", "7.1 x fewer",
                           "Numbers of a latent that the layers need"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
}

TEST_F(CliCompare, WrongUseAndMissingVideos) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"compare"},
                                             {"compare", "a.mp4", "b.mp4"},
                                             {"compare", "a.mp4", "--store", "bf16"},
                                             {"bench", "a.mp4"},
                                             {"bench", "--all"},
                                             {"ask", "a.mp4", "q", "--budget", "1GB"},
                                             {"ask", "a.mp4", "q", "--cache", "mla8"},
                                             {"index", "a.mp4", "--latent", "auto"}}) {
    EXPECT_EQ(Run(words).exit_code, 2) << words.back();
  }
  EXPECT_EQ(Run({"compare", (folder_ / "none.mp4").string()}).exit_code, 3);
  // Nine heads cannot be parted into two groups.
  EXPECT_EQ(Run({"compare", CliEnvironment::ShortClip().string(), "--groups", "2"}).exit_code, 2);
}

TEST_F(CliCompare, ABudgetIsSolvedAndTold) {
  const std::string clip = CliEnvironment::ShortClip().string();
  const std::string library = (folder_ / "library").string();
  const std::vector<std::string> budget = {"--budget", "540MB", "--for", "12h", "--library", library};
  std::vector<std::string> words = {"index", clip, "--json"};
  words.insert(words.end(), budget.begin(), budget.end());
  const RunOutcome index = Run(words);
  ASSERT_EQ(index.exit_code, 0) << index.err;
  EXPECT_NE(index.err.find("latents of 64 in bf16"), std::string::npos) << index.err;
  EXPECT_NE(json::parse(index.out)["videos"][0]["index"]["sampling"].get<std::string>().find("latent=64"),
            std::string::npos);
  // The same budget asks the same index.
  words = {"ask", clip, "What is shown?"};
  words.insert(words.end(), budget.begin(), budget.end());
  const json answer = RunJson(words);
  EXPECT_EQ(answer["cache"]["latent"], 64);
  EXPECT_EQ(answer["time"]["index_s"], 0.0);
  const RunOutcome none = Run({"index", clip, "--budget", "1MB", "--for", "1000h"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("at least"), std::string::npos) << none.err;
}

TEST_F(CliCompare, AskInOtherForms) {
  const std::string clip = CliEnvironment::ShortClip().string();
  for (const char* mode : {"mha", "gqa", "mqa", "mla_layers", "states"}) {
    const json answer = RunJson({"ask", clip, "What is shown?", "--cache", mode, "--store", "fp16"});
    EXPECT_EQ(answer["cache"]["mode"], mode);
    EXPECT_EQ(answer["cache"]["store"], "fp16");
    EXPECT_GT(answer["cache"]["bytes"].get<uint64_t>(), 0u);
  }
  const json by_frame = RunJson({"ask", clip, "What is shown?", "--latent", "auto"});
  EXPECT_TRUE(by_frame["cache"]["latent"].is_number_integer());
}

TEST_F(CliCompare, Bench) {
  const json report = RunJson({"bench"});
  EXPECT_EQ(KeysOf(report), (Keys{"kernels", "machine"}));
  const json& machine = report["machine"];
  EXPECT_GT(machine["gflops_fp32"].get<double>(), 0.1);
  EXPECT_GT(machine["gb_per_s"].get<double>(), 0.1);
  EXPECT_GE(machine["threads"].get<int>(), 1);
  std::set<std::string> names;
  for (const json& kernel : report["kernels"]) {
    EXPECT_EQ(KeysOf(kernel), (Keys{"name", "peak_share", "unit", "value"}));
    names.insert(kernel["name"].get<std::string>());
    if (kernel["value"].is_null()) {
      EXPECT_TRUE(kernel["peak_share"].is_null());
      continue;
    }
    EXPECT_GT(kernel["value"].get<double>(), 0.0) << kernel;
    EXPECT_GT(kernel["peak_share"].get<double>(), 0.0) << kernel;
  }
  for (const char* name : {"mla_decode_bf16_ns_per_token", "mla_decode_int8_ns_per_token", "vit_s14_bf16_ms",
                           "vit_s14_int8_ms", "text_prompt_tokens_per_s", "text_decode_tokens_per_s"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  const RunOutcome text = Run({"bench", "--threads", "1"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("1 thread:"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("% of peak"), std::string::npos) << text.out;
}

}  // namespace
}  // namespace longview::test

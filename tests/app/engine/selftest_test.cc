// The self-test: needles read and refused, the film that they are planted in, and the picture of the result.
#include "app/engine/selftest.h"

#include "tests/app/engine/engine_fixture.h"

namespace longview::test {
namespace {

TEST(SelfTestNeedles, AFolderNamesItsPictures) {
  const TempFolder folder;
  EXPECT_EQ(ReadNeedles(folder.path()).status().code(), StatusCode::kNotFound);
  folder.Write("captions.tsv", "a.png\tA dog runs.\r\n\nsub/b.jpg\tTwo men.\n");
  const auto needles = ReadNeedles(folder.path());
  ASSERT_TRUE(needles.ok()) << needles.status().message();
  ASSERT_EQ(needles->size(), 2u);
  EXPECT_EQ((*needles)[0].file, folder / "a.png");
  EXPECT_EQ((*needles)[0].caption, "A dog runs.");
  EXPECT_EQ((*needles)[1].file, folder / "sub" / "b.jpg");
  for (const char* text : {"a.png A dog\n", "\tA dog\n", "a.png\t\n", "/etc/passwd\tA dog\n", ""}) {
    folder.Write("captions.tsv", text);
    EXPECT_EQ(ReadNeedles(folder.path()).status().code(), StatusCode::kDamaged) << text;
  }
}

TEST(SelfTestNeedles, OptionsOutOfRangeAreNamed) {
  SelfTestOptions options;
  EXPECT_FALSE(CheckSelfTest(options).ok());
  options.needles.push_back({"a.png", "a dog"});
  EXPECT_TRUE(CheckSelfTest(options).ok());
  for (const double length : {0.0, -1.0, 50.0, 1e9}) {
    SelfTestOptions bad = options;
    bad.lengths_s = {length};
    EXPECT_FALSE(CheckSelfTest(bad).ok()) << length;
  }
  options.depths = 0;
  EXPECT_FALSE(CheckSelfTest(options).ok());
}

TEST(SelfTestNeedles, TheHeatMapIsGreenWhereAllWereFound) {
  SelfTestReport report;
  report.cells = {{600, 0.25, 4, 4, 0}, {600, 0.75, 4, 0, 4}, {3600, 0.25, 4, 2, 2}, {3600, 0.75, 4, 4, 4}};
  const Picture picture = DrawHeatMap(report, false);
  ASSERT_EQ(picture.width, 96);
  ASSERT_EQ(picture.height, 96);
  const auto green = [&](const Picture& p, int x, int y) { return p.Row(y)[x * 3 + 1] > p.Row(y)[x * 3]; };
  EXPECT_TRUE(green(picture, 10, 10));
  EXPECT_FALSE(green(picture, 10, 60));
  EXPECT_TRUE(green(picture, 60, 60));
  EXPECT_FALSE(green(DrawHeatMap(report, true), 10, 10));
  EXPECT_TRUE(DrawHeatMap({}, false).empty());
}

class EngineSelfTest : public EngineFixture {};

TEST_F(EngineSelfTest, EveryNeedleStandsAtEveryDepthOfEveryLength) {
  const auto engine = MakeEngine();
  const std::filesystem::path other = folder_ / "other.mp4";
  std::filesystem::copy_file(clip_, other);
  SelfTestOptions options;
  options.lengths_s = {60.0, 90.0};
  options.depths = 3;
  options.needles = {{clip_, "itself"}, {other, "red"}};
  // What the needle is and what the footage is are the same pictures under two names: the film must still be sound.
  std::vector<SelfTestCell> told;
  const auto report = engine->SelfTest(clip_, options, {}, [&](const SelfTestCell& cell) { told.push_back(cell); });
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->cells.size(), 6u);
  EXPECT_EQ(told.size(), 6u);
  for (const SelfTestCell& cell : report->cells) {
    EXPECT_EQ(cell.planted, 1);  // the footage itself was left out
    EXPECT_LE(cell.found, cell.planted);
  }
  EXPECT_GT(report->tokens, 0u);
  options.needles.pop_back();
  EXPECT_EQ(engine->SelfTest(clip_, options).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace longview::test

// What a comparison lists and what it concludes, without a model.
#include "app/engine/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace longview {
namespace {

size_t Count(const std::vector<CompareRow>& rows, const std::string& mode) {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const CompareRow& row) { return row.mode == mode; }));
}

TEST(Compare, DefaultRows) {
  const std::vector<CompareRow> rows = CompareRows({}, 3);
  EXPECT_EQ(rows.size(), 19u);
  EXPECT_EQ(Count(rows, "mha"), 3u);
  for (const char* mode : {"gqa", "mqa", "mla_layers", "states"}) EXPECT_EQ(Count(rows, mode), 2u) << mode;
  EXPECT_EQ(Count(rows, "mla"), 8u);
  std::set<std::tuple<std::string, std::string, int>> names;
  for (const CompareRow& row : rows) {
    EXPECT_TRUE(names.insert({row.mode, row.store, row.latent}).second);
    EXPECT_EQ(row.groups, row.mode == "gqa" ? 3 : 0);
    EXPECT_EQ(row.latent != 0, row.mode == "mla");
    EXPECT_FALSE(row.measured);
  }
}

TEST(Compare, TheFullGrid) {
  CompareOptions options;
  options.all = true;
  options.groups = 9;
  const std::vector<CompareRow> rows = CompareRows(options, 3);
  EXPECT_EQ(rows.size(), 4u * (5 + 4));
  for (const CompareRow& row : rows) EXPECT_EQ(row.groups, row.mode == "gqa" ? 9 : 0);
}

TEST(Compare, ParetoRowsAreBeatenByNone) {
  std::vector<CompareRow> rows(5);
  const std::pair<uint64_t, std::optional<double>> points[] = {
      {100, 0.1}, {200, 0.05}, {150, 0.2}, {200, 0.06}, {10, std::nullopt}};
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].predicted_bytes = points[i].first;
    rows[i].kl = points[i].second;
  }
  MarkPareto(&rows);
  const bool expected[] = {true, true, false, false, false};
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].pareto, expected[i]) << i;
  // Equals do not beat each other.
  std::vector<CompareRow> equal(2);
  for (CompareRow& row : equal) {
    row.predicted_bytes = 5;
    row.kl = 0.5;
  }
  MarkPareto(&equal);
  EXPECT_TRUE(equal[0].pareto && equal[1].pareto);
}

TEST(Compare, BytesOfTheSameNll) {
  const std::vector<std::pair<double, double>> fixed = {{128, 2.0}, {192, 1.5}, {320, 1.4}};
  EXPECT_NEAR(*BytesAtNll(fixed, 1.75), 160.0, 1e-9);
  EXPECT_NEAR(*BytesAtNll(fixed, 1.5), 192.0, 1e-9);
  EXPECT_NEAR(*BytesAtNll(fixed, 1.425), 288.0, 1e-9);
  EXPECT_FALSE(BytesAtNll(fixed, 2.1).has_value());
  EXPECT_FALSE(BytesAtNll(fixed, 1.3).has_value());
  EXPECT_FALSE(BytesAtNll({}, 1.0).has_value());
}

}  // namespace
}  // namespace longview

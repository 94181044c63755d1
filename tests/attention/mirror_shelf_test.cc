// MirrorShelf: which mirrors are kept, and for whom.
#include "attention/kernels/cuda/mirror_shelf.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/attention/emulated_mla.h"
#include "tests/attention/mla_parity.h"

namespace longview::test {
namespace {

class MirrorShelfTest : public testing::Test {
 protected:
  MirrorShelfTest() {
    problem_ = MlaProblem(CacheStore::kBF16, 32, 32, 1, {65, 65});
    problem_.Make(1);
  }
  std::shared_ptr<MirrorShelf> Shelf(size_t free_bytes = size_t{4} << 30) {
    return std::make_shared<MirrorShelf>([free_bytes]() -> Result<std::shared_ptr<MlaBackend>> {
      MlaLimits limits = TestLimits();
      limits.free_bytes = free_bytes;
      return std::shared_ptr<MlaBackend>(std::make_shared<EmulatedMla>(limits));
    });
  }
  std::shared_ptr<MlaMirror> Get(MirrorShelf* shelf, const std::string& key) {
    auto mirror = shelf->Get(key, [&](std::shared_ptr<MlaBackend> backend) -> Result<std::unique_ptr<MlaMirror>> {
      ++made_;
      return MirrorOf(problem_, std::move(backend));
    });
    EXPECT_TRUE(mirror.ok()) << mirror.status().message();
    return mirror.ok() ? *mirror : nullptr;
  }

  Problem problem_;
  int made_ = 0;
};

TEST_F(MirrorShelfTest, TheNextQuestionFindsItsMirror) {
  const auto shelf = Shelf();
  auto mirror = Get(shelf.get(), "a");
  ExpectMirrorAgrees(&problem_, mirror.get(), "first");
  const MlaMirror* const first = mirror.get();
  EXPECT_EQ(shelf->size(), 0u);
  // Somebody uses it: another is made.
  auto other = Get(shelf.get(), "a");
  EXPECT_NE(other.get(), first);
  EXPECT_EQ(made_, 2);
  other.reset();
  mirror.reset();
  EXPECT_EQ(shelf->size(), 2u);
  mirror = Get(shelf.get(), "a");
  EXPECT_EQ(mirror.get(), first);
  EXPECT_EQ(made_, 2);
  ExpectMirrorAgrees(&problem_, mirror.get(), "again");
  EXPECT_GT(mirror->replays(), 0u) << "its recording was kept";
  EXPECT_NE(Get(shelf.get(), "b").get(), nullptr);
  EXPECT_EQ(made_, 3);
}

TEST_F(MirrorShelfTest, OneWithoutAKeyIsNotKept) {
  const auto shelf = Shelf();
  Get(shelf.get(), "");
  EXPECT_EQ(shelf->size(), 0u);
  Get(shelf.get(), "");
  EXPECT_EQ(made_, 2);
}

TEST_F(MirrorShelfTest, TheOldestAreDropped) {
  const auto shelf = Shelf();
  for (size_t i = 0; i < MirrorShelf::kMirrors + 3; ++i) Get(shelf.get(), std::to_string(i));
  EXPECT_EQ(shelf->size(), MirrorShelf::kMirrors);
  const int made = made_;
  Get(shelf.get(), "3");
  EXPECT_EQ(made_, made);
  Get(shelf.get(), "2");
  EXPECT_EQ(made_, made + 1);
}

TEST_F(MirrorShelfTest, AQuarterOfTheMemoryIsKeptAtMost) {
  // A page of 1,024 tokens of 32 + 32 numbers is 128 KiB; beside the pages a mirror wants 768 MiB.
  const auto shelf = Shelf((size_t{768} << 20) + (size_t{1} << 20));
  size_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    const auto mirror = Get(shelf.get(), std::to_string(i));
    bytes = mirror->bytes();
  }
  EXPECT_GE(bytes, size_t{128} << 10);
  EXPECT_EQ(shelf->size(), 3u);
  problem_ = MlaProblem(CacheStore::kBF16, 512, 32, 1, std::vector<size_t>(300, 1000));
  problem_.Make(2);
  Get(shelf.get(), "large");  // 320 MB
  EXPECT_LE(shelf->size(), 3u);
  const int made = made_;
  Get(shelf.get(), "large");
  EXPECT_EQ(made_, made + 1);
}

TEST_F(MirrorShelfTest, MirrorsMayOutliveTheShelf) {
  auto shelf = Shelf();
  auto mirror = Get(shelf.get(), "a");
  shelf.reset();
  ExpectMirrorAgrees(&problem_, mirror.get(), "alone");
  mirror.reset();
}

TEST_F(MirrorShelfTest, WithoutADeviceThereIsNone) {
  MirrorShelf none([]() -> Result<std::shared_ptr<MlaBackend>> { return std::shared_ptr<MlaBackend>(); });
  EXPECT_EQ(Get(&none, "a"), nullptr);
  MirrorShelf broken([]() -> Result<std::shared_ptr<MlaBackend>> { return NotFound("no GPU"); });
  EXPECT_EQ(broken.Get("a", {}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace longview::test

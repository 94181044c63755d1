// Checks, checked sizes, the log, the queue, the thread pool and the arena.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "core/base/arena.h"
#include "core/base/bounded_queue.h"
#include "core/base/check.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {
namespace {

constexpr size_t kMax = std::numeric_limits<size_t>::max();

TEST(CheckTest, SizesThatOverflowAreNoticed) {
  EXPECT_EQ(MulSize(6, 7).value(), 42u);
  EXPECT_EQ(MulSize(2, 3, 4, 5).value(), 120u);
  EXPECT_EQ(MulSize(0, kMax).value(), 0u);
  EXPECT_FALSE(MulSize(kMax, 2).has_value());
  EXPECT_FALSE(MulSize(size_t{1} << 32, size_t{1} << 31, 2, 3).has_value());
  EXPECT_EQ(AddSize(kMax - 1, 1).value(), kMax);
  EXPECT_FALSE(AddSize(kMax, 0, 1).has_value());
}

TEST(CheckDeathTest, SaysWhatFailed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  LV_CHECK_EQ(1, 1);
  EXPECT_DEATH(LV_CHECK_EQ(1 + 1, 3), "1 \\+ 1 == 3 \\(2 against 3\\)");
  EXPECT_DEATH(LV_CHECK(kMax == 0), "kMax == 0");
}

TEST(StatusTest, ContextGoesInFront) {
  EXPECT_EQ(NotFound("b").WithContext("a").message(), "a: b");
  EXPECT_TRUE(Status::Ok().WithContext("a").ok());
}

TEST(LogTest, LevelsAndSink) {
  std::vector<std::string> lines;
  const LogLevel before = GetLogLevel();
  SetLogSink([&](LogLevel level, std::string_view text) {
    lines.push_back(std::to_string(static_cast<int>(level)) + std::string(text));
  });
  SetLogLevel(LogLevel::kInfo);
  LogDebug("no");
  LogInfo("{} is text, not a format");
  LogError("yes");
  EXPECT_FALSE(LogEnabled(LogLevel::kDebug));
  EXPECT_TRUE(LogEnabled(LogLevel::kWarning));
  SetLogLevel(LogLevel::kOff);
  LogError("no");
  EXPECT_FALSE(LogEnabled(LogLevel::kError));
  SetLogLevel(before);
  SetLogSink({});
  EXPECT_EQ(lines, (std::vector<std::string>{"1{} is text, not a format", "3yes"}));
}

TEST(BoundedQueueTest, HandsOverEverythingInOrderAndNeverHoldsMore) {
  BoundedQueue<int> queue(3);
  std::atomic<size_t> most = 0;
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(queue.Push(i));
    queue.Close();
  });
  int next = 0;
  while (std::optional<int> item = queue.Pop()) {
    most = std::max(most.load(), queue.size());
    EXPECT_EQ(*item, next++);
  }
  producer.join();
  EXPECT_EQ(next, 1000);
  EXPECT_LE(most.load(), 3u);
  EXPECT_FALSE(queue.Push(1));
}

TEST(BoundedQueueTest, CloseWakesWaitersAndLeavesItems) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.Push(1));
  std::thread waiting([&] { EXPECT_FALSE(queue.Push(2)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  queue.Close();
  waiting.join();
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_FALSE(queue.Pop().has_value());
}

TEST(BoundedQueueTest, AStopWakesBothSides) {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  EXPECT_TRUE(full.Push(1));
  std::stop_source stop;
  std::thread popper([&] { EXPECT_FALSE(empty.Pop(stop.get_token()).has_value()); });
  std::thread pusher([&] { EXPECT_FALSE(full.Push(2, stop.get_token())); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  stop.request_stop();
  popper.join();
  pusher.join();
  EXPECT_EQ(full.size(), 1u);
}

TEST(BoundedQueueTest, MayDropTheOldest) {
  BoundedQueue<int> queue(2, Overflow::kDropOldest);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(queue.Push(i));
  EXPECT_EQ(queue.dropped(), 3u);
  EXPECT_EQ(queue.TryPop(), 3);
  EXPECT_EQ(queue.TryPop(), 4);
  EXPECT_FALSE(queue.TryPop().has_value());
}

TEST(ThreadPoolTest, EveryIndexOnceInRangesThatDependOnCountsOnly) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const size_t count : {0, 1, 2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> seen(count);
      std::vector<std::pair<size_t, size_t>> ranges(static_cast<size_t>(threads));
      pool.ParallelFor(count, [&](size_t first, size_t last, int slot) {
        EXPECT_LT(first, last);
        ranges[static_cast<size_t>(slot)] = {first, last};
        for (size_t i = first; i < last; ++i) ++seen[i];
      });
      for (const auto& times : seen) EXPECT_EQ(times.load(), 1);
      for (const auto& [first, last] : ranges) EXPECT_LE(last - first, count / static_cast<size_t>(threads) + 1);
    }
  }
}

TEST(ThreadPoolTest, ManyShortLoops) {
  ThreadPool pool(3);
  std::atomic<size_t> sum = 0;
  for (int i = 0; i < 2000; ++i) pool.ParallelFor(3, [&](size_t first, size_t last, int) { sum += last - first; });
  EXPECT_EQ(sum.load(), 6000u);
}

TEST(ThreadPoolTest, LoopsInsideLoopsAndFromTwoThreads) {
  ThreadPool pool(3);
  std::atomic<size_t> sum = 0;
  const auto nested = [&](size_t first, size_t last, int) {
    for (size_t i = first; i < last; ++i) {
      pool.ParallelFor(10, [&](size_t a, size_t b, int) { sum += b - a; });
    }
  };
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) pool.ParallelFor(5, nested);
  });
  for (int i = 0; i < 100; ++i) pool.ParallelFor(5, nested);
  other.join();
  EXPECT_EQ(sum.load(), 10000u);
}

TEST(ArenaTest, CountsByLabelAndAligns) {
  Arena arena;
  {
    Result<AlignedBuffer> a = arena.Allocate(100, "latents");
    Result<AlignedBuffer> b = arena.Allocate(28, "latents");
    Result<AlignedBuffer> c = arena.Allocate(7, "weights");
    ASSERT_TRUE(a.ok() && b.ok() && c.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a->data()) % kBufferAlignment, 0u);
    EXPECT_EQ(a->as<float>().size(), 25u);
    EXPECT_EQ(arena.Snapshot(), (std::map<std::string, size_t>{{"latents", 128}, {"weights", 7}}));
    *a = std::move(*b);
    EXPECT_EQ(arena.Snapshot().at("latents"), 28u);
    EXPECT_EQ(arena.total(), 35u);
    EXPECT_EQ(b->data(), nullptr);
  }
  EXPECT_TRUE(arena.Snapshot().empty());
  EXPECT_EQ(arena.Allocate(0, "nothing")->data(), nullptr);
  EXPECT_EQ(arena.Allocate(kMax, "too much").status().code(), StatusCode::kResource);
  EXPECT_EQ(arena.Allocate(kMax / 4, "too much").status().code(), StatusCode::kResource);
}

TEST(ArenaTest, ABufferMayOutliveItsArena) {
  AlignedBuffer buffer;
  {
    Arena arena;
    buffer = std::move(arena.Allocate(64, "x")).value();
  }
  buffer.as<uint8_t>()[63] = 1;
  EXPECT_EQ(buffer.bytes(), 64u);
}

}  // namespace
}  // namespace longview

// The bridge on an emulated device against the training code's numbers and the processor's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attention/bridge/cross_blocks.h"
#include "attention/bridge/cross_device.h"
#include "attention/bridge/frame_encoder.h"
#include "attention/kernels/cuda/mirror_shelf.h"
#include "tests/attention/bridge_fixture.h"
#include "tests/attention/emulated_mla.h"
#include "tests/attention/mla_parity.h"
#include "tests/support/compare.h"
#include "tests/support/emulated_net.h"
#include "tests/support/test_net.h"

namespace longview {
namespace {

TEST_F(BridgeTest, ADeviceEncodesFramesAsInTraining) {
  const FrameEncoder encoder(weights_, test::MakeTestNet());
  ASSERT_TRUE(encoder.on_device());
  const std::vector<float> vit = Expected("vit");
  const size_t picture = 257 * kVitWidth;
  auto room = encoder.Room(picture);
  ASSERT_TRUE(room.ok()) << room.status().message();
  std::copy_n(vit.data() + picture, picture, room->As<float>());  // the emulated device's memory is the host's
  const std::vector<FrameInput> inputs = {{vit.data(), false, kTimes[0]}, {room->As<float>(), true, kTimes[1]}};
  const auto frames = encoder.Encode(inputs, nullptr);
  ASSERT_TRUE(frames.ok()) << frames.status().message();
  ASSERT_EQ(frames->size(), 2u);
  const struct {
    const char* name;
    std::vector<float> EncodedFrame::*numbers;
    double error;
  } parts[] = {{"latents", &EncodedFrame::latents, 0.05},
               {"keys", &EncodedFrame::keys, 0.05},
               {"retrieval", &EncodedFrame::retrieval, 0.01}};
  for (const auto& part : parts) {
    const std::vector<float> expected = Expected(part.name);
    for (size_t i = 0; i < 2; ++i) {
      const std::vector<float>& here = (*frames)[i].*part.numbers;
      const Difference d = Compare(here, std::span(expected).subspan(i * here.size(), here.size()));
      EXPECT_GE(d.cosine, 0.9998) << part.name << i;
      EXPECT_LE(d.max_error, part.error) << part.name << i << " at " << d.worst;
      EXPECT_GT(d.max_error, 1e-6) << part.name << ": bf16 cannot be that exact";
    }
  }
  EXPECT_TRUE(encoder.Encode({}, nullptr)->empty());
}

TEST_F(BridgeTest, TheProcessorEncodesWhatADeviceFails) {
  // Whose memory holds the weights and nothing more.
  auto net = std::make_shared<test::EmulatedNet>(size_t{1} << 20);
  const FrameEncoder encoder(weights_, net), processor(weights_);
  ASSERT_TRUE(encoder.on_device());
  EXPECT_FALSE(processor.on_device());
  EXPECT_EQ(processor.Room(8).status().code(), StatusCode::kUnsupported);
  const std::vector<float> vit = Expected("vit");
  const std::vector<FrameInput> inputs(8, {vit.data(), false, kTimes[1]});
  const auto frames = encoder.Encode(inputs, nullptr);
  ASSERT_TRUE(frames.ok()) << frames.status().message();
  EXPECT_FALSE(encoder.on_device());
  const EncodedFrame expected = processor.Encode(vit.data(), kTimes[1], nullptr);
  for (const EncodedFrame& frame : *frames) {
    EXPECT_EQ(frame.latents, expected.latents);
    EXPECT_EQ(frame.keys, expected.keys);
    EXPECT_EQ(frame.retrieval, expected.retrieval);
  }
  const std::vector<FrameInput> there = {{vit.data(), true, 0.0}};
  EXPECT_EQ(encoder.Encode(there, nullptr).status().code(), StatusCode::kUnsupported);
  // And where not even the weights fit.
  const FrameEncoder none(weights_, std::make_shared<test::EmulatedNet>(1000));
  EXPECT_FALSE(none.on_device());
}

TEST_F(BridgeTest, ADeviceGivesTheProcessorsAnswer) {
  for (const CacheStore store : {CacheStore::kBF16, CacheStore::kI8, CacheStore::kF32}) {
    for (const size_t cut : {size_t{32}, size_t{64}}) {
      CrossBlocksOptions options;
      options.form = {CacheMode::kMla, store, cut};
      const CacheView view = Cached(options.form);
      const auto processor = Blocks(view, options);
      const auto backend = std::make_shared<test::EmulatedMla>(test::TestLimits());
      options.mirrors = std::make_shared<MirrorShelf>(
          [backend]() -> Result<std::shared_ptr<MlaBackend>> { return std::shared_ptr<MlaBackend>(backend); });
      const auto device = Blocks(view, options);
      const std::vector<float> expected = Through(processor.get());
      const Difference d = Compare(Through(device.get()), expected);
      EXPECT_GE(d.cosine, 0.9999) << CacheStoreName(store) << cut;
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(device->Evidence()[i], processor->Evidence()[i], 5e-3);
      // It holds bf16 and int8; the rest is the processor's, to the bit.
      EXPECT_EQ(backend->sweeps, store == CacheStore::kF32 ? 0u : 2u);
      EXPECT_EQ(d.max_error == 0.0, store == CacheStore::kF32);
    }
  }
}

TEST_F(BridgeTest, BlocksOnTheDecodersDeviceGiveTheProcessorsAnswer) {
  const auto net = test::MakeTestNet();
  auto device = MakeGpuCrossBlocks(*weights_, net);
  ASSERT_TRUE(device.ok()) << device.status().message();
  for (const CacheStore store : {CacheStore::kBF16, CacheStore::kI8, CacheStore::kF16, CacheStore::kF32}) {
    for (const size_t cut : {size_t{32}, size_t{64}}) {
      CrossBlocksOptions options;
      options.form = {CacheMode::kMla, store, 64};
      options.form.layer_cuts = {cut, 64};
      options.collect_evidence = false;
      const CacheView view = Cached(options.form);
      const auto processor = Blocks(view, options);
      EXPECT_FALSE(processor->OnDevice());
      options.device = *device;
      const auto there = Blocks(view, options);
      ASSERT_TRUE(there->OnDevice());
      const std::vector<float> expected = Through(processor.get());
      std::vector<float> h = Expected("hidden");  // the emulated device's memory is the host's
      for (int layer = 0; layer < 4; ++layer) {
        ASSERT_TRUE(there->BeforeLayerOn(net.get(), layer, h.data(), kRows, kWidth).ok());
      }
      ASSERT_TRUE(net->Finish().ok());
      const Difference d = Compare(h, expected);
      EXPECT_GE(d.cosine, 0.9999) << CacheStoreName(store) << cut;
      EXPECT_LE(d.max_error, 0.05) << CacheStoreName(store) << cut << " at " << d.worst;
      EXPECT_GT(d.max_error, 1e-6) << "bf16 cannot be that exact";
      // It can still be asked to act on the processor.
      EXPECT_EQ(Compare(Through(there.get()), expected).max_error, 0.0);
      EXPECT_EQ(there->BeforeLayerOn(net.get(), 1, h.data(), kRows, kWidth + 8).code(), StatusCode::kInvalidArgument);
    }
  }
  // What the device's blocks are not for.
  CrossBlocksOptions options;
  options.device = *device;
  options.form = {CacheMode::kMha, CacheStore::kBF16};
  options.collect_evidence = false;
  EXPECT_FALSE(Blocks(Cached(options.form), options)->OnDevice());
  options.form = {CacheMode::kMla, CacheStore::kBF16};
  options.collect_evidence = true;
  EXPECT_FALSE(Blocks(Cached(options.form), options)->OnDevice());
}

// Counts what is written down and what of it is done again.
class CountingNet : public test::EmulatedNet {
 public:
  Result<std::unique_ptr<GpuRecording>> Record(const std::function<Status()>& launches) override {
    ++records;
    return EmulatedNet::Record(launches);
  }
  Status Replay(const GpuRecording& recording) override {
    ++replays;
    return EmulatedNet::Replay(recording);
  }
  size_t records = 0, replays = 0;
};

TEST_F(BridgeTest, TokensOfAnAnswerReplayTheBlocksLaunches) {
  CountingNet net;
  auto device = MakeGpuCrossBlocks(*weights_, test::MakeTestNet());
  ASSERT_TRUE(device.ok()) << device.status().message();
  CrossBlocksOptions options;
  options.collect_evidence = false;
  const CacheView view = Cached(options.form);
  const auto processor = Blocks(view, options);
  options.device = *device;
  const auto there = Blocks(view, options);
  const std::vector<float> hidden = Expected("hidden");
  std::vector<float> h(kWidth), other(kWidth);
  for (size_t token = 0; token < kRows; ++token) {
    const auto row = std::span(hidden).subspan(token * kWidth, kWidth);
    std::vector<float> expected(row.begin(), row.end());
    std::copy(expected.begin(), expected.end(), h.begin());
    for (int layer = 0; layer < 4; ++layer) {
      ASSERT_TRUE(processor->BeforeLayer(layer, expected.data(), 1, kWidth).ok());
      ASSERT_TRUE(there->BeforeLayerOn(&net, layer, h.data(), 1, kWidth).ok());
    }
    ASSERT_TRUE(net.Finish().ok());
    EXPECT_GE(Compare(h, expected).cosine, 0.9999) << token;
    // The first is launched, and so prepared; the second is recorded.
    EXPECT_EQ(net.records, token == 0 ? 0u : 2u);
    EXPECT_EQ(net.replays, 2 * token);
  }
  // Another row's memory is no place for what was recorded.
  std::copy_n(hidden.begin(), kWidth, other.begin());
  const std::vector<float> before = h;
  ASSERT_TRUE(there->BeforeLayerOn(&net, 1, other.data(), 1, kWidth).ok() && net.Finish().ok());
  EXPECT_EQ(h, before);
  EXPECT_FALSE(std::equal(other.begin(), other.end(), hidden.begin()));
}

TEST_F(BridgeTest, BlocksOnTheDecodersDeviceAttendToAMirror) {
  const auto net = test::MakeTestNet();
  auto made = MakeGpuCrossBlocks(*weights_, net);
  ASSERT_TRUE(made.ok()) << made.status().message();
  for (const CacheStore store : {CacheStore::kBF16, CacheStore::kI8}) {
    CrossBlocksOptions options;
    options.form = {CacheMode::kMla, store, 64};
    options.form.layer_cuts = {32, 64};
    const CacheView view = Cached(options.form);
    const auto processor = Blocks(view, options);
    const auto backend = std::make_shared<test::EmulatedMla>(test::TestLimits());
    options.mirrors = std::make_shared<MirrorShelf>(
        [backend]() -> Result<std::shared_ptr<MlaBackend>> { return std::shared_ptr<MlaBackend>(backend); });
    options.device = *made;
    const auto device = Blocks(view, options);
    ASSERT_TRUE(device->OnDevice());
    const std::vector<float> expected = Through(processor.get());
    for (int time = 0; time < 2; ++time) {
      std::vector<float> h = Expected("hidden");
      for (int layer = 0; layer < 4; ++layer) {
        ASSERT_TRUE(device->BeforeLayerOn(net.get(), layer, h.data(), kRows, kWidth).ok());
      }
      ASSERT_TRUE(net->Finish().ok());
      const Difference d = Compare(h, expected);
      EXPECT_GE(d.cosine, 0.9999) << CacheStoreName(store);
      EXPECT_LE(d.max_error, 0.06) << CacheStoreName(store) << " at " << d.worst;
      const std::vector<double> shares = device->Evidence();
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(shares[i], processor->Evidence()[i], 5e-3) << time;
      device->ResetEvidence();
      EXPECT_EQ(device->Evidence(), std::vector<double>(2, 0.0));
    }
    EXPECT_EQ(backend->sweeps, 4u);
  }
}

}  // namespace
}  // namespace longview

// The topics about kernels and machines: refusals and properties. Published examples are in
// golden/.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "predict/topic.h"
#include "roofline/spec_sheet.h"

namespace assay::predict {
namespace {

using Inputs = std::map<std::string, std::string>;

Result<Answer> AskKernelTopic(const std::string& command, const std::string& name,
                              const Inputs& inputs) {
  const Topic* const topic = FindTopic(command, name);
  if (topic == nullptr) return NotFound("no topic " + name);
  ASSAY_ASSIGN_OR_RETURN(const Arguments arguments, Read(*topic, inputs, SheetsOnly()));
  return Evaluate(*topic, arguments);
}

Result<Answer> PredictKernel(const std::string& name, const Inputs& inputs) {
  return AskKernelTopic("predict", name, inputs);
}

double KernelTerm(const Result<Answer>& answer, const std::string& name) {
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (!answer.ok()) return std::nan("");
  const Term* const term = answer->Find(name);
  EXPECT_NE(term, nullptr) << name;
  return term == nullptr ? std::nan("") : term->value;
}

std::string KernelRefusal(const Result<Answer>& answer) {
  if (answer.ok()) return "(answered)";
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument) << answer.status();
  EXPECT_FALSE(answer.status().hint().empty()) << answer.status();
  return answer.status().violations().empty() ? "" : answer.status().violations()[0].field;
}

TEST(IntensityTest, EachKernelNeedsItsSizes) {
  EXPECT_EQ(KernelRefusal(PredictKernel("intensity", {{"op", "gemm"}, {"n", "8"}, {"k", "8"}})),
            "m");
  EXPECT_EQ(KernelRefusal(PredictKernel("intensity", {{"op", "gemm"}, {"n", "8"}, {"m", "8"}})),
            "k");
  EXPECT_EQ(KernelRefusal(PredictKernel("intensity", {{"op", "qk"}, {"n", "8"}})), "d");
  EXPECT_TRUE(PredictKernel("intensity", {{"op", "relu"}, {"n", "8"}}).ok());
}

TEST(IntensityTest, FollowsTheFormulas) {
  const auto ask = [](const std::string& op) {
    return KernelTerm(
        PredictKernel("intensity", {{"op", op}, {"n", "512"}, {"d", "64"}, {"dtype", "fp32"}}),
        "intensity");
  };
  EXPECT_DOUBLE_EQ(ask("multiply"), 1.0 / 12);
  EXPECT_DOUBLE_EQ(ask("layernorm"), 5.0 / 12);
  EXPECT_DOUBLE_EQ(ask("layernorm-one-pass"), 5.0 / 8);
  EXPECT_DOUBLE_EQ(ask("softmax"), 5.0 / 8);
  EXPECT_DOUBLE_EQ(ask("transpose"), 0);
  const double n = 512;
  const double d = 64;
  EXPECT_DOUBLE_EQ(ask("qk"), 2 * n * n * d / (4 * (2 * n * d + n * n)));
  EXPECT_DOUBLE_EQ(ask("attention"), 4 * n * n * d / (4 * (4 * n * d + 4 * n * n)));
  EXPECT_DOUBLE_EQ(ask("flash"), n / 4);
}

TEST(IntensityTest, NarrowWeightsRaiseIt) {
  Inputs inputs = {{"op", "gemm"}, {"m", "16"}, {"n", "4096"}, {"k", "4096"}};
  const double wide = KernelTerm(PredictKernel("intensity", inputs), "intensity");
  inputs["weights"] = "int4";
  EXPECT_NEAR(KernelTerm(PredictKernel("intensity", inputs), "intensity") / wide, 4, 0.15);
}

TEST(RooflineTest, NeedsAGpuOrBothFigures) {
  EXPECT_EQ(KernelRefusal(PredictKernel("roofline", {{"flops", "1e12"}})), "gpu");
  EXPECT_EQ(KernelRefusal(PredictKernel("roofline", {{"peak", "1TFLOP/s"}})), "gpu");
  EXPECT_TRUE(PredictKernel("roofline", {{"peak", "1TFLOP/s"}, {"bandwidth", "1TB/s"}}).ok());
}

TEST(RooflineTest, AnUnknownPeakIsRefused) {
  EXPECT_EQ(KernelRefusal(PredictKernel("roofline", {{"gpu", "H100 SXM"}, {"dtype", "fp4"}})),
            "peak");
}

TEST(RooflineTest, TheLongestPartBounds) {
  Inputs inputs = {{"peak", "1TFLOP/s"},
                   {"bandwidth", "1TB/s"},
                   {"link", "100GB/s"},
                   {"flops", "4e9"},
                   {"bytes", "2GB"}};
  EXPECT_EQ(PredictKernel("roofline", inputs)->dominant, "compute");
  inputs["link_bytes"] = "1GB";
  EXPECT_EQ(PredictKernel("roofline", inputs)->dominant, "communication");
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("roofline", inputs), "ideal"), 0.01);
  inputs["both_directions"] = "true";
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("roofline", inputs), "ideal"), 0.02);
  inputs["launches"] = "1000000";
  EXPECT_EQ(PredictKernel("roofline", inputs)->dominant, "launch");
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("roofline", inputs), "ideal"), 2.52);
}

TEST(RooflineTest, FasterThanTheRooflineIsRefused) {
  Inputs inputs = {{"gpu", "H100 SXM"}, {"flops", "989e12"}, {"time", "0.99s"}};
  EXPECT_EQ(KernelRefusal(PredictKernel("roofline", inputs)), "time");
  inputs["time"] = "2s";
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("roofline", inputs), "achieved"), 0.5);
}

TEST(RooflineTest, SquareProductsReachTheRidgeAtTheStatedSize) {
  const Inputs inputs = {{"gpu", "H100 SXM"}};
  const double ridge = KernelTerm(PredictKernel("roofline", inputs), "ridge");
  const double n = KernelTerm(PredictKernel("roofline", inputs), "square_at_ridge");
  const auto intensity = [](double size) {
    const std::string text = std::to_string(static_cast<int>(size));
    return KernelTerm(
        PredictKernel("intensity", {{"op", "gemm"}, {"m", text}, {"n", text}, {"k", text}}),
        "intensity");
  };
  EXPECT_GE(intensity(n), ridge);
  EXPECT_LT(intensity(n - 1), ridge);
}

TEST(PeakTest, WithoutAClockTheSheetImpliesIt) {
  const Result<Answer> answer = PredictKernel("peak", {{"gpu", "H100 SXM"}, {"dtype", "bf16"}});
  EXPECT_NEAR(KernelTerm(answer, "clock"), 1830e6, 2e6);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "peak"), KernelTerm(answer, "sheet_peak"));
}

TEST(PeakTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(KernelRefusal(PredictKernel("peak", {{"clock", "1GHz"}})), "units");
  EXPECT_EQ(KernelRefusal(PredictKernel("peak", {{"units", "1"}, {"clock", "1GHz"}})),
            "flop_per_clock");
  EXPECT_EQ(KernelRefusal(PredictKernel("peak", {{"units", "1"}, {"flop_per_clock", "2"}})),
            "clock");
  EXPECT_EQ(KernelRefusal(PredictKernel("peak", {{"kind", "systolic"}, {"units", "4"}})), "rows");
  EXPECT_EQ(KernelRefusal(PredictKernel("peak", {{"kind", "cpu"}, {"units", "4"}})), "lanes");
}

TEST(PeakTest, EveryFmaUnitOfACpuCounts) {
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("peak", {{"kind", "cpu"},
                                                     {"units", "64"},
                                                     {"lanes", "16"},
                                                     {"fma_units", "2"},
                                                     {"clock", "2GHz"}}),
                              "peak"),
                   64 * 16 * 2 * 2 * 2e9);
}

TEST(TrafficTest, NaiveLoadsDependOnTheShapeOfAWarp) {
  Inputs inputs = {{"kind", "naive"}, {"m", "1024"}, {"n", "1024"}, {"k", "1024"}};
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("traffic", inputs), "bytes"), std::pow(2, 32));
  inputs["warp_columns"] = "32";  // One sector of A, four of B.
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("traffic", inputs), "bytes"), 5 * std::pow(2, 30));
}

TEST(TrafficTest, ALinearLayerReadsActivationsAndWeights) {
  EXPECT_DOUBLE_EQ(
      KernelTerm(PredictKernel("traffic", {{"kind", "linear"}, {"m", "2"}, {"n", "3"}, {"k", "5"}}),
                 "bytes"),
      4 * (2 * 5 + 5 * 3));
}

TEST(TrafficTest, EachKindNeedsItsInputs) {
  EXPECT_EQ(KernelRefusal(PredictKernel("traffic", {})), "bytes");
  EXPECT_EQ(KernelRefusal(PredictKernel("traffic", {{"kind", "tiled"}})), "m");
  EXPECT_EQ(KernelRefusal(PredictKernel("traffic", {{"kind", "link"}})), "rate");
}

TEST(OccupancyTest, TheLeastResourceLimits) {
  const auto limit = [](const char* threads, const char* registers, const char* shared) {
    return PredictKernel("occupancy", {{"gpu", "H100 SXM"},
                                       {"threads", threads},
                                       {"registers", registers},
                                       {"shared", shared}})
        ->dominant;
  };
  EXPECT_EQ(limit("256", "32", "0"), "blocks_by_warps");
  EXPECT_EQ(limit("256", "128", "0"), "blocks_by_registers");
  EXPECT_EQ(limit("256", "32", "100KiB"), "blocks_by_shared");
  EXPECT_EQ(limit("32", "32", "0"), "blocks_limit");
}

TEST(OccupancyTest, EverySheetWithARateForAnSmHasLimits) {
  for (const GpuSpec& sheet : SpecSheets()) {
    if (!RatePerClock(sheet.name, "fp32")) continue;
    EXPECT_TRUE(PredictKernel("occupancy", {{"gpu", sheet.name}, {"threads", "128"}}).ok())
        << sheet.name;
  }
  EXPECT_EQ(KernelRefusal(PredictKernel("occupancy", {{"gpu", "MI300X"}, {"threads", "128"}})),
            "gpu");
  EXPECT_EQ(KernelRefusal(PredictKernel("occupancy", {{"threads", "128"}})), "gpu");
}

TEST(AmdahlTest, RemovedTimeAndItsShareAgree) {
  const Result<Answer> removed =
      PredictKernel("amdahl", {{"total", "500us"}, {"removed", "100us"}});
  EXPECT_DOUBLE_EQ(KernelTerm(removed, "speed_up"), 1.25);
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("amdahl", {{"share", "20%"}}), "speed_up"), 1.25);
  EXPECT_DOUBLE_EQ(
      KernelTerm(
          PredictKernel("amdahl", {{"total", "500us"}, {"removed", "100us"}, {"layers", "32"}}),
          "saved"),
      3.2e-3);
}

TEST(AmdahlTest, NothingMayRemain) {
  EXPECT_EQ(KernelRefusal(PredictKernel("amdahl", {{"total", "1s"}, {"removed", "1s"}})),
            "removed");
  EXPECT_EQ(KernelRefusal(PredictKernel("amdahl", {{"removed", "1s"}})), "total");
  EXPECT_EQ(KernelRefusal(PredictKernel("amdahl", {{"share", "1"}})), "share");
  EXPECT_EQ(KernelRefusal(PredictKernel("amdahl", {})), "share");
  EXPECT_DOUBLE_EQ(
      KernelTerm(PredictKernel("amdahl", {{"share", "1"}, {"factor", "4"}}), "speed_up"), 4);
}

TEST(OverlapTest, ExposesWhatDoesNotFitBehindCompute) {
  const Result<Answer> answer = PredictKernel(
      "overlap", {{"compute", "10ms"}, {"communication", "30ms"}, {"overlap", "0.5"}});
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "exposed"), 0.025);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "ideal_hidden_share"), 1.0 / 3);
}

TEST(OverlapTest, TheMeasuredTimeTogetherIsReproduced) {
  for (const char* communication : {"6ms", "30ms"}) {
    const Result<Answer> answer = PredictKernel(
        "overlap", {{"compute", "10ms"}, {"communication", communication}, {"together", "31ms"}});
    if (std::string(communication) == "30ms") {
      EXPECT_NEAR(KernelTerm(answer, "time"), 0.031, 1e-12);
      EXPECT_NEAR(KernelTerm(answer, "overlap"), 0.9, 1e-12);
    } else {
      EXPECT_DOUBLE_EQ(KernelTerm(answer, "overlap"), 0);  // Slower together than one by one.
    }
  }
  EXPECT_EQ(KernelRefusal(PredictKernel(
                "overlap", {{"compute", "10ms"}, {"communication", "30ms"}, {"together", "29ms"}})),
            "together");
}

TEST(QuantiseTest, TheExpectedMaximumIsThatOfSamples) {
  // Expected largest of |x| for 1, 10 and 1000 normal samples, by integration.
  EXPECT_NEAR(KernelTerm(PredictKernel("quantise", {{"samples", "1"}}), "max_abs"), 0.80, 0.06);
  EXPECT_NEAR(KernelTerm(PredictKernel("quantise", {{"samples", "1000"}}), "max_abs"), 3.44, 0.06);
}

TEST(QuantiseTest, TheErrorIsAQuarterOfTheScale) {
  const Result<Answer> answer =
      PredictKernel("quantise", {{"format", "int8"}, {"max_abs", "12.7"}});
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "scale"), 0.1);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "mean_error"), 0.025);
  EXPECT_NEAR(KernelTerm(PredictKernel("quantise", {{"format", "bf16"}}), "largest"), 3.38953e38,
              1e33);
  EXPECT_EQ(KernelRefusal(PredictKernel("quantise", {{"max_abs", "1"}, {"samples", "4"}})),
            "samples");
}

TEST(TextTest, NeedsSomethingToAnswer) {
  EXPECT_EQ(KernelRefusal(PredictKernel("text", {})), "characters");
  EXPECT_EQ(KernelRefusal(PredictKernel("text", {{"tokens", "8"}})), "characters");
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("text", {{"loss", "0"}}), "perplexity"), 1);
}

TEST(FusionTest, SavesTrafficAndLaunches) {
  const Result<Answer> answer =
      PredictKernel("fusion", {{"kernels", "5"}, {"bytes", "8MB"}, {"bandwidth", "1TB/s"}});
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "bytes_saved"), 64e6);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "launches_saved"), 4);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "speed_up"), 5);
}

TEST(ProfileTest, SharesAddUp) {
  const Result<Answer> answer = PredictKernel(
      "profile", {{"kernels", "a:30us:compute,b:60us:memory,c:10us:memory"}, {"layers", "10"}});
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "model"), 1e-3);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "share_memory"), 0.7);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "limit"), 2.5);
  for (const char* kernels : {"", "a", "a:5", "a:0us", "a:1us:idle", ":1us", "a:nan"}) {
    EXPECT_EQ(KernelRefusal(PredictKernel("profile", {{"kernels", kernels}})), "kernels")
        << kernels;
  }
}

TEST(ProfileTest, AProductsTimeIsToldInTokens) {
  EXPECT_DOUBLE_EQ(KernelTerm(PredictKernel("profile", {{"kernels", "a:1us"},
                                                        {"gemm_time", "1ms"},
                                                        {"peak", "2TFLOP/s"},
                                                        {"n", "1000"},
                                                        {"k", "1000"}}),
                              "gemm_tokens"),
                   1000);
}

TEST(CompareTest, DecodeFollowsBandwidthAndPrefillThePeak) {
  const Result<Answer> answer =
      AskKernelTopic("plan", "compare", {{"gpu", "H100 SXM,A100-SXM4-80GB"}});
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "decode_gain"), 3350.0 / 2039);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "prefill_gain"), 989.0 / 312);
  EXPECT_EQ(answer->Find("break_even"), nullptr);
  EXPECT_EQ(answer->grids.at(0).rows.size(), 2u);
}

TEST(CompareTest, AtTheBreakEvenBothCostTheSame) {
  for (const char* gpus : {"H100 SXM,A100-SXM4-80GB", "A100-SXM4-80GB,H100 SXM"}) {
    const bool h100_first = std::string(gpus).starts_with("H100");
    const Result<Answer> answer = AskKernelTopic(
        "plan", "compare",
        {{"gpu", gpus}, {"price", h100_first ? "3.00 USD,1.80 USD" : "1.80 USD,3.00 USD"}});
    const double intensity = KernelTerm(answer, "break_even");
    const auto cost = [&](double price, double peak, double bandwidth) {
      return price / std::min(peak, intensity * bandwidth);
    };
    EXPECT_NEAR(cost(3, 989e12, 3350e9) / cost(1.8, 312e12, 2039e9), 1, 1e-9);
    EXPECT_EQ(answer->currency, "USD");
  }
}

TEST(CompareTest, WithoutABreakEvenOneIsAlwaysCheaper) {
  const Result<Answer> answer = AskKernelTopic(
      "plan", "compare", {{"gpu", "H100 SXM,A100-SXM4-80GB"}, {"price", "1.00 USD,1.80 USD"}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->Find("break_even"), nullptr);
}

TEST(CompareTest, PricesMustMatchTheGpus) {
  const auto refused = [](const char* gpus, const char* prices) {
    return KernelRefusal(AskKernelTopic("plan", "compare", {{"gpu", gpus}, {"price", prices}}));
  };
  EXPECT_EQ(refused("H100 SXM", "1 USD"), "gpu");
  EXPECT_EQ(refused("H100 SXM,L4", "1 USD,2 USD,3 USD"), "price");
  EXPECT_EQ(refused("H100 SXM,L4", "1,2"), "price");
  EXPECT_EQ(refused("H100 SXM,L4", "1 USD,2 EUR"), "price");
  EXPECT_EQ(refused("H100 SXM,L4", "0 USD,2 USD"), "price");
  EXPECT_EQ(refused("H100 SXM,L4", "nan USD,2 USD"), "price");
  EXPECT_EQ(refused("H100 SXM,L4", "1e-300 USD,2 USD"), "price");
}

TEST(BuildTest, AMachineThatDoesNotWorkIsRefused) {
  Inputs inputs = {{"gpu", "RTX 5090"}, {"gpus", "2"}, {"supply", "1499W"}};
  EXPECT_EQ(KernelRefusal(AskKernelTopic("plan", "build", inputs)), "supply");
  inputs["supply"] = "1500W";
  EXPECT_DOUBLE_EQ(KernelTerm(AskKernelTopic("plan", "build", inputs), "headroom"), 0);
  inputs["lanes"] = "43";
  EXPECT_EQ(KernelRefusal(AskKernelTopic("plan", "build", inputs)), "lanes");
  inputs["gpu_lanes"] = "8";
  EXPECT_DOUBLE_EQ(KernelTerm(AskKernelTopic("plan", "build", inputs), "lanes_free"), 15);
  inputs.erase("gpu");
  EXPECT_EQ(KernelRefusal(AskKernelTopic("plan", "build", inputs)), "gpu_power");
}

TEST(BuildTest, PricesAddUp) {
  Inputs inputs = {{"gpu", "RTX 5090"},
                   {"gpus", "2"},
                   {"supply", "1600W"},
                   {"gpu_price_low", "2000 USD"},
                   {"gpu_price_high", "3000 USD"},
                   {"rest_price_low", "2500 USD"}};
  const Result<Answer> answer = AskKernelTopic("plan", "build", inputs);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "price_low"), 6500);
  EXPECT_DOUBLE_EQ(KernelTerm(answer, "price_high"), 8500);
  inputs["gpu_price_high"] = "1000 USD";
  EXPECT_EQ(KernelRefusal(AskKernelTopic("plan", "build", inputs)), "gpu_price_high");
  inputs["gpu_price_high"] = "3000 EUR";
  EXPECT_FALSE(AskKernelTopic("plan", "build", inputs).ok());
}

}  // namespace
}  // namespace assay::predict

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "roofline/prediction.h"
#include "roofline/spec_sheet.h"

namespace assay {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

std::string SheetOf(const char* device, int64_t memory_gib = 80) {
  const GpuSpec* const spec = FindSpec(device, memory_gib * kGiB);
  return spec == nullptr ? "" : spec->name;
}

Work Gemm(double n) {
  Work work;
  work.flops = 2 * n * n * n;
  work.bytes = 2 * 3 * n * n;
  work.peak = Peak::kBf16;
  return work;
}

TEST(SpecSheet, FindsDevicesByTheNamesThatDriversGive) {
  EXPECT_EQ(SheetOf("NVIDIA H200", 141), "H200 SXM");
  EXPECT_EQ(SheetOf("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(SheetOf("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(SheetOf("NVIDIA A100-SXM4-40GB", 40), "A100-SXM4-40GB");
  EXPECT_EQ(SheetOf("NVIDIA A100-SXM4-80GB"), "A100-SXM4-80GB");
  EXPECT_EQ(SheetOf("NVIDIA A100-PCIE-40GB", 40), "A100-PCIE-40GB");
  EXPECT_EQ(SheetOf("NVIDIA A100 80GB PCIe"), "A100-PCIE-80GB");
  EXPECT_EQ(SheetOf("NVIDIA A100-SXM", 80), "A100-SXM4-80GB");
  EXPECT_EQ(SheetOf("NVIDIA A100-SXM", 40), "A100-SXM4-40GB");
  EXPECT_EQ(SheetOf("NVIDIA GeForce RTX 4090", 24), "RTX 4090");
  EXPECT_EQ(SheetOf("NVIDIA RTX 6000 Ada Generation", 48), "RTX 6000 Ada");
  EXPECT_EQ(SheetOf("NVIDIA L4", 24), "L4");
  EXPECT_EQ(SheetOf("NVIDIA B200", 180), "B200");
  EXPECT_EQ(SheetOf("NVIDIA B300 SXM6 AC", 268), "B300");
  EXPECT_EQ(SheetOf("NVIDIA GB200", 185), "GB200");
  EXPECT_EQ(SheetOf("NVIDIA GH200 480GB", 95), "GH200 480GB");
  EXPECT_EQ(SheetOf("NVIDIA H100 NVL", 93), "H100 NVL");
  EXPECT_EQ(SheetOf("NVIDIA L40", 44), "L40");
  EXPECT_EQ(SheetOf("NVIDIA A10", 22), "A10");
  EXPECT_EQ(SheetOf("NVIDIA A30", 24), "A30");
  EXPECT_EQ(SheetOf("Tesla T4", 15), "T4");
  EXPECT_EQ(SheetOf("Tesla V100-SXM2-16GB", 16), "V100-SXM2-16GB");
  EXPECT_EQ(SheetOf("Tesla V100-SXM2-32GB", 32), "V100-SXM2-32GB");
  EXPECT_EQ(SheetOf("NVIDIA GeForce RTX 3090", 24), "RTX 3090");
  EXPECT_EQ(SheetOf("NVIDIA GeForce RTX 4080", 15), "RTX 4080");
  EXPECT_EQ(SheetOf("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 95),
            "RTX PRO 6000 Blackwell Workstation");
}

TEST(SpecSheet, VariantIsNeverMistakenForAnother) {
  for (const char* device :
       {"NVIDIA H200 NVL", "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GH200 144G HBM3e", "NVIDIA A10G", "NVIDIA A10-24Q", "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA GeForce RTX 4080 SUPER", "Tesla V100-PCIE-16GB", "Tesla V100-SXM3-32GB",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "NVIDIA GB300",
        "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "", "MIG"}) {
    EXPECT_EQ(SheetOf(device), "") << device;
  }
}

TEST(SpecSheet, ReadsUnitsNotesAndGaps) {
  const GpuSpec* const h200 = FindSpec("NVIDIA H200", 141 * kGiB);
  ASSERT_NE(h200, nullptr);
  EXPECT_DOUBLE_EQ(h200->flops.at("bf16"), 989e12);
  EXPECT_EQ(h200->flops.count("fp4"), 0u);
  EXPECT_DOUBLE_EQ(*h200->memory_bytes_per_second, 4800e9);
  EXPECT_DOUBLE_EQ(*h200->nvlink_bytes_per_second, 450e9);
  EXPECT_EQ(h200->sm_count, 132);
  EXPECT_EQ(h200->certainty, "sheet");
  EXPECT_NE(h200->note.find("NVIDIA H200"), std::string::npos);
  EXPECT_EQ(h200->kind, "cuda");
  EXPECT_EQ(h200->source, "NVIDIA H200 datasheet 2024");
  EXPECT_DOUBLE_EQ(*h200->memory_bytes, 143771.0 * (1 << 20));
  EXPECT_FALSE(FindSpec("NVIDIA L4", 24 * kGiB)->nvlink_bytes_per_second);
}

TEST(SpecSheet, PeaksAreUnitsTimesRateTimesClock) {
  // The clocks that the sheets' peaks assume, for tensor cores and for vector lanes.
  const struct {
    const char* gpu;
    double tensor_mhz;
    double vector_mhz;
    std::set<std::string> apart = {};  // Columns whose peak assumes the other clock.
  } clocks[] = {{"RTX 4090", 2520, 2520},
                {"RTX 5080", 2617, 2617},
                {"RTX 5090", 2407, 2407},
                {"L4", 2040, 2040},
                {"L40S", 2520, 2520},
                {"RTX 6000 Ada", 2505, 2505},
                {"RTX A6000", 1800, 1800},
                {"A100-SXM4-40GB", 1410, 1410},
                {"A100-SXM4-80GB", 1410, 1410},
                {"A100-PCIE-40GB", 1410, 1410},
                {"A100-PCIE-80GB", 1410, 1410},
                {"H100 SXM", 1830, 1980, {"fp64_tensor"}},
                {"H100 PCIe", 1620, 1755, {"fp64_tensor"}},
                {"H200 SXM", 1830, 1980, {"fp64_tensor"}},
                {"B200", 1857, 1980},
                {"RTX 3090", 1695, 1695},
                {"RTX 4080", 2505, 2505},
                {"RTX PRO 6000 Blackwell Workstation", 2617, 2617},
                {"T4", 1590, 1590},
                {"V100-SXM2-16GB", 1530, 1530},
                {"V100-SXM2-32GB", 1530, 1530},
                {"A10", 1695, 1695},
                {"A30", 1440, 1440},
                {"L40", 2490, 2490},
                {"H100 NVL", 1545, 1775, {"fp64_tensor"}},
                {"GH200 480GB", 1830, 1980, {"fp64_tensor"}},
                {"GB200", 2008, 2056},
                {"B300", 1857, 1980}};
  std::set<std::string> checked;
  for (const auto& clock : clocks) {
    const GpuSpec* const spec = SheetNamed(clock.gpu);
    ASSERT_NE(spec, nullptr) << clock.gpu;
    checked.insert(clock.gpu);
    for (const auto& [column, peak] : spec->flops) {
      const auto rate = RatePerClock(spec->name, column);
      if (!rate) continue;
      const bool vector = column == "fp32" || column == "fp64_vector";
      const double mhz =
          vector || clock.apart.count(column) > 0 ? clock.vector_mhz : clock.tensor_mhz;
      // Sheets round: fp64 of consumer parts to one digit. The L40S's bf16 is the outlier.
      const double rounding = 0.015 + 0.05e12 / peak;
      EXPECT_NEAR(*rate * *spec->sm_count * mhz * 1e6 / peak, 1, rounding)
          << spec->name << " " << column;
    }
  }
  for (const GpuSpec& spec : SpecSheets()) {
    EXPECT_EQ(checked.count(spec.name), spec.kind == "cuda" ? 1u : 0u) << spec.name;
  }
}

TEST(SpecSheet, EveryRowIsCompleteAndPlausible) {
  std::set<std::string> names;
  for (const GpuSpec& spec : SpecSheets()) {
    SCOPED_TRACE(spec.name);
    EXPECT_TRUE(names.insert(spec.name).second);
    EXPECT_TRUE(spec.kind == "cuda" || spec.kind == "accelerator" || spec.kind == "cpu");
    EXPECT_TRUE(spec.certainty == "sheet" || spec.certainty == "recalled");
    EXPECT_TRUE(spec.certainty == "sheet" || !spec.note.empty());
    EXPECT_FALSE(spec.source.empty());
    // A missing comma would move numbers to other columns.
    ASSERT_TRUE(spec.memory_bytes_per_second);
    EXPECT_GT(*spec.memory_bytes_per_second, 60e9);
    EXPECT_LT(*spec.memory_bytes_per_second, 10e12);
    EXPECT_EQ(spec.memory_bytes.has_value(), spec.kind != "cpu");
    if (spec.memory_bytes) EXPECT_GE(*spec.memory_bytes, 8.0 * kGiB);
    EXPECT_TRUE(spec.flops.count("bf16") + spec.flops.count("fp16") + spec.flops.count("fp32") > 0);
    if (spec.tdp_watts) EXPECT_LE(*spec.tdp_watts, 1400);
    if (spec.pcie_generation) EXPECT_LE(*spec.pcie_generation, 6);
  }
}

// Sparse peaks are twice the dense ones, and the sum of both directions is twice a link's rate.
TEST(SpecSheet, PeaksAreDenseAndLinksCountOneDirection) {
  EXPECT_DOUBLE_EQ(SheetNamed("H100 SXM")->flops.at("bf16"), 989e12);
  EXPECT_DOUBLE_EQ(SheetNamed("H100 SXM")->flops.at("fp8"), 1979e12);
  EXPECT_DOUBLE_EQ(SheetNamed("H100 SXM")->flops.at("tf32"), 494e12);
  EXPECT_DOUBLE_EQ(*SheetNamed("H100 SXM")->nvlink_bytes_per_second, 450e9);
  EXPECT_DOUBLE_EQ(SheetNamed("A100-SXM4-80GB")->flops.at("bf16"), 312e12);
  EXPECT_DOUBLE_EQ(*SheetNamed("A100-SXM4-80GB")->nvlink_bytes_per_second, 300e9);
  EXPECT_DOUBLE_EQ(SheetNamed("RTX 4090")->flops.at("bf16"), 165e12);
  EXPECT_DOUBLE_EQ(SheetNamed("RTX 5090")->flops.at("int8"), 838e12);
  EXPECT_DOUBLE_EQ(SheetNamed("H100 NVL")->flops.at("bf16"), 835e12);
  EXPECT_DOUBLE_EQ(SheetNamed("GB200")->flops.at("bf16"), 2500e12);
  EXPECT_DOUBLE_EQ(*SheetNamed("GB200")->nvlink_bytes_per_second, 900e9);
  EXPECT_DOUBLE_EQ(SheetNamed("MI325X")->flops.at("bf16"), 1307e12);
  EXPECT_DOUBLE_EQ(SheetNamed("N300S")->flops.at("fp8"), 466e12);
}

TEST(Prediction, ComputeBoundGemm) {
  Evidence evidence;
  evidence.spec = FindSpec("NVIDIA H200", 141 * kGiB);
  evidence.sm_clock_mhz = 1500;
  const Work work = Gemm(8192);
  const double at_peak = work.flops / 989e12;
  const Prediction prediction = Predict(work, evidence, at_peak / 0.75);
  EXPECT_EQ(prediction.bound, "compute");
  EXPECT_DOUBLE_EQ(*prediction.predicted_seconds, at_peak);
  EXPECT_DOUBLE_EQ(*prediction.efficiency_spec, 0.75);
  EXPECT_NEAR(*prediction.arithmetic_intensity, 8192.0 / 3, 1e-9);
  // 132 SMs x 4096 FLOP x 1500 MHz = 811 TFLOP/s.
  EXPECT_NEAR(*prediction.efficiency_clock, 0.75 * 989 / 811.008, 1e-6);
  EXPECT_FALSE(prediction.efficiency_measured);
  EXPECT_EQ(prediction.spec, "H200 SXM");
}

TEST(Prediction, Fp64WithoutTensorCoresRunsOnTheLanes) {
  Work work = Gemm(4096);
  work.peak = Peak::kFp64Tensor;
  Evidence evidence;
  evidence.spec = SheetNamed("RTX 4090");
  evidence.sm_clock_mhz = 2520;
  const Prediction prediction = Predict(work, evidence, 0.2);
  EXPECT_DOUBLE_EQ(*prediction.predicted_seconds, work.flops / 1.3e12);
  EXPECT_TRUE(prediction.efficiency_clock);
  evidence.spec = SheetNamed("H200 SXM");
  EXPECT_DOUBLE_EQ(*Predict(work, evidence, 0.01).predicted_seconds, work.flops / 67e12);
}

// GPUs before Ampere have fp16, which Peak::kBf16 covers, but no bf16.
TEST(Prediction, Fp16OfGpusWithoutBf16) {
  Evidence evidence;
  evidence.spec = SheetNamed("V100-SXM2-32GB");
  evidence.sm_clock_mhz = 1530;
  EXPECT_EQ(evidence.spec->flops.count("bf16"), 0u);
  const Prediction prediction = Predict(Gemm(8192), evidence, 0.01);
  EXPECT_DOUBLE_EQ(*prediction.predicted_seconds, 2 * std::pow(8192.0, 3) / 125e12);
  EXPECT_NEAR(*prediction.efficiency_clock, *prediction.efficiency_spec, 0.01);
}

TEST(Prediction, SheetClocksReproduceTheSheet) {
  // At the clock that a sheet's peak assumes, the rates reproduce that peak.
  const GpuSpec* const h100 = FindSpec("NVIDIA H100 80GB HBM3", 80 * kGiB);
  EXPECT_NEAR(*ClockPeaks(*h100, Gemm(1), 1830).flops / 989e12, 1, 0.002);
  const GpuSpec* const a100 = FindSpec("NVIDIA A100-SXM4-80GB", 80 * kGiB);
  EXPECT_NEAR(*ClockPeaks(*a100, Gemm(1), 1410).flops / 312e12, 1, 0.002);
}

TEST(Prediction, MemoryAndLatencyBounds) {
  Evidence evidence;
  evidence.spec = FindSpec("NVIDIA H200", 141 * kGiB);
  Work copy;
  copy.bytes = 4.8e9;
  copy.fixed_seconds = 2e-6;
  EXPECT_EQ(Predict(copy, evidence, 1e-3).bound, "memory");
  EXPECT_DOUBLE_EQ(*Predict(copy, evidence, 1e-3).predicted_seconds, 1e-3 + 2e-6);
  copy.bytes = 4.8e3;
  EXPECT_EQ(Predict(copy, evidence, 1e-3).bound, "latency");
  EXPECT_FALSE(Predict(copy, evidence, 1e-3).arithmetic_intensity);
}

// NVLink's peak does not apply to a gang over several nodes, which sends through the network.
TEST(Prediction, OnlyTheGpusOwnLinksAreInTheSheet) {
  Evidence evidence;
  evidence.spec = FindSpec("NVIDIA H200", 141 * kGiB);
  Work gang;
  gang.link_bytes = 450e9;
  EXPECT_EQ(Predict(gang, evidence, 1).bound, "link");
  EXPECT_NEAR(*Predict(gang, evidence, 1).predicted_seconds, 1, 1e-9);
  gang.link = LinkKind::kNetwork;
  gang.fixed_seconds = 10e-6;
  const Prediction none = Predict(gang, evidence, 1);
  EXPECT_FALSE(none.predicted_seconds || none.efficiency_spec);
  EXPECT_EQ(none.regime, "");
}

TEST(Prediction, RegimeAndRidgePoint) {
  Evidence evidence;
  evidence.spec = FindSpec("NVIDIA H200", 141 * kGiB);
  // This GEMM is above the ridge: 8192 / 3 FLOP/B.
  Work work = Gemm(8192);
  work.fixed_seconds = 2.5e-6;
  Prediction prediction = Predict(work, evidence, 1.6e-3);
  EXPECT_DOUBLE_EQ(*prediction.ridge_point, 989e12 / 4800e9);
  EXPECT_EQ(prediction.regime, "compute");
  // A shape like a GEMV's is below it: 64 MB of weights for 1 FLOP per byte.
  work.flops = 64e6;
  work.bytes = 64e6;
  prediction = Predict(work, evidence, 20e-6);
  EXPECT_EQ(prediction.regime, "memory");
  // The launch dominates if it takes as long as the ideal time...
  work.bytes = 4.8e6;
  EXPECT_EQ(Predict(work, evidence, 20e-6).regime, "launch");
  // ... or half of the measured time.
  work.bytes = 24e6;
  EXPECT_EQ(Predict(work, evidence, 5.1e-6).regime, "memory");
  EXPECT_EQ(Predict(work, evidence, 5e-6).regime, "launch");
  // Without peaks only the launch can be recognised.
  EXPECT_EQ(Predict(work, Evidence(), 5e-6).regime, "launch");
  EXPECT_EQ(Predict(work, Evidence(), 50e-6).regime, "");
  EXPECT_FALSE(Predict(work, Evidence(), 50e-6).ridge_point);
  Work transfer;
  transfer.link_bytes = 1e9;
  EXPECT_EQ(Predict(transfer, evidence, 3e-3).regime, "link");
  // An H200's host link is PCIe 5.0 x16: 63 GB/s each way.
  transfer.link = LinkKind::kPcie;
  EXPECT_NEAR(*Predict(transfer, evidence, 20e-3).predicted_seconds, 1e9 / 63.015e9, 1e-5);
  EXPECT_NEAR(*Predict(transfer, evidence, 1e9 / 55.5e9).efficiency_spec, 0.881, 1e-3);
  EXPECT_FALSE(Predict(transfer, evidence, 3e-3).ridge_point);
}

TEST(Prediction, WithoutASheetOnlyCeilingsCount) {
  Evidence evidence;
  EXPECT_FALSE(Predict(Gemm(512), evidence, 1).predicted_seconds);
  EXPECT_FALSE(Predict(Gemm(512), evidence, 1).efficiency_spec);
  evidence.ceilings.flops = 1e12;
  // With only one ceiling the other bound could be the real one.
  EXPECT_FALSE(Predict(Gemm(512), evidence, 1).predicted_seconds);
  evidence.ceilings.bytes = 1e15;
  const Prediction prediction = Predict(Gemm(512), evidence, 1e-3);
  EXPECT_DOUBLE_EQ(*prediction.predicted_seconds, Gemm(512).flops / 1e12);
  EXPECT_DOUBLE_EQ(*prediction.efficiency_measured, Gemm(512).flops / 1e12 / 1e-3);
  EXPECT_TRUE(prediction.spec.empty());
}

// An H100 that reaches 68% of the sheet's arithmetic under its power limit, and 92% of its
// bandwidth. The work, 2000 rows of some width, lies between the two ridges.
TEST(Prediction, RegimeTurnsWhereTheMeasuredCeilingsMeet) {
  Evidence evidence;
  evidence.spec = SheetNamed("H100 SXM");
  Work work;
  work.peak = Peak::kBf16;
  work.bytes = 1e9;
  work.flops = 250 * work.bytes;
  EXPECT_EQ(Predict(work, evidence, 1e-3).regime, "memory");
  EXPECT_NEAR(*Predict(work, evidence, 1e-3).ridge_point, 295.2, 0.1);
  EXPECT_FALSE(Predict(work, evidence, 1e-3).ridge_measured);
  evidence.ceilings.flops = 670e12;
  // One ceiling alone gives no ridge point.
  EXPECT_EQ(Predict(work, evidence, 1e-3).regime, "memory");
  EXPECT_FALSE(Predict(work, evidence, 1e-3).ridge_measured);
  evidence.ceilings.bytes = 3082e9;
  const Prediction both = Predict(work, evidence, 1e-3);
  EXPECT_EQ(both.regime, "compute");
  EXPECT_NEAR(*both.ridge_measured, 217.4, 0.1);
  // The prediction and its bound still come from the sheet.
  EXPECT_EQ(both.bound, "memory");
  EXPECT_NEAR(*both.ridge_point, 295.2, 0.1);
}

// The times are those of an H200 at 1980 MHz in docs/measured, except launches, which the host
// limits.
TEST(Prediction, RatesPerMultiprocessorAndCycle) {
  Evidence evidence;
  evidence.spec = SheetNamed("H200 SXM");
  evidence.sm_clock_mhz = 1980;
  Work l1;
  l1.payload_bytes = 8.0 * kGiB;
  l1.sm_amount = l1.payload_bytes;
  l1.sm_rate = SmRate::kSharedBytes;
  // 128 bytes x 132 x 1.98 GHz = 33.5 TB/s, of which 31.9 were measured.
  const Prediction cached = Predict(l1, evidence, l1.payload_bytes / 31.862e12);
  EXPECT_EQ(cached.bound, "cache");
  EXPECT_EQ(cached.regime, "cache");
  EXPECT_NEAR(*cached.efficiency_clock, 31.862e12 / (128 * 132 * 1.98e9), 1e-6);
  EXPECT_NEAR(*cached.efficiency_spec, *cached.efficiency_clock, 0.002);
  EXPECT_EQ(cached.spec, "H200 SXM");
  // 32768 loads of 2 cycles each on one multiprocessor.
  Work banks = l1;
  banks.sm_amount = 2 * 32768 * 128;
  banks.sm_count = 1;
  EXPECT_NEAR(*Predict(banks, evidence, 35e-6).predicted_seconds, 2 * 32768 / 1.98e9, 1e-7);
  // 2^20 threads of 1024 multiply-adds at 64 a clock.
  Work integers;
  integers.sm_amount = 1024.0 * (1 << 20);
  integers.sm_rate = SmRate::kInt32Mad;
  const double seconds = integers.sm_amount / 14.977e12;
  EXPECT_EQ(Predict(integers, evidence, seconds).regime, "compute");
  EXPECT_NEAR(*Predict(integers, evidence, seconds).efficiency_clock, 0.895, 1e-3);
  // The B200's paper does not give this rate, so there is no prediction.
  evidence.spec = SheetNamed("B200");
  EXPECT_FALSE(Predict(integers, evidence, seconds).predicted_seconds);
  EXPECT_TRUE(Predict(l1, evidence, seconds).predicted_seconds);
}

TEST(Prediction, LaunchesAloneTakeTheirFixedCost) {
  Evidence evidence;
  evidence.spec = SheetNamed("H200 SXM");
  Work work;
  work.operations = 1000;
  work.fixed_seconds = 2.5e-3;
  // No sheet has a peak for these bytes, so the launch's cost alone predicts nothing.
  EXPECT_FALSE(Predict(work, evidence, 20e-3).predicted_seconds);
  work.fixed_only = true;
  // The prediction does not depend on how slow the host is.
  const Prediction prediction = Predict(work, evidence, 20e-3);
  EXPECT_DOUBLE_EQ(*prediction.predicted_seconds, 2.5e-3);
  EXPECT_EQ(prediction.bound, "latency");
  EXPECT_EQ(prediction.regime, "launch");
  EXPECT_FALSE(prediction.efficiency_spec);
}

// The work reads two arrays that fit into the caches of a CPU whose threads take 10 us to wake.
TEST(Prediction, CachedDataIsNotBoundByMemory) {
  Evidence evidence;
  evidence.ceilings.flops = 1e12;
  evidence.ceilings.bytes = 1e10;
  evidence.ceilings.fixed_seconds = 10e-6;
  evidence.in_cache = true;
  Work work;
  work.bytes = 1e6;
  work.flops = 1e5;
  // Three times the speed of memory.
  Prediction prediction = Predict(work, evidence, 33e-6);
  EXPECT_EQ(prediction.regime, "cache");
  EXPECT_EQ(prediction.bound, "");
  EXPECT_FALSE(prediction.efficiency_measured);
  EXPECT_FALSE(prediction.predicted_seconds);
  // Waking the threads takes most of the time.
  EXPECT_EQ(Predict(work, evidence, 15e-6).regime, "launch");
  work.bytes = 4096;
  EXPECT_EQ(Predict(work, evidence, 30e-6).regime, "launch");
  // Without caches the memory's ceiling applies, and the fixed cost is added.
  evidence.in_cache = false;
  work.bytes = 1e9;
  prediction = Predict(work, evidence, 0.2);
  EXPECT_EQ(prediction.regime, "memory");
  EXPECT_DOUBLE_EQ(*prediction.predicted_seconds, 0.1 + 10e-6);
  EXPECT_DOUBLE_EQ(*prediction.efficiency_measured, 0.5);
  // Arithmetic bounds cached data like other data.
  evidence.in_cache = true;
  EXPECT_EQ(Predict(Gemm(2048), evidence, 1).regime, "compute");
  EXPECT_TRUE(Predict(Gemm(2048), evidence, 1).efficiency_measured);
}

TEST(Prediction, NothingToPredict) {
  EXPECT_FALSE(Ideal(Work(), Peaks()));
  Work unknown = Gemm(16);
  unknown.peak = Peak::kNone;
  Evidence evidence;
  evidence.spec = FindSpec("NVIDIA H200", 141 * kGiB);
  EXPECT_FALSE(Predict(unknown, evidence, 1).predicted_seconds);
}

}  // namespace
}  // namespace assay

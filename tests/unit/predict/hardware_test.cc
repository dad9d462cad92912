#include "predict/hardware.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace assay::predict {
namespace {

Hardware SheetFigures(const std::string& name) {
  const auto spec = FindSheet(name);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? FromSheet(**spec) : Hardware();
}

double PeakOf(const std::string& gpu, const std::string& dtype) {
  const auto peak = SheetFigures(gpu).Peak(dtype);
  return peak.ok() ? peak->value : 0;
}

TEST(Hardware, SheetsAreFoundByShortNames) {
  for (const auto& [name, sheet] :
       std::map<std::string, std::string>{{"h200", "H200 SXM"},
                                          {"H100 SXM", "H100 SXM"},
                                          {"NVIDIA H100 80GB HBM3", "H100 SXM"},
                                          {"GH200", "GH200 480GB"},
                                          {"L40", "L40"},
                                          {"RTX PRO 6000", "RTX PRO 6000 Blackwell Workstation"},
                                          {"Tesla T4", "T4"},
                                          {"tpu v5e", "TPU v5e"},
                                          {"Apple M4 Max", "Apple M4 Max"},
                                          {"xeon 8480+", "Xeon 8480+"}}) {
    EXPECT_EQ(SheetFigures(name).name, sheet) << name;
  }
  // Variants differ, so none is chosen.
  for (const char* name : {"A100", "H100", "V100"}) {
    const auto spec = FindSheet(name);
    ASSERT_FALSE(spec.ok()) << name;
    EXPECT_EQ(spec.status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(FindSheet("H300").status().code(), Code::kNotFound);
  EXPECT_EQ(FindSheet("").status().code(), Code::kNotFound);
}

TEST(Hardware, PeaksByTypeOfElements) {
  EXPECT_DOUBLE_EQ(PeakOf("H100 SXM", "fp16"), 989e12);
  EXPECT_DOUBLE_EQ(PeakOf("H100 SXM", "fp8_e4m3"), 1979e12);
  EXPECT_DOUBLE_EQ(PeakOf("H100 SXM", "fp64"), 67e12);
  EXPECT_DOUBLE_EQ(PeakOf("H100 SXM", "int4"), 989e12);
  EXPECT_DOUBLE_EQ(PeakOf("H100 SXM", "fp4"), 0);
  // Without matrix units for fp64 its vector lanes count.
  EXPECT_DOUBLE_EQ(PeakOf("RTX 4090", "fp64"), 1.3e12);
  // Turing and Volta multiply fp16 but not bf16.
  EXPECT_DOUBLE_EQ(PeakOf("T4", "fp16"), 65e12);
  EXPECT_DOUBLE_EQ(PeakOf("T4", "int4"), 65e12);
  EXPECT_DOUBLE_EQ(PeakOf("T4", "bf16"), 0);
}

}  // namespace
}  // namespace assay::predict

#include "roofline/spec_sheet.h"

#include <initializer_list>
#include <map>

#include "roofline/csv.h"
#include "roofline/embedded.h"

namespace assay {
namespace {

template <typename T>
std::optional<T> Whole(const std::optional<double>& number) {
  if (!number) return std::nullopt;
  return static_cast<T>(*number);
}

GpuSpec SpecOf(const CsvRow& row) {
  GpuSpec spec;
  spec.name = row.at("gpu");
  for (const char* column :
       {"fp64_vector", "fp64_tensor", "fp32", "tf32", "bf16", "fp8", "int8", "fp4"}) {
    if (const auto peak = CsvNumber(row, column, 1e12)) spec.flops[column] = *peak;
  }
  spec.memory_bytes_per_second = CsvNumber(row, "hbm_gb_s", 1e9);
  spec.nvlink_bytes_per_second = CsvNumber(row, "nvlink_gb_s_per_direction", 1e9);
  spec.l2_bytes = Whole<int64_t>(CsvNumber(row, "l2_mib", 1024.0 * 1024.0));
  spec.sm_count = Whole<int>(CsvNumber(row, "sm"));
  spec.pcie_generation = Whole<int>(CsvNumber(row, "pcie_gen"));
  spec.tdp_watts = CsvNumber(row, "tdp_w");
  spec.certainty = row.at("certainty");
  spec.note = row.at("note");
  return spec;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the sheet's name for a device name: without words for vendor and family, and with
// drivers' other names for the same part.
std::string SheetName(std::string name, int64_t memory_bytes) {
  for (const std::string_view word : {"NVIDIA ", "GeForce ", "Tesla ", " Generation"}) {
    const size_t at = name.find(word);
    if (at != std::string::npos) name.erase(at, word.size());
  }
  if (Contains(name, "MIG")) return "";
  if (name == "H200") return "H200 SXM";
  if (name == "H100 80GB HBM3") return "H100 SXM";
  if (name.rfind("A100", 0) == 0 && (Contains(name, "SXM") || Contains(name, "PC"))) {
    const bool sxm = Contains(name, "SXM");
    const bool large =
        Contains(name, "80GB") || (!Contains(name, "40GB") && memory_bytes > (int64_t{60} << 30));
    return std::string("A100-") + (sxm ? "SXM4" : "PCIE") + (large ? "-80GB" : "-40GB");
  }
  return name;
}

using Rates = std::map<std::string, double>;

// CUDA C++ Programming Guide, "Shared Memory", for compute capability 5.0 and later: 32 banks of 32
// bits per clock. From 7.0 on L1 and shared memory are one array ("NVIDIA Tesla V100 GPU
// Architecture").
constexpr double kSharedBytesPerClock = 128;

// Vector rates are 2 FLOP for each FP32 or FP64 lane in the CUDA C++ Programming Guide's table
// "Throughput of Native Arithmetic Instructions": FP32 has 64 lanes for compute capability 8.0 and
// 128 for 8.6 and later; FP64 has 32, 2, 2, 64, 64 and 2 for 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0.
// Tensor rates are the FMA counts per clock of NVIDIA's architecture papers, named below, with fp32
// accumulation.
//
// The same table gives 64 for "int32_mad", multiply-adds of 32-bit integers, for 8.0 to 9.0.

// "NVIDIA A100 Tensor Core GPU Architecture": 1024 dense FP16 FMA per SM.
const Rates& Ga100() {
  static const Rates rates = {{"fp64_vector", 64}, {"fp64_tensor", 128}, {"fp32", 128},
                              {"tf32", 1024},      {"bf16", 2048},       {"int8", 4096},
                              {"int32_mad", 64}};
  return rates;
}

// "NVIDIA Ampere GA102 GPU Architecture", RTX A6000: 512 dense FP16 FMA per SM, also with fp32
// accumulation (GeForce parts of this chip have half of that).
const Rates& Ga102() {
  static const Rates rates = {{"fp64_vector", 4}, {"fp32", 256},  {"tf32", 512},
                              {"bf16", 1024},     {"int8", 2048}, {"int32_mad", 64}};
  return rates;
}

// "NVIDIA Ada GPU Architecture", professional parts: like GA102, and FP8 at twice FP16.
const Rates& Ada() {
  static const Rates rates = {{"fp64_vector", 4}, {"fp32", 256},  {"tf32", 512},    {"bf16", 1024},
                              {"fp8", 2048},      {"int8", 2048}, {"int32_mad", 64}};
  return rates;
}

// The same paper, GeForce: half the rate with fp32 accumulation.
const Rates& AdaGeForce() {
  static const Rates rates = {{"fp64_vector", 4}, {"fp32", 256},  {"tf32", 256},    {"bf16", 512},
                              {"fp8", 1024},      {"int8", 2048}, {"int32_mad", 64}};
  return rates;
}

// "NVIDIA H100 Tensor Core GPU Architecture": 2048 dense FP16 FMA per SM.
const Rates& Hopper() {
  static const Rates rates = {{"fp64_vector", 128}, {"fp64_tensor", 256}, {"fp32", 256},
                              {"tf32", 2048},       {"bf16", 4096},       {"fp8", 8192},
                              {"int8", 8192},       {"int32_mad", 64}};
  return rates;
}

// B200: twice Hopper's tensor rates, and FP4 at twice FP8 ("NVIDIA Blackwell
// Architecture Technical Brief"). FP64 and TF32 tensor rates are in no paper.
const Rates& Blackwell() {
  static const Rates rates = {
      {"fp64_vector", 128}, {"fp32", 256}, {"bf16", 8192}, {"fp8", 16384}, {"fp4", 32768}};
  return rates;
}

// "NVIDIA RTX Blackwell GPU Architecture", GeForce: Ada's rates, and FP4.
const Rates& BlackwellGeForce() {
  static const Rates rates = {{"fp64_vector", 4}, {"fp32", 256},  {"tf32", 256}, {"bf16", 512},
                              {"fp8", 1024},      {"int8", 2048}, {"fp4", 4096}};
  return rates;
}

const Rates* RatesOf(const std::string& gpu) {
  static const std::map<std::string, const Rates*> parts = {{"A100-SXM4-40GB", &Ga100()},
                                                            {"A100-SXM4-80GB", &Ga100()},
                                                            {"A100-PCIE-40GB", &Ga100()},
                                                            {"A100-PCIE-80GB", &Ga100()},
                                                            {"RTX A6000", &Ga102()},
                                                            {"L4", &Ada()},
                                                            {"L40S", &Ada()},
                                                            {"RTX 6000 Ada", &Ada()},
                                                            {"RTX 4090", &AdaGeForce()},
                                                            {"H100 SXM", &Hopper()},
                                                            {"H100 PCIe", &Hopper()},
                                                            {"H200 SXM", &Hopper()},
                                                            {"B200", &Blackwell()},
                                                            {"RTX 5080", &BlackwellGeForce()},
                                                            {"RTX 5090", &BlackwellGeForce()}};
  const auto found = parts.find(gpu);
  return found == parts.end() ? nullptr : found->second;
}

}  // namespace

const std::vector<GpuSpec>& SpecSheets() {
  static const std::vector<GpuSpec> sheets = [] {
    std::vector<GpuSpec> all;
    for (const CsvRow& row : ParseCsv(kGpuSpecsCsv)) all.push_back(SpecOf(row));
    return all;
  }();
  return sheets;
}

const GpuSpec* FindSpec(std::string_view device_name, int64_t memory_bytes) {
  return SheetNamed(SheetName(std::string(device_name), memory_bytes));
}

const GpuSpec* SheetNamed(std::string_view name) {
  for (const GpuSpec& spec : SpecSheets()) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

std::optional<double> RatePerClock(const std::string& gpu, const std::string& column) {
  const Rates* const rates = RatesOf(gpu);
  if (rates == nullptr) return std::nullopt;
  if (column == "shared_bytes") return kSharedBytesPerClock;
  const auto found = rates->find(column);
  if (found == rates->end()) return std::nullopt;
  return found->second;
}

}  // namespace assay

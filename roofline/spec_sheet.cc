#include "roofline/spec_sheet.h"

#include <initializer_list>
#include <map>

#include "common/text.h"
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
  spec.kind = row.at("kind");
  for (const char* column :
       {"fp64_vector", "fp64_tensor", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4"}) {
    if (const auto peak = CsvNumber(row, column, 1e12)) spec.flops[column] = *peak;
  }
  spec.memory_bytes = CsvNumber(row, "memory_mib", 1024.0 * 1024.0);
  spec.memory_bytes_per_second = CsvNumber(row, "hbm_gb_s", 1e9);
  spec.nvlink_bytes_per_second = CsvNumber(row, "nvlink_gb_s_per_direction", 1e9);
  spec.nvlink_gpus = Whole<int>(CsvNumber(row, "nvlink_gpus"));
  spec.l2_bytes = Whole<int64_t>(CsvNumber(row, "l2_mib", 1024.0 * 1024.0));
  spec.sm_count = Whole<int>(CsvNumber(row, "sm"));
  spec.pcie_generation = Whole<int>(CsvNumber(row, "pcie_gen"));
  spec.tdp_watts = CsvNumber(row, "tdp_w");
  spec.certainty = row.at("certainty");
  spec.source = row.at("source");
  spec.note = row.at("note");
  return spec;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Converts a GPU name reported by NVML or CUDA to the name of its spec sheet. Removes words such as
// "NVIDIA" and "GeForce", and maps alternative names of a product to a single one. Returns "" for
// MIG instances, which have no spec sheet.
std::string SheetName(std::string name, int64_t memory_bytes) {
  for (const std::string_view word : {"NVIDIA ", "GeForce ", "Tesla ", " Generation", " Edition"}) {
    const size_t at = name.find(word);
    if (at != std::string::npos) name.erase(at, word.size());
  }
  if (Contains(name, "MIG")) return "";
  if (name == "H200") return "H200 SXM";
  if (name == "H100 80GB HBM3") return "H100 SXM";
  if (name == "B300 SXM6 AC") return "B300";
  if (name.rfind("A100", 0) == 0 && (Contains(name, "SXM") || Contains(name, "PC"))) {
    const bool sxm = Contains(name, "SXM");
    const bool large =
        Contains(name, "80GB") || (!Contains(name, "40GB") && memory_bytes > (int64_t{60} << 30));
    return std::string("A100-") + (sxm ? "SXM4" : "PCIE") + (large ? "-80GB" : "-40GB");
  }
  return name;
}

// Returns the rows of data/sm_rates.csv by GpuSpec::name.
std::map<std::string, CsvRow> ReadRates() {
  std::map<std::string, CsvRow> rates;
  for (const CsvRow& row : ParseCsv(kSmRatesCsv)) {
    for (const std::string_view gpu : Split(row.at("gpus"), ';')) rates.emplace(gpu, row);
  }
  return rates;
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
  static const std::map<std::string, CsvRow> rates = ReadRates();
  const auto found = rates.find(gpu);
  if (found == rates.end()) return std::nullopt;
  return CsvNumber(found->second, column.c_str());
}

}  // namespace assay

#include "kernels/roofline/spec_sheet.h"

#include <cstdlib>
#include <initializer_list>

#include "kernels/roofline/embedded.h"

namespace assay {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> Split(std::string_view text, char separator, size_t most) {
  std::vector<std::string> parts;
  while (parts.size() + 1 < most) {
    const size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(text);
  return parts;
}

// Rows by column name. The first line that is no comment is the header; the last
// column takes what is left of its line, commas too.
std::vector<Row> ParseCsv(const char* csv) {
  std::vector<Row> rows;
  std::vector<std::string> header;
  for (const std::string& line : Split(csv, '\n', SIZE_MAX)) {
    if (line.empty() || line[0] == '#') continue;
    const auto fields = Split(line, ',', header.empty() ? SIZE_MAX : header.size());
    if (header.empty()) {
      header = fields;
      continue;
    }
    Row row;
    for (size_t i = 0; i < fields.size(); ++i) row[header[i]] = fields[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<double> Number(const Row& row, const char* column, double scale = 1) {
  const auto found = row.find(column);
  if (found == row.end() || found->second.empty()) return std::nullopt;
  return std::strtod(found->second.c_str(), nullptr) * scale;
}

template <typename T>
std::optional<T> Whole(const std::optional<double>& number) {
  if (!number) return std::nullopt;
  return static_cast<T>(*number);
}

GpuSpec SpecOf(const Row& row) {
  GpuSpec spec;
  spec.name = row.at("gpu");
  for (const char* column :
       {"fp64_vector", "fp64_tensor", "fp32", "tf32", "bf16", "fp8", "int8", "fp4"}) {
    if (const auto peak = Number(row, column, 1e12)) spec.flops[column] = *peak;
  }
  spec.memory_bytes_per_second = Number(row, "hbm_gb_s", 1e9);
  spec.nvlink_bytes_per_second = Number(row, "nvlink_gb_s_per_direction", 1e9);
  spec.l2_bytes = Whole<int64_t>(Number(row, "l2_mib", 1024.0 * 1024.0));
  spec.sm_count = Whole<int>(Number(row, "sm"));
  spec.pcie_generation = Whole<int>(Number(row, "pcie_gen"));
  spec.tdp_watts = Number(row, "tdp_w");
  spec.certainty = row.at("certainty");
  spec.note = row.at("note");
  return spec;
}

PublishedFigure FigureOf(const Row& row) {
  PublishedFigure figure;
  figure.gpu = row.at("gpu");
  figure.gpu_count = Whole<int>(Number(row, "gpu_count")).value_or(1);
  figure.software = row.at("software");
  figure.benchmark = row.at("benchmark");
  figure.parameters = row.at("parameters");
  figure.metric = row.at("metric");
  figure.value = Number(row, "value").value_or(0);
  figure.unit = row.at("unit");
  figure.note = row.at("note");
  return figure;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The sheet's name for a device name: without vendor and family words, and with
// the names under which drivers know the same part.
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

}  // namespace

const std::vector<GpuSpec>& SpecSheets() {
  static const std::vector<GpuSpec> sheets = [] {
    std::vector<GpuSpec> all;
    for (const Row& row : ParseCsv(kGpuSpecsCsv)) all.push_back(SpecOf(row));
    return all;
  }();
  return sheets;
}

const std::vector<PublishedFigure>& PublishedFigures() {
  static const std::vector<PublishedFigure> figures = [] {
    std::vector<PublishedFigure> all;
    for (const Row& row : ParseCsv(kPublishedCsv)) all.push_back(FigureOf(row));
    return all;
  }();
  return figures;
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

}  // namespace assay

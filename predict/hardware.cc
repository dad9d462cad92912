#include "predict/hardware.h"

#include <algorithm>
#include <utility>

#include "common/text.h"

namespace assay::predict {
namespace {

Figure SheetFigure(double value, const GpuSpec& spec) {
  return {value, value, value, spec.certainty == "sheet" ? "sheet" : "sheet (recalled)"};
}

// Returns the columns of gpu_specs.csv that may contain the peak for a type, in order of
// preference. For fp64, for example, the column for matrix units is followed by the one for vector
// units, because the matrix units of some GPUs do not support fp64.
std::vector<std::string> PeakColumns(const std::string& dtype) {
  if (dtype == "fp16") return {"fp16", "bf16"};
  if (dtype == "int4") return {"bf16", "fp16"};
  if (dtype == "fp64") return {"fp64_tensor", "fp64_vector"};
  return {dtype.substr(0, dtype.find('_'))};  // "fp8" of "fp8_e4m3".
}

// Moves a time to one end of its range. For times, unlike rates, the high end is the worst.
void MoveTime(Figure& figure, Corner corner) {
  if (corner == Corner::kWorst) figure.value = figure.high;
  if (corner == Corner::kBest) figure.value = figure.low;
  figure.low = figure.high = figure.value;
}

void Move(Figure& figure, Corner corner) {
  if (corner == Corner::kWorst) figure.value = figure.low;
  if (corner == Corner::kBest) figure.value = figure.high;
  figure.low = figure.high = figure.value;
}

}  // namespace

Result<Figure> Hardware::Peak(const std::string& dtype) const {
  for (const std::string& column : PeakColumns(dtype)) {
    const auto found = peaks.find(column);
    if (found != peaks.end()) return found->second;
  }
  std::vector<std::string> known;
  for (const auto& [column, figure] : peaks) known.push_back(column);
  return NotFound("the peak of " + name + " for " + dtype + " is not known")
      .WithHint((known.empty() ? std::string("name a GPU with --gpu, or ")
                               : "known peaks: " + Join(known) + "; ") +
                "give it as --peak, such as --peak 989TFLOP/s");
}

std::optional<double> Hardware::SheetPeak(const std::string& dtype) const {
  for (const std::string& column : PeakColumns(dtype)) {
    const auto found = sheet_peaks.find(column);
    if (found != sheet_peaks.end()) return found->second;
  }
  return std::nullopt;
}

Hardware Hardware::At(Corner corner) const {
  Hardware moved = *this;
  for (auto& [column, figure] : moved.peaks) Move(figure, corner);
  if (moved.memory_bandwidth) Move(*moved.memory_bandwidth, corner);
  if (moved.copy_bandwidth) Move(*moved.copy_bandwidth, corner);
  if (moved.link_bandwidth) Move(*moved.link_bandwidth, corner);
  for (MeasuredAllReduce& measured : moved.all_reduces) {
    for (MeasuredAllReduce::Size& size : measured.sizes) MoveTime(size.seconds, corner);
  }
  for (MeasuredProduct& product : moved.products) Move(product.flops_per_second, corner);
  return moved;
}

Hardware FromSheet(const GpuSpec& spec) {
  Hardware hardware;
  hardware.name = spec.name;
  for (const auto& [column, peak] : spec.flops) {
    hardware.peaks[column] = SheetFigure(peak, spec);
    hardware.sheet_peaks[column] = peak;
  }
  if (spec.memory_bytes_per_second) {
    hardware.memory_bandwidth = SheetFigure(*spec.memory_bytes_per_second, spec);
    hardware.sheet_bandwidth = spec.memory_bytes_per_second;
  }
  if (spec.nvlink_bytes_per_second) {
    hardware.link_bandwidth = SheetFigure(*spec.nvlink_bytes_per_second, spec);
  }
  hardware.memory_bytes = spec.memory_bytes;
  hardware.watts = spec.tdp_watts;
  return hardware;
}

Result<const GpuSpec*> FindSheet(const std::string& name) {
  std::vector<const GpuSpec*> matches;
  std::vector<std::string> names;
  const std::string wanted = Lower(name);
  for (const GpuSpec& spec : SpecSheets()) {
    const std::string own = Lower(spec.name);
    if (own == wanted) return &spec;
    names.push_back(spec.name);
    const bool begins = own.starts_with(wanted) && !wanted.empty() &&
                        (own[wanted.size()] == ' ' || own[wanted.size()] == '-');
    if (begins) matches.push_back(&spec);
  }
  if (matches.size() == 1) return matches[0];
  // Tried last, because FindSpec() guesses a variant if the name lacks the memory size.
  if (const GpuSpec* spec = FindSpec(name, 0); spec != nullptr && matches.empty()) return spec;
  if (!matches.empty()) {
    std::vector<std::string> variants;
    for (const GpuSpec* spec : matches) variants.push_back("\"" + spec->name + "\"");
    return InvalidArgument(Quote(name) + " could be any of " + Join(variants))
        .WithHint("name one of them");
  }
  return NotFound("unknown GPU " + Quote(name))
      .WithHint("\"assay specs\" shows all of them; " + Suggest(name, names));
}

}  // namespace assay::predict

// The figures of a GPU, such as its peak rates, each with its source: measured in the fleet,
// fitted, from the spec sheet, or given by the user.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "roofline/spec_sheet.h"

namespace assay::predict {

// A number with the range in which its measurements lie.
struct Figure {
  double value = 0;
  double low = 0;   // The 5th percentile of the results; `value` if it was not measured.
  double high = 0;  // The 95th percentile.
  // Where the value is from: "sheet", "sheet (recalled)", "given", "measured on node g3: median of
  // 12 results, newest 2026-11-26, driver 580.95", "measured: median of 34 results on 4 nodes,
  // ...".
  std::string source;
};

// A measured matrix product, from which the times of similar products are predicted.
struct MeasuredProduct {
  double m = 0;
  double n = 0;
  double k = 0;
  std::string dtype;  // "bf16".
  Figure flops_per_second;
};

// Measured all-reduces between GPUs of one node.
struct MeasuredAllReduce {
  struct Size {
    double bytes = 0;
    Figure seconds;
  };
  int ranks = 0;
  std::vector<Size> sizes;  // Ascending.
  std::string source;       // "9 sizes, 40 results".
};

// Which value of each figure to use: the middle one, or one at an end of its range.
enum class Corner { kMiddle, kWorst, kBest };

struct Hardware {
  std::string name;  // "H200 SXM"; "given" if the user gave all figures.
  // Dense peaks in FLOP/s by column of gpu_specs.csv, such as "bf16" and "fp8". fp16 has the peak
  // of bf16 if the sheet has no column for fp16.
  std::map<std::string, Figure> peaks;
  // Peaks of the sheet, even if `peaks` or `memory_bandwidth` contain measured values. Efficiencies
  // of measured products are fractions of these peaks.
  std::map<std::string, double> sheet_peaks;
  std::optional<double> sheet_bandwidth;
  std::optional<Figure> memory_bandwidth;  // In bytes per second, of reads.
  std::optional<Figure> copy_bandwidth;    // Bytes read and written; reads' if not measured.
  std::optional<double> memory_bytes;
  std::optional<Figure> link_bandwidth;  // Between two GPUs of a node, in one direction.
  std::optional<double> watts;
  std::vector<MeasuredProduct> products;
  std::vector<MeasuredAllReduce> all_reduces;

  // Returns the peak for elements of a type: "bf16", "fp16", "fp8", "int8", "int4" (multiplies in
  // bf16), "fp32". If it is unknown, returns an error that lists the types with known peaks.
  Result<Figure> Peak(const std::string& dtype) const;

  // Returns the sheet's peak for elements of a type, even if another peak was measured.
  std::optional<double> SheetPeak(const std::string& dtype) const;

  // Returns a copy in which each figure has the value at this end of its range. kWorst gives the
  // slowest figures.
  Hardware At(Corner corner) const;
};

// Returns the figures of a spec sheet.
Hardware FromSheet(const GpuSpec& spec);

// Returns the sheet of the GPU with this name. Ignores case and accepts names without the form
// factor ("H200") as well as the names that NVML reports. If the name is unknown, returns an error
// with the nearest names. If it could mean several GPUs ("A100"), returns an error too.
Result<const GpuSpec*> FindSheet(const std::string& name);

}  // namespace assay::predict

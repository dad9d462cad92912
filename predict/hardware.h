// The performance figures of a GPU, such as its peak rates. Each figure has a source: measurements,
// a fit to measurements, the GPU's spec sheet, or the user.
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
  // The origin of the value, such as "sheet", "given" or "measured on node g3: median of 12
  // results, newest 2026-11-26, driver 580.95".
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
  // Peak rates without sparsity, in FLOP/s, by column of gpu_specs.csv, such as "bf16" and "fp8".
  // If "fp16" is missing, its peak is that of "bf16".
  std::map<std::string, Figure> peaks;
  // The peaks from the GPU's spec sheet, even where `peaks` has measured values. The efficiency of
  // measured matrix products is relative to these.
  std::map<std::string, double> sheet_peaks;
  std::optional<double> sheet_bandwidth;
  std::optional<Figure> memory_bandwidth;  // In bytes per second, of reads.
  std::optional<Figure> copy_bandwidth;    // Bytes read and written; reads' if not measured.
  std::optional<double> memory_bytes;
  std::optional<Figure> link_bandwidth;  // Between two GPUs of a node, in one direction.
  std::optional<double> watts;
  std::vector<MeasuredProduct> products;
  std::vector<MeasuredAllReduce> all_reduces;

  // Returns the peak rate for elements of a type, such as "bf16" or "int8". For "int4", returns the
  // peak for bf16, the type in which GPUs multiply int4 weights. If the peak is unknown, returns an
  // error that lists the types with known peaks.
  Result<Figure> Peak(const std::string& dtype) const;

  // Returns the sheet's peak for elements of a type, even if another peak was measured.
  std::optional<double> SheetPeak(const std::string& dtype) const;

  // Returns a copy with every figure set to the middle, worst or best value of its range. The worst
  // rate is the lowest, and the worst time is the longest.
  Hardware At(Corner corner) const;
};

// Returns the figures of a spec sheet.
Hardware FromSheet(const GpuSpec& spec);

// Returns the spec sheet of the GPU with this name, ignoring case. Accepts the names that NVML
// reports, and names without the form factor, such as "H200". Returns an error with suggestions if
// the name is unknown or, like "A100", ambiguous.
Result<const GpuSpec*> FindSheet(const std::string& name);

}  // namespace assay::predict

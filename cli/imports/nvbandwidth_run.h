// One run of nvbandwidth as its output tells it, whatever the output's form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "cli/imports/records.h"

namespace assay::imports {

// A test's matrix, row-major: one row of CPU or GPU, or a row a GPU.
struct NvbandwidthMatrix {
  using Cells = std::vector<std::optional<double>>;  // None: not available.

  std::string where;     // "line 12" of a text, "test 3" of a JSON.
  std::string test;      // "device_to_device_memcpy_read_ce".
  bool latency = false;  // Nanoseconds; else GB/s.
  size_t columns = 0;
  Cells cells;
  // Tests of both ways since 0.5 tell them apart: the first copy of each pair and the one
  // back, whose sums `cells` are. Else empty.
  Cells first;
  Cells second;
  double sum = 0;  // As the output says.
};

struct NvbandwidthRun {
  std::string source;  // "nvbandwidth 0.10.0".
  Machines machines;
  bool several_processes = false;  // The list of GPUs has one a process.
  std::vector<NvbandwidthMatrix> matrices;
  std::vector<std::string> waived;  // Tests that this machine cannot run.
  std::vector<std::string> failed;  // Tests that ended with an error.
};

// Columns of a matrix; a matrix beyond it is refused.
inline constexpr size_t kMaxMatrixColumns = 1024;

Result<NvbandwidthRun> ReadNvbandwidthText(std::string_view text);
Result<NvbandwidthRun> ReadNvbandwidthJson(std::string_view text);

// "nvbandwidth 0.5" of "v0.5". INVALID_ARGUMENT for a version before 0.2 or from 1.0 on.
Result<std::string> NvbandwidthSource(std::string_view version);

// True for a name as nvbandwidth's tests have: lower-case letters, digits and "_".
bool IsTestName(std::string_view name);

// Whether a matrix described so is of latencies ("... (ns)") or bandwidths ("... (GB/s)",
// or the bisection's "... CE BW"); none for any other text.
std::optional<bool> IsLatency(std::string_view description);

// "12.4" of "12040", or of "13.2 (13020)"; `where` names the text in the error for any other.
Result<std::string> CudaOf(std::string_view text, const std::string& where);

// Whether the numbers of an output have two decimals (texts) or six significant digits, with
// all of them for sums (JSON).
enum class Rounding { kTwoDecimals, kSixDigits };

// True if the cells add up to `sum`, as they were rounded.
bool AddsUp(const NvbandwidthMatrix& matrix, Rounding rounding);

// `total` with both ways. INVALID_ARGUMENT unless they are of one shape and each pair adds up.
Result<NvbandwidthMatrix> WithWays(NvbandwidthMatrix total, NvbandwidthMatrix::Cells first,
                                   NvbandwidthMatrix::Cells second, Rounding rounding);

// True for tests of both ways between two GPUs.
bool IsBidirectional(std::string_view test);

}  // namespace assay::imports

// Builds the parts of results that all imports share.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "cli/imports/imports.h"

namespace assay::imports {

// Facts that the file states about the machines. A fact that is not stated is empty.
struct Machines {
  std::set<std::string> gpu_names;
  int gpus = 0;
  std::set<std::string> hosts;  // Only their number is stored.
  std::string driver;
  std::string cuda;
  std::string nccl;
};

// Sets the fields of `imported` that say where, when and by which program the results were
// measured. `source` is that program with its version, for example "nccl-tests 2.17.6". `origin`
// contains information provided by the user. Returns INVALID_ARGUMENT if this contradicts the file,
// or if neither the user nor the file names the GPU model.
Status Describe(const Machines& machines, const std::string& source, const Origin& origin,
                Imported* imported);

// Adds a measurement of `metric` with the single sample `value`. `timer` says how the time was
// measured, and `batch` how many iterations were timed together (see v1.Method).
void AddMeasurement(const std::string& metric, const std::string& unit, double value,
                    const std::string& timer, int batch, v1::CaseResult* result);

// The range of accepted version codes of NCCL and CUDA.
inline constexpr int64_t kLeastVersionCode = 1000;
inline constexpr int64_t kMostVersionCode = 99'999;

// Returns "2.18.5" for NCCL's version code 21805.
std::string NcclVersionText(int64_t code);

// Returns "2.17.6" for "v2.17.6"; empty unless `word` has only digits and dots.
std::string VersionOf(std::string_view word);

}  // namespace assay::imports

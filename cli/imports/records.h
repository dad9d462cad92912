// Pieces of results that every import makes alike.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cli/imports/imports.h"

namespace assay::imports {

// What a file says of the machines that it comes from.
struct Machines {
  std::set<std::string> gpu_names;
  int gpus = 0;
  // Counted, and then forgotten: they are the user's, not the result's.
  std::set<std::string> hosts;
  std::string driver;  // Empty if unknown, as those below.
  std::string cuda;
  std::string nccl;
  // First and last time that it tells, as ClockSeconds.
  std::optional<int64_t> began;
  std::optional<int64_t> ended;

  // One more of those times.
  void AddClock(std::optional<int64_t> seconds);
};

// "2026-01-31 08:00:00", on a clock whose zone is not told, as seconds since 1970 if it were
// UTC; none for any other text.
std::optional<int64_t> ClockSeconds(std::string_view text);

// Environment and provenance of a file by `source` ("nccl-tests 2.17.6"), with what `origin`
// says and the file does not. INVALID_ARGUMENT if they contradict each other, or if neither
// names one GPU.
Status Describe(const Machines& machines, const std::string& source, const Origin& origin,
                Imported* imported);

// Adds one number as the measurement `metric`: n is 1, and so the spread is unknown.
// `timer` as v1.Method; `batch` iterations were timed together.
void AddMeasurement(const std::string& metric, const std::string& unit, v1::Direction direction,
                    double value, const std::string& timer, int batch, v1::CaseResult* result);

// Codes of versions that libraries of NVIDIA may have: NCCL's and CUDA's 1.0 to 9.99.
inline constexpr int64_t kLeastVersionCode = 1000;
inline constexpr int64_t kMostVersionCode = 99'999;

// The number behind the library's version code, 21805 or 2804: "2.18.5", "2.8.4".
std::string NcclVersionText(int64_t code);

// CUDA's version code 12040: "12.4".
std::string CudaVersionText(int64_t code);

// "2.17.6" of "v2.17.6": one to four numbers with dots; empty for anything else.
std::string VersionOf(std::string_view word);

}  // namespace assay::imports

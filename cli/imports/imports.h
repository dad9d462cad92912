// Converts the output of other benchmark programs to Assay's results: text in, results out. No I/O.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/result.pb.h"
#include "common/status.h"

namespace assay::imports {

// Larger files are refused.
inline constexpr size_t kMaxFileBytes = size_t{16} << 20;

// The most results that one import stores. The coordinator has the same limit.
inline constexpr size_t kMaxResults = 10'000;

// Facts that the user adds because the file does not state them. Empty: not given.
struct Origin {
  std::string gpu;     // Product name as NVML reports it: "NVIDIA H100 80GB HBM3".
  std::string driver;  // "580.95.05".
  std::string node;    // Host names in the file are never stored; this is the only name.
  std::optional<google::protobuf::Timestamp> time;  // When it was measured.
};

struct Imported {
  v1::Environment environment;  // Shared by all results.
  v1::Provenance provenance;    // Shared by all results.
  // In the order of the file. Job, environment and provenance are unset.
  std::vector<v1::CaseResult> results;
  // Notes for the user about what was left out.
  std::vector<std::string> notes;
};

// Converts the output of one run of nccl-tests 2.17 or later, as text or JSON (option -J). If the
// output is damaged, incomplete or in an unknown format, returns INVALID_ARGUMENT with reason
// BAD_FILE and a message that includes the line or the JSON path.
Result<Imported> ReadNcclTests(std::string_view text, const Origin& origin);

// Reads the JSON (-j) of nvbandwidth 0.5 or later. Returns errors like those of ReadNcclTests.
Result<Imported> ReadNvbandwidth(std::string_view text, const Origin& origin);

}  // namespace assay::imports

// Outputs of other benchmarking programs, read as results of Assay. Pure: no files, no
// network. A file that is damaged, cut short or of an unknown form gives an error that
// names the line and what was expected there, and nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/result.pb.h"
#include "common/status.h"

namespace assay::imports {

// Of an imported file. Larger ones are refused before they are read.
inline constexpr size_t kMaxFileBytes = size_t{16} << 20;
// Of one file; the coordinator takes no more at once either.
inline constexpr size_t kMaxResults = 10'000;

// What the user knows of a file and its program does not tell. Empty: as the file says.
struct Origin {
  std::string gpu;         // Product, as NVML names it: "NVIDIA H100 80GB HBM3".
  std::string driver;      // "580.95.05".
  std::string node;        // Name; host names of the file are never kept.
  std::string collective;  // Of nccl-tests before 2.17, which does not name its test.
  std::optional<google::protobuf::Timestamp> time;  // When it was measured.
};

struct Imported {
  v1::Environment environment;  // Of all results.
  v1::Provenance provenance;    // Of all results.
  // In the order of the file; without job, environment and provenance.
  std::vector<v1::CaseResult> results;
  // What the file has and the results have not, for people.
  std::vector<std::string> notes;
};

// The text or the JSON (`-J`) of nccl-tests' `*_perf` programs; several texts may follow
// each other in one file.
Result<Imported> ReadNcclTests(std::string_view text, const Origin& origin);

// The text or the JSON (`-j`) of nvbandwidth.
Result<Imported> ReadNvbandwidth(std::string_view text, const Origin& origin);

}  // namespace assay::imports

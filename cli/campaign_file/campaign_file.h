// Reads campaign files: YAML in, v1::CampaignSpec out. Fields and types are checked here. Values of
// parameters stay text, because only the fleet knows which are allowed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "cli/campaign_file/yaml_tree.h"
#include "common/status.h"

namespace assay::cli {

struct CampaignFile {
  // Complete if there are no faults.
  v1::CampaignSpec spec;
  // Every fault, in the order of the file.
  std::vector<FileFault> faults;
};

// Parses the text of a campaign file. Does not throw.
CampaignFile ParseCampaign(std::string_view text);

// Reads and parses a file of at most kMaxYamlBytes. Returns an error only if the file cannot be
// read; faults in its content are in `faults`.
Result<CampaignFile> ReadCampaignFile(const std::string& path);

// Formats one line per fault, at most kMaxYamlFaults:
// "FILE:7:12: benchmarks[1].gemm.m: description".
std::string FormatFaults(const std::string& path, const std::vector<FileFault>& faults);

// Formats the coordinator's violations in the same way, one line each:
// "FILE:7: field: description".
std::string FormatViolations(const std::string& path, const std::vector<Violation>& violations);

}  // namespace assay::cli

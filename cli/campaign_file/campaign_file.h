// Campaign files: YAML in, v1::CampaignSpec out. Shape and words are judged
// here; values stay text, because only the fleet knows what they may be.
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
  // Every fault of the file, in its order.
  std::vector<FileFault> faults;
};

// Never throws, whatever `text` holds.
CampaignFile ParseCampaign(std::string_view text);

// Reads and parses a file of at most kMaxYamlBytes. An error only if it cannot
// be read; what is wrong inside it is in `faults`.
Result<CampaignFile> ReadCampaignFile(const std::string& path);

// "FILE:7:12: benchmarks[1].gemm.m: description", a line a fault, at most
// kMaxYamlFaults of them.
std::string FormatFaults(const std::string& path, const std::vector<FileFault>& faults);

// What a coordinator found wrong, printed as if found here:
// "FILE:7: field: description", a line a violation.
std::string FormatViolations(const std::string& path, const std::vector<Violation>& violations);

}  // namespace assay::cli

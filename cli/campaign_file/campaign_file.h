// Reads and writes campaign files, YAML files that list benchmarks and the nodes to run them on.
// The parser converts a file to a v1::CampaignSpec and checks the names and types of fields. It
// keeps the values of benchmark parameters as text, because only the coordinator knows which values
// the connected nodes accept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "cli/campaign_file/yaml_tree.h"
#include "common/status.h"

namespace assay::cli {

struct CampaignFile {
  // The campaign. Complete only if there are no faults.
  v1::CampaignSpec spec;
  // Every fault, in the order of the file.
  std::vector<FileFault> faults;
};

// Parses the text of a campaign file. Does not throw.
CampaignFile ParseCampaign(std::string_view text);

// Reads and parses the campaign file at `path`, or standard input if `path` is "-". Accepts at most
// kMaxYamlBytes. Returns an error only if the file cannot be read. Errors in its content are
// returned in CampaignFile::faults.
Result<CampaignFile> ReadCampaignFile(const std::string& path);

// Converts `spec` to the text of a campaign file. ParseCampaign converts the text back to an equal
// spec, except for line numbers. Omits fields with default values. `spec` must contain at least one
// benchmark.
std::string CampaignYaml(const v1::CampaignSpec& spec);

// Formats at most kMaxYamlFaults errors in a campaign file, one per line. For example, "FILE:7:12:
// benchmarks[1].gemm.m: description" is an error in line 7, column 12.
std::string FormatFaults(const std::string& path, const std::vector<FileFault>& faults);

// Formats the errors that the coordinator found in a campaign, one per line, for example "FILE:7:
// field: description" for an error in line 7 of the campaign file.
std::string FormatViolations(const std::string& path, const std::vector<Violation>& violations);

}  // namespace assay::cli

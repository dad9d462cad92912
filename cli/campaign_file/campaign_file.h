// Reads and writes campaign files. A campaign file is a YAML file that lists benchmarks and the
// nodes on which to run them. The parser converts it to a v1::CampaignSpec and checks the names and
// types of fields. It keeps the values of benchmark parameters as text, because only the
// coordinator knows which values the connected nodes accept.
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

// Reads and parses the campaign file at `path`, or standard input if `path` is "-". The size is
// limited to kMaxYamlBytes. Returns an error only if the file cannot be read. Errors in the file's
// content are in the returned object's `faults`.
Result<CampaignFile> ReadCampaignFile(const std::string& path);

// Converts `spec` to the text of a campaign file. ParseCampaign converts the text back to an equal
// spec, except for line numbers. Omits fields with default values. `spec` must contain a benchmark.
std::string CampaignYaml(const v1::CampaignSpec& spec);

// Formats at most kMaxYamlFaults errors in a campaign file, one per line. For example, in the line
// "FILE:7:12: benchmarks[1].gemm.m: description", 7 is the line and 12 the column in the file.
std::string FormatFaults(const std::string& path, const std::vector<FileFault>& faults);

// Formats the errors that the coordinator found in a campaign, one per line: "FILE:7: field:
// description", where 7 is the line in the campaign file.
std::string FormatViolations(const std::string& path, const std::vector<Violation>& violations);

}  // namespace assay::cli

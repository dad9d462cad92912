// Renders the page of `assay report`: a single HTML file that can be read without a network,
// JavaScript or Assay. console/src/report_data.ts describes the data that the page's script
// expects.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/analysis_service.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"

namespace assay::cli {

// The content of a report. Parts without data are not set.
struct ReportData {
  std::optional<v1::Campaign> campaign;
  std::optional<v1::GetCampaignProgressResponse> progress;
  std::string filter;
  std::string time;     // RFC 3339.
  std::string version;  // Of `assay`.
  v1::TabulateResultsResponse results;
  v1::GetRooflineResponse roofline;
  std::optional<v1::GetPairsResponse> pairs;
  std::optional<v1::CompareResultsResponse> comparison;
  std::optional<v1::GetHistoryResponse> history;
  v1::GroupResultsResponse groups;
};

// The files that the page embeds. Without them it has tables but no figures.
struct ReportAssets {
  std::string script;
  std::string style;
  // Sources of styles that the script adds, for the content security policy: "'sha256-...'".
  std::string style_sources;
};

// Returns the fields of results that a report needs, besides "parameters.NAME".
std::vector<std::string> ReportFields();

// Returns the names of the parameters that differ between results of one benchmark, at most `most`.
std::vector<std::string> VaryingParameters(const v1::GroupResultsResponse& groups, size_t most);

// Renders the page. Names and messages may come from untrusted machines; all are escaped.
std::string ReportPage(const ReportData& data, const ReportAssets& assets);

}  // namespace assay::cli

// Prepared answers of the services that judge and compare results.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/analysis_service.pb.h"

namespace assay::cli {

// Makes local time UTC, as views show local time.
void UseUtc();

// Returns the width of the widest line.
int WidestLine(const std::string& text);

// A name that tries to control the terminal and to break out of CSV, XML and Markdown.
inline constexpr char kHostile[] = "=a\x1b[31m,\"|<b>&'\n";

// A timestamp in the night `day` nights after 2026-11-01.
google::protobuf::Timestamp Night(int day, int minute = 0);

v1::CaseIdentity GemmCase(const std::string& m, const std::string& dtype = "bf16");
v1::CaseIdentity CopyCase();

// The GPU with this index on sim-0007.
v1::Place GpuPlace(int index);
// All eight GPUs of a node.
v1::Place NodePlace(const std::string& node);

// Two drivers: one case regressed, one improved, one equivalent, two inconclusive.
v1::CompareResultsResponse DriverComparison();
// Forty nights of `places` GPUs. The driver changes in night 25, from which GPU 3 is slower.
v1::GetHistoryResponse CopyHistory(int places);
// An incident with a driver as its cause and two regressions, and one with a GPU.
v1::ListRegressionsResponse DriverRegressions();
v1::ListOutliersResponse SlowGpus();
v1::GetCostsResponse Costs();
v1::Baseline GemmBaseline();

}  // namespace assay::cli

// Reports and declarations as text for people and programs.
#pragma once

#include <string>

#include "kernels/registry.h"
#include "runner/case_report.h"

namespace assay {

// Aligned lines: outcome, metrics with their spread, prediction, conditions.
std::string ReportAsTable(const CaseReport& report);

// One JSON object on one line; fields as in CaseResult, samples included.
std::string ReportAsJson(const CaseReport& report);

// One line a benchmark, with why it cannot run here.
std::string ListBenchmarks(const Registry& registry);

// An error of the command line for people: what was wrong, then what its message does not
// yet say of its violations, and the hint. No codes: the exit status tells the kind.
std::string ErrorText(const Status& error);

// Parameters, metrics and model of one benchmark.
std::string ShowBenchmark(const Benchmark& benchmark);

}  // namespace assay

// Results and declarations as text for people and programs.
#pragma once

#include <string>

#include "assay/v1/result.pb.h"
#include "kernels/registry.h"

namespace assay {

// Aligned lines: outcome, metrics with their spread, prediction, conditions.
std::string ResultAsTable(const v1::CaseResult& result);

// A JSON array with one object per metric, as all programs print results (wire/result_fields.h).
std::string ResultAsJson(const v1::CaseResult& result);

// One line a benchmark, with why it cannot run here.
std::string ListBenchmarks(const Registry& registry);

// An error of the command line for people: what was wrong, then what its message does not
// yet say of its violations, and the hint. No codes: the exit status tells the kind.
std::string ErrorText(const Status& error);

// Parameters, metrics and model of one benchmark.
std::string ShowBenchmark(const Benchmark& benchmark);

}  // namespace assay

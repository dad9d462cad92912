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

// One line per benchmark, with the reason why this machine cannot run it.
std::string ListBenchmarks(const Registry& registry);

// An error of the command line: its message, the violations that the message leaves out, and the
// hint. Without codes, because the exit status gives the kind of error.
std::string ErrorText(const Status& error);

// Parameters, metrics and model of one benchmark.
std::string ShowBenchmark(const Benchmark& benchmark);

}  // namespace assay

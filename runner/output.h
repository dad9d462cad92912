// Results and declarations as text for people and programs.
#pragma once

#include <string>

#include "assay/v1/result.pb.h"
#include "kernels/registry.h"

namespace assay {

// Returns aligned lines: outcome, metrics with their spread, prediction, conditions.
std::string ResultAsTable(const v1::CaseResult& result);

// Returns a JSON array with one object per metric, in the form in which all programs print results
// (wire/result_fields.h).
std::string ResultAsJson(const v1::CaseResult& result);

// Returns one line per benchmark, with the reason if this machine cannot run it.
std::string ListBenchmarks(const Registry& registry);

// Returns an error of the command line as text: its message, the violations that the message leaves
// out, and the hint. Omits codes, because the exit status gives the kind of error.
std::string ErrorText(const Status& error);

// Returns parameters, metrics and model of one benchmark.
std::string ShowBenchmark(const Benchmark& benchmark);

}  // namespace assay

// Formats results and benchmark declarations as text for people and programs.
#pragma once

#include <string>

#include "assay/v1/result.pb.h"
#include "kernels/registry.h"

namespace assay {

// Returns a table of the result, with lines for the outcome, the metrics with their spread, the
// predicted time, and the measurement conditions.
std::string ResultAsTable(const v1::CaseResult& result);

// Returns the result as a JSON array with one object per metric, the format in which all Assay
// programs print results (see wire/result_fields.h).
std::string ResultAsJson(const v1::CaseResult& result);

// Returns one line per benchmark. If this machine cannot run the benchmark, its line says why.
std::string ListBenchmarks(const Registry& registry);

// Formats an error for the command line: its message, the hint, and any violations that the message
// does not mention. Omits the error code, because the program's exit status already indicates the
// kind of error.
std::string ErrorText(const Status& error);

// Returns a description of one benchmark: its parameters, metrics and performance model.
std::string ShowBenchmark(const Benchmark& benchmark);

}  // namespace assay

// Converts the declarations of benchmarks to messages.
#pragma once

#include "assay/v1/benchmark.pb.h"
#include "kernels/registry.h"

namespace assay {

using BenchmarkSchemas = google::protobuf::RepeatedPtrField<v1::BenchmarkSchema>;

// Returns the declarations of all benchmarks, in the order of the registry.
BenchmarkSchemas SchemasOf(const Registry& registry);

}  // namespace assay

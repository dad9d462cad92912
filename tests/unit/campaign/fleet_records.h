// Nodes and schemas for tests of campaigns and the coordinator.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/node_service.pb.h"

namespace assay {

inline v1::ParameterSchema* AddParameter(v1::BenchmarkSchema& schema, const std::string& name,
                                         v1::ParameterType type, int64_t minimum, int64_t maximum) {
  v1::ParameterSchema* parameter = schema.add_parameters();
  parameter->set_name(name);
  parameter->set_type(type);
  if (maximum > 0) {
    parameter->set_minimum(minimum);
    parameter->set_maximum(maximum);
  }
  return parameter;
}

inline void AddMetric(v1::BenchmarkSchema& schema, const std::string& name,
                      const std::string& unit) {
  v1::MetricSchema* metric = schema.add_metrics();
  metric->set_name(name);
  metric->set_unit(unit);
}

inline v1::BenchmarkSchema GemmSchema(const std::string& name, v1::ResourceKind resource) {
  v1::BenchmarkSchema schema;
  schema.set_name(name);
  schema.set_version(1);
  schema.set_resource(resource);
  for (const char* size : {"m", "n", "k"}) {
    AddParameter(schema, size, v1::PARAMETER_TYPE_INTEGER, 1, 65536);
  }
  v1::ParameterSchema* dtype = AddParameter(schema, "dtype", v1::PARAMETER_TYPE_CHOICE, 0, 0);
  for (const char* word : {"bf16", "fp16", "fp32"}) dtype->add_choices(word);
  dtype->set_default_value("fp32");
  AddMetric(schema, "tflops", "TFLOP/s");
  AddMetric(schema, "time", "s");
  return schema;
}

inline v1::BenchmarkSchema ReduceSchema(const std::string& name, v1::ResourceKind resource) {
  v1::BenchmarkSchema schema;
  schema.set_name(name);
  schema.set_version(1);
  schema.set_resource(resource);
  schema.set_collective(true);
  AddParameter(schema, "ranks", v1::PARAMETER_TYPE_INTEGER, 1, 1024)->set_default_value("2");
  if (resource == v1::RESOURCE_KIND_GPU) {
    AddParameter(schema, "nodes", v1::PARAMETER_TYPE_INTEGER, 1, 64)->set_default_value("1");
  }
  AddParameter(schema, "bytes", v1::PARAMETER_TYPE_BYTES, 8, int64_t{8} << 30)
      ->set_default_value("1MiB");
  AddMetric(schema, "bus_bandwidth", "GB/s");
  return schema;
}

// Returns a connected node. Its id is a UUID of which every digit is `id_digit`.
inline v1::Node MakeFleetNode(const std::string& name, char id_digit, int gpus) {
  v1::Node node;
  node.set_state(v1::NODE_STATE_CONNECTED);
  v1::NodeDescription& description = *node.mutable_description();
  const std::string digit(1, id_digit);
  std::string id;
  for (const int length : {8, 4, 4, 4, 12}) {
    id += (id.empty() ? "" : "-") + std::string(static_cast<size_t>(length), id_digit);
  }
  description.set_node_id(id);
  description.set_name(name);
  description.set_agent_instance_id("instance-" + digit);
  description.set_agent_version("0.1.0");
  description.mutable_inventory()->set_driver_version("580.95.05");
  description.mutable_inventory()->mutable_software()->set_nccl("2.28.9");
  for (int i = 0; i < gpus; ++i) {
    v1::GpuInventory* gpu = description.mutable_inventory()->add_gpus();
    gpu->set_index(i);
    gpu->set_model("H200");
    gpu->set_uuid("GPU-" + digit + std::to_string(i));
  }
  *description.add_benchmarks() = GemmSchema("cpu_gemm", v1::RESOURCE_KIND_CPU);
  *description.add_benchmarks() = GemmSchema("gemm", v1::RESOURCE_KIND_GPU);
  *description.add_benchmarks() = ReduceSchema("all_reduce", v1::RESOURCE_KIND_GPU);
  *description.add_benchmarks() = ReduceSchema("tcp_all_reduce", v1::RESOURCE_KIND_NETWORK);
  if (gpus == 0) {
    for (int i : {1, 2}) {
      description.mutable_benchmarks(i)->set_unsupported_reason(
          "needs a CUDA GPU; this node has none");
    }
  }
  return node;
}

// Returns node b with eight GPUs, a with two and c with none.
inline std::vector<v1::Node> ThreeNodes() {
  return {MakeFleetNode("b", '2', 8), MakeFleetNode("a", '1', 2), MakeFleetNode("c", '3', 0)};
}

// Adds an axis with a list of values.
inline void AddAxis(v1::BenchmarkMatrix& matrix, const std::string& name,
                    const std::vector<std::string>& values, int line = 0) {
  v1::ParameterAxis* axis = matrix.add_axes();
  axis->set_name(name);
  axis->set_line(line);
  axis->mutable_list();
  for (const std::string& value : values) axis->mutable_list()->add_values(value);
}

// Returns a campaign of one benchmark, with m = n = k = 64 if it has these parameters.
inline v1::CampaignSpec MakeSpec(const std::string& benchmark) {
  v1::CampaignSpec spec;
  spec.set_name("sweep");
  (*spec.mutable_lines())["nodes"] = 2;
  (*spec.mutable_lines())["benchmarks"] = 3;
  v1::BenchmarkMatrix* matrix = spec.add_benchmarks();
  matrix->set_benchmark(benchmark);
  matrix->set_line(4);
  if (benchmark.find("gemm") != std::string::npos) {
    for (const char* size : {"m", "n", "k"}) AddAxis(*matrix, size, {"64"});
  }
  return spec;
}

}  // namespace assay

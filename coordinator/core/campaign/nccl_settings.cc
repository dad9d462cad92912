#include "coordinator/core/campaign/nccl_settings.h"

#include <google/protobuf/map.h>

#include <algorithm>

#include "common/text.h"
#include "coordinator/core/campaign/spec_limits.h"
#include "model/nccl_variables.h"

namespace assay::coordinator {
namespace {

using Settings = google::protobuf::Map<std::string, std::string>;

bool UsesNccl(const v1::BenchmarkSchema& schema) {
  return schema.collective() && schema.resource() == v1::RESOURCE_KIND_GPU;
}

// `line` is the line of the settings as a whole, for variables whose own line is unknown.
void CheckEach(const v1::CampaignSpec& spec, const Settings& settings, const std::string& path,
               int line, Violations& violations) {
  if (settings.size() > NcclVariables().size()) {
    violations.Add(path,
                   "has " + std::to_string(settings.size()) + " variables; there are " +
                       std::to_string(NcclVariables().size()) + " that may be set",
                   line);
    return;
  }
  // Sort by name, because a protobuf map has no order.
  for (const auto& [name, value] : NcclSettings(settings.begin(), settings.end())) {
    const Status sound = CheckNcclVariable(name, value);
    if (sound.ok()) continue;
    const std::string field = path + "." + name;
    const int own = LineOf(spec, field);
    violations.Add(path + "." + Cut(name), sound.message(), own == 0 ? line : own);
  }
}

NcclSettings Merged(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix) {
  NcclSettings settings(matrix.nccl().begin(), matrix.nccl().end());
  settings.insert(spec.nccl().begin(), spec.nccl().end());  // Keeps the entry's own values.
  return settings;
}

}  // namespace

void CheckNcclOf(const v1::CampaignSpec& spec,
                 const std::map<std::string, v1::BenchmarkSchema>& schemas,
                 Violations& violations) {
  if (spec.nccl().empty()) return;
  const int line = LineOf(spec, "nccl");
  CheckEach(spec, spec.nccl(), "nccl", line, violations);
  const bool used = std::any_of(spec.benchmarks().begin(), spec.benchmarks().end(),
                                [&](const v1::BenchmarkMatrix& matrix) {
                                  const auto schema = schemas.find(matrix.benchmark());
                                  return schema == schemas.end() || UsesNccl(schema->second);
                                });
  if (!used) {
    violations.Add("nccl", "no benchmark of this campaign is a collective of GPUs; leave this out",
                   line);
  }
}

void CheckNcclOf(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                 const v1::BenchmarkSchema& schema, const std::string& path,
                 Violations& violations) {
  if (matrix.nccl().empty()) return;
  if (!UsesNccl(schema)) {
    violations.Add(
        path + ".nccl",
        schema.name() + " is no collective of GPUs and does not use NCCL; leave this out",
        matrix.line());
  }
  CheckEach(spec, matrix.nccl(), path + ".nccl", matrix.line(), violations);
}

NcclSettings NcclOf(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                    const v1::BenchmarkSchema& schema) {
  return UsesNccl(schema) ? Merged(spec, matrix) : NcclSettings();
}

}  // namespace assay::coordinator

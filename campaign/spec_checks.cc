#include "campaign/spec_checks.h"

#include <fmt/format.h>
#include <google/protobuf/map.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/text.h"
#include "model/limits.h"
#include "model/nccl_variables.h"
#include "wire/benchmark_schema.h"

namespace assay::campaign {
namespace {

constexpr size_t kMaxNameBytes = 200;
constexpr double kMaxTimeoutSeconds = 24 * 3600;
constexpr int kMaxBenchmarks = 1000;
constexpr int kMaxAcceptRules = 1000;

bool UsesNccl(const v1::BenchmarkSchema& schema) {
  return schema.collective() && schema.resource() == v1::RESOURCE_KIND_GPU;
}

bool ReadsCounters(const v1::BenchmarkSchema& schema) { return schema::CheckCounters(schema).ok(); }

// Returns true if `holds` returns true for at least one benchmark of the campaign. To avoid a
// second error about the same mistake, also returns true if no benchmark is listed or one is
// unknown.
bool MayHold(const v1::CampaignSpec& spec, const Schemas& schemas,
             bool (*holds)(const v1::BenchmarkSchema&)) {
  return spec.benchmarks().empty() ||
         std::any_of(spec.benchmarks().begin(), spec.benchmarks().end(),
                     [&](const v1::BenchmarkMatrix& matrix) {
                       const auto schema = schemas.find(matrix.benchmark());
                       return schema == schemas.end() || holds(schema->second);
                     });
}

// Checks the NCCL variables in `settings` and appends any errors to `violations`. Each error
// includes the variable's line in the campaign file, or `line` if that is unknown.
void CheckNccl(const v1::CampaignSpec& spec,
               const google::protobuf::Map<std::string, std::string>& settings,
               const std::string& path, int line, Violations& violations) {
  if (settings.size() > NcclVariables().size()) {
    violations.Add(path,
                   fmt::format("has {} variables; only {} may be set", settings.size(),
                               NcclVariables().size()),
                   line);
    return;
  }
  // Sort by name, because a protobuf map has no order.
  for (const auto& [name, value] : NcclSettings(settings.begin(), settings.end())) {
    const Status sound = CheckNcclVariable(name, value);
    if (sound.ok()) continue;
    const int own = LineOf(spec, path + "." + name);
    violations.Add(path + "." + Cut(name), sound.message(), own == 0 ? line : own);
  }
}

}  // namespace

void CheckCampaignFields(const v1::CampaignSpec& spec, const Schemas& schemas,
                         Violations& violations) {
  const auto require = [&](bool holds, const std::string& field, std::string description) {
    if (!holds) violations.Add(field, std::move(description), LineOf(spec, field));
  };
  const auto require_range = [&](const std::string& field, int64_t value, int64_t low,
                                 int64_t high) {
    require(value >= low && value <= high, field,
            fmt::format("{} is not a whole number from {} to {}", value, low, high));
  };
  require(!spec.name().empty(), "name", "is missing; a campaign needs a name");
  require(spec.name().size() <= kMaxNameBytes && IsPlainText(spec.name()), "name",
          fmt::format("must be at most {} bytes without control characters", kMaxNameBytes));
  require_range("repetitions", RepetitionsOf(spec), 1, kMaxRepetitions);
  require_range("retries", spec.retries(), 0, kMaxRetries);
  require_range("priority", spec.priority(), -kMaxPriority, kMaxPriority);
  if (spec.has_timeout()) {
    const double seconds =
        static_cast<double>(spec.timeout().seconds()) + spec.timeout().nanos() * 1e-9;
    require(seconds >= 1 && seconds <= kMaxTimeoutSeconds, "timeout",
            fmt::format("{:g} s is not from 1s to 24h", seconds));
  }
  require(v1::Exclusivity_IsValid(spec.exclusive()), "exclusive", "must be node or gpu");
  require(v1::PlacementPolicy_IsValid(spec.placement()), "placement", "must be each, any or pairs");
  require(v1::Unplaceable_IsValid(spec.unplaceable()), "unplaceable", "must be refuse or skip");
  require(v1::AbsentPolicy_IsValid(spec.absent()), "absent", "must be fail, warn or wait");
  require_range("expect_nodes", spec.expect_nodes(), 0, kMaxExpectedNodes);
  require(!spec.benchmarks().empty(), "benchmarks",
          "is empty; a campaign needs at least one benchmark");
  require(spec.benchmarks_size() <= kMaxBenchmarks, "benchmarks",
          fmt::format("has {} entries; the limit is {}", spec.benchmarks_size(), kMaxBenchmarks));
  require(spec.accept_size() <= kMaxAcceptRules, "accept",
          fmt::format("has {} rules; the limit is {}", spec.accept_size(), kMaxAcceptRules));
  require(!spec.counters() || MayHold(spec, schemas, ReadsCounters), "counters",
          "hardware counters are read on one GPU, and no benchmark of this campaign runs on one "
          "GPU; leave this out");
  require(spec.nccl().empty() || MayHold(spec, schemas, UsesNccl), "nccl",
          "no benchmark of this campaign is a GPU collective; leave this out");
  CheckNccl(spec, spec.nccl(), "nccl", LineOf(spec, "nccl"), violations);
}

void CheckEntryFields(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                      const v1::BenchmarkSchema& schema, const std::string& path,
                      Violations& violations) {
  const auto add = [&](const std::string& field, std::string description) {
    violations.Add(path + "." + field, std::move(description), matrix.line());
  };
  if (!v1::Unplaceable_IsValid(matrix.unplaceable())) add("unplaceable", "must be refuse or skip");
  if (!matrix.gpu_indices().empty() && schema.resource() != v1::RESOURCE_KIND_GPU) {
    add("gpus", schema.name() + " does not run on GPUs; leave this out");
  }
  std::set<int> seen;
  for (const int index : matrix.gpu_indices()) {
    if (index < 0) {
      add("gpus", fmt::format("{} is not a GPU index", index));
    } else if (!seen.insert(index).second) {
      add("gpus", fmt::format("GPU {} is given twice", index));
    }
  }
  if (const Status read = schema::CheckCounters(schema); matrix.counters() && !read.ok()) {
    add("counters", read.message() + "; leave this out");
  }
  if (!matrix.nccl().empty() && !UsesNccl(schema)) {
    add("nccl", schema.name() + " is not a GPU collective and does not use NCCL; leave this out");
  }
  CheckNccl(spec, matrix.nccl(), path + ".nccl", matrix.line(), violations);
}

v1::AbsentPolicy AbsentPolicyOf(const v1::CampaignSpec& spec) {
  if (spec.absent() != v1::ABSENT_POLICY_UNSPECIFIED) return spec.absent();
  return spec.accept().empty() ? v1::ABSENT_POLICY_WARN : v1::ABSENT_POLICY_FAIL;
}

int LineOf(const v1::CampaignSpec& spec, const std::string& field) {
  const auto found = spec.lines().find(field);
  return found == spec.lines().end() ? 0 : found->second;
}

Duration TimeoutOf(const v1::CampaignSpec& spec) {
  if (!spec.has_timeout()) return std::chrono::minutes(20);
  return std::chrono::seconds(spec.timeout().seconds()) +
         std::chrono::nanoseconds(spec.timeout().nanos());
}

int RepetitionsOf(const v1::CampaignSpec& spec) {
  return spec.repetitions() == 0 ? 1 : spec.repetitions();
}

NcclSettings NcclOf(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                    const v1::BenchmarkSchema& schema) {
  if (!UsesNccl(schema)) return {};
  NcclSettings settings(matrix.nccl().begin(), matrix.nccl().end());
  settings.insert(spec.nccl().begin(), spec.nccl().end());  // Keeps the entry's own values.
  return settings;
}

}  // namespace assay::campaign

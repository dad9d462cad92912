#include "coordinator/core/imports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/digest.h"
#include "common/utf8.h"
#include "coordinator/core/text.h"
#include "coordinator/core/violations.h"

namespace assay::coordinator {
namespace {

constexpr size_t kMaxName = 200;
constexpr size_t kMaxText = 200;
constexpr size_t kMaxMessage = 1000;
constexpr int kMaxMeasurements = 8;
constexpr int kMaxParameters = 32;
constexpr int kMaxFlags = 16;
constexpr int kMaxNodes = 64;
constexpr int kMaxGpus = 1'000'000;
constexpr int64_t kLastSecond = 253'402'300'799;  // Of the year 9999.

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kMaxText &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

class Checker {
 public:
  explicit Checker(const v1::ImportResultsRequest& request) : request_(request) {}

  Status Check() {
    Text("name", request_.name(), kMaxName, true);
    if (!IsUuid(request_.request_id())) {
      Add("request_id", "\"" + Cut(request_.request_id()) + "\" is not a UUID in lower case");
    }
    CheckProvenance(request_.provenance());
    CheckEnvironment(request_.environment());
    if (request_.results().empty() || request_.results_size() > kMaxImportedResults) {
      Add("results", fmt::format("has {} entries; expected 1 to {}", request_.results_size(),
                                 kMaxImportedResults));
      return violations_.ToStatus("the import", "BAD_IMPORT");
    }
    for (int i = 0; i < request_.results_size(); ++i) {
      CheckResult(fmt::format("results[{}].", i), request_.results(i));
    }
    return violations_.ToStatus("the import", "BAD_IMPORT");
  }

 private:
  void Add(const std::string& field, std::string what) {
    violations_.Add(field, std::move(what), 0);
  }

  void Text(const std::string& field, const std::string& text, size_t most, bool required = false) {
    if (required && text.empty()) return Add(field, "is missing");
    if (text.size() <= most && IsPlainText(text)) return;
    Add(field, fmt::format("must be UTF-8 of at most {} bytes without control characters", most));
  }

  void Name(const std::string& field, const std::string& text) {
    if (!IsName(text)) Add(field, "must be lower-case letters, digits and _");
  }

  void Number(const std::string& field, double number) {
    if (!std::isfinite(number)) Add(field, "is not finite");
  }

  void CheckProvenance(const v1::Provenance& provenance) {
    Text("provenance.imported_from", provenance.imported_from(), kMaxText, true);
    if (provenance.node_names_size() > kMaxNodes) {
      Add("provenance.node_names", fmt::format("has more than {} names", kMaxNodes));
    }
    for (const std::string& name : provenance.node_names()) {
      Text("provenance.node_names", name, kMaxText, true);
    }
  }

  void CheckEnvironment(const v1::Environment& environment) {
    for (const std::string* text :
         {&environment.gpu_model(), &environment.gpu_form_factor(), &environment.mig_profile(),
          &environment.topology(), &environment.cpu_model(), &environment.driver_version(),
          &environment.software().cuda_runtime(), &environment.software().nccl()}) {
      Text("environment", *text, kMaxText);
    }
    if (environment.gpu_count() < 0 || environment.gpu_count() > kMaxGpus ||
        environment.node_count() < 0 || environment.node_count() > kMaxGpus) {
      Add("environment", fmt::format("counts GPUs or nodes beyond 0 to {}", kMaxGpus));
    }
  }

  void CheckTime(const std::string& field, const google::protobuf::Timestamp& time) {
    if (time.seconds() < 0 || time.seconds() > kLastSecond || time.nanos() < 0 ||
        time.nanos() > 999'999'999) {
      Add(field, "is no time from 1970 to 9999");
    }
  }

  void CheckResult(const std::string& at, const v1::CaseResult& result) {
    Name(at + "benchmark", result.benchmark());
    if (result.benchmark_version() < 1) Add(at + "benchmark_version", "must be at least 1");
    if (result.parameters_size() > kMaxParameters) {
      Add(at + "parameters", fmt::format("has more than {} entries", kMaxParameters));
    }
    for (const auto& [name, value] : result.parameters()) {
      Name(at + "parameters", name);
      Text(at + "parameters." + (IsName(name) ? name : "?"), value, kMaxText);
    }
    CheckTime(at + "start_time", result.start_time());
    CheckTime(at + "end_time", result.end_time());
    if (result.conditions().flags_size() > kMaxFlags) {
      Add(at + "conditions.flags", fmt::format("has more than {} entries", kMaxFlags));
    }
    for (const std::string& flag : result.conditions().flags()) Name(at + "conditions.flags", flag);
    Text(at + "verification.reference", result.verification().reference(), kMaxText);
    Text(at + "verification.norm", result.verification().norm(), kMaxText);
    Number(at + "verification.error", result.verification().error());
    Number(at + "verification.tolerance", result.verification().tolerance());
    CheckOutcome(at, result);
  }

  void CheckOutcome(const std::string& at, const v1::CaseResult& result) {
    if (result.outcome() == v1::CASE_OUTCOME_OK) return CheckMeasurements(at, result);
    if (result.outcome() != v1::CASE_OUTCOME_FAILED) {
      return Add(at + "outcome", "must be OK or FAILED");
    }
    if (!result.measurements().empty()) Add(at + "measurements", "stand beside a failure");
    Text(at + "failure.reason", result.failure().reason(), kMaxText, true);
    Text(at + "failure.message", result.failure().message(), kMaxMessage);
  }

  void CheckMeasurements(const std::string& at, const v1::CaseResult& result) {
    if (result.measurements().empty() || result.measurements_size() > kMaxMeasurements) {
      return Add(at + "measurements", fmt::format("must be 1 to {}", kMaxMeasurements));
    }
    if (result.has_verification() && !result.verification().passed()) {
      Add(at + "verification", "did not pass, and the outcome is OK");
    }
    std::set<std::string> metrics;
    for (const v1::Measurement& one : result.measurements()) {
      Name(at + "measurements.metric", one.metric());
      if (!metrics.insert(one.metric()).second) Add(at + "measurements.metric", "stands twice");
      Text(at + "measurements.unit", one.unit(), kMaxText);
      for (const double number :
           {one.median(), one.mad(), one.p05(), one.p95(), one.ci_low(), one.ci_high(),
            one.method().warmup_seconds(), one.method().host_seconds()}) {
        Number(at + "measurements." + (IsName(one.metric()) ? one.metric() : "?"), number);
      }
      for (const std::string* text : {&one.method().cache(), &one.method().fill(),
                                      &one.method().timer(), &one.method().stop_reason()}) {
        Text(at + "measurements.method", *text, kMaxText);
      }
      if (one.n() < 1) Add(at + "measurements.n", "must be at least 1");
    }
  }

  const v1::ImportResultsRequest& request_;
  Violations violations_;
};

v1::Environment EnvironmentOf(const v1::Environment& sent) {
  v1::Environment environment;
  environment.set_gpu_model(sent.gpu_model());
  environment.set_gpu_form_factor(sent.gpu_form_factor());
  environment.set_mig_profile(sent.mig_profile());
  environment.set_gpu_count(sent.gpu_count());
  environment.set_topology(sent.topology());
  environment.set_cpu_model(sent.cpu_model());
  environment.set_node_count(sent.node_count());
  if (sent.has_driver_version()) environment.set_driver_version(sent.driver_version());
  if (sent.software().has_cuda_runtime()) {
    environment.mutable_software()->set_cuda_runtime(sent.software().cuda_runtime());
  }
  if (sent.software().has_nccl()) {
    environment.mutable_software()->set_nccl(sent.software().nccl());
  }
  return environment;
}

// What of it is kept.
v1::CaseResult ResultOf(const v1::CaseResult& sent) {
  v1::CaseResult result;
  result.set_epoch(1);
  result.set_outcome(sent.outcome());
  if (sent.outcome() == v1::CASE_OUTCOME_FAILED) {
    result.mutable_failure()->set_failure_class(v1::FAILURE_CLASS_JOB);
    result.mutable_failure()->set_reason(sent.failure().reason());
    result.mutable_failure()->set_message(sent.failure().message());
  }
  *result.mutable_parameters() = sent.parameters();
  result.set_benchmark(sent.benchmark());
  result.set_benchmark_version(sent.benchmark_version());
  *result.mutable_measurements() = sent.measurements();
  for (v1::Measurement& measurement : *result.mutable_measurements()) measurement.clear_samples();
  if (sent.has_verification()) *result.mutable_verification() = sent.verification();
  if (!sent.conditions().flags().empty()) {
    *result.mutable_conditions()->mutable_flags() = sent.conditions().flags();
  }
  if (sent.has_start_time()) *result.mutable_start_time() = sent.start_time();
  if (sent.has_end_time()) *result.mutable_end_time() = sent.end_time();
  return result;
}

}  // namespace

Result<storage::ImportedCampaign> ToImportedCampaign(const v1::ImportResultsRequest& request) {
  ASSAY_RETURN_IF_ERROR(Checker(request).Check());
  storage::ImportedCampaign imported;
  storage::NewCampaign& campaign = imported.campaign;
  campaign.campaign_id = NewUuid();
  campaign.request_id = request.request_id();
  campaign.spec.set_name(request.name());
  const v1::Environment environment = EnvironmentOf(request.environment());
  v1::Provenance provenance;
  provenance.set_imported_from(request.provenance().imported_from());
  *provenance.mutable_node_names() = request.provenance().node_names();
  std::map<std::pair<std::string, int>, size_t> jobs;  // By benchmark and version.
  for (const v1::CaseResult& sent : request.results()) {
    const auto [known, added] =
        jobs.try_emplace({sent.benchmark(), sent.benchmark_version()}, campaign.jobs.size());
    if (added) {
      storage::NewJob& job = campaign.jobs.emplace_back();
      job.job_id = NewUuid();
      job.benchmark = sent.benchmark();
      job.benchmark_version = sent.benchmark_version();
      job.resource = v1::RESOURCE_KIND_GPU;
      job.world_size = std::max(1, environment.gpu_count());
      job.node_count = std::max(1, environment.node_count());
      job.repetition = 1;
    }
    storage::NewJob& job = campaign.jobs[known->second];
    v1::BenchmarkCase& one = job.cases.emplace_back();
    one.set_case_index(static_cast<int>(job.cases.size()) - 1);
    *one.mutable_parameters() = sent.parameters();
    v1::CaseResult& result = imported.results.emplace_back(ResultOf(sent));
    result.set_job_id(job.job_id);
    result.set_case_index(one.case_index());
    *result.mutable_environment() = environment;
    *result.mutable_provenance() = provenance;
  }
  return imported;
}

}  // namespace assay::coordinator

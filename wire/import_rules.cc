#include "wire/import_rules.h"

#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "common/digest.h"
#include "common/utf8.h"
#include "common/violations.h"

namespace assay::schema {
namespace {

constexpr size_t kMaxName = 200;
constexpr size_t kMaxText = 200;
constexpr size_t kMaxMessage = 1000;
constexpr int kMaxMeasurements = 8;
constexpr int kMaxParameters = 32;
constexpr int kMaxFlags = 16;
constexpr int kMaxNodes = 64;
constexpr int kMaxGpus = 1'000'000;
// Clocks of two machines may be apart by as much.
constexpr std::chrono::minutes kClockSkew{5};

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kMaxText &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

class Checker {
 public:
  Checker(const v1::ImportResultsRequest& request, WallTime now)
      : request_(request),
        last_second_(
            std::chrono::floor<std::chrono::seconds>(now + kClockSkew).time_since_epoch().count()) {
  }

  Status Check() {
    Text("name", request_.name(), kMaxName, true);
    if (!IsUuid(request_.request_id())) {
      Add("request_id", "must be a UUID in lower case");
    }
    CheckProvenance(request_.provenance());
    CheckEnvironment(request_.environment());
    if (request_.results().empty() || request_.results_size() > kMaxImportedResults) {
      Add("results", "has " + std::to_string(request_.results_size()) + " entries; expected 1 to " +
                         std::to_string(kMaxImportedResults));
      return violations_.ToStatus("the import", "BAD_IMPORT");
    }
    for (int i = 0; i < request_.results_size(); ++i) {
      CheckResult("results[" + std::to_string(i) + "].", request_.results(i));
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
    Add(field,
        "must be UTF-8 of at most " + std::to_string(most) + " bytes without control characters");
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
      Add("provenance.node_names", "has more than " + std::to_string(kMaxNodes) + " names");
    }
    for (const std::string& name : provenance.node_names()) {
      Text("provenance.node_names", name, kMaxText, true);
    }
  }

  void CheckEnvironment(const v1::Environment& environment) {
    Text("environment.gpu_model", environment.gpu_model(), kMaxText);
    Text("environment.gpu_form_factor", environment.gpu_form_factor(), kMaxText);
    Text("environment.mig_profile", environment.mig_profile(), kMaxText);
    Text("environment.topology", environment.topology(), kMaxText);
    Text("environment.cpu_model", environment.cpu_model(), kMaxText);
    Text("environment.driver_version", environment.driver_version(), kMaxText);
    Text("environment.software.cuda_runtime", environment.software().cuda_runtime(), kMaxText);
    Text("environment.software.nccl", environment.software().nccl(), kMaxText);
    if (environment.gpu_count() < 0 || environment.gpu_count() > kMaxGpus ||
        environment.node_count() < 0 || environment.node_count() > kMaxGpus) {
      Add("environment", "counts GPUs or nodes beyond 0 to " + std::to_string(kMaxGpus));
    }
  }

  void CheckTime(const std::string& field, const google::protobuf::Timestamp& time) {
    if (time.seconds() < 0 || time.nanos() < 0 || time.nanos() > 999'999'999) {
      Add(field, "is no time since 1970");
    } else if (time.seconds() > last_second_) {
      Add(field, "lies in the future");
    }
  }

  void CheckResult(const std::string& at, const v1::CaseResult& result) {
    Name(at + "benchmark", result.benchmark());
    if (result.benchmark_version() < 1) Add(at + "benchmark_version", "must be at least 1");
    if (result.parameters_size() > kMaxParameters) {
      Add(at + "parameters", "has more than " + std::to_string(kMaxParameters) + " entries");
    }
    for (const auto& [name, value] : result.parameters()) {
      Name(at + "parameters", name);
      Text(at + "parameters." + (IsName(name) ? name : "?"), value, kMaxText);
    }
    CheckTime(at + "start_time", result.start_time());
    CheckTime(at + "end_time", result.end_time());
    if (result.conditions().flags_size() > kMaxFlags) {
      Add(at + "conditions.flags", "has more than " + std::to_string(kMaxFlags) + " entries");
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
      return Add(at + "measurements", "must be 1 to " + std::to_string(kMaxMeasurements));
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
  const int64_t last_second_;  // That may be measured.
  Violations violations_;
};

}  // namespace

Status CheckImport(const v1::ImportResultsRequest& request, WallTime now) {
  return Checker(request, now).Check();
}

}  // namespace assay::schema

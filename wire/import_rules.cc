#include "wire/import_rules.h"

#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "common/text.h"
#include "common/uuid.h"
#include "common/violations.h"
#include "wire/reasons.h"

namespace assay::schema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMaxImportText = 200;
constexpr size_t kMaxMessage = 1000;
constexpr int kMaxImportEntries = 64;  // Limit of each list, such as parameters or flags.
constexpr int kMaxGpus = 1'000'000;
// Tolerated difference between the clocks of two machines.
constexpr std::chrono::minutes kClockSkew{5};

bool IsName(const std::string& text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

class Checker {
 public:
  explicit Checker(WallTime now)
      : last_second_(
            std::chrono::floor<std::chrono::seconds>(now + kClockSkew).time_since_epoch().count()) {
  }

  Status Check(const v1::ImportResultsRequest& request) {
    Require(!request.name().empty(), "name", "is missing");
    Require(IsUuid(request.request_id()), "request_id", "must be a UUID in lower case");
    Require(!request.provenance().imported_from().empty(), "provenance.imported_from",
            "is missing");
    const int count = request.results_size();
    Require(count >= 1 && count <= kMaxImportedResults, "results",
            "has " + std::to_string(count) + " entries; expected 1 to " +
                std::to_string(kMaxImportedResults));
    for (const int number :
         {request.environment().gpu_count(), request.environment().node_count()}) {
      Require(number >= 0 && number <= kMaxGpus, "environment",
              "must count 0 to " + std::to_string(kMaxGpus) + " GPUs and nodes");
    }
    if (violations_.empty()) CheckFields(request, "");
    for (int i = 0; i < count && violations_.empty(); ++i) {
      CheckResult("results[" + std::to_string(i) + "].", request.results(i));
    }
    return violations_.ToStatus("the import", Reason::kBadImport);
  }

 private:
  void Require(bool good, const std::string& field, const std::string& what) {
    if (!good) violations_.Add(field, what, 0);
  }

  // Checks every text, number and list of `message`, whatever its type.
  void CheckFields(const Message& message, const std::string& path) {
    const auto& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const bool list = field->is_repeated();
      const int count = list ? reflection.FieldSize(message, field) : 1;
      const bool is_results = path.empty() && field->name() == "results";
      Require(is_results || count <= kMaxImportEntries, path + field->name(),
              "has more than " + std::to_string(kMaxImportEntries) + " entries");
      for (int i = 0; i < count && violations_.empty(); ++i) {
        const std::string name = path + field->name() + (list ? "[" + std::to_string(i) + "]" : "");
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          CheckFields(list ? reflection.GetRepeatedMessage(message, field, i)
                           : reflection.GetMessage(message, field),
                      name + ".");
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          const bool is_message = field->full_name() == "assay.v1.Failure.message";
          CheckText(list ? reflection.GetRepeatedString(message, field, i)
                         : reflection.GetString(message, field),
                    is_message ? kMaxMessage : kMaxImportText, name);
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
          Require(std::isfinite(list ? reflection.GetRepeatedDouble(message, field, i)
                                     : reflection.GetDouble(message, field)),
                  name, "must be finite");
        }
      }
    }
  }

  void CheckText(const std::string& text, size_t most, const std::string& name) {
    Require(
        text.size() <= most && IsPlainText(text), name,
        "must be UTF-8 of at most " + std::to_string(most) + " bytes without control characters");
  }

  void CheckResult(const std::string& at, const v1::CaseResult& result) {
    const auto name = [&](const std::string& field, const std::string& text) {
      Require(IsName(text), at + field, "must be lower-case letters, digits and _");
    };
    name("benchmark", result.benchmark());
    Require(result.benchmark_version() >= 1, at + "benchmark_version", "must be at least 1");
    for (const auto& [parameter, value] : result.parameters()) name("parameters", parameter);
    for (const std::string& flag : result.conditions().flags()) name("conditions.flags", flag);
    CheckTime(at + "start_time", result.start_time());
    CheckTime(at + "end_time", result.end_time());
    if (result.outcome() == v1::CASE_OUTCOME_FAILED) {
      Require(result.measurements().empty(), at + "measurements",
              "must be empty for a failed result");
      Require(!ReasonWord(result.failure().reason()).empty(), at + "failure.reason", "is missing");
      return;
    }
    Require(result.outcome() == v1::CASE_OUTCOME_OK, at + "outcome", "must be OK or FAILED");
    Require(!result.measurements().empty(), at + "measurements", "is missing");
    Require(!result.has_verification() || result.verification().passed(), at + "verification",
            "must have passed if the outcome is OK");
    std::set<std::string> metrics;
    for (const v1::Measurement& one : result.measurements()) {
      name("measurements.metric", one.metric());
      Require(metrics.insert(one.metric()).second, at + "measurements.metric", "given twice");
      Require(one.n() >= 1, at + "measurements.n", "must be at least 1");
    }
  }

  void CheckTime(const std::string& field, const google::protobuf::Timestamp& time) {
    Require(time.seconds() >= 0 && time.seconds() <= last_second_ && time.nanos() >= 0 &&
                time.nanos() <= 999'999'999,
            field, "must be a time from 1970 to now");
  }

  const int64_t last_second_;  // The latest time that a result may have.
  Violations violations_;
};

}  // namespace

Status CheckImport(const v1::ImportResultsRequest& request, WallTime now) {
  return Checker(now).Check(request);
}

}  // namespace assay::schema

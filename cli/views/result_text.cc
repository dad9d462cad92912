#include "cli/views/result_text.h"

#include <map>
#include <utility>
#include <vector>

namespace assay::cli {
namespace {

// Collects the parameters that have more than one value, by benchmark.
class VaryingParameters {
 public:
  void Add(const std::string& benchmark, const Parameters& parameters) {
    for (const auto& [name, value] : parameters) {
      const auto [known, added] = first_[benchmark].try_emplace(name, value);
      if (!added && known->second != value) names_[benchmark].insert(name);
    }
  }
  const std::map<std::string, std::set<std::string>>& names() const { return names_; }

 private:
  std::map<std::string, std::map<std::string, std::string>> first_;  // Values by parameter.
  std::map<std::string, std::set<std::string>> names_;
};

}  // namespace

std::map<std::string, std::set<std::string>> FindVarying(
    const std::vector<v1::StoredResult>& results) {
  VaryingParameters varying;
  for (const v1::StoredResult& result : results) {
    varying.Add(result.case_result().benchmark(), result.case_result().parameters());
  }
  return varying.names();
}

std::map<std::string, std::set<std::string>> FindVarying(
    const std::vector<v1::CaseIdentity>& cases) {
  VaryingParameters varying;
  for (const v1::CaseIdentity& one : cases) varying.Add(one.benchmark(), one.parameters());
  return varying.names();
}

std::string ParametersCsv(const Parameters& parameters) {
  const std::map<std::string, std::string> sorted(parameters.begin(), parameters.end());
  std::string text;
  for (const auto& [name, value] : sorted) text += (text.empty() ? "" : ";") + name + "=" + value;
  return text;
}

std::string ParametersCsv(const v1::CaseResult& run) { return ParametersCsv(run.parameters()); }

std::string NodesText(const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (names.empty()) return "";
  if (names.size() == 2) return names.Get(0) + ", " + names.Get(1);
  return names.size() == 1 ? names.Get(0) : names.Get(0) + " +" + std::to_string(names.size() - 1);
}

std::string NodesText(const v1::CaseResult& run) {
  return NodesText(run.provenance().node_names());
}

std::string GpuText(const v1::Environment& environment) {
  if (environment.gpu_model().empty()) return "";
  std::string text =
      environment.gpu_count() > 1 ? std::to_string(environment.gpu_count()) + "x " : "";
  text += environment.gpu_model();
  if (!environment.gpu_form_factor().empty()) text += " " + environment.gpu_form_factor();
  if (!environment.mig_profile().empty()) text += " " + environment.mig_profile();
  return text;
}

}  // namespace assay::cli

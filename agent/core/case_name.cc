#include "agent/core/case_name.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "common/text.h"

namespace assay::agent {

std::string CaseName(const v1::JobSpec& spec, int case_index) {
  constexpr size_t kMost = 8;
  std::string name = "case " + std::to_string(int64_t{case_index} + 1);
  const auto found =
      std::find_if(spec.cases().begin(), spec.cases().end(),
                   [&](const v1::BenchmarkCase& one) { return one.case_index() == case_index; });
  if (found == spec.cases().end()) return name;
  const auto differs = [&](const std::string& parameter, const std::string& value) {
    return std::any_of(spec.cases().begin(), spec.cases().end(), [&](const auto& one) {
      const auto other = one.parameters().find(parameter);
      return other == one.parameters().end() || other->second != value;
    });
  };
  std::vector<std::string> parts;
  for (const auto& [parameter, value] :
       std::map<std::string, std::string>(found->parameters().begin(), found->parameters().end())) {
    if (differs(parameter, value)) parts.push_back(parameter + "=" + value);
  }
  return parts.empty() ? name : name + " (" + JoinSome(parts, kMost) + ")";
}

}  // namespace assay::agent

#include "wire/result_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "common/text.h"
#include "common/units.h"
#include "wire/reasons.h"

namespace assay {
namespace {

// Parameters that identify a case, in the order in which they are shown.
constexpr std::array kImportant = std::to_array<std::string_view>(
    {"m",           "n",         "k",      "b",       "h",     "d",        "rows",
     "columns",     "elements",  "bytes",  "ranks",   "dtype", "op",       "variant",
     "tile",        "space",     "level",  "stride",  "ways",  "branches", "block_size",
     "held_values", "direction", "memory", "launches"});

// Parameters that are not shown at these values, their defaults.
constexpr std::array kDefaults = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"accumulate", "fp32"}, {"aggregate", "1"},      {"batch", "1"},
     {"causal", "false"},    {"chunks", "0"},         {"ctas", "0"},
     {"engine", "copy"},     {"from", "0"},           {"group", "128"},
     {"layout", "nn"},       {"mode", "write"},       {"collective", "all_reduce"},
     {"in_place", "false"},  {"nodes", "1"},          {"numa", "local"},
     {"policy", "assay"},    {"root", "0"},           {"seconds", "120"},
     {"streams", "1"},       {"threads", "0"},        {"to", "1"},
     {"wait", "sleep"},      {"window", "0"},         {"threads", "1048576"},
     {"api", "lt"},          {"per_thread", "false"}, {"shared_bytes", "0"}});
constexpr std::array kShownAsMarks = std::to_array<std::string_view>({"cache", "fill", "launch"});

bool IsHidden(const std::string& name, const std::string& value) {
  return std::find(kShownAsMarks.begin(), kShownAsMarks.end(), name) != kShownAsMarks.end() ||
         std::find(kDefaults.begin(), kDefaults.end(),
                   std::pair<std::string_view, std::string_view>(name, value)) != kDefaults.end();
}

std::string ValueText(const std::string& name, const std::string& value) {
  const bool is_bytes = name == "bytes" || name.ends_with("_bytes");
  const Result<int64_t> number = is_bytes ? ParseInteger(value) : InvalidArgument("");
  return number.ok() ? FormatBytes(*number) : value;
}

// Returns "m=n=k=4096", joining dimensions that are equal.
std::string ShapeText(const Parameters& parameters) {
  std::vector<std::pair<std::string, std::string>> groups;  // Names, value.
  for (const char* name : {"m", "n", "k"}) {
    const auto found = parameters.find(name);
    if (found == parameters.end()) continue;
    if (!groups.empty() && groups.back().second == found->second) {
      groups.back().first += std::string("=") + name;
    } else {
      groups.emplace_back(name, found->second);
    }
  }
  std::string text;
  for (const auto& [names, value] : groups) text += (text.empty() ? "" : " ") + names + "=" + value;
  return text;
}

}  // namespace

std::string ParametersText(const Parameters& parameters, const std::set<std::string>& varying) {
  std::string text = ShapeText(parameters);
  std::set<std::string> shown = {"m", "n", "k"};
  const auto add = [&](const std::string& name) {
    const auto found = parameters.find(name);
    if (found == parameters.end() || !shown.insert(name).second) return;
    // Values of these parameters are clear without the parameter's name.
    const bool bare = name == "dtype" || name == "op" || name == "bytes";
    text += (text.empty() ? "" : " ") + (bare ? "" : name + "=") + ValueText(name, found->second);
  };
  for (const std::string_view name : kImportant) {
    if (varying.count(std::string(name)) > 0) add(std::string(name));
  }
  for (const std::string& name : varying) add(name);
  for (const std::string_view name : kImportant) add(std::string(name));
  const std::map<std::string, std::string> sorted(parameters.begin(), parameters.end());
  for (const auto& [name, value] : sorted) {
    if (!IsHidden(name, value)) add(name);
  }
  return text;
}

std::string ParametersText(const v1::CaseResult& run, const std::set<std::string>& varying) {
  return ParametersText(run.parameters(), varying);
}

std::string NcclText(const v1::Environment& environment) {
  std::string text;
  // A map in a message has no order.
  const std::map<std::string, std::string> sorted(environment.nccl().begin(),
                                                  environment.nccl().end());
  for (const auto& [name, value] : sorted) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

std::string FailureText(const v1::Failure& failure) {
  std::string text = ReasonWord(failure.reason());
  if (!failure.message().empty()) text += (text.empty() ? "" : ": ") + failure.message();
  return Sanitize(text.empty() ? "no reason given" : text);
}

}  // namespace assay

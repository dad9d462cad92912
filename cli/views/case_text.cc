#include "cli/views/case_text.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_text.h"
#include "common/text.h"

namespace assay::cli {
namespace {

// The number of leading characters of a UUID that distinguish the GPUs of a fleet: "GPU-5d81be3d".
constexpr size_t kShortUuid = 12;

const std::set<std::string>& ValuesOf(
    const std::map<std::string, std::set<std::string>>& by_benchmark, const std::string& name) {
  static const std::set<std::string> kNone;
  const auto found = by_benchmark.find(name);
  return found == by_benchmark.end() ? kNone : found->second;
}

void AddWord(std::string& text, const std::string& word) {
  if (!word.empty()) text += (text.empty() ? "" : " ") + word;
}

}  // namespace

CaseNames::CaseNames(const std::vector<v1::CaseIdentity>& cases) : varying_(FindVarying(cases)) {
  for (const v1::CaseIdentity& one : cases) {
    metrics_[one.benchmark()].insert(one.metric());
    caches_.insert(one.cache());
    fills_.insert(one.fill());
    hardware_.insert(HardwareText(one.hardware()));
  }
}

std::string CaseNames::Settings(const v1::CaseIdentity& identity) const {
  std::string text;
  if (caches_.size() > 1 && !identity.cache().empty()) AddWord(text, "cache=" + identity.cache());
  if (fills_.size() > 1 && !identity.fill().empty()) AddWord(text, "fill=" + identity.fill());
  return text;
}

CaseCells CaseNames::Cells(const v1::CaseIdentity& identity) const {
  std::string parameters =
      ParametersText(identity.parameters(), ValuesOf(varying_, identity.benchmark()));
  AddWord(parameters, Settings(identity));
  return {Sanitize(identity.benchmark()), Sanitize(parameters), Sanitize(identity.metric())};
}

std::string CaseNames::Short(const v1::CaseIdentity& identity) const {
  const std::set<std::string>& varying = ValuesOf(varying_, identity.benchmark());
  google::protobuf::Map<std::string, std::string> shown;
  for (const auto& [name, value] : identity.parameters()) {
    if (varying.empty() || varying.count(name) > 0) shown[name] = value;
  }
  std::string text = identity.benchmark();
  AddWord(text, ParametersText(shown, varying));
  AddWord(text, Settings(identity));
  if (hardware_.size() > 1) AddWord(text, HardwareText(identity.hardware()));
  if (ValuesOf(metrics_, identity.benchmark()).size() > 1) text += ": " + identity.metric();
  return Sanitize(text);
}

std::string CaseNames::Full(const v1::CaseIdentity& identity) const {
  const CaseCells cells = Cells(identity);
  std::string text = cells.benchmark;
  AddWord(text, cells.parameters);
  return cells.metric.empty() ? text : text + ": " + cells.metric;
}

std::string HardwareText(const v1::Environment& environment) {
  const std::string gpu = GpuText(environment);
  return Sanitize(gpu.empty() ? environment.cpu_model() : gpu);
}

std::string PlaceNodes(const v1::Place& place) { return Sanitize(NodesText(place.node_names())); }

std::string PlaceGpus(const v1::Place& place) {
  const int count = std::max(place.gpu_uuids_size(), place.gpu_indices_size());
  if (count == 0) return "";
  if (count > 1) return std::to_string(count) + " GPUs";
  if (place.gpu_indices_size() == 1) return std::to_string(place.gpu_indices(0));
  return Beginning(place.gpu_uuids(0), kShortUuid);
}

std::string PlaceText(const v1::Place& place) {
  const std::string nodes = PlaceNodes(place);
  const std::string gpus = PlaceGpus(place);
  if (gpus.empty()) return nodes.empty() ? "unknown place" : nodes;
  if (std::max(place.gpu_uuids_size(), place.gpu_indices_size()) > 1) {
    return nodes.empty() ? gpus : nodes + " (" + gpus + ")";
  }
  const std::string gpu = (gpus.starts_with("GPU") ? "" : "GPU ") + gpus;
  return nodes.empty() ? gpu : gpu + " of " + nodes;
}

std::string PlaceNoun(const std::vector<v1::CaseIdentity>& cases) {
  const auto all = [&](auto holds) { return std::all_of(cases.begin(), cases.end(), holds); };
  if (all([](const v1::CaseIdentity& one) { return one.hardware().gpu_count() == 1; })) {
    return "GPU";
  }
  return all([](const v1::CaseIdentity& one) { return one.hardware().gpu_count() == 0; }) ? "node"
                                                                                          : "place";
}

std::vector<std::string> CaseColumns() {
  return {"benchmark", "parameters", "metric", "unit", "cache", "fill", "hardware"};
}

std::vector<std::string> CaseValues(const v1::CaseIdentity& identity) {
  return {identity.benchmark(),
          ParametersCsv(identity.parameters()),
          identity.metric(),
          identity.unit(),
          identity.cache(),
          identity.fill(),
          HardwareText(identity.hardware())};
}

std::vector<std::string> PlaceColumns() { return {"nodes", "gpu_uuids", "gpu_indices"}; }

std::vector<std::string> PlaceValues(const v1::Place& place) {
  std::vector<std::string> indices;
  for (const int index : place.gpu_indices()) indices.push_back(std::to_string(index));
  return {Join(place.node_names(), ";"), Join(place.gpu_uuids(), ";"), Join(indices, ";")};
}

std::string CsvRecordAfter(std::vector<std::string> first, const std::vector<std::string>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return CsvRecord(first);
}

std::string MinuteText(const google::protobuf::Timestamp& time, int width) {
  constexpr size_t kMinutes = 16;
  constexpr size_t kYear = 5;
  constexpr int kNarrow = 100;
  const std::string text = FormatTime(time).substr(0, kMinutes);
  return text.empty() || width == 0 || width >= kNarrow ? text : text.substr(kYear);
}

std::string Beginning(const std::string& text, size_t count) {
  const std::string printable = Sanitize(text);
  size_t end = 0;
  for (; count > 0 && end < printable.size(); --count) {
    end += DecodeUtf8(std::string_view(printable).substr(end)).bytes;
  }
  return printable.substr(0, end);
}

std::string ArrowText(const std::string& before, const std::string& after) {
  return Sanitize((before.empty() ? "none" : before) + " -> " + (after.empty() ? "none" : after));
}

std::string ChangeText(double ratio) {
  if (!std::isfinite(ratio)) return "";
  const double percent = 100 * (ratio - 1);
  // A change that rounds to zero has no sign.
  const std::string text = FormatFixed(std::fabs(percent), 1) + "%";
  return (text == "0.0%" ? "" : percent < 0 ? "-" : "+") + text;
}

}  // namespace assay::cli

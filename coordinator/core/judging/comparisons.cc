// Implements Questions::Compare.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/text.h"
#include "coordinator/core/judging/case_comparison.h"
#include "coordinator/core/judging/histories.h"
#include "coordinator/core/judging/questions.h"
#include "model/filter.h"

namespace assay::coordinator {
namespace {

using storage::Run;
using storage::RunOrigin;
using storage::Runs;
using storage::RunSeries;

// The runs of one side.
struct Side {
  std::string label;
  Runs runs;
  std::vector<History> histories;
};

// Reads the values of a field from a run.
using ReadField = std::function<std::string(const RunSeries&, const RunOrigin&)>;

struct ComparedField {
  std::string name;
  ReadField read;  // Null if runs do not have the field.
  // The field is part of the hardware, so that runs with different values have different lineages.
  bool hardware = false;
};

const std::vector<ComparedField>& ComparedFields() {
  static const std::vector<ComparedField> fields = {
      {"driver",
       [](const RunSeries& s, const RunOrigin&) { return s.environment.driver_version(); }},
      {"cuda", [](const RunSeries& s,
                  const RunOrigin&) { return s.environment.software().cuda_runtime(); }},
      {"nccl",
       [](const RunSeries& s, const RunOrigin&) { return s.environment.software().nccl(); }},
      {"gpu.model", [](const RunSeries& s, const RunOrigin&) { return s.environment.gpu_model(); },
       true},
      {"gpu.uuid", [](const RunSeries&, const RunOrigin& o) { return Join(o.gpu_uuids, ";"); }},
      {"node", [](const RunSeries&, const RunOrigin& o) { return Join(o.node_names, ";"); }},
      {"provider", [](const RunSeries&, const RunOrigin& o) { return o.provider; }},
      {"campaign", nullptr},
  };
  return fields;
}

Result<const ComparedField*> FindField(const std::string& name) {
  std::vector<std::string> names;
  for (const ComparedField& field : ComparedFields()) {
    if (field.name == name) return &field;
    names.push_back(field.name);
  }
  return InvalidArgument("by: cannot compare by " + Quote(name) + "; " + Suggest(name, names),
                         Reason::kUnknownField);
}

// Returns text as a quoted value of a filter.
std::string Value(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Both(const std::string& a, const std::string& b) {
  if (a.empty()) return b;
  return b.empty() ? a : "(" + a + ") AND (" + b + ")";
}

std::string Equals(const ComparedField& field, const std::string& value) {
  const std::string condition = field.name + " = " + Value(value);
  return field.name == "campaign" ? "(" + condition + " OR campaign_id = " + Value(value) + ")"
                                  : condition;
}

// Returns the runs in which a field has this value.
Runs RunsWith(const Runs& runs, const ReadField& read, const std::string& value) {
  Runs chosen{runs.series, runs.origins, {}, 0};
  for (const Run& run : runs.runs) {
    if (read(runs.series[run.series], runs.origins[run.origin]) == value) {
      chosen.runs.push_back(run);
    }
  }
  return chosen;
}

// Splits runs into two sides by the value of a field, which must have exactly two distinct values.
// If the values are versions, side A has the lower one. Otherwise, side A has the value whose last
// run was earlier.
Status SplitByTwoValues(const Runs& runs, const ComparedField& field, Side& a, Side& b) {
  std::map<std::string, WallTime> newest;  // By value.
  for (const Run& run : runs.runs) {
    WallTime& time = newest[field.read(runs.series[run.series], runs.origins[run.origin])];
    time = std::max(time, run.end_time);
  }
  newest.erase("");
  std::vector<std::string> values;
  for (const auto& [value, time] : newest) values.push_back(value);
  if (values.size() != 2) {
    Status status = values.empty()
                        ? Status(Code::kNotFound, Reason::kNotFound,
                                 "no measured result that matches has a " + field.name)
                        : InvalidArgument("the results have " +
                                          Counted(static_cast<int64_t>(values.size()), "value") +
                                          " of " + field.name + ": " + JoinSome(values, 8));
    return status.WithHint(values.empty()
                               ? "simulated and imported results have no part, unless the filter "
                                 "names `simulated` or `imported`"
                               : "name two of them, or one to compare with the others");
  }
  const std::optional<int> order = CompareNumbers(values[0], values[1]);
  const bool swap = order ? *order > 0 : newest[values[0]] > newest[values[1]];
  if (swap) std::swap(values[0], values[1]);
  a = {field.name + " " + values[0], RunsWith(runs, field.read, values[0]), {}};
  b = {field.name + " " + values[1], RunsWith(runs, field.read, values[1]), {}};
  return Status::Ok();
}

// Returns a key that is the same for all runs that can be compared with each other. If
// `across_hardware` is true, these include runs on different GPU models.
std::string CaseKey(const v1::CaseIdentity& identity, bool across_hardware) {
  if (!across_hardware) return identity.lineage_id();
  v1::CaseIdentity key = identity;
  key.clear_lineage_id();
  v1::Environment* const hardware = key.mutable_hardware();
  hardware->clear_gpu_model();
  hardware->clear_gpu_form_factor();
  hardware->clear_power_limit_watts();
  hardware->clear_ecc_enabled();
  hardware->clear_clocks_locked();
  if (hardware->gpu_count() > 0) hardware->clear_cpu_model();
  std::string text = key.benchmark() + "|" + std::to_string(key.benchmark_version()) + "|" +
                     key.metric() + "|" + key.unit() + "|" + key.cache() + "|" + key.fill() + "|" +
                     hardware->mig_profile() + "|" + hardware->topology() + "|" +
                     hardware->cpu_model() + "|" + std::to_string(hardware->gpu_count()) + "|" +
                     std::to_string(hardware->node_count()) + "|" +
                     std::to_string(key.simulated() ? 1 : 0);
  const std::map<std::string, std::string> sorted(key.parameters().begin(), key.parameters().end());
  for (const auto& [name, value] : sorted) text += "|" + name + "=" + value;
  return text;
}

// Returns the fields in which the two sides have no value in common.
std::vector<std::string> DifferingFields(const Side& a, const Side& b) {
  using Read = std::string (*)(const v1::CaseIdentity&);
  static const std::vector<std::pair<const char*, Read>> kFields = {
      {"benchmark", [](const v1::CaseIdentity& c) { return c.benchmark(); }},
      {"benchmark_version",
       [](const v1::CaseIdentity& c) { return std::to_string(c.benchmark_version()); }},
      {"metric", [](const v1::CaseIdentity& c) { return c.metric(); }},
      {"cache", [](const v1::CaseIdentity& c) { return c.cache(); }},
      {"fill", [](const v1::CaseIdentity& c) { return c.fill(); }},
      {"gpu.model", [](const v1::CaseIdentity& c) { return c.hardware().gpu_model(); }},
      {"gpu.form_factor", [](const v1::CaseIdentity& c) { return c.hardware().gpu_form_factor(); }},
      {"gpu.mig_profile", [](const v1::CaseIdentity& c) { return c.hardware().mig_profile(); }},
      {"gpu.count",
       [](const v1::CaseIdentity& c) { return std::to_string(c.hardware().gpu_count()); }},
      {"topology", [](const v1::CaseIdentity& c) { return c.hardware().topology(); }},
      {"power_limit_watts",
       [](const v1::CaseIdentity& c) { return std::to_string(c.hardware().power_limit_watts()); }},
      {"cpu.model", [](const v1::CaseIdentity& c) { return c.hardware().cpu_model(); }},
      {"simulated",
       [](const v1::CaseIdentity& c) { return std::to_string(c.simulated() ? 1 : 0); }},
      {"parameters",
       [](const v1::CaseIdentity& c) {
         std::string text;
         const std::map<std::string, std::string> sorted(c.parameters().begin(),
                                                         c.parameters().end());
         for (const auto& [name, value] : sorted) text += name + "=" + value + " ";
         return text;
       }},
  };
  std::vector<std::string> differing;
  for (const auto& [name, read] : kFields) {
    std::set<std::string> values;
    for (const History& history : a.histories) values.insert(read(history.identity));
    const bool common = std::any_of(
        b.histories.begin(), b.histories.end(),
        [&, &read = read](const History& one) { return values.contains(read(one.identity)); });
    if (!common) differing.emplace_back(name);
  }
  return differing;
}

int CountExcluded(const Runs& runs) {
  return static_cast<int>(std::count_if(runs.runs.begin(), runs.runs.end(),
                                        [](const Run& run) { return run.excluded; }));
}

int CountUsed(const Side& side) {
  size_t count = 0;
  for (const History& history : side.histories) count += history.used.size();
  return static_cast<int>(count);
}

int RankOf(v1::ComparisonVerdict verdict) {
  switch (verdict) {
    case v1::COMPARISON_VERDICT_REGRESSED:
      return 0;
    case v1::COMPARISON_VERDICT_IMPROVED:
      return 1;
    case v1::COMPARISON_VERDICT_INCONCLUSIVE:
      return 2;
    default:
      return 3;
  }
}

void Sort(google::protobuf::RepeatedPtrField<v1::CaseComparison>& cases) {
  std::stable_sort(cases.begin(), cases.end(),
                   [](const v1::CaseComparison& x, const v1::CaseComparison& y) {
                     const int left = RankOf(x.verdict());
                     const int right = RankOf(y.verdict());
                     if (left != right) return left < right;
                     return std::fabs(std::log(x.ratio())) > std::fabs(std::log(y.ratio()));
                   });
}

// Reads both sides of a comparison.
Status ReadSides(storage::AnalysisStore& store, const v1::CompareResultsRequest& request,
                 const ComparedField* field, Side& a, Side& b) {
  std::string filter_a = request.filter_a();
  std::string filter_b = request.filter_b();
  a.label = filter_a;
  b.label = filter_b;
  if (field != nullptr) {
    if (request.value_b().empty()) {
      if (field->read == nullptr) {
        return InvalidArgument("name the campaigns to compare: two, or one with all others");
      }
      ASSAY_ASSIGN_OR_RETURN(const Runs all, store.ListRuns(request.filter()));
      return SplitByTwoValues(all, *field, a, b);
    }
    filter_b = Equals(*field, request.value_b());
    b.label = field->name + " " + request.value_b();
    const bool rest = request.value_a().empty();
    filter_a = rest ? "NOT (" + filter_b + ")" : Equals(*field, request.value_a());
    a.label = rest ? "all others" : field->name + " " + request.value_a();
  }
  ASSAY_ASSIGN_OR_RETURN(a.runs, store.ListRuns(Both(request.filter(), filter_a)));
  ASSAY_ASSIGN_OR_RETURN(b.runs, store.ListRuns(Both(request.filter(), filter_b)));
  return Status::Ok();
}

Status CheckRequest(const v1::CompareResultsRequest& request) {
  constexpr double kMostMargin = 0.5;
  if (request.by().empty() && (request.filter_a().empty() || request.filter_b().empty())) {
    return InvalidArgument("give either a field to compare by, or a filter for each side");
  }
  if (!request.by().empty() && (!request.filter_a().empty() || !request.filter_b().empty())) {
    return InvalidArgument("give a field to compare by, or filters for both sides, not both");
  }
  if (!request.value_a().empty() && request.value_b().empty()) {
    return InvalidArgument("value_a needs value_b");
  }
  const bool same = !request.by().empty()
                        ? !request.value_a().empty() && request.value_a() == request.value_b()
                        : request.filter_a() == request.filter_b();
  if (same) return InvalidArgument("A and B are the same");
  if (!(request.margin() >= 0 && request.margin() <= kMostMargin)) {
    return InvalidArgument("margin must be a fraction from 0 to 0.5");
  }
  return Status::Ok();
}

}  // namespace

Result<v1::CompareResultsResponse> Questions::Compare(
    const v1::CompareResultsRequest& request) const {
  ASSAY_RETURN_IF_ERROR(CheckRequest(request));
  const ComparedField* field = nullptr;
  if (!request.by().empty()) {
    ASSAY_ASSIGN_OR_RETURN(field, FindField(request.by()));
  }
  Side a, b;
  ASSAY_RETURN_IF_ERROR(ReadSides(environment_.analysis, request, field, a, b));
  analysis::ComparisonRule rule;
  if (request.margin() > 0) rule.margin = request.margin();
  a.histories = SortIntoHistories(a.runs);
  b.histories = SortIntoHistories(b.runs);

  v1::CompareResultsResponse response;
  response.set_label_a(a.label);
  response.set_label_b(b.label);
  response.set_runs_a(CountUsed(a));
  response.set_runs_b(CountUsed(b));
  response.set_excluded_runs(CountExcluded(a.runs) + CountExcluded(b.runs));
  const bool across_hardware = field != nullptr && field->hardware;
  std::map<std::string, CaseSides> cases;
  const auto add = [&](const Side& side, std::vector<const History*> CaseSides::*member) {
    for (const History& history : side.histories) {
      if (history.used.empty()) continue;
      (cases[CaseKey(history.identity, across_hardware)].*member).push_back(&history);
    }
  };
  add(a, &CaseSides::a);
  add(b, &CaseSides::b);
  std::vector<const CaseSides*> common;
  std::vector<analysis::Comparison> comparisons;
  for (const auto& [key, sides] : cases) {
    if (sides.a.empty()) response.set_cases_only_b(response.cases_only_b() + 1);
    if (sides.b.empty()) response.set_cases_only_a(response.cases_only_a() + 1);
    if (sides.a.empty() || sides.b.empty()) continue;
    common.push_back(&sides);
    comparisons.push_back(CompareCase(sides, rule));
  }
  analysis::AdjustForCount(comparisons, rule);
  for (size_t i = 0; i < common.size(); ++i) {
    *response.add_cases() = ComparisonMessage(*common[i], comparisons[i]);
  }
  if (common.empty() && !a.histories.empty() && !b.histories.empty()) {
    for (const std::string& name : DifferingFields(a, b)) response.add_differing_fields(name);
  }
  Sort(*response.mutable_cases());
  return response;
}

}  // namespace assay::coordinator

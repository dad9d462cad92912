// PairCases: results and failed jobs, sorted into matrices.
#include <algorithm>
#include <set>
#include <tuple>

#include "cli/pairs_view.h"
#include "cli/result_text.h"

namespace assay::cli {
namespace {

using Names = std::pair<std::string, std::string>;

// What the results of one matrix have in common.
struct CaseKey {
  std::string benchmark;
  int version = 0;
  std::string parameters;
  std::string nccl;
  std::string metric;
  std::string unit;

  auto Tie() const { return std::tie(benchmark, version, parameters, nccl, metric, unit); }
  bool operator<(const CaseKey& other) const { return Tie() < other.Tie(); }
};

struct Measured {
  std::vector<double> medians;
  std::vector<double> errors;  // Relative.
};

struct CaseData {
  std::string text;
  bool higher_is_better = true;
  bool directed = false;
  std::map<Names, Measured> values;
};

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// Of a metric of one direction or the other, from rank 0 to rank 1 or back; 0 for both.
int DirectionOf(const v1::CaseResult& run) {
  const std::string& metric = run.measurements(0).metric();
  if (metric == "forward_bandwidth") return 1;
  if (metric == "backward_bandwidth") return -1;
  const auto direction = run.parameters().find("direction");
  if (direction == run.parameters().end()) return 0;
  return direction->second == "unidirectional" ? 1 : direction->second == "reverse" ? -1 : 0;
}

void AddResult(const v1::CaseResult& run, std::map<CaseKey, CaseData>& cases) {
  const auto& names = run.provenance().node_names();
  if (run.outcome() != v1::CASE_OUTCOME_OK || run.measurements().empty()) return;
  if (names.size() != 2 || names[0] == names[1]) return;
  const v1::Measurement& measured = run.measurements(0);
  if (!(measured.median() > 0)) return;
  const int direction = DirectionOf(run);
  v1::CaseResult common = run;
  CaseKey key = {run.benchmark(),   run.benchmark_version(), "", NcclText(run.environment()),
                 measured.metric(), measured.unit()};
  if (direction != 0) {
    common.mutable_parameters()->erase("direction");
    // Those of the two ways are one matrix.
    if (measured.metric() == "backward_bandwidth") key.metric = "forward_bandwidth";
  }
  key.parameters = ParametersCsv(common);
  CaseData& data = cases[key];
  data.text = ParametersText(common) + (key.nccl.empty() ? "" : " " + key.nccl);
  data.higher_is_better = measured.direction() != v1::DIRECTION_LOWER_IS_BETTER;
  data.directed = direction != 0;
  Measured& pair =
      data.values[direction < 0 ? Names(names[1], names[0]) : Names(names[0], names[1])];
  pair.medians.push_back(measured.median());
  // A 95% confidence interval is 1.96 standard errors to either side.
  pair.errors.push_back((measured.ci_high() - measured.ci_low()) / (2 * 1.96 * measured.median()));
}

std::string WhyFailed(const v1::Job& job) {
  const v1::Failure& failure = job.failure();
  return failure.reason() + (failure.message().empty() ? "" : ": " + failure.message());
}

// Pairs whose job failed, by benchmark.
std::map<std::string, std::map<Names, std::string>> FailuresOf(const std::vector<v1::Job>& jobs) {
  std::map<std::string, std::map<Names, std::string>> failures;
  for (const v1::Job& job : jobs) {
    if (job.state() != v1::JOB_STATE_FAILED || job.node_names_size() != 2) continue;
    const auto [a, b] = std::minmax(job.node_names(0), job.node_names(1));
    failures[job.benchmark()][{a, b}] = WhyFailed(job);
  }
  return failures;
}

PairCase Numbered(const CaseKey& key, const CaseData& data,
                  const std::map<Names, std::string>& failures) {
  PairCase measured;
  measured.benchmark = key.benchmark;
  measured.parameters = data.text;
  measured.metric = key.metric;
  measured.unit = key.unit;
  measured.higher_is_better = data.higher_is_better;
  measured.directed = data.directed;
  std::set<std::string> names;
  for (const auto& [pair, values] : data.values) names.insert({pair.first, pair.second});
  for (const auto& [pair, why] : failures) names.insert({pair.first, pair.second});
  measured.nodes.assign(names.begin(), names.end());
  const auto number = [&](const std::string& name) {
    return static_cast<size_t>(std::distance(names.begin(), names.find(name)));
  };
  for (const auto& [pair, values] : data.values) {
    measured.values.push_back({number(pair.first), number(pair.second), MedianOf(values.medians),
                               MedianOf(values.errors)});
  }
  for (const auto& [pair, why] : failures) {
    const bool has_value =
        data.values.count(pair) + data.values.count({pair.second, pair.first}) > 0;
    if (!has_value) measured.failures[{number(pair.first), number(pair.second)}] = why;
  }
  return measured;
}

}  // namespace

std::vector<PairCase> PairCases(const std::vector<v1::StoredResult>& results,
                                const std::vector<v1::Job>& jobs, double threshold) {
  std::map<CaseKey, CaseData> cases;
  for (const v1::StoredResult& result : results) AddResult(result.case_result(), cases);
  auto failures = FailuresOf(jobs);
  // A benchmark that failed on every pair is a case without values.
  for (const auto& [benchmark, pairs] : failures) {
    const bool measured = std::any_of(cases.begin(), cases.end(), [&](const auto& one) {
      return one.first.benchmark == benchmark;
    });
    if (!measured) cases[{benchmark, 0, "", "", "", ""}] = {};
  }
  std::vector<PairCase> found;
  for (const auto& [key, data] : cases) {
    found.push_back(Numbered(key, data, failures[key.benchmark]));
    PairCase& last = found.back();
    last.analysis =
        AnalyzePairs(last.nodes.size(), last.values, {last.higher_is_better, threshold});
  }
  return found;
}

}  // namespace assay::cli

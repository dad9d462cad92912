#include "analysis/pair_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analysis/statistics.h"
#include "common/numbers.h"
#include "common/text.h"
#include "wire/interval.h"
#include "wire/result_text.h"

namespace assay::analysis {
namespace {

using NodePair = std::pair<std::string, std::string>;

// Orders whole numbers by value, so that 65536 comes before 1048576, and other text by letters.
struct NumbersByValue {
  bool operator()(const std::string& a, const std::string& b) const {
    const auto is_number = [](std::string_view text) {
      return text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (is_number(a) && is_number(b)) return std::pair(a.size(), a) < std::pair(b.size(), b);
    return a < b;
  }
};

// Properties that all results of one matrix share.
struct CaseKey {
  std::string benchmark;
  std::map<std::string, std::string> parameters;
  int version = 0;
  std::string nccl;
  std::string metric;
  std::string unit;

  bool operator<(const CaseKey& other) const {
    if (benchmark != other.benchmark) return benchmark < other.benchmark;
    if (parameters != other.parameters) {
      return std::lexicographical_compare(
          parameters.begin(), parameters.end(), other.parameters.begin(), other.parameters.end(),
          [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : NumbersByValue()(a.second, b.second);
          });
    }
    return std::tie(version, nccl, metric, unit) <
           std::tie(other.version, other.nccl, other.metric, other.unit);
  }
};

struct Repetitions {
  std::vector<Estimate> estimates;
  std::set<std::string> flags;
};

struct CaseData {
  std::string text;
  bool higher_is_better = true;
  std::map<NodePair, Repetitions> pairs;  // By sender and receiver.
};

struct Failed {
  std::set<std::string> job_ids;
  std::string reason;
};

bool IsWaiting(const v1::Job& job) {
  return job.state() == v1::JOB_STATE_QUEUED || job.state() == v1::JOB_STATE_RUNNING;
}

class ReportMaker {
 public:
  explicit ReportMaker(const PairQuery& query) : query_(query) {}

  void Add(const v1::StoredResult& result) {
    const v1::CaseResult& run = result.case_result();
    const auto& names = run.provenance().node_names();
    if (names.size() != 2 || names[0] == names[1]) return;
    if (run.outcome() == v1::CASE_OUTCOME_UNSUPPORTED) return;
    if (run.outcome() != v1::CASE_OUTCOME_OK || run.measurements().empty()) {
      AddFailure({names[0], names[1]}, run.benchmark(), run.job_id(), FailureText(run.failure()));
      return;
    }
    const v1::Measurement& measured = run.measurements(0);
    metrics_[run.benchmark()].insert(measured.metric());
    if (!query_.metric.empty() && measured.metric() != query_.metric) return;
    if (!(measured.median() >= 0)) return;
    const bool higher_is_better = measured.direction() != v1::DIRECTION_LOWER_IS_BETTER;
    if (measured.median() == 0 && higher_is_better) {
      // A pair without any bandwidth counts as failed. The model could not take the logarithm of 0.
      AddFailure({names[0], names[1]}, run.benchmark(), run.job_id(),
                 measured.metric() + " is 0 " + measured.unit());
      return;
    }
    AddValue(run, higher_is_better);
  }

  void Add(const v1::Job& job) {
    if (job.node_names_size() != 2) return;
    const NodePair names = {job.node_names(0), job.node_names(1)};
    if (IsWaiting(job)) waiting_.emplace_back(job.benchmark(), names);
    if (job.state() != v1::JOB_STATE_FAILED) return;
    AddFailure(names, job.benchmark(), job.job_id(), FailureText(job.failure()));
  }

  PairReport Make() && {
    PairReport report;
    report.threshold = query_.threshold;
    if (!query_.metric.empty()) DropOtherBenchmarks();
    report.waiting_jobs = waiting_.size();
    NumberNodes(report);
    std::vector<PairAnalysis> analyses;
    std::vector<TriedPair> tried;
    std::set<std::pair<size_t, size_t>> failed;
    for (const auto& [key, one] : failures_) {
      const auto& [names, benchmark] = key;
      const size_t a = numbers_.at(names.first);
      const size_t b = numbers_.at(names.second);
      report.failures.push_back({a, b, benchmark, one.job_ids.size(), one.reason});
      if (failed.insert({a, b}).second) tried.push_back({a, b, true});
    }
    for (const auto& [key, data] : cases_) {
      report.cases.push_back(MakeCase(key, data));
      analyses.push_back(report.cases.back().analysis);
      for (const PairCell& cell : report.cases.back().cells) {
        const auto [a, b] = std::minmax(cell.value.from, cell.value.to);
        if (failed.insert({a, b}).second) tried.push_back({a, b, false});
      }
    }
    report.failing_nodes = FailingNodes(tried);
    report.suspects = RankSuspects(analyses, tried);
    return report;
  }

  // Returns an error if there are results on two nodes, but none of them has the metric.
  Status CheckMetric() const {
    if (query_.metric.empty() || metrics_.empty()) return Status::Ok();
    std::vector<Violation> violations;
    std::set<std::string> all;
    for (const auto& [benchmark, names] : metrics_) {
      if (names.count(query_.metric) > 0) return Status::Ok();
      violations.push_back({benchmark, "has " + Join(names)});
      all.insert(names.begin(), names.end());
    }
    return InvalidArgument("no result on two nodes has the metric " + Quote(query_.metric),
                           Reason::kUnknownMetric)
        .WithViolations(std::move(violations))
        .WithHint(Suggest(query_.metric, {all.begin(), all.end()}));
  }

 private:
  void AddFailure(const NodePair& names, const std::string& benchmark, const std::string& job_id,
                  const std::string& reason) {
    Failed& failed = failures_[{std::minmax(names.first, names.second), benchmark}];
    if (failed.reason.empty()) failed.reason = reason;
    failed.job_ids.insert(job_id);
  }

  void AddValue(const v1::CaseResult& run, bool higher_is_better) {
    const v1::Measurement& measured = run.measurements(0);
    const auto& names = run.provenance().node_names();
    v1::CaseResult common = run;
    NodePair way = {names[0], names[1]};
    const auto direction = run.parameters().find("direction");
    if (direction != run.parameters().end() && direction->second != "bidirectional") {
      common.mutable_parameters()->erase("direction");
      if (direction->second == "reverse") std::swap(way.first, way.second);
    }
    const std::string nccl = NcclText(run.environment());
    CaseData& data = cases_[{run.benchmark(),
                             {common.parameters().begin(), common.parameters().end()},
                             run.benchmark_version(),
                             nccl,
                             measured.metric(),
                             measured.unit()}];
    data.text = ParametersText(common) + (nccl.empty() ? "" : " " + nccl);
    data.higher_is_better = higher_is_better;
    Repetitions& pair = data.pairs[way];
    Estimate estimate{measured.median(), std::nullopt};
    if (schema::HasInterval(measured)) {
      estimate.error = (measured.ci_high() - measured.ci_low()) / 2 / kHalfInterval;
    }
    pair.estimates.push_back(estimate);
    for (std::string& flag : FlagsOf(run)) pair.flags.insert(std::move(flag));
  }

  std::vector<std::string> FlagsOf(const v1::CaseResult& run) const {
    if (query_.flags_of) return query_.flags_of(run);
    return {run.conditions().flags().begin(), run.conditions().flags().end()};
  }

  void DropOtherBenchmarks() {
    std::set<std::string> shown;
    for (const auto& [key, data] : cases_) shown.insert(key.benchmark);
    std::erase_if(failures_, [&](const auto& one) { return shown.count(one.first.second) == 0; });
    std::erase_if(waiting_, [&](const auto& one) { return shown.count(one.first) == 0; });
  }

  void NumberNodes(PairReport& report) {
    std::set<std::string> names;
    const auto add = [&](const NodePair& pair) { names.insert({pair.first, pair.second}); };
    for (const auto& [key, data] : cases_) {
      for (const auto& [pair, repetitions] : data.pairs) add(pair);
    }
    for (const auto& [key, failed] : failures_) add(key.first);
    for (const auto& [benchmark, pair] : waiting_) add(pair);
    for (const std::string& name : names) {
      numbers_[name] = report.nodes.size();
      report.nodes.push_back(name);
    }
  }

  PairCase MakeCase(const CaseKey& key, const CaseData& data) const {
    PairCase made{
        key.benchmark, data.text, key.metric, key.unit, data.higher_is_better, {}, {}, {}, {}};
    std::set<size_t> nodes;
    const auto add = [&](const NodePair& pair) {
      nodes.insert({numbers_.at(pair.first), numbers_.at(pair.second)});
    };
    std::vector<PairValue> values;
    std::set<std::pair<size_t, size_t>> known;
    for (const auto& [pair, repetitions] : data.pairs) {
      add(pair);
      const Estimate median = CombineRepetitions(repetitions.estimates);
      values.push_back(
          {numbers_.at(pair.first), numbers_.at(pair.second), median.value, median.error});
      known.insert({values.back().from, values.back().to});
      made.cells.push_back({values.back(),
                            static_cast<int>(repetitions.estimates.size()),
                            {repetitions.flags.begin(), repetitions.flags.end()}});
    }
    for (const auto& [failure, failed] : failures_) {
      if (failure.second == key.benchmark) add(failure.first);
    }
    for (const auto& [benchmark, pair] : waiting_) {
      if (benchmark == key.benchmark) add(pair);
    }
    made.nodes.assign(nodes.begin(), nodes.end());
    made.analysis =
        AnalyzePairs(values, {data.higher_is_better, query_.threshold, IsCount(key.unit)});
    const bool directed = made.analysis.directed;
    for (const size_t a : nodes) {
      for (const size_t b : nodes) {
        if (a == b || (a > b && !directed) || known.count({a, b}) > 0) continue;
        if (directed || known.count({b, a}) == 0) made.missing.emplace_back(a, b);
      }
    }
    return made;
  }

  const PairQuery query_;
  std::map<std::string, std::set<std::string>> metrics_;  // By benchmark.
  std::map<CaseKey, CaseData> cases_;
  std::map<std::pair<NodePair, std::string>, Failed> failures_;  // By pair and benchmark.
  std::vector<std::pair<std::string, NodePair>> waiting_;        // Benchmarks and pairs of jobs.
  std::map<std::string, size_t> numbers_;                        // Numbers of nodes, by name.
};

}  // namespace

Verdict PairCase::verdict() const {
  const Verdict judged = analysis.verdict();
  return judged == Verdict::kClear && !missing.empty() ? Verdict::kUndecided : judged;
}

Verdict PairReport::verdict() const {
  if (!suspects.empty() || !failures.empty()) return Verdict::kBad;
  const bool clear = std::all_of(cases.begin(), cases.end(), [](const PairCase& one) {
    return one.verdict() == Verdict::kClear;
  });
  return clear && !cases.empty() && waiting_jobs == 0 ? Verdict::kClear : Verdict::kUndecided;
}

Result<PairReport> MakePairReport(const std::vector<v1::StoredResult>& results,
                                  const std::vector<v1::Job>& jobs, const PairQuery& query) {
  ReportMaker maker(query);
  for (const v1::StoredResult& result : results) maker.Add(result);
  for (const v1::Job& job : jobs) maker.Add(job);
  ASSAY_RETURN_IF_ERROR(maker.CheckMetric());
  return std::move(maker).Make();
}

}  // namespace assay::analysis

// PairCases: results and failed jobs, sorted into matrices.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analysis/pair_fit.h"
#include "cli/views/format.h"
#include "cli/views/pairs_view.h"
#include "cli/views/result_marks.h"
#include "cli/views/result_text.h"
#include "common/text.h"
#include "model/parameter.h"
#include "wire/interval.h"

namespace assay::cli {
namespace {

// Half of a 95% interval, in standard errors.
constexpr double kHalfInterval = 1.96;

// Student's t for a 95% interval with so many degrees of freedom: exact up to 4, then the first
// terms of its expansion about the normal quantile (Abramowitz and Stegun, 26.7.5), within 0.3%.
double StudentHalfInterval(int freedom) {
  constexpr double kExact[] = {12.706, 4.303, 3.182, 2.776};
  if (freedom <= 4) return kExact[std::max(freedom, 1) - 1];
  constexpr double z = kHalfInterval;
  const double first = (z * z * z + z) / 4;
  const double second = (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / 96;
  return z + first / freedom + second / (freedom * freedom);
}

// By how much wider than the mean's standard error the median's is taken, so that kHalfInterval
// of it give its 95% interval: for few repetitions tell their spread badly, and the median of
// three and more varies by sqrt(pi / 2) as much as the mean.
double MedianWidening(int repetitions) {
  constexpr double kMedianToMean = 1.2533;
  const double student = StudentHalfInterval(repetitions - 1) / kHalfInterval;
  return repetitions == 2 ? student : kMedianToMean * student;
}

// By letters and, where both have a number, by the number: "bytes=65536" before "bytes=1048576".
bool ComesBefore(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text) {
    const size_t end = text.find_first_not_of("0123456789");
    return text.substr(0, std::min(end, text.size()));
  };
  while (!a.empty() && !b.empty()) {
    const std::string_view one = number(a);
    const std::string_view other = number(b);
    if (one.empty() || other.empty()) {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    if (one != other) return std::pair(one.size(), one) < std::pair(other.size(), other);
    a.remove_prefix(one.size());
    b.remove_prefix(other.size());
  }
  return a.size() < b.size();
}

using Names = std::pair<std::string, std::string>;

// What the results of one matrix have in common.
struct CaseKey {
  std::string benchmark;
  int version = 0;
  std::string parameters;
  std::string nccl;
  std::string metric;
  std::string unit;

  bool operator<(const CaseKey& other) const {
    if (benchmark != other.benchmark) return benchmark < other.benchmark;
    if (parameters != other.parameters) return ComesBefore(parameters, other.parameters);
    return std::tie(version, nccl, metric, unit) <
           std::tie(other.version, other.nccl, other.metric, other.unit);
  }
  // Failed results have no metric.
  bool SameCase(const CaseKey& other) const {
    return std::tie(benchmark, version, parameters, nccl) ==
           std::tie(other.benchmark, other.version, other.parameters, other.nccl);
  }
};

struct Measured {
  std::vector<double> medians;
  std::vector<std::optional<double>> errors;          // Standard errors of the medians.
  std::optional<std::pair<double, double>> interval;  // Of the last.
  std::set<std::string> flags;
  std::vector<std::string> job_ids;
};

struct FailedCase {
  CaseKey key;
  Names names;
  bool one_way = false;
  bool unsupported = false;
  std::string reason;
  std::string job_id;
};

struct CaseData {
  std::string text;
  bool higher_is_better = true;
  std::map<Names, Measured> values;
  std::set<int> entries;  // Of the campaign: those of the jobs that it is from.
};

struct Sorted {
  std::map<std::string, int> entries;                  // Of the campaign, by job.
  std::map<std::string, std::set<int>> entries_named;  // By benchmark.
  std::map<CaseKey, CaseData> cases;
  std::vector<FailedCase> failures;
  std::vector<const v1::Job*> waiting;  // To be done.

  void NoteEntry(const std::string& job_id, CaseData& data) const {
    const auto entry = entries.find(job_id);
    if (entry != entries.end()) data.entries.insert(entry->second);
  }
};

// A benchmark may stand in several entries of a campaign, with other cases. Jobs that do not say
// theirs may be of any.
bool MayBeOf(const v1::Job& job, const CaseKey& key, const CaseData& data) {
  return key.benchmark == job.benchmark() && (!job.has_benchmark_index() || data.entries.empty() ||
                                              data.entries.count(job.benchmark_index()) > 0);
}

// From rank 0 to rank 1 or back; 0 for both.
int DirectionOf(const v1::CaseResult& run) {
  if (!run.measurements().empty()) {
    const std::string& metric = run.measurements(0).metric();
    if (metric == "forward_bandwidth") return 1;
    if (metric == "backward_bandwidth") return -1;
  }
  const auto direction = run.parameters().find("direction");
  if (direction == run.parameters().end()) return 0;
  return direction->second == "unidirectional" ? 1 : direction->second == "reverse" ? -1 : 0;
}

std::string WhyFailed(const v1::Failure& failure) {
  if (failure.reason().empty() && failure.message().empty()) return "no reason given";
  return failure.reason() + (failure.message().empty() ? "" : ": " + failure.message());
}

void AddValue(const v1::StoredResult& result, Measured& pair) {
  const v1::CaseResult& run = result.case_result();
  const v1::Measurement& measured = run.measurements(0);
  pair.medians.push_back(measured.median());
  pair.interval.reset();
  pair.errors.emplace_back();
  if (schema::HasInterval(measured)) {
    pair.interval.emplace(measured.ci_low(), measured.ci_high());
    pair.errors.back() = (measured.ci_high() - measured.ci_low()) / 2 / kHalfInterval;
  }
  for (const std::string& flag : DoubtsOf(run)) pair.flags.insert(flag);
  pair.job_ids.push_back(run.job_id());
}

void AddResult(const v1::StoredResult& result, Sorted& sorted) {
  const v1::CaseResult& run = result.case_result();
  const auto& names = run.provenance().node_names();
  if (names.size() != 2 || names[0] == names[1]) return;
  const bool measured = run.outcome() == v1::CASE_OUTCOME_OK && !run.measurements().empty();
  if (measured && !(run.measurements(0).median() >= 0)) return;
  const int direction = DirectionOf(run);
  v1::CaseResult common = run;
  if (direction != 0) common.mutable_parameters()->erase("direction");
  CaseKey key = {run.benchmark(),
                 run.benchmark_version(),
                 ParametersCsv(common),
                 NcclText(run.environment()),
                 "",
                 ""};
  const Names way = direction < 0 ? Names(names[1], names[0]) : Names(names[0], names[1]);
  if (!measured) {
    const bool unsupported = run.outcome() == v1::CASE_OUTCOME_UNSUPPORTED;
    sorted.failures.push_back(
        {key, way, direction != 0, unsupported, WhyFailed(run.failure()), run.job_id()});
    return;
  }
  key.metric = run.measurements(0).metric();
  key.unit = run.measurements(0).unit();
  // Those of the two ways are one matrix.
  if (key.metric == "backward_bandwidth") key.metric = "forward_bandwidth";
  CaseData& data = sorted.cases[key];
  data.text = ParametersText(common) + (key.nccl.empty() ? "" : " " + key.nccl);
  data.higher_is_better = run.measurements(0).direction() != v1::DIRECTION_LOWER_IS_BETTER;
  AddValue(result, data.values[way]);
  sorted.NoteEntry(run.job_id(), data);
}

// A case that failed wherever it ran is one without values.
void AddFailedCases(Sorted& sorted) {
  for (const FailedCase& failed : sorted.failures) {
    auto known = std::find_if(sorted.cases.begin(), sorted.cases.end(),
                              [&](const auto& one) { return one.first.SameCase(failed.key); });
    if (known == sorted.cases.end()) {
      known = sorted.cases.try_emplace(failed.key).first;
      known->second.text = failed.key.parameters;
    }
    sorted.NoteEntry(failed.job_id, known->second);
  }
}

// The case without values of an entry that failed on every pair.
CaseKey AddCaseOf(const v1::Job& job, Sorted& sorted) {
  CaseKey key = {job.benchmark(), 0, "", "", "", ""};
  if (sorted.entries_named[job.benchmark()].size() > 1) {
    key.parameters = "entry " + std::to_string(job.benchmark_index() + 1);
  }
  CaseData& data = sorted.cases[key];
  data.text = key.parameters;
  sorted.NoteEntry(job.job_id(), data);
  return key;
}

// Failed jobs as failures of every case of their entry, but for jobs of which a failed case
// tells more.
void AddJob(const v1::Job& job, Sorted& sorted) {
  if (job.node_names_size() != 2) return;
  if (IsToBeDone(job)) sorted.waiting.push_back(&job);
  if (job.state() != v1::JOB_STATE_FAILED) return;
  const bool told =
      std::any_of(sorted.failures.begin(), sorted.failures.end(),
                  [&](const FailedCase& failed) { return failed.job_id == job.job_id(); });
  if (told && !job.job_id().empty()) return;
  FailedCase failed;
  failed.names = {job.node_names(0), job.node_names(1)};
  failed.reason = WhyFailed(job.failure());
  failed.job_id = job.job_id();
  std::set<CaseKey> keys;
  for (const auto& [key, data] : sorted.cases) {
    if (MayBeOf(job, key, data)) keys.insert(key);
  }
  if (keys.empty()) keys.insert(AddCaseOf(job, sorted));
  for (const CaseKey& key : keys) {
    failed.key = key;
    sorted.failures.push_back(failed);
  }
}

// The median over repetitions, and its error: of the repetitions' own, or of their spread if
// that is wider.
PairCell CellOf(const Measured& measured, size_t from, size_t to) {
  PairCell cell;
  const auto count = static_cast<double>(measured.medians.size());
  cell.value = {from, to, MedianOf(measured.medians), std::nullopt};
  cell.repetitions = static_cast<int>(measured.medians.size());
  cell.flags.assign(measured.flags.begin(), measured.flags.end());
  cell.job_ids = measured.job_ids;
  std::vector<double> known;
  for (const auto& error : measured.errors) {
    if (error) known.push_back(*error);
  }
  if (!known.empty()) cell.value.error = MedianOf(known);
  if (measured.medians.size() == 1) {
    cell.interval = measured.interval;
    return cell;
  }
  double mean = 0;
  for (const double median : measured.medians) mean += median / count;
  double squares = 0;
  for (const double median : measured.medians) squares += (median - mean) * (median - mean);
  const double spread = MedianWidening(cell.repetitions) * std::sqrt(squares / (count - 1) / count);
  cell.value.error = std::max(spread, cell.value.error.value_or(0) / std::sqrt(count));
  cell.interval.emplace(std::max(0.0, cell.value.value - kHalfInterval * *cell.value.error),
                        cell.value.value + kHalfInterval * *cell.value.error);
  return cell;
}

// The part of a failure that this matrix has no value for; absent if it has been said of it.
std::optional<PairFailure> FailureOf(const PairCase& measured, const FailedCase& failed,
                                     size_t from, size_t to) {
  const auto find = [&](size_t a, size_t b) {
    return std::find_if(measured.cells.begin(), measured.cells.end(), [&](const PairCell& cell) {
      return cell.value.from == a && cell.value.to == b;
    });
  };
  const auto forth = find(from, to);
  const auto back = find(to, from);
  const auto end = measured.cells.end();
  PairFailure found{from, to, failed.one_way, PairFailureKind::kFailed, failed.reason};
  if (failed.unsupported) found.kind = PairFailureKind::kUnsupported;
  const bool both_ways = measured.analysis.both_ways;
  if (!failed.one_way && both_ways && (forth == end) != (back == end)) {
    // A job of both directions that got through one.
    found.one_way = true;
    if (forth != end) std::swap(found.from, found.to);
    return found;
  }
  // Only where directions are apart is one of them a cell.
  if (!both_ways) found.one_way = false;
  const bool has_value = failed.one_way && both_ways ? forth != end : forth != end || back != end;
  if (!found.one_way && found.from > found.to) std::swap(found.from, found.to);
  if (!has_value) return found;
  if (failed.unsupported) return std::nullopt;
  // The failed job's own value: then another of its cases failed.
  for (const auto& cell : {forth, back}) {
    if (cell == end) continue;
    const auto& jobs = cell->job_ids;
    if (!failed.job_id.empty() && std::count(jobs.begin(), jobs.end(), failed.job_id) > 0) {
      return std::nullopt;
    }
  }
  found.kind = PairFailureKind::kRepetition;
  return found;
}

void AddMissing(PairCase& measured) {
  std::set<std::pair<size_t, size_t>> known;
  const auto add = [&](size_t from, size_t to, bool one_way) {
    known.insert({from, to});
    if (!one_way) known.insert({to, from});
  };
  for (const PairCell& cell : measured.cells) {
    add(cell.value.from, cell.value.to, measured.analysis.both_ways);
  }
  for (const PairFailure& failure : measured.failures) {
    add(failure.from, failure.to, failure.one_way);
  }
  for (size_t a = 0; a < measured.nodes.size(); ++a) {
    for (size_t b = 0; b < measured.nodes.size(); ++b) {
      const bool counts = a < b || (a != b && measured.analysis.both_ways);
      if (counts && known.count({a, b}) == 0) measured.missing.emplace_back(a, b);
    }
  }
}

// Failures and values of pairs, both directions being one.
std::vector<PairOutcome> OutcomesOf(const PairCase& measured) {
  std::map<std::pair<size_t, size_t>, bool> dead;
  for (const PairFailure& failure : measured.failures) {
    if (failure.kind == PairFailureKind::kFailed)
      dead[std::minmax(failure.from, failure.to)] = true;
  }
  for (const PairCell& cell : measured.cells) {
    dead[std::minmax(cell.value.from, cell.value.to)] = false;
  }
  std::vector<PairOutcome> outcomes;
  outcomes.reserve(dead.size());
  for (const auto& [pair, is_dead] : dead) outcomes.push_back({pair.first, pair.second, is_dead});
  return outcomes;
}

PairCase Numbered(const CaseKey& key, const CaseData& data, const Sorted& sorted,
                  double threshold) {
  PairCase measured;
  measured.benchmark = key.benchmark;
  measured.parameters = data.text;
  measured.metric = key.metric;
  measured.unit = key.unit;
  measured.higher_is_better = data.higher_is_better;
  measured.threshold = threshold;
  std::set<std::string> names;
  for (const auto& [pair, values] : data.values) names.insert({pair.first, pair.second});
  for (const FailedCase& failed : sorted.failures) {
    if (failed.key.SameCase(key)) names.insert({failed.names.first, failed.names.second});
  }
  for (const v1::Job* job : sorted.waiting) {
    if (!MayBeOf(*job, key, data)) continue;
    names.insert(job->node_names().begin(), job->node_names().end());
    ++measured.waiting;
  }
  measured.nodes.assign(names.begin(), names.end());
  const auto number = [&](const std::string& name) {
    return static_cast<size_t>(std::distance(names.begin(), names.find(name)));
  };
  std::vector<PairValue> values;
  for (const auto& [pair, value] : data.values) {
    measured.cells.push_back(CellOf(value, number(pair.first), number(pair.second)));
    values.push_back(measured.cells.back().value);
  }
  measured.analysis = AnalyzePairs(names.size(), values,
                                   {measured.higher_is_better, threshold, IsCount(measured.unit)});
  // Retries of one pair that failed alike are one failure.
  std::set<std::tuple<size_t, size_t, bool, PairFailureKind>> said;
  for (const FailedCase& failed : sorted.failures) {
    if (!failed.key.SameCase(key)) continue;
    const auto failure =
        FailureOf(measured, failed, number(failed.names.first), number(failed.names.second));
    if (!failure) continue;
    if (!said.insert({failure->from, failure->to, failure->one_way, failure->kind}).second)
      continue;
    measured.failures.push_back(*failure);
  }
  std::sort(measured.failures.begin(), measured.failures.end(),
            [](const PairFailure& a, const PairFailure& b) {
              return std::tie(a.from, a.to) < std::tie(b.from, b.to);
            });
  AddMissing(measured);
  measured.dead = DeadNodes(OutcomesOf(measured));
  return measured;
}

}  // namespace

bool IsToBeDone(const v1::Job& job) {
  return job.state() == v1::JOB_STATE_QUEUED || job.state() == v1::JOB_STATE_RUNNING;
}

std::vector<PairCase> PairCases(const std::vector<v1::StoredResult>& results,
                                const std::vector<v1::Job>& jobs, double threshold) {
  Sorted sorted;
  for (const v1::Job& job : jobs) {
    if (!job.has_benchmark_index()) continue;
    sorted.entries[job.job_id()] = job.benchmark_index();
    sorted.entries_named[job.benchmark()].insert(job.benchmark_index());
  }
  for (const v1::StoredResult& result : results) AddResult(result, sorted);
  AddFailedCases(sorted);
  for (const v1::Job& job : jobs) AddJob(job, sorted);
  std::vector<PairCase> found;
  for (const auto& [key, data] : sorted.cases) {
    found.push_back(Numbered(key, data, sorted, threshold));
  }
  return found;
}

Status CheckPairMetric(const std::vector<v1::StoredResult>& results, const std::string& campaign,
                       const std::string& metric) {
  std::map<std::string, std::set<std::string>> metrics;
  for (const v1::StoredResult& result : results) {
    const v1::CaseResult& run = result.case_result();
    if (run.measurements().empty() || run.provenance().node_names_size() != 2) continue;
    if (run.measurements(0).metric() == metric) return Status::Ok();
    metrics[run.benchmark()].insert(run.measurements(0).metric());
  }
  if (metrics.empty()) return Status::Ok();
  std::vector<Violation> violations;
  std::set<std::string> all;
  for (const auto& [benchmark, names] : metrics) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "has " : ", ") + name;
    violations.push_back({benchmark, text});
    all.insert(names.begin(), names.end());
  }
  const std::string closest = ClosestName(metric, {all.begin(), all.end()});
  return InvalidArgument("no result on two nodes of campaign \"" + campaign +
                             "\" has the metric \"" + metric + "\"",
                         "UNKNOWN_METRIC")
      .WithViolations(std::move(violations))
      .WithHint(closest.empty() ? "without --metric, each benchmark's primary metric is shown"
                                : "did you mean " + closest + "?");
}

}  // namespace assay::cli

#include "coordinator/core/estimator.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "measure/measure.h"
#include "wire/durations.h"

namespace assay::coordinator {
namespace {

using storage::KindOfWork;
using storage::Work;
using Costs = Estimator::Costs;

// Time that a job needs in addition to its cases: its processes start, and its results are stored.
constexpr double kJobSeconds = 2;

Effort EffortOf(v1::Effort effort) {
  switch (effort) {
    case v1::EFFORT_QUICK:
      return Effort::kQuick;
    case v1::EFFORT_THOROUGH:
      return Effort::kThorough;
    default:
      return Effort::kStandard;
  }
}

// Returns the maximum time for which a case is measured.
double LimitSeconds(Effort effort) {
  MeasureRule rule;
  ApplyEffort(effort, &rule);
  return std::min(rule.total_seconds, rule.max_warmup_seconds + rule.max_seconds);
}

Costs::Node NodeOf(const v1::Node& node) {
  const v1::NodeDescription& description = node.description();
  return {description.name(), description.has_price_per_hour()
                                  ? std::optional(description.price_per_hour())
                                  : std::nullopt};
}

// The time taken by the work of one node. Jobs that reserve the whole node run one after another.
// Jobs on different GPUs of the node run at the same time.
struct Load {
  int64_t jobs = 0;
  double whole_seconds = 0;
  std::map<int, double> gpu_seconds;  // By GPU.

  double Seconds() const {
    double longest = 0;
    for (const auto& [gpu, seconds] : gpu_seconds) longest = std::max(longest, seconds);
    return whole_seconds + longest;
  }
  void Add(int64_t count, double seconds, const std::vector<int>& gpus, bool whole) {
    jobs += count;
    if (whole) {
      whole_seconds += seconds;
      return;
    }
    for (const int gpu : gpus) gpu_seconds[gpu] += seconds;
  }
};

// Spreads the jobs of `work`, which take `seconds` in total, over their candidate nodes.
void Spread(const Work& work, double seconds, std::map<std::string, Load>& loads) {
  std::vector<Load*> candidates;
  for (const std::string& id : work.node_ids) candidates.push_back(&loads[id]);
  if (candidates.empty() || work.jobs == 0) return;
  // If the parts cannot be spread evenly, the nodes with the least work get one more each.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Load* a, const Load* b) { return a->Seconds() < b->Seconds(); });
  const bool whole = work.exclusive_node || work.gpu_indices.empty();
  const auto count = static_cast<int64_t>(candidates.size());
  const int64_t parts = static_cast<int64_t>(work.jobs) * work.kind.nodes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t share = parts / count + (i < parts % count ? 1 : 0);
    if (share == 0) break;
    candidates[static_cast<size_t>(i)]->Add(share, seconds / work.jobs * static_cast<double>(share),
                                            work.gpu_indices, whole);
  }
}

google::protobuf::Duration ToProtoSeconds(double seconds) {
  return ToProto(
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, 1e9))));
}

v1::Estimate Sum(const std::vector<Work>& work, const Costs& costs) {
  v1::Estimate estimate;
  std::map<std::string, Load> loads;
  double from_history = 0;
  double cases = 0;
  for (const Work& one : work) {
    const auto cost = costs.cases.find(one.kind);
    if (cost == costs.cases.end()) continue;
    const auto count = static_cast<double>(one.cases);
    cases += count;
    from_history += count * cost->second.from_history;
    Spread(one, count * cost->second.seconds + one.jobs * kJobSeconds, loads);
  }
  double longest = 0;
  std::optional<double> dollars = 0.0;
  for (const auto& [id, load] : loads) {
    if (load.jobs == 0) continue;
    const auto known = costs.nodes.find(id);
    const Costs::Node node = known == costs.nodes.end() ? Costs::Node{id, {}} : known->second;
    const double seconds = load.Seconds();
    longest = std::max(longest, seconds);
    v1::NodeEstimate& one = *estimate.add_nodes();
    one.set_node_name(node.name);
    one.set_job_count(static_cast<int>(load.jobs));
    *one.mutable_duration() = ToProtoSeconds(seconds);
    if (!node.price_per_hour) {
      dollars.reset();
      continue;
    }
    one.set_dollars(*node.price_per_hour * seconds / 3600);
    if (dollars) *dollars += one.dollars();
  }
  std::sort(estimate.mutable_nodes()->begin(), estimate.mutable_nodes()->end(),
            [](const v1::NodeEstimate& a, const v1::NodeEstimate& b) {
              const auto rank = [](const v1::NodeEstimate& node) {
                return std::tuple(-node.duration().seconds(), -node.duration().nanos(),
                                  node.node_name());
              };
              return rank(a) < rank(b);
            });
  *estimate.mutable_duration() = ToProtoSeconds(longest);
  if (dollars && !estimate.nodes().empty()) estimate.set_dollars(*dollars);
  estimate.set_cases_from_history(static_cast<int>(std::lround(from_history)));
  estimate.set_cases_from_method(static_cast<int>(std::lround(cases)) -
                                 estimate.cases_from_history());
  return estimate;
}

}  // namespace

Result<v1::Estimate> Estimator::OfExpansion(const campaign::Expansion& expansion, v1::Effort effort,
                                            const std::vector<v1::Node>& fleet) const {
  std::map<Work::Kind, KindOfWork> kinds;
  std::map<std::tuple<Work::Kind, storage::NodeIds, std::vector<int>>, Work> groups;
  for (const storage::NewJob& job : expansion.jobs) {
    const Work::Kind kind{job.benchmark_index.value_or(0), job.world_size, job.node_count};
    if (!kinds.contains(kind)) kinds[kind] = {kind, job.benchmark, job.cases};
    Work& work = groups[{kind, job.candidate_node_ids, job.gpu_indices}];
    work.kind = kind;
    work.node_ids = job.candidate_node_ids;
    work.gpu_indices = job.gpu_indices;
    work.exclusive_node = job.exclusive_node;
    ++work.jobs;
    work.cases += static_cast<int64_t>(job.cases.size());
  }
  std::vector<KindOfWork> list;
  for (auto& [key, kind] : kinds) list.push_back(std::move(kind));
  Costs costs;
  ASSAY_ASSIGN_OR_RETURN(costs.cases, CostsOfKinds(list, effort));
  for (const v1::Node& node : fleet) costs.nodes[node.description().node_id()] = NodeOf(node);
  std::vector<Work> work;
  for (auto& [key, one] : groups) work.push_back(std::move(one));
  return Sum(work, costs);
}

Result<Estimator::Costs> Estimator::CostsOf(const std::string& campaign_id,
                                            v1::Effort effort) const {
  Costs costs;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<KindOfWork> kinds,
                         environment_.work.ListKindsOfWork(campaign_id));
  ASSAY_ASSIGN_OR_RETURN(costs.cases, CostsOfKinds(kinds, effort));
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<v1::Node> nodes,
      environment_.nodes.ListNodes(options_.Silence(), storage::NodeStore::Benchmarks::kNo));
  for (const v1::Node& node : nodes) costs.nodes[node.description().node_id()] = NodeOf(node);
  return costs;
}

Result<v1::Estimate> Estimator::OfRest(const std::string& campaign_id, const Costs& costs) const {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Work> work, environment_.work.ListOpenWork(campaign_id));
  return Sum(work, costs);
}

Result<std::map<Work::Kind, Costs::Case>> Estimator::CostsOfKinds(
    const std::vector<KindOfWork>& kinds, v1::Effort effort) const {
  std::vector<storage::WorkStore::CaseOfBenchmark> cases;
  for (const KindOfWork& kind : kinds) {
    for (const v1::BenchmarkCase& one : kind.cases) cases.push_back({kind.benchmark, one});
  }
  const Effort measured = EffortOf(effort);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::optional<double>> seconds,
                         environment_.work.CaseSeconds(cases, EffortWord(measured)));
  const double limit = LimitSeconds(measured);
  std::map<Work::Kind, Costs::Case> costs;
  auto next = seconds.begin();
  for (const KindOfWork& kind : kinds) {
    Costs::Case& cost = costs[kind.kind];
    for (size_t i = 0; i < kind.cases.size(); ++i, ++next) {
      cost.seconds += next->value_or(limit);
      cost.from_history += next->has_value() ? 1 : 0;
    }
    const auto count = static_cast<double>(std::max<size_t>(kind.cases.size(), 1));
    cost.seconds /= count;
    cost.from_history /= count;
  }
  return costs;
}

}  // namespace assay::coordinator

#include "coordinator/core/attempts/retry_policy.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace assay::coordinator {
namespace {

using storage::Disposition;
using NodeSet = std::set<std::string>;

// Returns true if the job fits on the candidates that are not in `nodes`.
bool EnoughOthers(const storage::LeasedJob& job, const NodeSet& nodes) {
  const auto others =
      std::count_if(job.job.candidate_node_ids.begin(), job.job.candidate_node_ids.end(),
                    [&](const std::string& id) { return nodes.count(id) == 0; });
  return others >= job.job.node_count;
}

Duration Backoff(size_t failures) {
  const auto delay = std::chrono::seconds(1) * (1 << std::min<size_t>(failures, 5));
  return std::min<Duration>(delay, std::chrono::seconds(30));
}

// Returns the node named by the failure, or all nodes of the attempt if the failure names none.
// Returns an empty set if the failure is not of class NODE, because then no node is at fault.
NodeSet NodesAtFault(const storage::AttemptFailure& failure) {
  if (failure.failure_class != v1::FAILURE_CLASS_NODE) return {};
  if (!failure.node_id.empty()) return {failure.node_id};
  return {failure.node_ids.begin(), failure.node_ids.end()};
}

// Retries the job without the nodes at fault in this attempt. As long as enough other nodes remain,
// also avoids the nodes at fault in earlier attempts, starting with the latest attempt.
RetryDecision RetryElsewhere(const storage::LeasedJob& job, const storage::AttemptFailure& last) {
  std::vector<NodeSet> at_fault;  // The latest first.
  const auto add = [&](const storage::AttemptFailure& failure) {
    at_fault.push_back(NodesAtFault(failure));
    for (const std::string& node_id : failure.also_node_ids) at_fault.push_back({node_id});
  };
  add(last);
  for (auto earlier = job.failures.rbegin(); earlier != job.failures.rend(); ++earlier) {
    if (earlier->failure_class == v1::FAILURE_CLASS_NODE) add(*earlier);
  }
  NodeSet avoid = at_fault.front();
  bool enough = EnoughOthers(job, avoid);
  for (size_t i = 1; enough && i < at_fault.size(); ++i) {
    NodeSet more = at_fault[i];
    more.insert(avoid.begin(), avoid.end());
    enough = EnoughOthers(job, more);
    if (enough) avoid = std::move(more);
  }
  return {Disposition::kRequeue,
          {avoid.begin(), avoid.end()},
          enough ? Duration(0) : Backoff(job.failures.size())};
}

Budget BudgetOf(v1::FailureClass failure_class) {
  for (const RetryRule& rule : RetryRules()) {
    if (rule.failure_class == failure_class) return rule.budget;
  }
  return Budget::kNone;
}

// Retries the job after a failure of Assay itself or a planned interruption, such as an agent
// upgrade. The first retry is immediate. Later retries are delayed, because the cause may persist.
RetryDecision RetryInfrastructure(const storage::LeasedJob& job,
                                  const storage::AttemptFailure& last, size_t earlier) {
  if (earlier >= kInfrastructureRetries) return {};
  RetryDecision decision = RetryElsewhere(job, last);
  if (earlier > 0) decision.delay = std::max(decision.delay, Backoff(earlier));
  return decision;
}

RetryDecision RetryJobFault(const storage::LeasedJob& job) {
  NodeSet tried(job.node_ids.begin(), job.node_ids.end());
  size_t earlier = 0;
  for (const storage::AttemptFailure& failure : job.failures) {
    if (failure.failure_class != v1::FAILURE_CLASS_JOB) continue;
    ++earlier;
    tried.insert(failure.node_ids.begin(), failure.node_ids.end());
  }
  if (earlier == 0) {
    return {Disposition::kRequeue, {}, Duration(0), /*same_nodes=*/true};
  }
  if (earlier == 1 && EnoughOthers(job, tried)) {
    return {Disposition::kRequeue, {tried.begin(), tried.end()}, Duration(0)};
  }
  return {};
}

}  // namespace

const std::vector<RetryRule>& RetryRules() {
  static const std::vector<RetryRule> rules = {
      {v1::FAILURE_CLASS_NODE, Budget::kRetries,
       "runs again on other nodes than those at fault, if there are enough",
       "looks at the named node; a node that fails job after job is quarantined"},
      {v1::FAILURE_CLASS_JOB, Budget::kRetries,
       "runs again once on the same node and once on another",
       "looks at the benchmark, its parameters and the evidence"},
      {v1::FAILURE_CLASS_INFRASTRUCTURE, Budget::kInfrastructure,
       "runs again anywhere: at once, then after 1 to 30 s",
       "nothing, or looks why Assay was away for so long"},
      {v1::FAILURE_CLASS_USER, Budget::kNone, "fails, because it cannot succeed",
       "changes the request as the message says"},
  };
  return rules;
}

RetryDecision DecideRetry(const storage::LeasedJob& job, const v1::Failure& failure,
                          const std::vector<std::string>& also) {
  if (job.cancel_requested || failure.reason() == v1::REASON_CANCELLED) {
    return {Disposition::kCancelled, {}, Duration(0)};
  }
  const storage::AttemptFailure last = {failure.failure_class(), failure.reason(), job.node_ids,
                                        failure.node_id(), also};
  const auto spent = static_cast<size_t>(std::count_if(
      job.failures.begin(), job.failures.end(), [](const storage::AttemptFailure& earlier) {
        return BudgetOf(earlier.failure_class) != Budget::kInfrastructure;
      }));
  if (BudgetOf(failure.failure_class()) == Budget::kInfrastructure) {
    // When an operator drains a node, its jobs are interrupted and retried elsewhere. Such retries
    // do not count toward the limit and need no delay.
    const auto drains = static_cast<size_t>(std::count_if(
        job.failures.begin(), job.failures.end(), [](const storage::AttemptFailure& earlier) {
          return earlier.reason == v1::REASON_NODE_DRAINED;
        }));
    const bool drained = failure.reason() == v1::REASON_NODE_DRAINED;
    return RetryInfrastructure(job, last, drained ? 0 : job.failures.size() - spent - drains);
  }
  if (spent >= static_cast<size_t>(std::max(job.retries, 0))) return {};
  switch (failure.failure_class()) {
    case v1::FAILURE_CLASS_NODE:
      return RetryElsewhere(job, last);
    case v1::FAILURE_CLASS_JOB:
      return RetryJobFault(job);
    default:
      return {};
  }
}

}  // namespace assay::coordinator

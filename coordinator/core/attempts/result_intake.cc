#include "coordinator/core/attempts/result_intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/log.h"
#include "common/text.h"
#include "storage/store_rules.h"
#include "wire/bounds.h"

namespace assay::coordinator {
namespace {

using storage::LeasedJob;

const v1::BenchmarkCase* CaseOf(const LeasedJob& job, int case_index) {
  for (const v1::BenchmarkCase& one : job.job.cases) {
    if (one.case_index() == case_index) return &one;
  }
  return nullptr;
}

// Returns true if an agent may still send results although its attempt to run the job is over. This
// is possible if the coordinator gave up on the attempt, or if the agent handed it back. After any
// other failure, the agent has no results left to send.
bool MayBeLate(const LeasedJob& job) {
  if (job.cancel_requested || job.failures.empty()) return false;
  const v1::Reason reason = job.failures.back().reason;
  return reason == v1::REASON_AGENT_LOST || reason == v1::REASON_LEASE_LOST ||
         reason == v1::REASON_AGENT_STOPPED || reason == v1::REASON_NODE_DRAINED;
}

std::string WrongParameters(const v1::BenchmarkCase& expected, const v1::CaseResult& result) {
  if (expected.parameters_size() != result.parameters_size()) {
    return fmt::format("it has {} parameters, and the case has {}", result.parameters_size(),
                       expected.parameters_size());
  }
  for (const auto& [name, value] : expected.parameters()) {
    const auto found = result.parameters().find(name);
    if (found == result.parameters().end()) return "parameter " + name + " is missing";
    if (found->second != value) {
      return fmt::format("parameter {} is \"{}\", and the case has \"{}\"", name,
                         Cut(found->second), value);
    }
  }
  return "";
}

std::string WrongMeasurements(const v1::CaseResult& result) {
  if (result.measurements().empty()) return "it has no measurement";
  if (!result.verification().passed()) return "it has no passed verification";
  std::set<std::string> metrics;
  for (const v1::Measurement& one : result.measurements()) {
    if (!metrics.insert(one.metric()).second) {
      return "metric \"" + Cut(one.metric()) + "\" stands twice";
    }
    for (const double number :
         {one.median(), one.mad(), one.p05(), one.p95(), one.ci_low(), one.ci_high()}) {
      if (!std::isfinite(number)) return "a number of " + Cut(one.metric()) + " is not finite";
    }
    if (!std::all_of(one.samples().begin(), one.samples().end(),
                     [](double sample) { return std::isfinite(sample); })) {
      return "a sample of " + Cut(one.metric()) + " is not finite";
    }
  }
  return "";
}

v1::ResultAck AckOf(const v1::CaseResult& result, v1::ResultAck::Verdict verdict,
                    std::string message) {
  v1::ResultAck ack;
  ack.set_job_id(result.job_id());
  ack.set_epoch(result.epoch());
  ack.set_case_index(result.case_index());
  ack.set_verdict(verdict);
  ack.set_message(std::move(message));
  return ack;
}

v1::ResultAck AckOf(const v1::CaseResult& result, const storage::CommitOutcome& outcome) {
  switch (outcome.verdict) {
    case storage::CommitVerdict::kStored:
      return AckOf(result, v1::ResultAck::VERDICT_STORED, "");
    case storage::CommitVerdict::kStale:
      return AckOf(result, v1::ResultAck::VERDICT_STALE,
                   "the job has moved on to another attempt, or has ended");
    case storage::CommitVerdict::kUnknownJob:
      return AckOf(result, v1::ResultAck::VERDICT_UNKNOWN_JOB, "the database has no such job");
    case storage::CommitVerdict::kConflict:
      break;
  }
  return AckOf(result, v1::ResultAck::VERDICT_REJECTED, "the case has another result already");
}

std::string OutcomeName(const storage::CommitOutcome& outcome) {
  switch (outcome.verdict) {
    case storage::CommitVerdict::kStored:
      return outcome.fresh ? "stored" : "replayed";
    case storage::CommitVerdict::kStale:
      return "stale";
    case storage::CommitVerdict::kUnknownJob:
      return "unknown_job";
    case storage::CommitVerdict::kConflict:
      break;
  }
  return "rejected";
}

}  // namespace

std::string WhyMalformed(const LeasedJob& job, const std::string& node_id,
                         const v1::CaseResult& result) {
  if (std::find(job.node_ids.begin(), job.node_ids.end(), node_id) == job.node_ids.end()) {
    return "this node has no part in the job";
  }
  if (job.node_ids.front() != node_id) return "results come from the node of rank 0";
  const v1::BenchmarkCase* expected = CaseOf(job, result.case_index());
  if (expected == nullptr) return fmt::format("the job has no case {}", result.case_index());
  if (result.benchmark() != job.job.benchmark ||
      result.benchmark_version() != job.job.benchmark_version) {
    return fmt::format("it is of {} version {}, and the job is {} version {}",
                       Cut(result.benchmark()), result.benchmark_version(), job.job.benchmark,
                       job.job.benchmark_version);
  }
  if (std::string wrong = WrongParameters(*expected, result); !wrong.empty()) return wrong;
  if (std::string wrong = WhyImpossible(result); !wrong.empty()) return wrong;
  switch (result.outcome()) {
    case v1::CASE_OUTCOME_OK:
      return WrongMeasurements(result);
    case v1::CASE_OUTCOME_FAILED:
    case v1::CASE_OUTCOME_UNSUPPORTED:
      return result.measurements().empty() ? "" : "it has measurements without success";
    default:
      return "it has no outcome";
  }
}

ResultIntake::ResultIntake(const Environment& environment, RunningJobs& running,
                           const Sessions& sessions, Attempts& attempts, OnStored on_stored)
    : environment_(environment),
      running_(running),
      sessions_(sessions),
      attempts_(attempts),
      on_stored_(std::move(on_stored)) {}

Result<std::vector<v1::ResultAck>> ResultIntake::Take(const std::string& node_id,
                                                      const std::vector<v1::CaseResult>& results) {
  std::vector<v1::ResultAck> acks(results.size());
  std::vector<storage::SentResult> sound;
  std::vector<v1::CaseResult> unheld;
  std::vector<size_t> sound_at, unheld_at;
  std::map<storage::JobEpoch, std::string> campaigns;
  std::map<storage::JobEpoch, LeasedJob> late;  // Attempts that are over.
  ASSAY_ASSIGN_OR_RETURN(const Node sender, Describe(node_id));
  ASSAY_ASSIGN_OR_RETURN(const auto schemas, SchemasOf(node_id));
  for (size_t i = 0; i < results.size(); ++i) {
    const v1::CaseResult& result = results[i];
    const storage::JobEpoch epoch{result.job_id(), result.epoch()};
    ASSAY_ASSIGN_OR_RETURN(std::optional<LeasedJob> job, attempts_.FindOrAdopt(epoch, node_id));
    if (!job) {
      ASSAY_ASSIGN_OR_RETURN(job, environment_.jobs.GetAttempt({epoch, node_id}));
      if (job && !MayBeLate(*job)) job = std::nullopt;
      if (job) late.insert_or_assign(epoch, *job);
    }
    const Status bounded = schema::CheckBounds(result, Reason::kProtocolViolation);
    std::string fault = bounded.ok() ? "" : bounded.message();
    if (fault.empty() && !job) {
      unheld.push_back(result);
      unheld_at.push_back(i);
      continue;
    }
    if (fault.empty()) fault = WhyMalformed(*job, node_id, result);
    if (fault.empty()) fault = WhyOtherMetrics(*schemas, result);
    if (!fault.empty()) {
      Log().warn("a result of job {} from node {} was rejected: {}", Cut(result.job_id()), node_id,
                 fault);
      acks[i] = AckOf(result, v1::ResultAck::VERDICT_REJECTED, fault);
      environment_.observer.ResultsIngested("rejected", 1);
      continue;
    }
    campaigns[epoch] = job->campaign_id;
    ASSAY_ASSIGN_OR_RETURN(storage::SentResult completed, Complete(*job, *sender, result));
    sound.push_back(std::move(completed));
    sound_at.push_back(i);
  }
  if (!unheld.empty()) {
    // The attempts that sent the remaining results may not send any more, so these results are
    // outdated or duplicates. Compare them with the stored results, but do not store them.
    ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::CommitOutcome> outcomes,
                           environment_.results.Compare(unheld));
    for (size_t i = 0; i < unheld.size() && i < outcomes.size(); ++i) {
      acks[unheld_at[i]] = AckOf(unheld[i], outcomes[i]);
      environment_.observer.ResultsIngested(OutcomeName(outcomes[i]), 1);
    }
  }
  if (sound.empty()) return acks;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::CommitOutcome> outcomes,
                         environment_.results.Commit(sound));
  std::set<std::string> changed;
  for (size_t i = 0; i < sound.size() && i < outcomes.size(); ++i) {
    const v1::CaseResult& result = sound[i].result;
    acks[sound_at[i]] = AckOf(result, outcomes[i]);
    environment_.observer.ResultsIngested(OutcomeName(outcomes[i]), 1);
    if (outcomes[i].verdict != storage::CommitVerdict::kStored) continue;
    running_.NoteOutcome(result);
    if (outcomes[i].fresh) changed.insert(campaigns.at({result.job_id(), result.epoch()}));
  }
  for (const std::string& campaign_id : changed) on_stored_(campaign_id);
  for (const auto& [epoch, job] : late) ASSAY_RETURN_IF_ERROR(attempts_.Mend(job));
  return acks;
}

Result<ResultIntake::Node> ResultIntake::Describe(const std::string& node_id) {
  if (const std::optional<Agent> agent = sessions_.Find(node_id)) return agent->description;
  const Result<v1::Node> stored = environment_.nodes.GetNode(node_id, Duration(0));
  if (stored.ok()) return std::make_shared<const v1::NodeDescription>(stored->description());
  if (stored.status().code() != Code::kNotFound) return stored.status();
  v1::NodeDescription removed;
  removed.set_node_id(node_id);
  removed.set_name(node_id);
  return std::make_shared<const v1::NodeDescription>(removed);
}

Result<std::shared_ptr<const v1::Schemas>> ResultIntake::SchemasOf(const std::string& node_id) {
  if (const std::optional<Agent> agent = sessions_.Find(node_id)) return agent->schemas;
  const Result<v1::Node> stored = environment_.nodes.GetNode(node_id, Duration(0));
  if (!stored.ok() && stored.status().code() != Code::kNotFound) return stored.status();
  auto schemas = std::make_shared<v1::Schemas>();
  if (stored.ok()) *schemas->mutable_benchmarks() = stored->description().benchmarks();
  return std::shared_ptr<const v1::Schemas>(std::move(schemas));
}

Result<storage::SentResult> ResultIntake::Complete(const LeasedJob& job,
                                                   const v1::NodeDescription& sender,
                                                   const v1::CaseResult& result) {
  JobNodes nodes;
  for (const std::string& node_id : job.node_ids) {
    ASSAY_ASSIGN_OR_RETURN(Node node, Describe(node_id));
    nodes.push_back(std::move(node));
  }
  storage::SentResult completed{result, storage::PayloadHash(result)};
  SetFacts(job, nodes, sender, environment_.clock.WallNow(), &completed.result);
  return completed;
}

}  // namespace assay::coordinator

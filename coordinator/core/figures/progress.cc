// Reports the progress of a campaign, by benchmark and node.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/text.h"
#include "coordinator/core/figures/figures.h"
#include "coordinator/core/figures/visit.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

constexpr size_t kMostPlaces = 1000;
constexpr size_t kMostRunning = 100;
constexpr size_t kMostFailures = 50;
constexpr size_t kMostNodes = 20;
constexpr size_t kMostEvidence = 4096;
constexpr char kOthers[] = "others";

// Returns the number of nodes a job needs. Each node runs one process (rank) per GPU that the job
// uses on it, or one process if the job uses no GPU.
int NodesNeeded(const v1::Job& job) {
  return std::max(1, job.world_size() / std::max(1, job.gpu_indices_size()));
}

// Returns the name of the place where a job runs, ran or may run.
std::string PlaceOf(const v1::Job& job) {
  const bool placed = job.state() != v1::JOB_STATE_QUEUED && job.has_start_time();
  const int candidates = job.node_names_size() + job.more_node_count();
  if (!placed && candidates > NodesNeeded(job)) return "any of " + std::to_string(candidates);
  std::vector<std::string> names(job.node_names().begin(), job.node_names().end());
  std::sort(names.begin(), names.end());
  return Join(names, " + ");
}

void Count(const v1::Job& job, v1::PlaceProgress& place) {
  v1::JobCounts& jobs = *place.mutable_jobs();
  switch (job.state()) {
    case v1::JOB_STATE_RUNNING:
      jobs.set_running(jobs.running() + 1);
      break;
    case v1::JOB_STATE_SUCCEEDED:
      jobs.set_succeeded(jobs.succeeded() + 1);
      break;
    case v1::JOB_STATE_FAILED:
      jobs.set_failed(jobs.failed() + 1);
      break;
    case v1::JOB_STATE_CANCELLED:
      jobs.set_cancelled(jobs.cancelled() + 1);
      break;
    case v1::JOB_STATE_SKIPPED:
      jobs.set_skipped(jobs.skipped() + 1);
      break;
    default:
      jobs.set_queued(jobs.queued() + 1);
  }
  place.set_case_count(place.case_count() + job.case_count());
  place.set_cases_done(place.cases_done() + job.cases_done());
}

void Merge(const v1::PlaceProgress& from, v1::PlaceProgress& to) {
  v1::JobCounts& jobs = *to.mutable_jobs();
  jobs.set_queued(jobs.queued() + from.jobs().queued());
  jobs.set_running(jobs.running() + from.jobs().running());
  jobs.set_succeeded(jobs.succeeded() + from.jobs().succeeded());
  jobs.set_failed(jobs.failed() + from.jobs().failed());
  jobs.set_cancelled(jobs.cancelled() + from.jobs().cancelled());
  jobs.set_skipped(jobs.skipped() + from.jobs().skipped());
  to.set_case_count(to.case_count() + from.case_count());
  to.set_cases_done(to.cases_done() + from.cases_done());
}

// Failed jobs of one benchmark with one reason.
struct Failures {
  int jobs = 0;
  std::set<std::string> nodes;
  v1::Failure failure;
};

class ProgressMaker {
 public:
  explicit ProgressMaker(const RunningJobs& running) : running_jobs_(running) {}

  void Add(const v1::Job& job) {
    // Imported jobs have no index, because they belong to no entry of a campaign's spec.
    const int index = job.has_benchmark_index() ? job.benchmark_index() : -1;
    const std::string place = PlaceOf(job);
    Count(job, counts_[{index, job.benchmark()}][place]);
    int& weight = places_[place];
    if (job.state() == v1::JOB_STATE_RUNNING || job.state() == v1::JOB_STATE_FAILED) ++weight;
    if (job.state() == v1::JOB_STATE_RUNNING) running_.push_back(job);
    if (job.state() == v1::JOB_STATE_FAILED) AddFailure(job);
  }

  v1::GetCampaignProgressResponse Make() && {
    v1::GetCampaignProgressResponse response;
    MakePlaces(response);
    MakeRunning(response);
    MakeFailures(response);
    return response;
  }

 private:
  void AddFailure(const v1::Job& job) {
    Failures& failures = failures_[{job.benchmark(), job.failure().reason()}];
    if (failures.jobs++ == 0) failures.failure = job.failure();
    failures.nodes.insert(job.node_names().begin(), job.node_names().end());
  }

  // Returns the places (where jobs run) that get their own columns: all places or, if there are too
  // many, those with the most running and failed jobs.
  std::set<std::string> ShownPlaces() const {
    std::set<std::string> shown;
    if (places_.size() <= kMostPlaces) {
      for (const auto& [name, weight] : places_) shown.insert(name);
      return shown;
    }
    std::vector<std::pair<int, std::string>> sorted;
    for (const auto& [name, weight] : places_) sorted.emplace_back(-weight, name);
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i + 1 < kMostPlaces; ++i) shown.insert(sorted[i].second);
    return shown;
  }

  void MakePlaces(v1::GetCampaignProgressResponse& response) const {
    std::map<std::string, int> numbers;
    for (const std::string& name : ShownPlaces()) {
      numbers[name] = response.places_size();
      response.add_places(name);
    }
    const int others = response.places_size();
    if (numbers.size() < places_.size()) response.add_places(kOthers);
    for (const auto& [key, places] : counts_) {
      v1::BenchmarkProgress& benchmark = *response.add_benchmarks();
      benchmark.set_benchmark_index(key.first >= 0 ? key.first : response.benchmarks_size() - 1);
      benchmark.set_benchmark(key.second);
      v1::PlaceProgress rest;
      for (const auto& [name, counted] : places) {
        const auto number = numbers.find(name);
        if (number == numbers.end()) {
          Merge(counted, rest);
          continue;
        }
        v1::PlaceProgress& place = *benchmark.add_places();
        place = counted;
        place.set_place(number->second);
      }
      if (rest.has_jobs()) {
        rest.set_place(others);
        *benchmark.add_places() = std::move(rest);
      }
    }
  }

  void MakeRunning(v1::GetCampaignProgressResponse& response) {
    std::sort(running_.begin(), running_.end(), [](const v1::Job& a, const v1::Job& b) {
      const auto key = [](const v1::Job& job) {
        return std::tuple(job.start_time().seconds(), job.start_time().nanos(), job.job_id());
      };
      return key(a) < key(b);
    });
    if (running_.size() > kMostRunning) running_.resize(kMostRunning);
    for (const v1::Job& job : running_) {
      v1::RunningJobProgress& running = *response.add_running();
      running.set_job_id(job.job_id());
      running.set_benchmark(job.benchmark());
      *running.mutable_node_names() = job.node_names();
      *running.mutable_gpu_indices() = job.gpu_indices();
      running.set_phase(running_jobs_.PhaseOf({job.job_id(), job.epoch()}));
      running.set_case_count(job.case_count());
      running.set_cases_done(job.cases_done());
      *running.mutable_start_time() = job.start_time();
    }
  }

  void MakeFailures(v1::GetCampaignProgressResponse& response) const {
    std::vector<v1::FailureSummary> summaries;
    for (const auto& [key, failures] : failures_) {
      v1::FailureSummary& summary = summaries.emplace_back();
      summary.set_job_count(failures.jobs);
      summary.set_benchmark(key.first);
      for (const std::string& node : failures.nodes) {
        if (summary.node_names_size() == static_cast<int>(kMostNodes)) break;
        summary.add_node_names(node);
      }
      *summary.mutable_failure() = failures.failure;
      summary.mutable_failure()->set_evidence(Cut(failures.failure.evidence(), kMostEvidence));
    }
    std::stable_sort(summaries.begin(), summaries.end(),
                     [](const auto& a, const auto& b) { return a.job_count() > b.job_count(); });
    if (summaries.size() > kMostFailures) summaries.resize(kMostFailures);
    response.mutable_failures()->Assign(summaries.begin(), summaries.end());
  }

  const RunningJobs& running_jobs_;
  // By index and name of the benchmark, and by place.
  std::map<std::pair<int, std::string>, std::map<std::string, v1::PlaceProgress>> counts_;
  // The number of running and failed jobs, by place.
  std::map<std::string, int> places_;
  std::vector<v1::Job> running_;
  std::map<std::pair<std::string, v1::Reason>, Failures> failures_;
};

}  // namespace

Result<v1::GetCampaignProgressResponse> Figures::GetProgress(const std::string& campaign) const {
  ASSAY_ASSIGN_OR_RETURN(const v1::Campaign found, environment_.jobs.GetCampaign(campaign));
  ProgressMaker maker(running_);
  ASSAY_RETURN_IF_ERROR(
      VisitJobs(environment_, found.campaign_id(), [&](const v1::Job& job) { maker.Add(job); }));
  v1::GetCampaignProgressResponse response = std::move(maker).Make();
  response.set_campaign_id(found.campaign_id());
  return response;
}

}  // namespace assay::coordinator

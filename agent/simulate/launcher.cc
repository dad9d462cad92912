#include "agent/simulate/launcher.h"

#include <algorithm>
#include <utility>

#include "agent/core/result_context.h"
#include "common/mutex.h"
#include "wire/durations.h"
#include "wire/timestamps.h"

namespace assay::agent {
namespace {

// A simulated job. Each step is a task on the executor:
//   begin --> one task per case --> finished
// A job on several nodes reports GangReady after `begin`, and waits for Go before its first case.
class Job : public std::enable_shared_from_this<Job> {
 public:
  Job(std::shared_ptr<SimulatedLauncher::Shared> shared, v1::JobSpec spec, JobEvents events)
      : shared_(std::move(shared)), spec_(std::move(spec)), events_(std::move(events)) {}

  void Begin() {
    if (FailsAll()) {
      return Finish(MakeFailure(v1::REASON_RUNNER_CRASHED,
                                "the simulated runner crashed, as a fault of this node demands"));
    }
    if (spec_.node_ids_size() < 2) return Start();
    events_.gang_ready(HasRankZero() ? "simulated" : "");
  }

  void Start() {
    events_.phase("measure");
    Next();
  }

  void Finish(std::optional<v1::Failure> failure) {
    MutexLock lock(mutex_);
    if (finished_) return;
    finished_ = true;
    JobOutcome outcome;
    outcome.failure = std::move(failure);
    if (outcome.failure) outcome.failure->set_node_id(shared_->node->description().node_id());
    outcome.runner_time = shared_->job_time;
    events_.finished(std::move(outcome));
  }

  // Runs `step` on the executor after `delay`, unless the job has ended.
  void After(Duration delay, void (Job::*step)()) {
    shared_->executor->PostAfter(delay, [self = shared_from_this(), step] {
      {
        MutexLock lock(self->mutex_);
        if (self->finished_) return;
      }
      ((*self).*step)();
    });
  }

  void Abandon() {
    MutexLock lock(mutex_);
    finished_ = true;
  }

 private:
  bool HasRankZero() const {
    return std::any_of(spec_.ranks().begin(), spec_.ranks().end(),
                       [](const v1::RankPlacement& rank) { return rank.rank() == 0; });
  }

  bool FailsAll() const {
    const std::string& name = shared_->node->description().name();
    const WallTime now = Clock::Real().WallNow();
    return std::any_of(shared_->faults.begin(), shared_->faults.end(), [&](const Fault& fault) {
      return fault.kind == Fault::Kind::kFailingNode && fault.IsOf(name) && now >= fault.since;
    });
  }

  void Next() {
    case_start_ = Clock::Real().WallNow();
    After(shared_->job_time / spec_.cases_size(), &Job::RunCase);
  }

  void RunCase() {
    if (HasRankZero()) {
      const v1::NodeDescription& node = shared_->node->description();
      v1::CaseResult result = shared_->measurements.Measure(node, spec_, spec_.cases(next_case_));
      *result.mutable_start_time() = schema::ToTimestamp(case_start_);
      *result.mutable_end_time() = schema::ToTimestamp(Clock::Real().WallNow());
      ResultContext context;
      context.node = node;
      context.job = spec_;
      for (const v1::RankPlacement& rank : spec_.ranks()) {
        if (rank.gpu_index() >= 0) context.gpus.push_back(node.inventory().gpus(rank.gpu_index()));
      }
      CompleteResult(context, &result);
      events_.result(std::move(result));
    }
    if (++next_case_ < spec_.cases_size()) return Next();
    Finish(std::nullopt);
  }

  const std::shared_ptr<SimulatedLauncher::Shared> shared_;
  const v1::JobSpec spec_;
  const JobEvents events_;
  int next_case_ = 0;  // Used on the executor, as is the next.
  WallTime case_start_;

  Mutex mutex_;
  bool finished_ ASSAY_GUARDED_BY(mutex_) = false;
};

class Handle : public LaunchedJob {
 public:
  Handle(std::shared_ptr<SimulatedLauncher::Shared> shared, v1::JobSpec spec, JobEvents events)
      : shared_(std::move(shared)) {
    for (const v1::RankPlacement& rank : spec.ranks()) {
      if (rank.gpu_index() >= 0) gpus_.push_back(rank.gpu_index());
    }
    shared_->busy_gpus.insert(gpus_.begin(), gpus_.end());
    job_ = std::make_shared<Job>(shared_, std::move(spec), std::move(events));
    job_->After(Duration::zero(), &Job::Begin);
  }
  ~Handle() override {
    job_->Abandon();
    for (const int gpu : gpus_) shared_->busy_gpus.erase(shared_->busy_gpus.find(gpu));
  }

  void Go(std::string /*token*/) override { job_->After(Duration::zero(), &Job::Start); }
  void Stop(v1::Failure why) override { job_->Finish(std::move(why)); }

 private:
  const std::shared_ptr<SimulatedLauncher::Shared> shared_;
  std::vector<int> gpus_;
  std::shared_ptr<Job> job_;
};

}  // namespace

SimulatedLauncher::SimulatedLauncher(std::shared_ptr<const Node> node, std::vector<Fault> faults,
                                     uint64_t seed, uint64_t first_run, Duration job_time,
                                     Executor* executor)
    : shared_(std::make_shared<Shared>(
          Shared{std::move(node), faults, job_time, executor, {seed, faults, first_run}})) {}

std::unique_ptr<LaunchedJob> SimulatedLauncher::Launch(v1::JobSpec spec, JobEvents events) {
  return std::make_unique<Handle>(shared_, std::move(spec), std::move(events));
}

}  // namespace assay::agent

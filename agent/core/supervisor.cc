#include "agent/core/supervisor.h"

#include <google/protobuf/util/time_util.h>
#include <signal.h>

#include <chrono>
#include <thread>
#include <utility>

#include "agent/core/rank_group.h"
#include "agent/core/result_context.h"
#include "agent/core/runner_environment.h"
#include "common/log.h"
#include "common/mutex.h"
#include "wire/durations.h"

namespace assay::agent {
namespace {

using google::protobuf::util::TimeUtil;

constexpr Duration kPreflightBudget = std::chrono::seconds(5);
constexpr Duration kDefaultTimeout = std::chrono::minutes(20);

Duration TimeoutOf(const v1::JobSpec& spec) {
  const Duration timeout = FromProto(spec.timeout());
  return timeout > Duration::zero() ? timeout : kDefaultTimeout;
}

google::protobuf::Timestamp Now() {
  return TimeUtil::NanosecondsToTimestamp(Clock::Real().WallNow().time_since_epoch().count());
}

std::vector<int> GpuIndices(const v1::JobSpec& spec) {
  std::vector<int> indices;
  for (const v1::RankPlacement& rank : spec.ranks()) {
    if (rank.gpu_index() >= 0) indices.push_back(rank.gpu_index());
  }
  return indices;
}

class SupervisedJob : public LaunchedJob {
 public:
  SupervisedJob(const SupervisorOptions& options, std::shared_ptr<Node> node,
                std::shared_ptr<const Preflight> preflight, v1::JobSpec spec, JobEvents events)
      : options_(options),
        node_(std::move(node)),
        preflight_(std::move(preflight)),
        spec_(std::move(spec)),
        events_(std::move(events)),
        launch_time_(std::chrono::steady_clock::now()),
        thread_([this] { Run(); }) {}

  ~SupervisedJob() override {
    Stop(MakeFailure(v1::REASON_AGENT_STOPPED, "the agent stopped"));
    thread_.join();
  }

  void Go(std::string token) override {
    MutexLock lock(mutex_);
    if (group_ != nullptr) group_->Go(std::move(token));
  }

  void Stop(v1::Failure why) override {
    MutexLock lock(mutex_);
    if (group_ != nullptr) {
      group_->Stop(std::move(why));
    } else if (!early_stop_) {
      early_stop_ = std::move(why);
    }
  }

 private:
  void Run() {
    // With the signal blocked, writing to a runner that has ended fails with an error.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    JobOutcome outcome;
    try {
      outcome = RunToTheEnd();
    } catch (const std::exception& error) {
      Log().error("job {} broke its supervisor: {}", spec_.job_id(), error.what());
      outcome.failure =
          MakeFailure(v1::REASON_AGENT_ERROR, std::string("the agent failed: ") + error.what());
    }
    if (outcome.failure && outcome.failure->node_id().empty()) {
      outcome.failure->set_node_id(node_->description().node_id());
    }
    events_.finished(std::move(outcome));
  }

  JobOutcome RunToTheEnd() {
    JobOutcome outcome;
    PreflightReport report = preflight_->Run(GpuIndices(spec_), kPreflightBudget);
    node_->SetHealth(report.findings);
    if (const v1::HealthFinding* error = report.FirstError()) {
      outcome.failure =
          MakeFailure(v1::REASON_PREFLIGHT_FAILED, error->message(), "check: " + error->check());
      return outcome;
    }
    const v1::NodeDescription node = node_->description();
    nccl_ = GangEnvironment(spec_,
                            options_.nccl_host_id.empty() ? node.node_id() : options_.nccl_host_id,
                            options_.advertise_address);
    context_ = {node, spec_, report.gpus, report.WarningFlags(),
                EffectiveNccl(spec_, nccl_, node.node_id())};
    case_start_ = Now();
    RankGroup group(GroupOptions(report.gpus), group_events_);
    Attach(&group);
    MonotonicTime started = launch_time_;
    outcome.failure = group.Run([&] {
      started = std::chrono::steady_clock::now();
      outcome.start_delay = started - launch_time_;
    });
    outcome.runner_time = std::chrono::steady_clock::now() - started;
    Attach(nullptr);
    return outcome;
  }

  RankGroup::Options GroupOptions(const std::vector<v1::GpuInventory>& gpus) const {
    RankGroup::Options options;
    options.runner = options_.runner;
    options.advertise_address = options_.advertise_address;
    options.spec = spec_;
    options.timeout = TimeoutOf(spec_);
    options.event_patience = options_.event_patience;
    options.cache_folder = options_.cache_folder;
    options.node_name = node_->description().name();
    options.prepare = options_.prepare;
    options.nccl = nccl_;
    size_t next_gpu = 0;
    for (const v1::RankPlacement& rank : spec_.ranks()) {
      const bool gpu = rank.gpu_index() >= 0;
      options.ranks.push_back({rank.rank(), gpu ? gpus.at(next_gpu++).uuid() : ""});
    }
    return options;
  }

  // Sets the group that Go and Stop reach from now on. An earlier Stop is passed on to it.
  void Attach(RankGroup* group) {
    MutexLock lock(mutex_);
    group_ = group;
    if (group != nullptr && early_stop_) group->Stop(*std::exchange(early_stop_, std::nullopt));
  }

  void OnResult(v1::CaseResult result) {
    const google::protobuf::Timestamp now = Now();
    if (!result.has_start_time()) *result.mutable_start_time() = case_start_;
    if (!result.has_end_time()) *result.mutable_end_time() = now;
    case_start_ = now;
    CompleteResult(context_, &result);
    events_.result(std::move(result));
  }

  const SupervisorOptions options_;
  const std::shared_ptr<Node> node_;
  const std::shared_ptr<const Preflight> preflight_;
  const v1::JobSpec spec_;
  const JobEvents events_;
  const JobEvents group_events_ = {events_.phase, events_.gang_ready,
                                   [this](v1::CaseResult result) { OnResult(std::move(result)); },
                                   nullptr};
  const MonotonicTime launch_time_;

  // Used only by the job's thread.
  std::map<std::string, std::string> nccl_;  // The result of GangEnvironment.
  ResultContext context_;
  google::protobuf::Timestamp case_start_;

  Mutex mutex_;
  RankGroup* group_ ASSAY_GUARDED_BY(mutex_) = nullptr;
  std::optional<v1::Failure> early_stop_ ASSAY_GUARDED_BY(mutex_);

  std::thread thread_;  // Declared last, because it uses all of the above.
};

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, std::shared_ptr<Node> node,
                       std::shared_ptr<const Preflight> preflight)
    : options_(std::move(options)), node_(std::move(node)), preflight_(std::move(preflight)) {}

std::unique_ptr<LaunchedJob> Supervisor::Launch(v1::JobSpec spec, JobEvents events) {
  return std::make_unique<SupervisedJob>(options_, node_, preflight_, std::move(spec),
                                         std::move(events));
}

}  // namespace assay::agent

#include "agent/rpc/agent_service.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "agent/core/direct_job.h"
#include "agent/core/runner_query.h"
#include "agent/rpc/reaction.h"
#include "agent/rpc/session_stream.h"
#include "common/mutex.h"
#include "wire/status_conversion.h"

namespace assay::agent {
namespace {

constexpr Duration kCheckTimeout = std::chrono::seconds(20);

class ServerStream
    : public SessionStream<grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>,
                           /*kReadsToTheEnd=*/false> {
 public:
  using SessionStream::SessionStream;

  void OnDone() override { Release(); }

 protected:
  void End() override { Finish(grpc::Status::OK); }
};

// One RunJob call, which runs a single case (a benchmark with fixed parameters) and streams
// progress and the result to the caller. The call fails if this node cannot run the case, and the
// job is stopped early if the caller disconnects. The job is started, stopped and ended on the
// executor, but its progress and result are sent from its own thread. The object deletes itself
// after gRPC's last callback.
class RunJobStream : public grpc::ServerWriteReactor<v1::RunJobResponse>,
                     public std::enable_shared_from_this<RunJobStream> {
 public:
  explicit RunJobStream(const DirectJobHost& host) : host_(host) {}

  void Start(const v1::RunJobRequest& request) {
    self_ = shared_from_this();
    host_.executor->Post([self = self_, request] { self->Launch(request); });
  }

  void OnWriteDone(bool ok) override {
    React("writing to RunJob", [&] {
      MutexLock lock(mutex_);
      writing_ = false;
      if (!ok) queue_.clear();  // The caller has disconnected; OnCancel stops the job.
      Pump();
    });
  }

  void OnCancel() override {
    React("cancelling RunJob",
          [&] { host_.executor->Post([self = shared_from_this()] { self->StopJob(); }); });
  }

  void OnDone() override { self_.reset(); }

 private:
  void Launch(const v1::RunJobRequest& request) {
    Result<v1::JobSpec> spec = PlanDirectJob(host_.node->description(), request);
    if (spec.status().code() == Code::kFailedPrecondition) {
      return RefuseForLack(request, spec.status());
    }
    if (!spec.ok()) return FinishWith(spec.status());
    if (!host_.occupancy->TryEnterDirect()) {
      return FinishWith(FailedPrecondition("this node is measuring already", Reason::kNodeBusy)
                            .WithHint("try again when its jobs have ended"));
    }
    progress_.set_job_id(spec->job_id());
    progress_.set_epoch(spec->epoch());
    progress_.set_cases_total(spec->cases_size());
    const auto self = shared_from_this();
    job_ = host_.launcher->Launch(
        *std::move(spec), {[self](const std::string& phase) { self->OnPhase(phase); },
                           // All ranks are on this node, so no gang waits.
                           [](const std::string&) {},
                           [self](v1::CaseResult result) { self->OnResult(std::move(result)); },
                           [self](JobOutcome outcome) {
                             self->host_.executor->Post([self, outcome = std::move(outcome)] {
                               self->OnOutcome(outcome);
                             });
                           }});
    if (stop_asked_) StopJob();
  }

  // Ends the call with the error `lack`, which says why this node cannot run the benchmark. If the
  // parameters are invalid, reports that instead. Only the runner program can check them. Runs it
  // on a separate thread to keep the executor free, and never during a job, whose measurement it
  // would disturb.
  void RefuseForLack(const v1::RunJobRequest& request, const Status& lack) {
    if (!host_.occupancy->TryEnterDirect()) return FinishWith(lack);
    std::thread([self = shared_from_this(), request, lack] {
      const Status sound = CheckParameters(
          self->host_.runner, request.benchmark(),
          {request.parameters().begin(), request.parameters().end()}, kCheckTimeout);
      self->host_.executor->Post([self, end = sound.ok() ? lack : sound] {
        self->host_.occupancy->LeaveDirect();
        self->FinishWith(end);
      });
    }).detach();
  }

  void StopJob() {
    stop_asked_ = true;
    if (job_ == nullptr) return;
    job_->Stop(MakeFailure(v1::REASON_CANCELLED, "the caller went away"));
  }

  void OnPhase(const std::string& phase) {
    v1::RunJobResponse response;
    progress_.set_phase(phase);
    *response.mutable_progress() = progress_;
    Send(std::move(response));
  }

  void OnResult(v1::CaseResult result) {
    v1::RunJobResponse response;
    progress_.set_cases_done(progress_.cases_done() + 1);
    *response.mutable_case_result() = std::move(result);
    Send(std::move(response));
  }

  void OnOutcome(const JobOutcome& outcome) {
    job_.reset();
    host_.occupancy->LeaveDirect();
    if (outcome.failure) {
      v1::RunJobResponse response;
      *response.mutable_failure() = *outcome.failure;
      Send(std::move(response));
    }
    FinishWith(Status::Ok());
  }

  // Newer progress replaces progress that has not been written yet.
  void Send(v1::RunJobResponse response) {
    MutexLock lock(mutex_);
    if (response.has_progress()) {
      std::erase_if(queue_, [](const auto& waiting) { return waiting.has_progress(); });
    }
    queue_.push_back(std::move(response));
    Pump();
  }

  void FinishWith(const Status& status) {
    MutexLock lock(mutex_);
    end_ = rpc::ToGrpc(status);
    Pump();
  }

  // Reactions never run inside these gRPC calls, so the lock may be held.
  void Pump() ASSAY_REQUIRES(mutex_) {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      outgoing_ = std::move(queue_.front());
      queue_.pop_front();
      writing_ = true;
      StartWrite(&outgoing_);
    } else if (end_) {
      finished_ = true;
      Finish(*end_);
    }
  }

  const DirectJobHost host_;
  std::shared_ptr<RunJobStream> self_;  // Reset when gRPC has finished with the call.

  // Used by the executor alone.
  std::unique_ptr<LaunchedJob> job_;
  bool stop_asked_ = false;
  // Used by the executor until Launch, then by the job's thread.
  v1::RunningJob progress_;

  Mutex mutex_;
  std::deque<v1::RunJobResponse> queue_ ASSAY_GUARDED_BY(mutex_);
  v1::RunJobResponse outgoing_;  // Owned by gRPC while writing_.
  bool writing_ ASSAY_GUARDED_BY(mutex_) = false;
  bool finished_ ASSAY_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> end_ ASSAY_GUARDED_BY(mutex_);  // Finish with it once all is written.
};

}  // namespace

grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>* AgentServiceImpl::Session(
    grpc::CallbackServerContext* context) {
  Log().info("{} opens a session", context->peer());
  const auto stream = std::make_shared<ServerStream>(session_, host_.executor);
  stream->Begin();
  return stream.get();
}

grpc::ServerUnaryReactor* AgentServiceImpl::GetInventory(grpc::CallbackServerContext* context,
                                                         const v1::GetInventoryRequest*,
                                                         v1::GetInventoryResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  React("GetInventory", [&] { *response->mutable_node() = host_.node->Describe(); });
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* AgentServiceImpl::ListBenchmarks(grpc::CallbackServerContext* context,
                                                           const v1::ListBenchmarksRequest*,
                                                           v1::ListBenchmarksResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  React("ListBenchmarks",
        [&] { *response->mutable_benchmarks() = host_.node->Schemas().benchmarks(); });
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::RunJobResponse>* AgentServiceImpl::RunJob(
    grpc::CallbackServerContext*, const v1::RunJobRequest* request) {
  const auto stream = std::make_shared<RunJobStream>(host_);
  stream->Start(*request);
  return stream.get();
}

}  // namespace assay::agent

// Answers unary calls on the executor. Limits their number and counts outcomes.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/executor.h"
#include "common/status.h"
#include "coordinator/core/attempts/outage.h"
#include "coordinator/core/guarded.h"
#include "coordinator/rpc/admission.h"
#include "coordinator/rpc/open_streams.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::rpc {

// Runs `body`, which returns nothing, and logs an exception.
template <typename Body>
void Reaction(const char* what, Body&& body) {
  static_cast<void>(Guarded(what, [&] {
    body();
    return Status::Ok();
  }));
}

// The functions by which services answer their calls. Thread-safe. Must outlive the server's calls.
class Calls {
 public:
  // Receives the outcome of every call, including streams.
  using Counter = std::function<void(const char* method, Code code)>;

  // `check` decides whether a caller may keep its open streams; see OpenStreams.
  Calls(Executor& executor, Executor& readers, Counter counter, assay::rpc::CallerCheck check)
      : executor_(executor),
        readers_(readers),
        counter_(std::move(counter)),
        streams_(std::make_shared<OpenStreams>(Clock::Real(), executor, std::move(check))) {}

  void Count(const char* method, Code code) const {
    if (counter_) counter_(method, code);
  }
  Executor& executor() const { return executor_; }
  // Returns the executor for slow work. It has its own threads, so that slow work does not delay
  // lease renewals and other calls.
  Executor& readers() const { return readers_; }

  // Runs `body` on the executor, where it may block, and answers the call with the Status that
  // `body` returns. The request and the response stay valid until then. If too many calls are in
  // progress, answers RESOURCE_EXHAUSTED immediately.
  //
  // While the database is unreachable, keeps retrying `body` for about three seconds. A run that
  // fails must leave the response unchanged, so fill the response only after the last step that can
  // fail.
  template <typename Body>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const char* method,
                                   Body body) const {
    return AnswerOn(executor_, calls_, context, method, std::move(body));
  }

  // Answers a call like Answer(), but for slow queries of results. Runs `body` on one of a few
  // threads reserved for such queries, so that it does not delay lease renewals or other calls.
  template <typename Body>
  grpc::ServerUnaryReactor* AnswerRead(grpc::CallbackServerContext* context, const char* method,
                                       Body body) const {
    return AnswerOn(readers_, reads_, context, method, std::move(body));
  }

  // Answers a call like Answer(), but `body` may return OK before the result is known. The Done
  // function passed to `body` must then be called exactly once with the result. If `body` returns
  // an error, that is the answer. At most four such calls may be in progress at a time.
  using Done = std::function<void(Status)>;
  template <typename Body>
  grpc::ServerUnaryReactor* AnswerLater(grpc::CallbackServerContext* context, const char* method,
                                        Body body) const {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    Result<Admission::Place> place = slow_calls_.Enter(PeerKey(*context));
    if (!place.ok()) {
      Finish(reactor, method, place.status());
      return reactor;
    }
    executor_.Post([this, reactor, method, place = *std::move(place), body = std::move(body)]() {
      const Status started = Guarded(method, [&] {
        return body(
            [this, reactor, method, place](Status status) { Finish(reactor, method, status); });
      });
      if (!started.ok()) Finish(reactor, method, started);
    });
    return reactor;
  }

  // Returns the registry of open streams. Every stream must be registered there.
  const std::shared_ptr<OpenStreams>& streams() const { return streams_; }
  // Places for streams of WatchCampaign.
  Admission& watches() const { return watches_; }
  // Places for streams of WatchFleet.
  Admission& fleet_watches() const { return fleet_watches_; }

 private:
  // Attempts per call while the database is unreachable. With RetryDelay between them, they take
  // about three seconds, less than any client's timeout.
  static constexpr int kTries = 6;

  template <typename Body>
  grpc::ServerUnaryReactor* AnswerOn(Executor& executor, Admission& admission,
                                     grpc::CallbackServerContext* context, const char* method,
                                     Body body) const {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    Result<Admission::Place> place = admission.Enter(PeerKey(*context));
    if (!place.ok()) {
      Finish(reactor, method, place.status());
      return reactor;
    }
    executor.Post([this, &executor, context, reactor, method, place = *std::move(place),
                   body = std::move(body)]() mutable {
      Try(executor, context, reactor, method, std::move(place), std::move(body), 0);
    });
    return reactor;
  }

  template <typename Body>
  void Try(Executor& executor, grpc::CallbackServerContext* context,
           grpc::ServerUnaryReactor* reactor, const char* method, Admission::Place place, Body body,
           int attempt) const {
    const Status status = Guarded(method, body);
    const bool retry =
        status.code() == Code::kUnavailable && status.reason() != Reason::kStatementTimeout;
    if (!retry || attempt + 1 == kTries || context->IsCancelled()) {
      Finish(reactor, method, status);
      return;
    }
    executor.PostAfter(RetryDelay(attempt), [=, this, &executor, place = std::move(place),
                                             body = std::move(body)]() mutable {
      Try(executor, context, reactor, method, std::move(place), std::move(body), attempt + 1);
    });
  }

  void Finish(grpc::ServerUnaryReactor* reactor, const char* method, const Status& status) const {
    Count(method, status.code());
    reactor->Finish(assay::rpc::ToGrpc(ForUsers(status)));
  }

  // Replaces the texts of database errors, because users do not need to know the database's address
  // or the names of queries.
  static Status ForUsers(const Status& status) {
    switch (status.reason()) {
      case Reason::kDatabaseUnavailable:
        return Unavailable("the coordinator's database does not answer", status.reason())
            .WithHint("running jobs go on; the coordinator's log has the cause");
      case Reason::kStatementTimeout:
        return Status(Code::kDeadlineExceeded, status.reason(),
                      "the question takes the database too long")
            .WithHint("ask for less: a narrower filter or a smaller limit");
      default:
        return status;
    }
  }

  Executor& executor_;
  Executor& readers_;
  const Counter counter_;
  const std::shared_ptr<OpenStreams> streams_;
  mutable Admission calls_{"calls", 128, 512};
  // Two calls run on the threads for queries, and 32 wait.
  mutable Admission reads_{"queries of results", 34, 34};
  mutable Admission slow_calls_{"calls that wait for an agent", 4, 4};
  mutable Admission watches_{"watches", 32, 256};
  mutable Admission fleet_watches_{"watches of the fleet", 64, 256};
};

}  // namespace assay::coordinator::rpc

#include "coordinator/rpc/watch.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "common/mutex.h"
#include "model/page.h"
#include "wire/access.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::rpc {
namespace {

using Response = v1::WatchCampaignResponse;
using Reactor = grpc::ServerWriteReactor<Response>;

// Age at which an estimate is replaced by a new one.
constexpr Duration kEstimateAge = std::chrono::seconds(5);
// Minimum time between two reads of a campaign by the same watch, after the first few reads. A
// campaign changes with every job, and each read takes several database statements.
constexpr Duration kLoadPeriod = std::chrono::milliseconds(500);
constexpr int kQuickLoads = 5;

// The state of one WatchCampaign call. It may outlive the call's gRPC reactor, so that a late
// notification still finds a valid object.
class Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
        Reactor* reactor, const v1::WatchCampaignRequest& request)
      : coordinator_(coordinator),
        calls_(calls),
        context_(context),
        without_jobs_(request.without_jobs()),
        campaign_(request.campaign()),
        reactor_(reactor) {}

  // Handles a possible change of the campaign.
  void Changed() {
    MutexLock lock(mutex_);
    dirty_ = true;
    if (state_ != State::kIdle || reactor_ == nullptr) return;
    state_ = State::kLoading;
    PostLoad();
  }

  // Ends a watch that was never started.
  void Refuse(const Status& status) {
    MutexLock lock(mutex_);
    Finish(status);
  }

  void OnWriteDone(bool ok) {
    MutexLock lock(mutex_);
    state_ = State::kIdle;
    if (ending_) return Finish(*ending_);
    if (!ok) return Finish(Gone());
    if (last_) return Finish(Status::Ok());
    calls_.executor().PostAfter(coordinator_.options().repeat_period,
                                [weak = weak_from_this(), write = writes_] {
                                  if (const auto self = weak.lock()) self->RepeatAfter(write);
                                });
    if (!dirty_) return;
    state_ = State::kLoading;
    PostLoad();
  }

  void OnCancel() { End(Gone()); }

  // Ends the watch with `status`. A peer that does not read its messages does not get the status.
  void End(const Status& status) {
    MutexLock lock(mutex_);
    if (!ending_) ending_ = status;
    if (state_ == State::kIdle) Finish(*ending_);
    if (state_ == State::kWriting) CancelAfter(kEndPatience);
  }

  void OnDone() {
    int64_t subscription = 0;
    {
      MutexLock lock(mutex_);
      reactor_ = nullptr;
      subscription = std::exchange(subscription_, 0);
    }
    if (subscription != 0) coordinator_.watchers().Unsubscribe(subscription);
  }

 private:
  enum class State { kIdle, kLoading, kWriting };

  void PostLoad() ASSAY_REQUIRES(mutex_) {
    const auto load = [self = shared_from_this()] { self->Load(); };
    // If a part of the last read is left, send the next page without delay.
    if (!unsent_.empty()) return calls_.executor().Post(load);
    const MonotonicTime now = Clock::Real().Now();
    loads_due_ = std::max(loads_due_, now) + kLoadPeriod;
    const Duration delay = loads_due_ - now - kQuickLoads * kLoadPeriod;
    if (delay <= Duration(0)) return calls_.executor().Post(load);
    calls_.executor().PostAfter(delay, load);
  }

  void Load() {
    {
      MutexLock lock(mutex_);
      dirty_ = false;
    }
    Response response;
    const Status loaded = Guarded("WatchCampaign", [&] { return Fill(response); });
    MutexLock lock(mutex_);
    state_ = State::kIdle;
    if (reactor_ == nullptr || finished_) return;
    if (ending_) return Finish(*ending_);
    // Keep the watch open during an outage of the database. The next poll causes another load.
    if (loaded.code() == Code::kUnavailable && !first_) return;
    if (!loaded.ok()) return Finish(loaded);
    v1::Campaign compared = response.campaign();
    compared.clear_spec();
    AddEstimate(response);
    // The first estimate is sent at once, later ones with the next change.
    std::string bytes = compared.SerializeAsString() + (response.has_estimate() ? "+" : "");
    if (!unsent_.empty()) dirty_ = true;
    if (!first_ && !repeat_ && response.jobs().empty() && bytes == last_campaign_) {
      if (!dirty_) return;
      state_ = State::kLoading;
      return PostLoad();
    }
    first_ = repeat_ = false;
    last_campaign_ = std::move(bytes);
    last_ = response.campaign().verdict() != v1::VERDICT_UNSPECIFIED;
    response_ = std::move(response);
    state_ = State::kWriting;
    ++writes_;
    CancelAfter(kReadPatience);
    reactor_->StartWrite(&response_);
  }

  // Sends the campaign again if nothing has been written since write number `write`.
  void RepeatAfter(int64_t write) {
    {
      MutexLock lock(mutex_);
      if (writes_ != write) return;
      repeat_ = true;
    }
    Changed();
  }

  // Ends the watch if the current write still waits for the peer to read after `patience`.
  void CancelAfter(Duration patience) ASSAY_REQUIRES(mutex_) {
    calls_.executor().PostAfter(patience, [weak = weak_from_this(), write = writes_] {
      if (const auto self = weak.lock()) self->CancelIfWriting(write);
    });
  }

  // Ends the watch if write number `write` still waits for the peer to read.
  void CancelIfWriting(int64_t write) {
    MutexLock lock(mutex_);
    if (state_ == State::kWriting && writes_ == write && reactor_ != nullptr) context_.TryCancel();
  }

  Status Fill(Response& response) {
    ASSAY_ASSIGN_OR_RETURN(*response.mutable_campaign(), coordinator_.GetCampaign(campaign_));
    if (revision_ < 0) {
      // Use the id from now on, because a newer campaign may take the name.
      campaign_ = response.campaign().campaign_id();
      Subscribe();
      revision_ = 0;
    }
    if (unsent_.empty() && !without_jobs_) {
      ASSAY_ASSIGN_OR_RETURN(storage::JobStore::JobChanges changes,
                             coordinator_.ListJobChanges(campaign_, revision_));
      revision_ = changes.revision;
      unsent_.assign(std::make_move_iterator(changes.jobs.begin()),
                     std::make_move_iterator(changes.jobs.end()));
    }
    for (size_t bytes = 0; !unsent_.empty() && bytes < kMaxPageBytes; unsent_.pop_front()) {
      bytes += unsent_.front().ByteSizeLong();
      *response.add_jobs() = std::move(unsent_.front());
    }
    // The verdict is sent with the last jobs, because it ends the watch.
    if (!unsent_.empty()) response.mutable_campaign()->clear_verdict();
    // Send the spec only in the first message.
    if (!first_) response.mutable_campaign()->clear_spec();
    return Status::Ok();
  }

  // Adds the latest estimate of the remaining work if the campaign has not ended. If that estimate
  // is old, starts computing a new one.
  void AddEstimate(Response& response) ASSAY_REQUIRES(mutex_) {
    if (response.campaign().state() != v1::CAMPAIGN_STATE_ACTIVE) return;
    if (estimate_) *response.mutable_estimate() = *estimate_;
    const MonotonicTime now = coordinator_.clock().Now();
    if (estimating_ || (estimated_at_ && now - *estimated_at_ < kEstimateAge)) return;
    estimating_ = true;
    if (response.campaign().has_spec()) effort_ = response.campaign().spec().effort();
    calls_.readers().Post([self = shared_from_this(), campaign = campaign_, effort = effort_] {
      self->Estimate(campaign, effort);
    });
  }

  void Estimate(const std::string& campaign, v1::Effort effort) {
    std::optional<v1::Estimate> made;
    // An error can be ignored, because the watch continues without a new estimate.
    const Status ignored = Guarded("Estimate", [&]() -> Status {
      if (!costs_) {
        ASSAY_ASSIGN_OR_RETURN(costs_, coordinator_.estimator().CostsOf(campaign, effort));
      }
      ASSAY_ASSIGN_OR_RETURN(made, coordinator_.estimator().OfRest(campaign, *costs_));
      return Status::Ok();
    });
    static_cast<void>(ignored);
    bool first = false;
    {
      MutexLock lock(mutex_);
      first = made && !estimate_;
      if (made) estimate_ = std::move(made);
      estimated_at_ = coordinator_.clock().Now();
      estimating_ = false;
    }
    if (first) Changed();
  }

  void Subscribe() {
    const int64_t id = coordinator_.watchers().Subscribe(campaign_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Changed();
    });
    bool gone = false;
    {
      MutexLock lock(mutex_);
      gone = reactor_ == nullptr;
      if (!gone) subscription_ = id;
    }
    if (gone) coordinator_.watchers().Unsubscribe(id);
  }

  void Finish(const Status& status) ASSAY_REQUIRES(mutex_) {
    if (finished_ || reactor_ == nullptr) return;
    finished_ = true;
    calls_.Count("WatchCampaign", status.code());
    reactor_->Finish(assay::rpc::ToGrpc(status));
  }

  Coordinator& coordinator_;
  const Calls& calls_;
  grpc::CallbackServerContext& context_;  // Valid while reactor_ is.
  const bool without_jobs_;
  // The campaign to watch. This member and the following ones need no mutex. Only one Load runs at
  // a time, and all other code uses these members only while no Load is running.
  std::string campaign_;
  int64_t revision_ = -1;
  std::deque<v1::Job> unsent_;  // Changes up to that revision.
  bool first_ = true;           // Nothing has been sent yet.
  std::string last_campaign_;   // The campaign as it was sent last, without its spec.
  // Used only by Estimate, of which at most one call runs at a time.
  std::optional<Estimator::Costs> costs_;

  Mutex mutex_;
  Reactor* reactor_ ASSAY_GUARDED_BY(mutex_);
  State state_ ASSAY_GUARDED_BY(mutex_) = State::kIdle;
  // The time at which the next load would be due if there were one load per kLoadPeriod.
  MonotonicTime loads_due_ ASSAY_GUARDED_BY(mutex_){};
  Response response_ ASSAY_GUARDED_BY(mutex_);
  int64_t writes_ ASSAY_GUARDED_BY(mutex_) = 0;
  int64_t subscription_ ASSAY_GUARDED_BY(mutex_) = 0;
  v1::Effort effort_ ASSAY_GUARDED_BY(mutex_) = v1::EFFORT_UNSPECIFIED;
  std::optional<v1::Estimate> estimate_ ASSAY_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> estimated_at_ ASSAY_GUARDED_BY(mutex_);
  bool estimating_ ASSAY_GUARDED_BY(mutex_) = false;
  bool last_ ASSAY_GUARDED_BY(mutex_) = false;  // The last message ends the watch.
  bool dirty_ ASSAY_GUARDED_BY(mutex_) = false;
  bool repeat_ ASSAY_GUARDED_BY(mutex_) = false;  // Send the campaign although it is the same.
  std::optional<Status> ending_ ASSAY_GUARDED_BY(mutex_);
  bool finished_ ASSAY_GUARDED_BY(mutex_) = false;
};

class WatchReactor : public Reactor {
 public:
  WatchReactor(Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
               const v1::WatchCampaignRequest& request)
      : watch_(std::make_shared<Watch>(coordinator, calls, context, this, request)) {
    Result<Admission::Place> place = calls.watches().Enter(PeerKey(context));
    if (place.ok()) {
      place_ = *std::move(place);
      stream_ = calls.streams()->Add(assay::rpc::CallerOf(context),
                                     [weak = std::weak_ptr<Watch>(watch_)](const Status& status) {
                                       if (const auto watch = weak.lock()) watch->End(status);
                                     });
      watch_->Changed();
    } else {
      watch_->Refuse(place.status());
    }
  }
  void OnWriteDone(bool ok) override {
    Reaction("WatchCampaign.OnWriteDone", [&] { watch_->OnWriteDone(ok); });
  }
  void OnCancel() override {
    Reaction("WatchCampaign.OnCancel", [&] { watch_->OnCancel(); });
  }
  void OnDone() override {
    Reaction("WatchCampaign.OnDone", [&] { watch_->OnDone(); });
    delete this;
  }

 private:
  const std::shared_ptr<Watch> watch_;
  Admission::Place place_;
  OpenStreams::Place stream_;
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchCampaignResponse>* NewWatch(
    Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
    const v1::WatchCampaignRequest& request) {
  return new WatchReactor(coordinator, calls, context, request);
}

}  // namespace assay::coordinator::rpc

#include "coordinator/rpc/watch.h"

#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "common/mutex.h"
#include "model/page.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::rpc {
namespace {

using Response = v1::WatchCampaignResponse;
using Reactor = grpc::ServerWriteReactor<Response>;

// A peer that does not read a message for so long is disconnected.
constexpr Duration kReadPatience = std::chrono::seconds(30);

Status Gone() { return Status(Code::kCancelled, Reason::kNone, "the watcher has gone"); }

// Outlives its reactor, so that a late notification finds a valid object.
class Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
        Reactor* reactor, std::string campaign)
      : coordinator_(coordinator),
        calls_(calls),
        context_(context),
        campaign_(std::move(campaign)),
        reactor_(reactor) {}

  // Handles a possible change of the campaign.
  void Changed() {
    {
      MutexLock lock(mutex_);
      dirty_ = true;
      if (state_ != State::kIdle || reactor_ == nullptr) return;
      state_ = State::kLoading;
    }
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
    if (!ok || broken_) return Finish(Gone());
    if (last_) return Finish(Status::Ok());
    if (!dirty_) return;
    state_ = State::kLoading;
    PostLoad();
  }

  void OnCancel() {
    MutexLock lock(mutex_);
    broken_ = true;
    if (state_ == State::kIdle) Finish(Gone());
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

  void PostLoad() {
    calls_.executor().Post([self = shared_from_this()] { self->Load(); });
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
    if (broken_) return Finish(Gone());
    // A watch survives an outage of the database: the next poll tries again.
    if (loaded.code() == Code::kUnavailable && !first_) return;
    if (!loaded.ok()) return Finish(loaded);
    v1::Campaign compared = response.campaign();
    compared.clear_spec();
    std::string bytes = compared.SerializeAsString();
    if (!unsent_.empty()) dirty_ = true;
    if (!first_ && response.jobs().empty() && bytes == last_campaign_) {
      if (!dirty_) return;
      state_ = State::kLoading;
      return PostLoad();
    }
    first_ = false;
    last_campaign_ = std::move(bytes);
    last_ = response.campaign().verdict() != v1::VERDICT_UNSPECIFIED;
    response_ = std::move(response);
    state_ = State::kWriting;
    ++writes_;
    calls_.executor().PostAfter(kReadPatience, [weak = weak_from_this(), write = writes_] {
      if (const auto self = weak.lock()) self->CancelIfWriting(write);
    });
    reactor_->StartWrite(&response_);
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
    if (unsent_.empty()) {
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
    // The spec is sent once.
    if (!first_) response.mutable_campaign()->clear_spec();
    return Status::Ok();
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
  // Used by Load alone, which never runs twice at a time.
  std::string campaign_;
  int64_t revision_ = -1;
  std::deque<v1::Job> unsent_;  // Changes up to that revision.
  bool first_ = true;           // Nothing has been sent yet.
  std::string last_campaign_;   // The campaign as it was sent last, without its spec.

  Mutex mutex_;
  Reactor* reactor_ ASSAY_GUARDED_BY(mutex_);
  State state_ ASSAY_GUARDED_BY(mutex_) = State::kIdle;
  Response response_ ASSAY_GUARDED_BY(mutex_);
  int64_t writes_ ASSAY_GUARDED_BY(mutex_) = 0;
  int64_t subscription_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool last_ ASSAY_GUARDED_BY(mutex_) = false;  // The last message ends the watch.
  bool dirty_ ASSAY_GUARDED_BY(mutex_) = false;
  bool broken_ ASSAY_GUARDED_BY(mutex_) = false;
  bool finished_ ASSAY_GUARDED_BY(mutex_) = false;
};

class WatchReactor : public Reactor {
 public:
  WatchReactor(Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
               std::string campaign)
      : watch_(std::make_shared<Watch>(coordinator, calls, context, this, std::move(campaign))) {
    Result<Admission::Place> place = calls.watches().Enter(PeerKey(context));
    if (place.ok()) {
      place_ = *std::move(place);
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
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchCampaignResponse>* NewWatch(Coordinator& coordinator,
                                                              const Calls& calls,
                                                              grpc::CallbackServerContext& context,
                                                              std::string campaign) {
  return new WatchReactor(coordinator, calls, context, std::move(campaign));
}

}  // namespace assay::coordinator::rpc

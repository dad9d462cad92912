#include "coordinator/rpc/fleet_watch.h"

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "common/mutex.h"
#include "coordinator/rpc/watch.h"
#include "model/page.h"
#include "wire/access.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::rpc {
namespace {

using FleetResponse = v1::WatchFleetResponse;
using FleetReactor = grpc::ServerWriteReactor<FleetResponse>;

// Maximum size of an answer. It fits into a message of gRPC and of the console.
constexpr size_t kMaxAnswerBytes = 12 << 20;

// The state of one WatchFleet call. It may outlive the call's gRPC reactor, so that a task that
// finishes late still finds a valid object.
class FleetWatch : public std::enable_shared_from_this<FleetWatch> {
 public:
  FleetWatch(Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
             FleetReactor* reactor, std::string filter)
      : view_(coordinator.fleet_view()),
        options_(coordinator.options()),
        clock_(coordinator.clock()),
        calls_(calls),
        context_(context),
        filter_(std::move(filter)),
        reactor_(reactor) {}

  void Start() {
    MutexLock lock(mutex_);
    LoadAfter(Duration(0));
  }

  // Ends a watch that was never started.
  void Refuse(const Status& status) {
    MutexLock lock(mutex_);
    Finish(status);
  }

  void OnWriteDone(bool ok) {
    MutexLock lock(mutex_);
    state_ = State::kWaiting;
    if (ending_) return Finish(*ending_);
    if (!ok) return Finish(Gone());
    LoadAfter(more_ ? Duration(0) : options_.fleet_period);
  }

  void OnCancel() { End(Gone()); }

  // Ends the watch with `status`. A peer that does not read its messages does not get the status.
  void End(const Status& status) {
    MutexLock lock(mutex_);
    if (!ending_) ending_ = status;
    if (state_ == State::kWaiting) Finish(*ending_);
    if (state_ == State::kWriting) CancelAfter(kEndPatience);
  }

  void OnDone() {
    MutexLock lock(mutex_);
    reactor_ = nullptr;
  }

 private:
  enum class State { kWaiting, kLoading, kWriting };

  void LoadAfter(Duration delay) ASSAY_REQUIRES(mutex_) {
    calls_.readers().PostAfter(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Load();
    });
  }

  void Load() {
    {
      MutexLock lock(mutex_);
      if (finished_ || reactor_ == nullptr) return;
      state_ = State::kLoading;
    }
    FleetResponse response;
    bool send = false;
    const Status loaded = Guarded("WatchFleet", [&] { return Fill(response, send); });
    MutexLock lock(mutex_);
    state_ = State::kWaiting;
    if (ending_) return Finish(*ending_);
    // Keep the watch open during an outage of the database, and load again later.
    if (loaded.code() == Code::kUnavailable && !first_) return LoadAfter(options_.fleet_period);
    if (!loaded.ok()) return Finish(loaded);
    const MonotonicTime now = clock_.Now();
    if (!send && now - written_ < options_.repeat_period) return LoadAfter(options_.fleet_period);
    first_ = false;
    more_ = !unsent_.empty();
    written_ = now;
    response_ = std::move(response);
    state_ = State::kWriting;
    ++writes_;
    CancelAfter(kReadPatience);
    reactor_->StartWrite(&response_);
  }

  // Ends the watch if the current write still waits for the peer to read after `patience`.
  void CancelAfter(Duration patience) ASSAY_REQUIRES(mutex_) {
    calls_.readers().PostAfter(patience, [weak = weak_from_this(), write = writes_] {
      if (const auto self = weak.lock()) self->CancelIfWriting(write);
    });
  }

  // Ends the watch if write number `write` still waits for the peer to read.
  void CancelIfWriting(int64_t write) {
    MutexLock lock(mutex_);
    if (state_ == State::kWriting && writes_ == write && reactor_ != nullptr) context_.TryCancel();
  }

  // Fills the next message. Sets `send` if the message contains something new.
  Status Fill(FleetResponse& response, bool& send) {
    if (unsent_.empty()) {
      ASSAY_ASSIGN_OR_RETURN(const auto snapshot, view_.Latest());
      ASSAY_ASSIGN_OR_RETURN(const FleetView::Rows matching, view_.Matching(*snapshot, filter_));
      FleetChanges::Changes changes = changes_.Since(*snapshot, matching);
      unsent_.assign(changes.rows.begin(), changes.rows.end());
      response.mutable_removed_node_ids()->Assign(changes.removed.begin(), changes.removed.end());
      summary_ = snapshot->summary;
      send = first_ || !unsent_.empty() || !changes.removed.empty() || changes.summary_changed;
    } else {
      send = true;
    }
    for (size_t bytes = 0; !unsent_.empty() && bytes < kMaxPageBytes; unsent_.pop_front()) {
      bytes += unsent_.front()->node.ByteSizeLong();
      *response.add_nodes() = unsent_.front()->node;
    }
    *response.mutable_summary() = summary_;
    return Status::Ok();
  }

  void Finish(const Status& status) ASSAY_REQUIRES(mutex_) {
    if (finished_ || reactor_ == nullptr) return;
    finished_ = true;
    calls_.Count("WatchFleet", status.code());
    reactor_->Finish(assay::rpc::ToGrpc(status));
  }

  FleetView& view_;
  const Options& options_;
  const Clock& clock_;
  const Calls& calls_;
  grpc::CallbackServerContext& context_;  // Valid while reactor_ is.
  const std::string filter_;
  // Used only by Load, of which at most one call runs at a time.
  FleetChanges changes_;
  std::deque<std::shared_ptr<const FleetView::Row>> unsent_;
  v1::FleetSummary summary_;
  bool first_ = true;  // Nothing has been sent yet.

  Mutex mutex_;
  FleetReactor* reactor_ ASSAY_GUARDED_BY(mutex_);
  State state_ ASSAY_GUARDED_BY(mutex_) = State::kWaiting;
  FleetResponse response_ ASSAY_GUARDED_BY(mutex_);
  MonotonicTime written_ ASSAY_GUARDED_BY(mutex_){};
  int64_t writes_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool more_ ASSAY_GUARDED_BY(mutex_) = false;  // The changes did not fit the last message.
  std::optional<Status> ending_ ASSAY_GUARDED_BY(mutex_);
  bool finished_ ASSAY_GUARDED_BY(mutex_) = false;
};

class FleetWatchReactor : public FleetReactor {
 public:
  FleetWatchReactor(Coordinator& coordinator, const Calls& calls,
                    grpc::CallbackServerContext& context, std::string filter)
      : watch_(std::make_shared<FleetWatch>(coordinator, calls, context, this, std::move(filter))) {
    Result<Admission::Place> place = calls.fleet_watches().Enter(PeerKey(context));
    if (place.ok()) {
      place_ = *std::move(place);
      stream_ =
          calls.streams()->Add(assay::rpc::CallerOf(context),
                               [weak = std::weak_ptr<FleetWatch>(watch_)](const Status& status) {
                                 if (const auto watch = weak.lock()) watch->End(status);
                               });
      watch_->Start();
    } else {
      watch_->Refuse(place.status());
    }
  }
  void OnWriteDone(bool ok) override {
    Reaction("WatchFleet.OnWriteDone", [&] { watch_->OnWriteDone(ok); });
  }
  void OnCancel() override {
    Reaction("WatchFleet.OnCancel", [&] { watch_->OnCancel(); });
  }
  void OnDone() override {
    Reaction("WatchFleet.OnDone", [&] { watch_->OnDone(); });
    delete this;
  }

 private:
  const std::shared_ptr<FleetWatch> watch_;
  Admission::Place place_;
  OpenStreams::Place stream_;
};

}  // namespace

Result<v1::GetFleetResponse> FleetOf(FleetView& view, const std::string& filter) {
  ASSAY_ASSIGN_OR_RETURN(const auto snapshot, view.Latest());
  ASSAY_ASSIGN_OR_RETURN(const FleetView::Rows rows, view.Matching(*snapshot, filter));
  v1::GetFleetResponse response;
  size_t bytes = 0;
  for (const std::shared_ptr<const FleetView::Row>& row : rows) {
    bytes += row->node.ByteSizeLong();
    if (bytes > kMaxAnswerBytes) {
      return Status(Code::kResourceExhausted, Reason::kNone,
                    "the state of " + std::to_string(rows.size()) + " nodes exceeds a message")
          .WithHint("narrow the filter, or use WatchFleet, which sends several messages");
    }
    *response.add_nodes() = row->node;
  }
  *response.mutable_summary() = snapshot->summary;
  return response;
}

grpc::ServerWriteReactor<v1::WatchFleetResponse>* NewFleetWatch(
    Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
    std::string filter) {
  return new FleetWatchReactor(coordinator, calls, context, std::move(filter));
}

}  // namespace assay::coordinator::rpc

#include "agent/join/renewer.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "common/log.h"
#include "common/mutex.h"
#include "common/units.h"

namespace assay::agent {
namespace {

// Certificates are valid from five minutes before they were issued; see identity/authority.h.
constexpr Duration kBackdating = std::chrono::minutes(5);
constexpr Duration kLeastLife = std::chrono::seconds(3);
constexpr Duration kLeastPause = std::chrono::seconds(1);
constexpr Duration kMostPause = std::chrono::minutes(5);
constexpr Duration kNever = std::chrono::hours(24 * 365);

}  // namespace

std::optional<Status> ExpulsionOf(const Status& status) {
  Reason reason = status.reason();
  if (reason == Reason::kNone && status.code() == Code::kPermissionDenied) {
    reason = Reason::kBanned;
  }
  if (reason == Reason::kNone && status.code() == Code::kUnauthenticated) {
    reason = Reason::kNoIdentity;
  }
  if (reason != Reason::kBanned && reason != Reason::kNoIdentity) return std::nullopt;
  const Status expelled(status.code(), reason, status.message());
  if (!status.hint().empty()) return expelled.WithHint(status.hint());
  return expelled.WithHint(reason == Reason::kBanned
                               ? "an admin can end the ban: assay node unban"
                               : "ask an admin for a new invite: assay node invite");
}

RenewalSchedule::RenewalSchedule(const Clock& clock, const identity::Enrolled& enrolled,
                                 Renewal renewal, uint64_t seed)
    : clock_(clock), renewal_(std::move(renewal)), random_(seed) {
  Plan(enrolled, enrolled.expire_time - clock_.WallNow());
}

void RenewalSchedule::Plan(const identity::Enrolled& enrolled, Duration left) {
  life_ = std::max(kLeastLife, enrolled.expire_time - enrolled.issue_time - kBackdating);
  left = std::clamp(left, Duration::zero(), life_);
  const auto now = clock_.Now();
  end_ = now + left;
  std::uniform_real_distribution<double> jitter(0.9, 1);
  const Duration wait = std::max(Duration::zero(), left - life_ / 3);
  due_ = now + std::chrono::duration_cast<Duration>(wait * jitter(random_));
}

Result<identity::Enrolled> RenewalSchedule::Renew() {
  const bool expired = clock_.Now() >= end_;
  Result<identity::Enrolled> renewed =
      expired ? Status(Code::kUnavailable, Reason::kBadCertificate, "the certificate has expired")
              : renewal_.by_session();
  if (renewed.ok() || ExpulsionOf(renewed.status())) return renewed;
  if (clock_.Now() < end_ - life_ / 6) return renewed;
  return renewal_.by_key();
}

Duration RenewalSchedule::Step() {
  if (clock_.Now() < due_) return due_ - clock_.Now();
  const Result<identity::Enrolled> renewed = Renew();
  if (renewed.ok()) {
    Plan(*renewed, Duration::max());
    Log().info("the certificate was renewed; the next renewal is in {}",
               FormatDuration(due_ - clock_.Now()));
    renewal_.renewed();
  } else if (const auto expulsion = ExpulsionOf(renewed.status())) {
    due_ = clock_.Now() + kNever;
    renewal_.refused(*expulsion);
  } else {
    due_ = clock_.Now() + std::clamp(life_ / 30, kLeastPause, kMostPause);
    Log().warn("the certificate could not be renewed ({}); next try in {}",
               renewed.status().message(), FormatDuration(due_ - clock_.Now()));
  }
  return std::max(Duration::zero(), due_ - clock_.Now());
}

struct Renewer::State {
  Mutex mutex;
  CondVar changed;
  bool stopped ASSAY_GUARDED_BY(mutex) = false;
};

Renewer::Renewer(const identity::Enrolled& enrolled, const Renewal& renewal)
    : state_(std::make_shared<State>()) {
  Renewal guarded = renewal;
  guarded.renewed = [state = state_, renewed = renewal.renewed] {
    MutexLock lock(state->mutex);
    if (!state->stopped) renewed();
  };
  guarded.refused = [state = state_, refused = renewal.refused](const Status& status) {
    MutexLock lock(state->mutex);
    if (!state->stopped) refused(status);
  };
  std::thread([state = state_, enrolled, guarded] {
    RenewalSchedule schedule(Clock::Real(), enrolled, guarded, std::random_device()());
    while (true) {
      const MonotonicTime next = Clock::Real().Now() + schedule.Step();
      MutexLock lock(state->mutex);
      while (!state->stopped && state->changed.WaitUntil(state->mutex, next)) {
      }
      if (state->stopped) return;
    }
  }).detach();
}

Renewer::~Renewer() {
  MutexLock lock(state_->mutex);
  state_->stopped = true;
  state_->changed.NotifyAll();
}

}  // namespace assay::agent

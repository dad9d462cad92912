// A job that the coordinator gave this agent, and its lease.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/core/job_launcher.h"
#include "assay/v1/session.pb.h"
#include "common/clock.h"

namespace assay::agent {

//   Waiting --the node is free--> Running --its processes have gone--> Reporting
//      |                             |            (results, then JobFinished, are sent
//      +--cancelled, out of lease----+-------->    until acknowledged) --> forgotten
//
//   Replaced by a newer epoch: stopped, and forgotten without a word once it has gone.
struct AssignedJob {
  using Id = std::pair<std::string, int64_t>;  // Job and epoch.
  enum class State { kWaiting, kRunning, kReporting };

  Id id() const { return {spec.job_id(), spec.epoch()}; }
  v1::RunningJob Progress() const;
  // When its runners must begin to stop, so that they have gone when the lease ends.
  MonotonicTime StopTime() const;
  // The lease holds for `length` from `from` on, unless it already holds for longer.
  void Extend(MonotonicTime from, Duration length);
  // Tells its runners, which must have been launched, to end.
  void Stop(v1::Failure why);

  v1::JobSpec spec;
  State state = State::kWaiting;
  bool replaced = false;
  bool stopping = false;                  // Its runners were told to end, and have not all gone.
  std::unique_ptr<LaunchedJob> launched;  // While Running.
  std::string phase = "starting";
  int cases_done = 0;
  std::optional<std::string> gang_token;  // GangReady was said and GangGo has not come.

  MonotonicTime assign_time;
  Duration start_wait{0};  // Of that, waiting for the node to be free.
  Duration lease_length{0};
  MonotonicTime lease_deadline;

  std::optional<v1::JobFinished> finished;  // While Reporting.
  std::optional<MonotonicTime> finished_sent;
};

// Why this node cannot run `spec`; absent if it can. The coordinator is a peer:
// everything in it is checked.
std::optional<v1::Failure> RefusalOf(const v1::JobSpec& spec, const v1::NodeDescription& node);

}  // namespace assay::agent

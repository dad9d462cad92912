// Takes part in the election of the coordinator that schedules the fleet.
#pragma once

#include <string>
#include <utility>

#include "common/mutex.h"
#include "common/status.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// The addresses of a coordinator process.
struct Place {
  // The host and listening address of the process. Only one process at a time can have this seat.
  // If the recorded leader has the same seat as this process, that leader must have died, so this
  // process becomes the leader immediately.
  std::string seat;
  // HOST:PORT at which agents reach the process.
  std::string address;
};

// Knows which coordinator is the leader. Only the leader claims jobs, keeps the agents' sessions,
// judges campaigns, runs schedules and dials agents. All coordinators answer requests of users.
// Thread-safe.
//
//   +----------+   elected, or its own predecessor led    +--------+
//   | follower | ---------------------------------------> | leader |
//   +----------+ <--------------------------------------- +--------+
//                 another was elected, Resign
//
// A leader that cannot reach the database still considers itself the leader. If another coordinator
// is elected meanwhile, the old leader's SQL statements have no effect, because they contain an
// outdated term (the number of an election).
class Leadership {
 public:
  Leadership(const Environment& environment, const Options& options)
      : environment_(environment), options_(options) {}

  // Sets the place. Call it once, before Renew.
  void Stand(Place place) {
    MutexLock lock(mutex_);
    place_ = std::move(place);
  }

  enum class Change { kNone, kGained, kLost };
  // Tries to be elected, or extends the leader's lease. Blocks on the database.
  Result<Change> Renew();
  // Permanently gives up the leadership, so that another coordinator can be elected immediately.
  // Blocks on the database.
  void Resign();

  bool IsLeader() const { return Now().term != 0; }
  // Returns the term of this leader, or 0 for a follower.
  int64_t Term() const { return Now().term; }
  // Returns the address of the leader. Empty if it is unknown or if this coordinator is the leader.
  std::string LeaderAddress() const { return Now().address; }

 private:
  struct State {
    int64_t term = 0;
    std::string address;
    bool resigned = false;
  };
  State Now() const {
    MutexLock lock(mutex_);
    return state_;
  }
  // Returns the name under which this process stands for election.
  std::string OwnerAt(const Place& place) const {
    return place.seat + " " + options_.coordinator_id;
  }

  const Environment& environment_;
  const Options& options_;
  mutable Mutex mutex_;
  State state_ ASSAY_GUARDED_BY(mutex_);
  Place place_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator

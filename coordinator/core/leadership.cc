#include "coordinator/core/leadership.h"

#include "common/log.h"

namespace assay::coordinator {

Result<Leadership::Change> Leadership::Renew() {
  Place place;
  {
    MutexLock lock(mutex_);
    if (state_.resigned) return Change::kNone;
    place = place_;
  }
  const std::string owner = OwnerAt(place);
  storage::FleetStore& fleet = environment_.fleet;
  ASSAY_ASSIGN_OR_RETURN(storage::Leader leader, fleet.Elect(owner, place.address, options_.lease));
  if (leader.owner != owner && leader.owner.starts_with(place.seat + " ")) {
    ASSAY_RETURN_IF_ERROR(fleet.Resign(leader.owner));
    ASSAY_ASSIGN_OR_RETURN(leader, fleet.Elect(owner, place.address, options_.lease));
  }
  const bool leads = leader.owner == owner;
  bool led = false;
  {
    MutexLock lock(mutex_);
    if (state_.resigned) return Change::kNone;
    led = state_.term != 0;
    state_.term = leads ? leader.term : 0;
    state_.address = leads ? "" : leader.address;
  }
  if (leads == led) return Change::kNone;
  if (leads) {
    Log().info("this coordinator schedules the fleet (term {})", leader.term);
    return Change::kGained;
  }
  Log().warn("{} schedules the fleet now", leader.address.empty()
                                               ? std::string("another coordinator")
                                               : "the coordinator at " + leader.address);
  return Change::kLost;
}

void Leadership::Resign() {
  std::string owner;
  {
    MutexLock lock(mutex_);
    state_ = {0, "", true};
    owner = OwnerAt(place_);
  }
  const Status resigned = environment_.fleet.Resign(owner);
  if (!resigned.ok()) Log().warn("could not hand over the scheduling: {}", resigned.ToString());
}

}  // namespace assay::coordinator

#include "storage/fakes/fake_stores.h"

namespace assay::storage {

Result<Leader> FakeFleetStore::Elect(const std::string& owner, const std::string& address,
                                     Duration lease) {
  MutexLock lock(database_.mutex);
  const MonotonicTime now = database_.clock.Now();
  Leader& leader = database_.leader;
  if (leader.owner == owner || !database_.led_until || *database_.led_until <= now) {
    leader = {owner, address, leader.term + (leader.owner == owner ? 0 : 1)};
    database_.led_until = now + lease;
  }
  return leader;
}

Status FakeFleetStore::Resign(const std::string& owner) {
  MutexLock lock(database_.mutex);
  if (database_.leader.owner == owner) database_.led_until.reset();
  return Status::Ok();
}

}  // namespace assay::storage

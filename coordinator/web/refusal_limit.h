// Limits how often one network address may be refused.
#pragma once

#include <map>
#include <string>

#include "common/clock.h"
#include "common/mutex.h"

namespace assay::coordinator::web {

// Each address may be refused 200 times at once, and then ten times per second, because many nodes
// may share one address. All addresses of a /64 network of IPv6 count as one, because one machine
// can use them all. Thread-safe.
class RefusalLimit {
 public:
  explicit RefusalLimit(const Clock& clock) : clock_(clock) {}

  // Returns false if the address was refused too often.
  bool Allows(const std::string& address);
  void NoteRefusal(const std::string& address);

 private:
  struct Entry {
    double left = 0;
    MonotonicTime time{};
  };
  // Returns how many refusals are left now.
  double LeftAt(const Entry& entry, MonotonicTime now) const;

  const Clock& clock_;
  Mutex mutex_;
  // Addresses whose limit is not whole.
  std::map<std::string, Entry> entries_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator::web

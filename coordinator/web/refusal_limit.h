// Limits how often one network address may be refused.
#pragma once

#include <map>
#include <string>

#include "common/clock.h"
#include "common/mutex.h"

namespace assay::coordinator::web {

// A limit on the refused requests of each client address: 200 in a burst, then ten per second. The
// limit is this high because many nodes may share an address. All addresses in an IPv6 /64 network
// are treated as one, because a single machine can use all of them. Thread-safe.
class RefusalLimit {
 public:
  explicit RefusalLimit(const Clock& clock) : clock_(clock) {}

  // Returns false if requests of this address were refused too often.
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
  // Addresses that have used up a part of their limit.
  std::map<std::string, Entry> entries_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator::web

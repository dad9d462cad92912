// Subscriptions to changes of campaigns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"

namespace assay::coordinator {

// A registry of callbacks that run when a campaign changes. Thread-safe. Callbacks run on the
// thread that calls Notify, with no locks held, and must return quickly. A callback may run once
// more even after Unsubscribe has returned.
class Watchers {
 public:
  using Callback = std::function<void()>;

  int64_t Subscribe(const std::string& campaign_id, Callback callback) {
    MutexLock lock(mutex_);
    entries_[++last_id_] = {campaign_id, std::move(callback)};
    return last_id_;
  }

  void Unsubscribe(int64_t id) {
    MutexLock lock(mutex_);
    entries_.erase(id);
  }

  void Notify(const std::string& campaign_id) const { Call(&campaign_id); }
  // Calls all callbacks. Use this if any campaign may have changed.
  void NotifyAll() const { Call(nullptr); }

 private:
  void Call(const std::string* campaign_id) const {
    std::vector<Callback> callbacks;
    {
      MutexLock lock(mutex_);
      for (const auto& [id, entry] : entries_) {
        if (campaign_id == nullptr || entry.first == *campaign_id) {
          callbacks.push_back(entry.second);
        }
      }
    }
    for (const Callback& callback : callbacks) callback();
  }

  mutable Mutex mutex_;
  int64_t last_id_ ASSAY_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, std::pair<std::string, Callback>> entries_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator

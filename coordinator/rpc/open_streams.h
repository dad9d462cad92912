// Tracks the open streams of callers with certificates. Ends a stream when its caller loses
// permission to make calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "common/clock.h"
#include "common/executor.h"
#include "common/mutex.h"
#include "common/status.h"
#include "wire/access.h"
#include "wire/roles.h"

namespace assay::coordinator::rpc {

// A registry of open streams. Thread-safe. Must be created with std::make_shared.
class OpenStreams : public std::enable_shared_from_this<OpenStreams> {
 public:
  // `clock` and `executor` must outlive the object. `check` may be empty.
  OpenStreams(const Clock& clock, Executor& executor, assay::rpc::CallerCheck check)
      : clock_(clock), executor_(executor), check_(std::move(check)) {}

  // Ends the streams of callers whose certificates have expired, now and every second.
  void Follow();

  // The registration of a stream, which ends when its last copy is destroyed.
  using Place = std::shared_ptr<void>;
  // Registers a stream. Calls `end` with the error, at most once, when the caller's certificate
  // expires or the caller loses its permission. `end` must return quickly. It may run before this
  // function returns, or even after the returned place has been destroyed.
  Place Add(const Identity& caller, std::function<void(const Status&)> end);

  // Checks all callers again. Call this when `check` may return other results than before.
  void Recheck();

 private:
  struct Entry {
    Identity caller;
    std::function<void(const Status&)> end;
  };
  // Ends the streams for whose callers `permitted` returns an error.
  void EndWhere(const std::function<Status(const Identity&)>& permitted);
  // Returns the result of `check_`, but OK for UNAVAILABLE, which is not final.
  Status Permitted(const Identity& caller) const;
  void Remove(int64_t id);

  const Clock& clock_;
  Executor& executor_;
  const assay::rpc::CallerCheck check_;
  Mutex mutex_;
  int64_t last_id_ ASSAY_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Entry> entries_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator::rpc

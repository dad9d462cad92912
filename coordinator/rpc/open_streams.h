// The open streams of callers with certificates. They end when the caller may not call any more.
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

// Thread-safe. Must be created with std::make_shared.
class OpenStreams : public std::enable_shared_from_this<OpenStreams> {
 public:
  // `clock` and `executor` must outlive the object. `check` may be empty.
  OpenStreams(const Clock& clock, Executor& executor, assay::rpc::CallerCheck check)
      : clock_(clock), executor_(executor), check_(std::move(check)) {}

  // Looks for certificates that have expired, now and every second.
  void Follow();

  // A stream is registered until the last copy is gone.
  using Place = std::shared_ptr<void>;
  // Registers a stream. `end` is called at most once, with the error, when the caller's certificate
  // expires or the caller does not pass the check any more. It must return quickly, may run before
  // this function returns, and once more after the place has gone.
  Place Add(const Identity& caller, std::function<void(const Status&)> end);

  // Checks all callers again. Call it when `check` may have changed.
  void Recheck();

 private:
  struct Entry {
    Identity caller;
    std::function<void(const Status&)> end;
  };
  // Ends the streams whose callers get an error.
  void EndWhere(const std::function<Status(const Identity&)>& permitted);
  // Returns the errors of `check_` that are final.
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

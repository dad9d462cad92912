// Times iterations on a GPU with events on the stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "common/status.h"

namespace assay {

// Owns its events and reuses them. Used by one thread, with one GPU.
class EventTimer {
 public:
  EventTimer() = default;
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  ~EventTimer();

  // Enqueues `samples` x `batch` calls of `iterate` on `stream` without a pause, an
  // event between samples, after one untimed call that keeps the cost of the first
  // launch out (so samples * batch + 1 in all). Appends each sample's seconds an
  // iteration. `wait` returns once all is done.
  Status Time(cudaStream_t stream, int64_t samples, int64_t batch,
              const std::function<Status()>& iterate, const std::function<Status()>& wait,
              std::vector<double>* seconds);

  // Waits by cudaStreamSynchronize.
  Status Time(cudaStream_t stream, int64_t samples, int64_t batch,
              const std::function<Status()>& iterate, std::vector<double>* seconds);

  // As above, but `before` is enqueued ahead of every sample and of the untimed call, and
  // is not timed.
  Status TimeApart(cudaStream_t stream, int64_t samples, int64_t batch,
                   const std::function<Status()>& before, const std::function<Status()>& iterate,
                   std::vector<double>* seconds);

 private:
  // Has at least `count` events.
  Status MakeEvents(int64_t count);

  std::vector<cudaEvent_t> events_;
};

}  // namespace assay

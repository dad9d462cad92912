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

  // Enqueues `samples` x `batch` calls of `iterate` on `stream` without a pause, with an event
  // between samples. One untimed call comes first and absorbs the cost of the first launch, so
  // there are samples * batch + 1 calls. Appends each sample's seconds per iteration. `wait`
  // returns once all work is done.
  Status Time(cudaStream_t stream, int64_t samples, int64_t batch,
              const std::function<Status()>& iterate, const std::function<Status()>& wait,
              std::vector<double>* seconds);

  // Waits with cudaStreamSynchronize.
  Status Time(cudaStream_t stream, int64_t samples, int64_t batch,
              const std::function<Status()>& iterate, std::vector<double>* seconds);

  // As the first, with `before` enqueued, untimed, before every sample and before the untimed call.
  Status TimeApart(cudaStream_t stream, int64_t samples, int64_t batch,
                   const std::function<Status()>& before, const std::function<Status()>& iterate,
                   const std::function<Status()>& wait, std::vector<double>* seconds);

 private:
  // Ensures that there are at least `count` events.
  Status MakeEvents(int64_t count);

  std::vector<cudaEvent_t> events_;
};

}  // namespace assay

// Times iterations on a GPU with events on the stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "common/status.h"

namespace assay {

// Measures times with CUDA events, which it owns and reuses. Used by one thread, with one GPU.
class EventTimer {
 public:
  EventTimer() = default;
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  ~EventTimer();

  // Measures `samples` samples of `batch` iterations each and appends each sample's seconds per
  // iteration to `seconds`. `iterate` must enqueue one iteration on `stream`; events are recorded
  // between samples. An untimed iteration runs first to absorb the cost of the first launch, so
  // `iterate` is called samples * batch + 1 times. `wait` must return when all enqueued work is
  // done.
  Status Time(cudaStream_t stream, int64_t samples, int64_t batch,
              const std::function<Status()>& iterate, const std::function<Status()>& wait,
              std::vector<double>* seconds);

  // Does the same, and waits with cudaStreamSynchronize.
  Status Time(cudaStream_t stream, int64_t samples, int64_t batch,
              const std::function<Status()>& iterate, std::vector<double>* seconds);

  // Does the same as the first overload. `before` enqueues untimed work before each sample and
  // before the untimed iteration.
  Status TimeApart(cudaStream_t stream, int64_t samples, int64_t batch,
                   const std::function<Status()>& before, const std::function<Status()>& iterate,
                   const std::function<Status()>& wait, std::vector<double>* seconds);

 private:
  // Creates events until there are at least `count`.
  Status MakeEvents(int64_t count);

  std::vector<cudaEvent_t> events_;
};

}  // namespace assay

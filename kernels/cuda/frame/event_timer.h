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

  // Times `samples` samples of `batch` iterations each, and appends the seconds per iteration of
  // each sample to `seconds`. `iterate` must enqueue one iteration on `stream`. It is called one
  // extra time at the beginning, for an untimed iteration that absorbs the cost of the first
  // launch. `wait` must not return until all enqueued work is done.
  Status Time(cudaStream_t stream, int64_t samples, int64_t batch,
              const std::function<Status()>& iterate, const std::function<Status()>& wait,
              std::vector<double>* seconds);

  // Does the same, and waits with cudaStreamSynchronize.
  Status Time(cudaStream_t stream, int64_t samples, int64_t batch,
              const std::function<Status()>& iterate, std::vector<double>* seconds);

  // Times samples like Time, but calls `before` to enqueue untimed work before each sample and
  // before the untimed first iteration.
  Status TimeApart(cudaStream_t stream, int64_t samples, int64_t batch,
                   const std::function<Status()>& before, const std::function<Status()>& iterate,
                   const std::function<Status()>& wait, std::vector<double>* seconds);

 private:
  // Creates events until there are at least `count`.
  Status MakeEvents(int64_t count);

  std::vector<cudaEvent_t> events_;
};

}  // namespace assay

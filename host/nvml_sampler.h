// The conditions of one GPU over a window, from NVML. Needs no CUDA.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "host/conditions.h"
#include "host/nvml.h"

namespace assay {

// The queries of the sampler for one GPU: on its own thread, and for Readings on the caller's.
struct NvmlSource {
  std::function<NvmlSample()> sample;
  std::function<std::optional<std::vector<NvmlProcess>>()> processes;
};

// Collects samples on a thread of its own. The processes on the GPU, which take longer to
// list than a sample, are read when the window begins, when it ends, and each
// `process_period` between; the most that were seen at once count.
class NvmlSampler : public ConditionsSampler {
 public:
  explicit NvmlSampler(NvmlSource source,
                       std::chrono::milliseconds process_period = std::chrono::seconds(1));
  ~NvmlSampler() override;

  void Start() override;
  std::vector<double> Readings() override;
  WindowConditions Stop() override;

 private:
  // The thread ends before its members are read.
  void End();
  void Loop();
  void CountOthers();
  void Add(const NvmlSample& sample);

  const NvmlSource source_;
  const std::chrono::milliseconds process_period_;
  std::thread thread_;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  // Written by the thread, read once it has ended.
  std::vector<double> sm_clocks_;
  std::vector<double> memory_clocks_;
  std::vector<double> powers_;
  std::vector<double> temperatures_;
  std::set<std::string> throttle_reasons_;
  std::optional<int> other_processes_;
};

}  // namespace assay

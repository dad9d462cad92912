#include "kernels/cuda/profiling/cupti_counters.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/profiling/cupti_library.h"

namespace assay {
namespace {

// The maximum number of passes, each of which runs the work once. No set of counters has needed
// that many in practice; the limit just ends the loop if CUPTI never reports the last pass.
constexpr int kMostPasses = 100;

// A field of the report and the CUPTI metrics that can supply it. CUPTI's metrics have the same
// names as in Nsight Compute.
struct Counter {
  std::optional<double> CounterReport::*field;
  // Alternative names of the metric, which differ between GPU architectures. The first one that the
  // GPU supports is used.
  std::array<const char*, 2> metrics;
  double scale;
  bool per_iteration;  // True for a sum over the range.
};

constexpr std::array<Counter, 11> kCounters = {{
    {&CounterReport::dram_read_bytes, {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}, 1, true},
    {&CounterReport::dram_write_bytes,
     {"dram__bytes_write.sum", "dram__bytes_op_write.sum"},
     1,
     true},
    {&CounterReport::sm_active,
     {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", nullptr},
     0.01,
     false},
    {&CounterReport::sm_throughput,
     {"sm__throughput.avg.pct_of_peak_sustained_elapsed", nullptr},
     0.01,
     false},
    {&CounterReport::dram_throughput,
     {"dram__throughput.avg.pct_of_peak_sustained_elapsed", nullptr},
     0.01,
     false},
    {&CounterReport::tensor_pipe_active,
     {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
      "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"},
     0.01,
     false},
    {&CounterReport::shared_bank_conflicts,
     {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
      "l1tex__data_bank_conflicts_pipe_lsu.sum"},
     1,
     true},
    {&CounterReport::shared_wavefronts,
     {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", nullptr},
     1,
     true},
    {&CounterReport::global_load_bytes,
     {"l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum", nullptr},
     1,
     true},
    {&CounterReport::sm_cycles, {"sm__cycles_elapsed.max", nullptr}, 1, true},
    {&CounterReport::achieved_occupancy,
     {"sm__warps_active.avg.pct_of_peak_sustained_active", nullptr},
     0.01,
     false},
}};

// The counters from which l2_hit_rate is computed. CUPTI's own hit rate is not used, because it
// divides counts from different passes and exceeds 100% for kernels that hardly use the L2 cache.
constexpr const char* kL2Hits = "lts__t_sectors_lookup_hit.sum";
constexpr const char* kL2Misses = "lts__t_sectors_lookup_miss.sum";

// Returns the current CUDA context, as the handle of the driver API that CUPTI needs.
Result<CUcontext> CurrentContext() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  ASSAY_CUDA(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 4000, cudaEnableDefault,
                                              &found));
  CUcontext context = nullptr;
  const auto get_current = reinterpret_cast<decltype(&cuCtxGetCurrent)>(function);
  if (found != cudaDriverEntryPointSuccess || get_current(&context) != CUDA_SUCCESS ||
      context == nullptr) {
    return Internal("the CUDA driver names no current context", Reason::kCudaError);
  }
  return context;
}

void CUPTIAPI IgnoreCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// A session of CUPTI's range profiler. It profiles one range of work, which is rerun for every
// pass. The destructor disables the profiler and releases its objects.
class RangeSession {
 public:
  explicit RangeSession(const Cupti& cupti) : cupti_(cupti) {}
  RangeSession(const RangeSession&) = delete;
  RangeSession& operator=(const RangeSession&) = delete;
  ~RangeSession() {
    if (profiler_ != nullptr) {
      ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, disable);
      disable.pRangeProfilerObject = profiler_;
      cupti_.range_disable(&disable);
    }
    if (host_ != nullptr) {
      ASSAY_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, deinitialize);
      deinitialize.pHostObject = host_;
      cupti_.host_deinitialize(&deinitialize);
    }
    if (initialized_) {
      ASSAY_CUPTI_PARAMS(CUpti_Profiler_DeInitialize_Params, deinitialize);
      cupti_.profiler_deinitialize(&deinitialize);
    }
    if (subscriber_ != nullptr) cupti_.unsubscribe(subscriber_);
  }

  Status Open(int ordinal) {
    ASSAY_ASSIGN_OR_RETURN(context_, CurrentContext());
    // Attach CUPTI to the process by subscribing. The profiler itself would not attach it again
    // after an earlier recording has detached it.
    ASSAY_CUPTI(cupti_, subscribe(&subscriber_, IgnoreCallback, nullptr));
    ASSAY_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
    ASSAY_CUPTI(cupti_, profiler_initialize(&initialize));
    initialized_ = true;
    ASSAY_RETURN_IF_ERROR(OpenHost(ordinal));
    ASSAY_RETURN_IF_ERROR(ChooseMetrics());
    return Configure();
  }

  Status RunPasses(const std::function<Status()>& iterate) {
    for (int pass = 0; pass < kMostPasses; ++pass) {
      ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, start);
      start.pRangeProfilerObject = profiler_;
      ASSAY_CUPTI(cupti_, range_start(&start));
      ASSAY_RETURN_IF_ERROR(RunRange(iterate));
      ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
      stop.pRangeProfilerObject = profiler_;
      ASSAY_CUPTI(cupti_, range_stop(&stop));
      if (stop.isAllPassSubmitted == 0) continue;
      ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
      decode.pRangeProfilerObject = profiler_;
      ASSAY_CUPTI(cupti_, range_decode_data(&decode));
      return Status::Ok();
    }
    return Internal("CUPTI asked for more than " + std::to_string(kMostPasses) + " passes",
                    Reason::kCuptiError);
  }

  // Returns the counters once all passes have run. Counts are divided by `iterations`. Values that
  // are not finite, such as 0 / 0, are omitted.
  Result<CounterReport> Evaluate(int64_t iterations) const {
    std::vector<double> values(names_.size(), std::nan(""));
    std::vector<const char*> names = names_;
    ASSAY_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate);
    evaluate.pHostObject = host_;
    evaluate.pCounterDataImage = data_.data();
    evaluate.counterDataImageSize = data_.size();
    evaluate.ppMetricNames = names.data();
    evaluate.numMetrics = names.size();
    evaluate.pMetricValues = values.data();
    ASSAY_CUPTI(cupti_, host_evaluate_to_gpu_values(&evaluate));
    CounterReport report;
    report.source = "cupti";
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      const double divisor = chosen_[i]->per_iteration ? static_cast<double>(iterations) : 1.0;
      report.*(chosen_[i]->field) = values[i] * chosen_[i]->scale / divisor;
    }
    if (names_.size() == chosen_.size() + 2) {
      const double hits = values[chosen_.size()];
      const double rate = hits / (hits + values[chosen_.size() + 1]);
      if (std::isfinite(rate)) report.l2_hit_rate = rate;
    }
    return report;
  }

 private:
  // Opens the host part of the profiler, which knows the GPU's metrics and evaluates them.
  Status OpenHost(int ordinal) {
    ASSAY_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, chip);
    chip.deviceIndex = static_cast<size_t>(ordinal);
    ASSAY_CUPTI(cupti_, device_get_chip_name(&chip));
    ASSAY_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, availability);
    availability.ctx = context_;
    ASSAY_CUPTI(cupti_, get_counter_availability(&availability));
    availability_.resize(availability.counterAvailabilityImageSize);
    availability.pCounterAvailabilityImage = availability_.data();
    ASSAY_CUPTI(cupti_, get_counter_availability(&availability));
    ASSAY_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, initialize);
    initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    initialize.pChipName = chip.pChipName;
    initialize.pCounterAvailabilityImage = availability_.data();
    ASSAY_CUPTI(cupti_, host_initialize(&initialize));
    host_ = initialize.pHostObject;
    return Status::Ok();
  }

  // Requests the metric. Returns false if this version of CUPTI does not know it for this GPU.
  bool Add(const char* name) {
    ASSAY_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
    add.pHostObject = host_;
    add.ppMetricNames = &name;
    add.numMetrics = 1;
    if (cupti_.host_config_add_metrics(&add) != CUPTI_SUCCESS) return false;
    names_.push_back(name);
    return true;
  }

  Status ChooseMetrics() {
    for (const Counter& counter : kCounters) {
      for (const char* name : counter.metrics) {
        if (name == nullptr || !Add(name)) continue;
        chosen_.push_back(&counter);
        break;
      }
    }
    if (Add(kL2Hits)) Add(kL2Misses);
    if (!names_.empty()) return Status::Ok();
    return Internal("this CUPTI knows none of the counters of this GPU", Reason::kCuptiError);
  }

  Status MakeConfigImage() {
    ASSAY_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = host_;
    ASSAY_CUPTI(cupti_, host_get_config_image_size(&size));
    config_.resize(size.configImageSize);
    ASSAY_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
    image.pHostObject = host_;
    image.configImageSize = config_.size();
    image.pConfigImage = config_.data();
    ASSAY_CUPTI(cupti_, host_get_config_image(&image));
    return Status::Ok();
  }

  Status MakeCounterDataImage() {
    ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = names_.data();
    size.numMetrics = names_.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    ASSAY_CUPTI(cupti_, range_get_counter_data_size(&size));
    data_.resize(size.counterDataSize);
    ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
    image.pRangeProfilerObject = profiler_;
    image.counterDataSize = data_.size();
    image.pCounterData = data_.data();
    ASSAY_CUPTI(cupti_, range_counter_data_image_initialize(&image));
    return Status::Ok();
  }

  Status Configure() {
    ASSAY_RETURN_IF_ERROR(MakeConfigImage());
    ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
    enable.ctx = context_;
    ASSAY_CUPTI(cupti_, range_enable(&enable));
    profiler_ = enable.pRangeProfilerObject;
    ASSAY_RETURN_IF_ERROR(MakeCounterDataImage());
    ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, config);
    config.pRangeProfilerObject = profiler_;
    config.configSize = config_.size();
    config.pConfig = config_.data();
    config.counterDataImageSize = data_.size();
    config.pCounterDataImage = data_.data();
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = 1;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.targetNestingLevel = 1;
    ASSAY_CUPTI(cupti_, range_set_config(&config));
    return Status::Ok();
  }

  // Runs `iterate` as one range, and closes the range even if `iterate` fails.
  Status RunRange(const std::function<Status()>& iterate) {
    ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
    push.pRangeProfilerObject = profiler_;
    push.pRangeName = "iterations";
    ASSAY_CUPTI(cupti_, range_push(&push));
    const Status ran = iterate();
    ASSAY_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
    pop.pRangeProfilerObject = profiler_;
    ASSAY_CUPTI(cupti_, range_pop(&pop));
    return ran;
  }

  const Cupti& cupti_;
  CUcontext context_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool initialized_ = false;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  // The requested metrics: those of chosen_, followed by kL2Hits and kL2Misses if they are known.
  std::vector<const char*> names_;
  std::vector<const Counter*> chosen_;
  std::vector<uint8_t> availability_;
  std::vector<uint8_t> config_;
  std::vector<uint8_t> data_;
};

}  // namespace

Result<CounterReport> ReadHardwareCounters(int ordinal, int64_t iterations,
                                           const std::function<Status()>& iterate) {
  ASSAY_ASSIGN_OR_RETURN(const Cupti* cupti, LoadCuptiProfilers());
  ASSAY_RETURN_IF_ERROR(UseGpu(ordinal).status());
  MutexLock alone(CuptiMutex());
  const CuptiAttachment attachment(*cupti);
  RangeSession session(*cupti);
  ASSAY_RETURN_IF_ERROR(session.Open(ordinal));
  ASSAY_RETURN_IF_ERROR(session.RunPasses(iterate));
  return session.Evaluate(iterations);
}

}  // namespace assay

// The result of a case that ran, and functions that fill its protobuf message.
#pragma once

#include <vector>

#include "assay/v1/job.pb.h"
#include "assay/v1/result.pb.h"
#include "host/conditions.h"
#include "host/gpu_platform.h"
#include "kernels/benchmark.h"
#include "measure/measure.h"
#include "measure/statistics.h"
#include "roofline/prediction.h"
#include "runner/rank_times.h"
#include "runner/version_check.h"

namespace assay {

struct ExecutedCase {
  // The result of the case. The case index, job, epoch, node, form factor and topology are left
  // empty for the caller or the agent to fill in. `gpu_model` is the GPU's name as reported by
  // CUDA.
  v1::CaseResult result;
  // Why the outcome is not OK.
  Status error;
  // An error if profiling broke the GPU's CUDA context after the case itself had succeeded. If so,
  // this process cannot run any more cases.
  Status context_lost;
};

// Returns the result of a case that could not start because of `error`.
ExecutedCase CaseNotBegun(const BenchmarkInfo& info, const ParameterMap& parameters,
                          const Status& error);

// Marks the case as failed or, if `error` says so, as unsupported. Clears the fields that only a
// successful case has.
void SetError(const Status& error, ExecutedCase* executed);

// Returns the measurement effort requested by a job. Unknown values, which a newer agent may send,
// are treated as standard.
Effort EffortOf(v1::Effort effort);

v1::Direction ToMessage(Direction direction);

void Fill(const WallTime& time, google::protobuf::Timestamp* message);
void Fill(const LinkedSoftware& software, v1::SoftwareVersions* message);
void Fill(const Metric& metric, const Summary& summary, v1::Measurement* message);
void Fill(const Timing& timing, const MeasuredTimes& times, v1::Method* message);
void Fill(const Verdict& verdict, v1::Verification* message);
void Fill(const Prediction& prediction, v1::Prediction* message);
void Fill(const CounterReport& counters, v1::Counters* message);
void Fill(const WindowConditions& conditions, v1::Conditions* message);
void Fill(const GangReport& gang, v1::CaseResult* result);

// Adds the GPUs of all ranks to a result. `gpus` has one entry per rank. Omits the UUIDs unless all
// of them are known. Omits the models unless all of them are known and they differ.
void AddGpus(const std::vector<RankGpu>& gpus, v1::CaseResult* result);

}  // namespace assay

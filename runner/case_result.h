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
  // The result of the case. The caller or the agent adds the fields that only they know: case
  // index, job, epoch and node. Hardware is not classified yet: `gpu_model` is the GPU's name as
  // reported by CUDA, and form factor and topology are empty (see host/gpu_model.h).
  v1::CaseResult result;
  // Why the outcome is not OK.
  Status error;
  // An error if the case succeeded but profiling it broke the GPU's CUDA context. If so, this
  // process cannot run any more cases.
  Status context_lost;
};

// Returns the result of a case that could not start because of `error`.
ExecutedCase CaseNotBegun(const BenchmarkInfo& info, const ParameterMap& parameters,
                          const Status& error);

// Sets the outcome and the failure according to `error`. Removes the fields that only a successful
// case has.
void SetError(const Status& error, ExecutedCase* executed);

// Returns the effort that a job requests. Values that this runner does not know, sent by a newer
// agent, mean standard.
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

// Adds the GPUs of all ranks to a result. Adds their UUIDs if all are known. Adds their models if
// all are known and the models differ. `gpus` has one entry per rank.
void AddGpus(const std::vector<RankGpu>& gpus, v1::CaseResult* result);

}  // namespace assay

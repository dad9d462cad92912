// launch_overhead: the cost of a kernel launch on the GPU, on the host, and for a round trip.
#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

// Time of a graph's replay in addition to its launches, on an H200: 1.4 us with one launch.
constexpr double kGraphSeconds = 0.8e-6;

Work LaunchOverheadWork(const ParameterMap& parameters, int) {
  Work work;
  work.operations = Number(parameters, "launches");
  work.fixed_seconds = work.operations * LaunchSeconds(parameters);
  if (Word(parameters, "launch") == "graph") work.fixed_seconds += kGraphSeconds;
  work.fixed_only = true;
  return work;
}

}  // namespace

Declaration LaunchOverheadDeclaration() {
  return Declaration("launch_overhead", Resource::kGpu)
      .Summary("time of a kernel launch, from a stream or within a graph")
      .Parameters({
          Parameter::Integer("launches")
              .Default(1000)
              .AtLeast(1)
              .AtMost(100000)
              .Describe("launches of one chain or graph"),
          LaunchParameter(),
      })
      .Metrics({
          Metric::Time("launch_time", "us", Quantity::kSecondsPerOperation,
                       "from one kernel's start to the next one's, in a chain of empty kernels"),
          Metric::Observed("host_time", "us", Direction::kLowerIsBetter,
                           "host time of a call that launches a kernel (per sample the mean of 64 "
                           "consecutive calls), or the whole graph (one call)"),
          Metric::Observed("round_trip", "us", Direction::kLowerIsBetter,
                           "from such a call until the host knows that its work is done"),
      })
      .Model(
          "from a stream, time = launches x the slower of host_time and the GPU's own 1.4 us; from "
          "a graph, launches x 0.6 us + 0.8 us")
      .Prediction(
          "predicted = launches x 2.5 us from a stream, as gpu-benches published for an H200 (the "
          "host is the limit); launches x 0.6 us + 0.8 us from a graph, measured on an H200. There "
          "is no efficiency, because no peak bounds a launch.")
      .WorkOf(LaunchOverheadWork)
      .SelfTest({{"launches", "37"}, {"launch", "graph"}})
      .Example({{"launches", "10"}},
               {.operations = 10, .fixed_seconds = 10 * 2.5e-6, .fixed_only = true})
      .Example({{"launches", "10"}, {"launch", "graph"}},
               {.operations = 10, .fixed_seconds = 10 * 0.6e-6 + 0.8e-6, .fixed_only = true})
      .Refuses({{"launches", "0"}}, "launches");
}

}  // namespace assay

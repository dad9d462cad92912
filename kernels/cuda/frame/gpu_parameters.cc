#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {

Parameter CacheParameter(const std::string& what) {
  return Parameter::Choice("cache", {"cold", "hot"})
      .Describe("cold: rotate over several times the L2 cache; hot: reuse " + what);
}

Parameter FillParameter() {
  return Parameter::Choice("fill", {"random", "zeros"})
      .Describe("input values: random (near-normal, variance 1) or zeros");
}

Parameter LaunchParameter() {
  return Parameter::Choice("launch", {"stream", "graph"})
      .Describe("stream: each iteration launched on its own; graph: replayed");
}

Parameter DtypeParameter(const std::vector<std::string>& choices) {
  return Parameter::Choice("dtype", choices).Describe("type of the elements");
}

double LaunchSeconds(const ParameterMap& parameters) {
  const auto launch = parameters.find("launch");
  const bool graph = launch != parameters.end() && launch->second == "graph";
  return graph ? kGraphLaunchSeconds : kStreamLaunchSeconds;
}

}  // namespace assay

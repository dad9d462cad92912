#include "kernels/benchmark.h"

#include <cassert>
#include <charconv>

namespace assay {

Metric TimeMetric() {
  return {"time", "s", Direction::kLowerIsBetter, "time of one iteration", Quantity::kSeconds, 1.0};
}

Status Case::RunUntimed(int64_t iterations) {
  std::vector<double> seconds;
  return Run(1, iterations, &seconds);
}

int64_t Integer(const ParameterMap& parameters, const std::string& name) {
  const std::string& text = Word(parameters, name);
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

const std::string& Word(const ParameterMap& parameters, const std::string& name) {
  static const std::string kEmpty;
  const auto found = parameters.find(name);
  assert(found != parameters.end() && "the benchmark reads a parameter that it does not declare");
  return found != parameters.end() ? found->second : kEmpty;
}

Status Unsupported(std::string why) {
  return Status(Code::kUnimplemented, "UNSUPPORTED", std::move(why));
}

bool IsUnsupported(const Status& status) {
  return status.code() == Code::kUnimplemented && status.reason() == "UNSUPPORTED";
}

Status OutOfMemory(std::string what) {
  return Status(Code::kResourceExhausted, "OUT_OF_MEMORY", std::move(what));
}

double Benchmark::MetricValue(size_t index, const Work& work, double seconds) const {
  const Metric& metric = Info().metrics[index];
  switch (metric.quantity) {
    case Quantity::kSeconds:
      return seconds * metric.scale;
    case Quantity::kFlops:
      return work.flops / seconds * metric.scale;
    case Quantity::kBytes:
      return work.bytes / seconds * metric.scale;
    case Quantity::kLinkBytes:
      return work.link_bytes / seconds * metric.scale;
    case Quantity::kPayloadBytes:
      return work.payload_bytes / seconds * metric.scale;
    case Quantity::kOperations:
      return work.operations / seconds * metric.scale;
    case Quantity::kSecondsPerOperation:
      return seconds / work.operations * metric.scale;
    case Quantity::kWireBytes:
    case Quantity::kObserved:
      break;  // Not made from the time.
  }
  return 0;
}

}  // namespace assay

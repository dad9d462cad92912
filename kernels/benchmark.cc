#include "kernels/benchmark.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

namespace assay {

namespace {

// Returns how many of `unit` make up one base unit (s, B/s, bit/s, FLOP/s or 1/s), or 0 if the unit
// is unknown.
double ScaleOf(const std::string& unit) {
  static const std::pair<const char*, double> kScales[] = {
      {"s", 1},         {"us", 1e6},       {"ns", 1e9},        {"GB/s", 1e-9},
      {"Gbit/s", 8e-9}, {"GFLOP/s", 1e-9}, {"TFLOP/s", 1e-12}, {"Gop/s", 1e-9}};
  for (const auto& [name, scale] : kScales) {
    if (unit == name) return scale;
  }
  return 0;
}

}  // namespace

Metric Metric::Rate(std::string name, std::string unit, Quantity quantity,
                    std::string description) {
  const double scale = ScaleOf(unit);
  return {std::move(name),        std::move(unit), Direction::kHigherIsBetter,
          std::move(description), quantity,        scale};
}

Metric Metric::Time(std::string name, std::string unit, Quantity quantity,
                    std::string description) {
  const double scale = ScaleOf(unit);
  return {std::move(name),        std::move(unit), Direction::kLowerIsBetter,
          std::move(description), quantity,        scale};
}

Metric Metric::Observed(std::string name, std::string unit, Direction direction,
                        std::string description) {
  return {std::move(name),        std::move(unit),     direction,
          std::move(description), Quantity::kObserved, 1.0};
}

Metric TimeMetric() {
  return Metric::Time("time", "s", Quantity::kSeconds, "time of one iteration");
}

bool BenchmarkInfo::Needs(Library library) const {
  return std::find(libraries.begin(), libraries.end(), library) != libraries.end();
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

double Number(const ParameterMap& parameters, const std::string& name) {
  return static_cast<double>(Integer(parameters, name));
}

const std::string& Word(const ParameterMap& parameters, const std::string& name) {
  static const std::string kEmpty;
  const auto found = parameters.find(name);
  assert(found != parameters.end() && "the benchmark reads a parameter that it does not declare");
  return found != parameters.end() ? found->second : kEmpty;
}

Result<ParameterMap> CheckParameters(const Benchmark& benchmark, const ParameterMap& given) {
  ASSAY_ASSIGN_OR_RETURN(ParameterMap parameters,
                         CanonicalParameters(benchmark.Info().parameters, given));
  ASSAY_RETURN_IF_ERROR(benchmark.Validate(parameters));
  return parameters;
}

int WorldSizeOf(const BenchmarkInfo& info, const ParameterMap& parameters) {
  return info.collective ? static_cast<int>(Integer(parameters, "ranks")) : 1;
}

Status Unsupported(std::string why) {
  return Status(Code::kUnimplemented, Reason::kUnsupported, std::move(why));
}

bool IsUnsupported(const Status& status) {
  return status.code() == Code::kUnimplemented && status.reason() == Reason::kUnsupported;
}

Status OutOfMemory(std::string what) {
  return Status(Code::kResourceExhausted, Reason::kOutOfMemory, std::move(what));
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

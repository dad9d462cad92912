#include "runner/output.h"

#include <cstdarg>
#include <cstdio>

#include "common/units.h"
#include "runner/gang_output.h"
#include "runner/json.h"

namespace assay {
namespace {

[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

// A size as people write it and as parameters take it: 1GiB.
std::string SizeText(const std::string& bytes) {
  const auto number = ParseInteger(bytes);
  return number.ok() ? FormatBytes(*number) : bytes;
}

std::string ParametersLine(const ParameterMap& parameters) {
  std::string line;
  for (const auto& [name, value] : parameters) {
    const bool size = name == "bytes" || name == "window";
    line += " " + name + "=" + (size ? SizeText(value) : value);
  }
  return line;
}

// Where compute and memory bounds meet: by the peaks predicted from, which without a sheet are
// the measured ceilings, and by these.
std::string RidgeText(const Prediction& prediction) {
  const bool sheet = !prediction.spec.empty();
  std::string text;
  if (prediction.ridge_point) {
    text =
        Format(", ridge point at %.4g", *prediction.ridge_point) + (sheet ? " by the sheet" : "");
  }
  if (!prediction.ridge_measured || (prediction.ridge_point && !sheet)) return text;
  return text +
         Format(text.empty() ? ", ridge point at %.4g" : ", %.4g", *prediction.ridge_measured) +
         " by the measured ceilings";
}

std::string PredictionLines(const Prediction& prediction) {
  std::string text;
  if (prediction.predicted_seconds) {
    const GpuSpec* const sheet = SheetNamed(prediction.spec);
    const bool recalled = sheet != nullptr && sheet->certainty == "recalled";
    text += Format("  %-16s %.6g s (%s bound%s%s%s)\n", "predicted", *prediction.predicted_seconds,
                   prediction.bound.c_str(), prediction.spec.empty() ? "" : ", ",
                   prediction.spec.c_str(), recalled ? ", a sheet not yet checked" : "");
  }
  if (const auto& model = prediction.link_model) {
    text += Format(
        "  %-16s %.4g s = %.3g s + bytes / (%.4g GB/s), knee at %s; %d sizes within %.0f%%\n",
        "fitted model", prediction.link_model_seconds, model->latency_seconds,
        model->bandwidth * 1e-9, FormatBytes(static_cast<int64_t>(model->KneeBytes())).c_str(),
        model->points, model->error * 100);
  }
  if (prediction.arithmetic_intensity) {
    text += Format("  %-16s %.4g FLOP/B", "intensity", *prediction.arithmetic_intensity);
    text += RidgeText(prediction) + "\n";
  }
  if (!prediction.regime.empty()) {
    text += Format("  %-16s %s\n", "regime", prediction.regime.c_str());
  }
  const auto efficiency = [&](const char* name, const std::optional<double>& value) {
    if (value) text += Format("  %-16s %.1f%% of %s\n", "efficiency", *value * 100, name);
  };
  efficiency("the spec sheet's peak", prediction.efficiency_spec);
  efficiency("the peak at the observed clock", prediction.efficiency_clock);
  efficiency("the measured ceiling", prediction.efficiency_measured);
  return text;
}

std::string ConditionsLine(const WindowConditions& conditions) {
  std::string text;
  const auto add = [&](const char* format, const std::optional<double>& value) {
    if (!value) return;
    char part[64];
    std::snprintf(part, sizeof part, format, *value);
    text += (text.empty() ? "" : ", ") + std::string(part);
  };
  add("SM %.0f MHz", conditions.sm_clock_mhz);
  add("memory %.0f MHz", conditions.memory_clock_mhz);
  add("%.0f W", conditions.power_watts);
  add("%.0f C", conditions.temperature_celsius);
  add("load %.2f", conditions.load_average);
  for (const std::string& reason : conditions.throttle_reasons) text += ", throttle: " + reason;
  for (const std::string& flag : conditions.flags) text += ", flag: " + flag;
  return text.empty() ? "" : Format("  %-16s ", "conditions") + text + "\n";
}

std::string KernelsLine(const CaseReport& report) {
  std::string text = report.kernels_reason.empty() ? "" : "unknown (" + report.kernels_reason + ")";
  for (const std::string& kernel : report.kernels) text += (text.empty() ? "" : ", ") + kernel;
  return text.empty() ? "" : Format("  %-16s ", "kernels") + text + "\n";
}

std::string CounterLines(const CounterReport& counters) {
  std::string text = Format("  %-16s by ", "counters") + counters.source +
                     (counters.reason.empty() ? "" : " (" + counters.reason + ")") + "\n";
  const auto add = [&text](const char* name, const std::optional<double>& value, double scale,
                           const char* unit) {
    if (value) text += Format("    %-22s %.6g %s\n", name, *value * scale, unit);
  };
  add("DRAM bytes read", counters.dram_read_bytes, 1, "B");
  add("DRAM bytes written", counters.dram_write_bytes, 1, "B");
  add("DRAM throughput", counters.dram_throughput, 100, "% of peak");
  add("L2 hit rate", counters.l2_hit_rate, 100, "%");
  add("SM active", counters.sm_active, 100, "% of the time");
  add("SM throughput", counters.sm_throughput, 100, "% of peak");
  add("tensor pipe active", counters.tensor_pipe_active, 100, "% of the time");
  add("achieved occupancy", counters.achieved_occupancy, 100, "%");
  add("shared bank conflicts", counters.shared_bank_conflicts, 1, "wavefronts");
  return text;
}

std::string MetricLines(const CaseReport& report) {
  std::string text;
  for (const ReportedMetric& metric : report.metrics) {
    const Summary& summary = metric.summary;
    text += Format("  %-16s %.6g %s   ", metric.metric.name.c_str(), summary.median,
                   metric.metric.unit.c_str());
    text += summary.HasInterval()
                ? Format("95%% CI %.6g to %.6g", summary.ci_low, summary.ci_high)
                : Format("no CI from %lld samples", static_cast<long long>(summary.n));
    text += Format(", p05 %.6g, p95 %.6g\n", summary.p05, summary.p95);
  }
  const MeasuredTimes& times = report.times;
  if (report.metrics.empty()) return text;
  return text + Format("  %-16s %lld samples of %lld, %s, %s, %s, stopped by %s\n", "method",
                       static_cast<long long>(report.metrics.front().summary.n),
                       static_cast<long long>(times.batch), report.timing.timer.c_str(),
                       report.timing.cache.c_str(), report.timing.fill.c_str(),
                       times.stop_reason.c_str());
}

std::string MetricJson(const ReportedMetric& metric) {
  JsonObject json;
  json.Add("metric", metric.metric.name).Add("unit", metric.metric.unit);
  json.Add("n", static_cast<double>(metric.summary.n)).Add("median", metric.summary.median);
  json.Add("mad", metric.summary.mad).Add("p05", metric.summary.p05);
  json.Add("p95", metric.summary.p95);
  if (metric.summary.HasInterval()) {
    json.Add("ci_low", metric.summary.ci_low).Add("ci_high", metric.summary.ci_high);
  }
  if (!metric.samples.empty()) json.Add("samples", metric.samples);
  return json.ToString();
}

JsonObject MethodJson(const CaseReport& report) {
  JsonObject json;
  json.Add("cache", report.timing.cache).Add("fill", report.timing.fill);
  json.Add("timer", report.timing.timer).Add("batch", static_cast<double>(report.times.batch));
  json.Add("warmup_seconds", report.times.warmup_seconds);
  json.Add("warmup_iterations", static_cast<double>(report.times.warmup_iterations));
  json.Add("host_seconds", report.times.host_seconds);
  return json.Add("stop_reason", report.times.stop_reason);
}

JsonObject VerificationJson(const Verdict& verdict) {
  JsonObject json;
  json.Add("passed", verdict.passed).Add("reference", verdict.reference);
  json.Add("error", verdict.error).Add("tolerance", verdict.tolerance).Add("norm", verdict.norm);
  json.Add("elements_checked", static_cast<double>(verdict.elements_checked));
  if (!verdict.detail.empty()) json.Add("detail", verdict.detail);
  return json;
}

JsonObject PredictionJson(const Prediction& prediction) {
  JsonObject json;
  json.Add("flops", prediction.flops).Add("bytes", prediction.bytes);
  json.Add("arithmetic_intensity", prediction.arithmetic_intensity);
  json.Add("predicted_seconds", prediction.predicted_seconds).Add("bound", prediction.bound);
  json.Add("efficiency_spec", prediction.efficiency_spec);
  json.Add("efficiency_measured", prediction.efficiency_measured);
  json.Add("efficiency_clock", prediction.efficiency_clock);
  json.Add("ridge_point", prediction.ridge_point);
  json.Add("ridge_measured", prediction.ridge_measured).Add("regime", prediction.regime);
  if (const auto& model = prediction.link_model) {
    JsonObject link;
    link.Add("predicted_seconds", prediction.link_model_seconds);
    link.Add("latency_seconds", model->latency_seconds).Add("bandwidth", model->bandwidth);
    link.Add("knee_bytes", model->KneeBytes()).Add("error", model->error);
    link.AddRaw("points", std::to_string(model->points));
    json.Add("link_model", link);
  }
  return json.Add("spec", prediction.spec);
}

JsonObject CountersJson(const CounterReport& counters) {
  JsonObject json;
  json.Add("source", counters.source).Add("reason", counters.reason);
  json.Add("dram_read_bytes", counters.dram_read_bytes);
  json.Add("dram_write_bytes", counters.dram_write_bytes);
  json.Add("sm_active", counters.sm_active);
  json.Add("sm_throughput", counters.sm_throughput);
  json.Add("dram_throughput", counters.dram_throughput);
  json.Add("tensor_pipe_active", counters.tensor_pipe_active);
  json.Add("l2_hit_rate", counters.l2_hit_rate);
  json.Add("shared_bank_conflicts", counters.shared_bank_conflicts);
  return json.Add("achieved_occupancy", counters.achieved_occupancy);
}

JsonObject ConditionsJson(const WindowConditions& conditions) {
  JsonObject json;
  json.Add("sm_clock_mhz", conditions.sm_clock_mhz);
  json.Add("memory_clock_mhz", conditions.memory_clock_mhz);
  json.Add("power_watts", conditions.power_watts);
  json.Add("temperature_celsius", conditions.temperature_celsius);
  json.Add("throttle_reasons", conditions.throttle_reasons);
  if (conditions.other_gpu_processes) {
    json.Add("other_gpu_processes", static_cast<double>(*conditions.other_gpu_processes));
  }
  return json.Add("load_average", conditions.load_average).Add("flags", conditions.flags);
}

JsonObject EnvironmentJson(const ReportedEnvironment& environment) {
  JsonObject json;
  json.Add("gpu_model", environment.gpu_model).Add("cpu_model", environment.cpu_model);
  json.Add("gpu_form_factor", environment.gpu_form_factor);
  json.Add("gpu_count", static_cast<double>(environment.gpu_count));
  json.Add("topology", environment.topology);
  json.Add("power_limit_watts", environment.power_limit_watts);
  json.Add("ecc_enabled", environment.ecc_enabled);
  JsonObject software;
  software.Add("cuda_runtime", environment.software.cuda_runtime);
  software.Add("cublas", environment.software.cublas).Add("nccl", environment.software.nccl);
  return json.Add("software", software.Add("blas", environment.software.blas));
}

const char* ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kCpu:
      return "cpu";
    case Resource::kGpu:
      return "gpu";
    case Resource::kNetwork:
      break;
  }
  return "network";
}

}  // namespace

std::string ReportAsTable(const CaseReport& report) {
  std::string text = report.benchmark + ParametersLine(report.parameters) + "\n";
  text += Format("  %-16s ", "outcome") + std::string(OutcomeName(report.outcome)) + "\n";
  if (!report.error.ok()) text += "  " + report.error.ToString() + "\n";
  text += MetricLines(report);
  if (report.verification) {
    const Verdict& verdict = *report.verification;
    text += Format("  %-16s %s: error %.3g (%s), tolerance %.3g, %lld elements, %s\n",
                   "verification", verdict.passed ? "passed" : "failed", verdict.error,
                   verdict.norm.c_str(), verdict.tolerance,
                   static_cast<long long>(verdict.elements_checked), verdict.reference.c_str());
  }
  text += PredictionLines(report.prediction) + ConditionsLine(report.conditions);
  text += GangLines(report.gang) + KernelsLine(report);
  return report.counters ? text + CounterLines(*report.counters) : text;
}

std::string ReportAsJson(const CaseReport& report) {
  JsonObject parameters;
  for (const auto& [name, value] : report.parameters) parameters.Add(name, value);
  std::vector<std::string> measurements;
  for (const ReportedMetric& metric : report.metrics) measurements.push_back(MetricJson(metric));
  JsonObject json;
  json.Add("benchmark", report.benchmark).Add("version", static_cast<double>(report.version));
  json.Add("parameters", parameters).Add("outcome", OutcomeName(report.outcome));
  if (!report.error.ok()) {
    JsonObject failure;
    failure.Add("reason", report.error.reason()).Add("message", report.error.message());
    json.Add("failure", failure);
  }
  json.AddRaw("measurements", JsonArray(measurements)).Add("method", MethodJson(report));
  if (report.verification) json.Add("verification", VerificationJson(*report.verification));
  json.Add("prediction", PredictionJson(report.prediction));
  json.Add("conditions", ConditionsJson(report.conditions));
  json.Add("kernels", report.kernels);
  if (!report.kernels_reason.empty()) json.Add("kernels_reason", report.kernels_reason);
  AddGang(report.gang, &json);
  if (report.counters) json.Add("counters", CountersJson(*report.counters));
  return json.Add("environment", EnvironmentJson(report.environment)).ToString() + "\n";
}

std::string ListBenchmarks(const Registry& registry) {
  std::string text;
  for (const auto& benchmark : registry.All()) {
    const BenchmarkInfo& info = benchmark->Info();
    text += Format("%-24s %-8s %s", info.name.c_str(), ResourceName(info.resource),
                   info.summary.c_str());
    const std::string reason = benchmark->UnsupportedReason();
    text += reason.empty() ? "\n" : " (unsupported: " + reason + ")\n";
  }
  return text;
}

std::string ErrorText(const Status& error) {
  std::string text = error.message();
  for (const Violation& violation : error.violations()) {
    const std::string fault = violation.field + ": " + violation.description;
    if (error.message().find(fault) == std::string::npos) text += "\n  " + fault;
  }
  if (!error.hint().empty()) text += "\n  hint: " + error.hint();
  return text;
}

std::string ShowBenchmark(const Benchmark& benchmark) {
  const BenchmarkInfo& info = benchmark.Info();
  std::string text = info.name + " (version " + std::to_string(info.version) + ", " +
                     ResourceName(info.resource) + "): " + info.summary + "\n";
  const std::string reason = benchmark.UnsupportedReason();
  if (!reason.empty()) text += "unsupported here: " + reason + "\n";
  text += "\nparameters\n";
  for (const ParameterSpec& spec : info.parameters) {
    text += Format("  %-12s %s; %s; ", spec.name.c_str(), spec.description.c_str(),
                   AllowedValues(spec).c_str());
    if (!spec.default_value) {
      text += "required\n";
      continue;
    }
    const bool size = spec.type == ParameterType::kBytes;
    text += "default " + (size ? SizeText(*spec.default_value) : *spec.default_value) + "\n";
  }
  std::string together;
  for (const ParameterSpec& spec : info.parameters) {
    for (const std::string& limit : LimitTexts(spec)) {
      together += Format("  %-12s %s\n", spec.name.c_str(), limit.c_str());
    }
  }
  if (!together.empty()) text += "\nvalues that go together\n" + together;
  text += "\nmetrics\n";
  for (const Metric& metric : info.metrics) {
    text += Format("  %-16s %s: %s\n", metric.name.c_str(), metric.unit.c_str(),
                   metric.description.c_str());
  }
  return text + "\nmodel\n  " + info.model + "\n\nprediction\n  " +
         DescribePrediction(info.prediction, info.resource) + "\n";
}

}  // namespace assay

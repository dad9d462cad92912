#include "runner/output.h"

#include <cstdarg>
#include <cstdio>
#include <vector>

#include "common/text.h"
#include "common/units.h"
#include "roofline/prediction.h"
#include "wire/interval.h"
#include "wire/reasons.h"
#include "wire/result_fields.h"

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

// Returns one line of a result's table, or an empty string if `text` is empty.
std::string Line(const char* name, const std::string& text) {
  return text.empty() ? "" : Format("  %-16s ", name) + text + "\n";
}

// Returns a size in the form in which users write it and parameters accept it, such as "1GiB".
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

// Returns a description of the ridge point: the arithmetic intensity above which a benchmark is
// limited by arithmetic instead of memory. There may be two values: one from the GPU's spec sheet,
// and one from the measured rates. If the sheet is unknown, gives only the latter.
std::string RidgeText(const v1::Prediction& prediction) {
  const bool sheet = !prediction.spec().empty();
  std::string text;
  if (prediction.has_ridge_point()) {
    text =
        Format(", ridge point at %.4g", prediction.ridge_point()) + (sheet ? " by the sheet" : "");
  }
  if (!prediction.has_ridge_measured() || (prediction.has_ridge_point() && !sheet)) return text;
  return text +
         Format(text.empty() ? ", ridge point at %.4g" : ", %.4g", prediction.ridge_measured()) +
         " by the measured ceilings";
}

std::string PredictionLines(const v1::Prediction& prediction) {
  std::string text;
  if (prediction.has_predicted_seconds()) {
    const GpuSpec* const sheet = SheetNamed(prediction.spec());
    const bool recalled = sheet != nullptr && sheet->certainty == "recalled";
    text += Line("predicted",
                 Format("%.6g s (%s bound%s%s%s)", prediction.predicted_seconds(),
                        prediction.bound().c_str(), prediction.spec().empty() ? "" : ", ",
                        prediction.spec().c_str(), recalled ? ", a sheet not yet checked" : ""));
  }
  if (prediction.has_link_model()) {
    const v1::LinkModel& model = prediction.link_model();
    text +=
        Line("fitted model",
             Format("%.4g s = %.3g s + bytes / (%.4g GB/s), knee at %s; %d sizes within %.0f%%",
                    model.predicted_seconds(), model.latency_seconds(), model.bandwidth() * 1e-9,
                    FormatBytes(static_cast<int64_t>(model.knee_bytes())).c_str(), model.points(),
                    model.error() * 100));
  }
  if (prediction.has_arithmetic_intensity()) {
    text += Line("intensity",
                 Format("%.4g FLOP/B", prediction.arithmetic_intensity()) + RidgeText(prediction));
  }
  if (!prediction.regime().empty()) text += Line("regime", prediction.regime());
  const auto efficiency = [&](bool known, double value, const char* of) {
    if (known) text += Line("efficiency", Format("%.1f%% of %s", value * 100, of));
  };
  efficiency(prediction.has_efficiency_spec(), prediction.efficiency_spec(),
             "the spec sheet's peak");
  efficiency(prediction.has_efficiency_clock(), prediction.efficiency_clock(),
             "the peak at the observed clock");
  efficiency(prediction.has_efficiency_measured(), prediction.efficiency_measured(),
             "the measured ceiling");
  return text;
}

std::string ConditionsLine(const v1::Conditions& conditions) {
  std::vector<std::string> parts;
  const auto add = [&parts](bool known, const char* format, double value) {
    char part[64];
    std::snprintf(part, sizeof part, format, value);
    if (known) parts.emplace_back(part);
  };
  add(conditions.has_sm_clock_mhz(), "SM %.0f MHz", conditions.sm_clock_mhz());
  add(conditions.has_memory_clock_mhz(), "memory %.0f MHz", conditions.memory_clock_mhz());
  add(conditions.has_power_watts(), "%.0f W", conditions.power_watts());
  add(conditions.has_temperature_celsius(), "%.0f C", conditions.temperature_celsius());
  add(conditions.has_load_average(), "load %.2f", conditions.load_average());
  for (const std::string& reason : conditions.throttle_reasons()) {
    parts.push_back("throttle: " + reason);
  }
  for (const std::string& flag : conditions.flags()) parts.push_back("flag: " + flag);
  return Line("conditions", Join(parts));
}

std::string KernelsLine(const v1::CaseResult& result) {
  if (!result.kernels_reason().empty()) {
    return Line("kernels", "unknown (" + result.kernels_reason() + ")");
  }
  return Line("kernels", Join(result.kernels()));
}

std::string CounterLines(const v1::Counters& counters) {
  std::string text =
      Line("counters", "by " + counters.source() +
                           (counters.reason().empty() ? "" : " (" + counters.reason() + ")"));
  const auto add = [&text](const char* name, bool known, double value, const char* unit) {
    if (known) text += Format("    %-22s %.6g %s\n", name, value, unit);
  };
  const v1::Counters& c = counters;
  add("DRAM bytes read", c.has_dram_read_bytes(), c.dram_read_bytes(), "B");
  add("DRAM bytes written", c.has_dram_write_bytes(), c.dram_write_bytes(), "B");
  add("DRAM throughput", c.has_dram_throughput(), c.dram_throughput() * 100, "% of peak");
  add("L2 hit rate", c.has_l2_hit_rate(), c.l2_hit_rate() * 100, "%");
  add("SM active", c.has_sm_active(), c.sm_active() * 100, "% of the time");
  add("SM throughput", c.has_sm_throughput(), c.sm_throughput() * 100, "% of peak");
  add("tensor pipe active", c.has_tensor_pipe_active(), c.tensor_pipe_active() * 100,
      "% of the time");
  add("achieved occupancy", c.has_achieved_occupancy(), c.achieved_occupancy() * 100, "%");
  add("global loads", c.has_global_load_bytes(), c.global_load_bytes(), "B");
  add("shared memory accesses", c.has_shared_wavefronts(), c.shared_wavefronts(), "wavefronts");
  add("shared bank conflicts", c.has_shared_bank_conflicts(), c.shared_bank_conflicts(),
      "wavefronts");
  add("SM cycles", c.has_sm_cycles(), c.sm_cycles(), "");
  return text;
}

std::string MeasurementLines(const v1::CaseResult& result) {
  std::string text;
  for (const v1::Measurement& measurement : result.measurements()) {
    const bool interval = schema::HasInterval(measurement);
    text += Line(
        measurement.metric().c_str(),
        Format("%.6g %s   ", measurement.median(), measurement.unit().c_str()) +
            (interval ? Format("95%% CI %.6g to %.6g", measurement.ci_low(), measurement.ci_high())
                      : Format("no CI from %d samples", measurement.n())) +
            Format(", p05 %.6g, p95 %.6g", measurement.p05(), measurement.p95()));
  }
  if (result.measurements().empty()) return text;
  const v1::Method& method = result.measurements(0).method();
  return text + Line("method", Format("%d samples of %d, %s, %s, %s, stopped by %s",
                                      result.measurements(0).n(), method.batch(),
                                      method.timer().c_str(), method.cache().c_str(),
                                      method.fill().c_str(), method.stop_reason().c_str()));
}

std::string Microseconds(double seconds) { return Format("%.1f us", seconds * 1e6); }

// Works for both message types that describe a rank, because they have the same fields.
template <typename Rank>
std::string Place(const Rank& rank) {
  return "GPU " + std::to_string(rank.gpu_index()) + " of " + rank.node_name();
}

std::string GangLines(const v1::CaseResult& result) {
  std::string text;
  if (result.has_collective()) {
    const v1::Collective& chosen = result.collective();
    std::vector<std::string> parts = {chosen.algorithm()};
    if (!chosen.protocol().empty()) parts.push_back(chosen.protocol());
    if (chosen.channels() > 0) parts.push_back(std::to_string(chosen.channels()) + " channels");
    text += Line("collective", Join(parts) + " (" + chosen.source() + ")");
  }
  for (const v1::RankTimes& times : result.rank_times()) {
    text += Line(times.rank() == 0 ? "inside, by rank" : "",
                 std::to_string(times.rank()) + ": " + Microseconds(times.median()) + ", p05 " +
                     Microseconds(times.p05()) + ", p95 " + Microseconds(times.p95()) + ", waits " +
                     Microseconds(times.wait()) + ", " + Place(times));
  }
  if (result.has_slow_rank()) {
    const v1::SlowRank& slow = result.slow_rank();
    text +=
        Line("slow rank", std::to_string(slow.rank()) + " (" + Place(slow) + "): the others wait " +
                              Microseconds(slow.others_wait_seconds()) + " for it");
  }
  return text;
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

std::string ResultAsTable(const v1::CaseResult& result) {
  const ParameterMap parameters(result.parameters().begin(), result.parameters().end());
  std::string text = result.benchmark() + ParametersLine(parameters) + "\n";
  text += Line("outcome", schema::OutcomeName(result.outcome()));
  if (result.has_failure()) {
    text += "  " + ReasonWord(result.failure().reason()) + ": " + result.failure().message() + "\n";
  }
  text += MeasurementLines(result);
  if (result.has_verification()) {
    const v1::Verification& verification = result.verification();
    text += Line("verification",
                 Format("%s: error %.3g (%s), tolerance %.3g, %lld elements, %s",
                        verification.passed() ? "passed" : "failed", verification.error(),
                        verification.norm().c_str(), verification.tolerance(),
                        static_cast<long long>(verification.elements_checked()),
                        verification.reference().c_str()));
  }
  text += PredictionLines(result.prediction()) + ConditionsLine(result.conditions());
  text += GangLines(result) + KernelsLine(result);
  return result.has_counters() ? text + CounterLines(result.counters()) : text;
}

std::string ResultAsJson(const v1::CaseResult& result) {
  std::string json;
  for (const v1::StoredResult& row : schema::SplitByMetric(result)) {
    json += (json.empty() ? "[\n" : ",\n") + schema::ResultJson(row);
  }
  return json + "\n]\n";
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
  std::string text = error.Text();
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
    for (const std::string& text : ConstraintTexts(spec)) {
      together += Format("  %-12s %s\n", spec.name.c_str(), text.c_str());
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

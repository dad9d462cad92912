#include "cli/imports/records.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <vector>

#include "host/gpu_model.h"
#include "common/list_text.h"
#include "cli/imports/checked_text.h"

namespace assay::imports {
namespace {

// "1g.10gb" of "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
std::string MigProfile(const std::string& name) {
  const size_t mig = name.find(" MIG ");
  return mig == std::string::npos ? "" : name.substr(mig + 5);
}

// What is stored of a GPU's name.
bool SameGpu(const std::string& a, const std::string& b) {
  const GpuModel first = ParseGpuName(a);
  const GpuModel second = ParseGpuName(b);
  return first.model == second.model && first.form_factor == second.form_factor &&
         MigProfile(a) == MigProfile(b);
}

Status Contradiction(const std::string& option, const std::string& given, const std::string& told) {
  return InvalidArgument(option + " " + Quoted(given) + " contradicts the file, which says " + told)
      .WithHint("leave " + option + " out, or correct it: what the file says counts");
}

// Zones are at most 14 hours from UTC.
bool IsWithin(const google::protobuf::Timestamp& time, const Machines& machines) {
  constexpr int64_t kZone = 14 * 3600;
  return time.seconds() >= *machines.began - kZone && time.seconds() <= *machines.ended + kZone;
}

std::string ClockText(int64_t seconds) {
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  std::string text = google::protobuf::util::TimeUtil::ToString(time);
  return text.replace(text.find('T'), 1, " ").substr(0, 19);
}

Status CheckOrigin(const Machines& machines, const Origin& origin) {
  const std::set<std::string>& gpus = machines.gpu_names;
  if (!origin.gpu.empty() && !gpus.empty() &&
      std::none_of(gpus.begin(), gpus.end(),
                   [&](const std::string& gpu) { return SameGpu(gpu, origin.gpu); })) {
    constexpr size_t kMost = 3;
    std::vector<std::string> names;
    for (const std::string& gpu : gpus) names.push_back(Quoted(gpu));
    return Contradiction("--gpu", origin.gpu, JoinSome(names, kMost));
  }
  if (!origin.driver.empty() && !machines.driver.empty() && origin.driver != machines.driver) {
    return Contradiction("--driver", origin.driver, machines.driver);
  }
  if (origin.time && machines.began && !IsWithin(*origin.time, machines)) {
    return Contradiction("--time", google::protobuf::util::TimeUtil::ToString(*origin.time),
                         ClockText(*machines.began) + " on a clock of some zone");
  }
  return Status::Ok();
}

}  // namespace

void Machines::AddClock(std::optional<int64_t> seconds) {
  if (!seconds) return;
  began = std::min(began.value_or(*seconds), *seconds);
  ended = std::max(ended.value_or(*seconds), *seconds);
}

std::optional<int64_t> ClockSeconds(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00 00:00:00";
  if (text.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !IsDigits(text.substr(i, 1)) : text[i] != kForm[i]) return std::nullopt;
  }
  google::protobuf::Timestamp time;
  const std::string utc =
      std::string(text.substr(0, 10)) + "T" + std::string(text.substr(11)) + "Z";
  if (!google::protobuf::util::TimeUtil::FromString(utc, &time)) return std::nullopt;
  return time.seconds();
}

Status Describe(const Machines& machines, const std::string& source, const Origin& origin,
                Imported* imported) {
  ASSAY_RETURN_IF_ERROR(CheckOrigin(machines, origin));
  std::string gpu = origin.gpu;
  if (gpu.empty()) {
    if (machines.gpu_names.size() != 1) {
      return InvalidArgument(machines.gpu_names.empty()
                                 ? "the file does not name the GPUs"
                                 : "the file names GPUs of " +
                                       std::to_string(machines.gpu_names.size()) + " kinds",
                             "BAD_FILE")
          .WithHint("say which GPU its results are of: --gpu \"NVIDIA H100 80GB HBM3\"");
    }
    gpu = *machines.gpu_names.begin();
  }
  const GpuModel model = ParseGpuName(gpu);
  v1::Environment& environment = imported->environment;
  environment.set_gpu_model(model.model);
  environment.set_gpu_form_factor(model.form_factor);
  environment.set_mig_profile(MigProfile(gpu));
  environment.set_gpu_count(machines.gpus);
  environment.set_node_count(std::max(1, static_cast<int>(machines.hosts.size())));
  if (environment.node_count() > 1) environment.set_topology("network");
  const std::string& driver = origin.driver.empty() ? machines.driver : origin.driver;
  if (!driver.empty()) environment.set_driver_version(driver);
  if (!machines.cuda.empty()) environment.mutable_software()->set_cuda_runtime(machines.cuda);
  if (!machines.nccl.empty()) environment.mutable_software()->set_nccl(machines.nccl);
  imported->provenance.set_imported_from(source);
  if (!origin.node.empty()) imported->provenance.add_node_names(origin.node);
  for (v1::CaseResult& result : imported->results) {
    if (!origin.time) continue;
    *result.mutable_start_time() = *origin.time;
    *result.mutable_end_time() = *origin.time;
  }
  return Status::Ok();
}

void AddMeasurement(const std::string& metric, const std::string& unit, v1::Direction direction,
                    double value, const std::string& timer, int batch, v1::CaseResult* result) {
  v1::Measurement* const measurement = result->add_measurements();
  measurement->set_metric(metric);
  measurement->set_unit(unit);
  measurement->set_direction(direction);
  measurement->set_n(1);
  measurement->set_median(value);
  measurement->set_p05(value);
  measurement->set_p95(value);
  measurement->set_ci_low(value);
  measurement->set_ci_high(value);
  measurement->mutable_method()->set_timer(timer);
  measurement->mutable_method()->set_batch(batch);
}

std::string NcclVersionText(int64_t code) {
  // Since 2.9 the major version has a digit more (nccl.h, NCCL_VERSION).
  const int64_t major = code < 10'000 ? code / 1000 : code / 10'000;
  const int64_t minor = code < 10'000 ? code / 100 % 10 : code / 100 % 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

std::string CudaVersionText(int64_t code) {
  return std::to_string(code / 1000) + "." + std::to_string(code % 1000 / 10);
}

std::string VersionOf(std::string_view word) {
  if (word.starts_with('v')) word.remove_prefix(1);
  constexpr size_t kLongest = 30;
  if (word.size() > kLongest) return "";
  int parts = 0;
  for (std::string_view rest = word;; ++parts) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    if (!IsDigits(rest.substr(0, dot))) return "";
    if (dot == rest.size()) break;
    rest.remove_prefix(dot + 1);
  }
  return parts < 4 ? std::string(word) : "";
}

}  // namespace assay::imports

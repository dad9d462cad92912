#include "imports/records.h"

#include <algorithm>

#include "common/gpu_model.h"
#include "imports/checked_text.h"

namespace assay::imports {
namespace {

// "1g.10gb" of "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
std::string MigProfile(const std::string& name) {
  const size_t mig = name.find(" MIG ");
  return mig == std::string::npos ? "" : name.substr(mig + 5);
}

}  // namespace

Status Describe(const Machines& machines, const std::string& source, const Origin& origin,
                Imported* imported) {
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

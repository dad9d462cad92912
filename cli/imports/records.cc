#include "cli/imports/records.h"

#include <algorithm>

#include "cli/imports/checked_input.h"
#include "common/text.h"
#include "host/gpu_model.h"

namespace assay::imports {
namespace {

// Returns "1g.10gb" for "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
std::string MigProfile(const std::string& name) {
  const size_t mig = name.find(" MIG ");
  return mig == std::string::npos ? "" : name.substr(mig + 5);
}

bool IsSameGpu(const std::string& a, const std::string& b) {
  const GpuModel first = ParseGpuName(a);
  const GpuModel second = ParseGpuName(b);
  return first.model == second.model && first.form_factor == second.form_factor &&
         MigProfile(a) == MigProfile(b);
}

// Returns the GPU of all results: the one that the file names, or the user's choice among several.
Result<std::string> GpuOf(const std::set<std::string>& named, const std::string& given) {
  if (given.empty() && named.size() == 1) return *named.begin();
  if (given.empty()) {
    return BadFile("the file",
                   named.empty() ? "it does not name the GPU" : "it names several kinds of GPUs")
        .WithHint("select one with --gpu, for example --gpu \"NVIDIA H100 80GB HBM3\"");
  }
  const bool known = named.empty() || std::any_of(named.begin(), named.end(), [&](const auto& one) {
                       return IsSameGpu(one, given);
                     });
  if (known) return given;
  return InvalidArgument("--gpu " + Quote(given) + " contradicts the file, which names " +
                         Quote(*named.begin()));
}

}  // namespace

Status Describe(const Machines& machines, const std::string& source, const Origin& origin,
                Imported* imported) {
  ASSAY_ASSIGN_OR_RETURN(const std::string gpu, GpuOf(machines.gpu_names, origin.gpu));
  if (!origin.driver.empty() && !machines.driver.empty() && origin.driver != machines.driver) {
    return InvalidArgument("--driver " + Quote(origin.driver) +
                           " contradicts the file, which names " + Quote(machines.driver));
  }
  const GpuModel model = ParseGpuName(gpu);
  v1::Environment& environment = imported->environment;
  environment.set_gpu_model(model.model);
  environment.set_gpu_form_factor(model.form_factor);
  environment.set_mig_profile(MigProfile(gpu));
  environment.set_gpu_count(machines.gpus);
  environment.set_node_count(std::max(1, static_cast<int>(machines.hosts.size())));
  if (environment.node_count() > 1) environment.set_topology("network");
  const std::string& driver = machines.driver.empty() ? origin.driver : machines.driver;
  if (!driver.empty()) environment.set_driver_version(driver);
  if (!machines.cuda.empty()) environment.mutable_software()->set_cuda_runtime(machines.cuda);
  if (!machines.nccl.empty()) environment.mutable_software()->set_nccl(machines.nccl);
  imported->provenance.set_imported_from(source);
  if (!origin.node.empty()) imported->provenance.add_node_names(origin.node);
  if (!origin.time) return Status::Ok();
  for (v1::CaseResult& result : imported->results) {
    *result.mutable_start_time() = *origin.time;
    *result.mutable_end_time() = *origin.time;
  }
  return Status::Ok();
}

void AddMeasurement(const std::string& metric, const std::string& unit, double value,
                    const std::string& timer, int batch, v1::CaseResult* result) {
  v1::Measurement& measurement = *result->add_measurements();
  measurement.set_metric(metric);
  measurement.set_unit(unit);
  measurement.set_direction(unit == "GB/s" ? v1::DIRECTION_HIGHER_IS_BETTER
                                           : v1::DIRECTION_LOWER_IS_BETTER);
  measurement.set_n(1);
  measurement.set_median(value);
  measurement.set_p05(value);
  measurement.set_p95(value);
  measurement.set_ci_low(value);
  measurement.set_ci_high(value);
  measurement.mutable_method()->set_timer(timer);
  measurement.mutable_method()->set_batch(batch);
}

std::string NcclVersionText(int64_t code) {
  return std::to_string(code / 10'000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::string VersionOf(std::string_view word) {
  if (word.starts_with('v')) word.remove_prefix(1);
  constexpr size_t kLongest = 30;
  const bool version =
      word.size() <= kLongest && word.find_first_not_of("0123456789.") == std::string_view::npos;
  return version ? std::string(word) : "";
}

}  // namespace assay::imports

#include "storage/identity.h"

#include <nlohmann/json.hpp>

#include "common/digest.h"

namespace assay::storage {
namespace {

using Json = nlohmann::json;  // Objects are sorted by key.

std::string Canonical(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Absent optional fields have no key, because absent differs from zero.
Json HardwareOf(const v1::Environment& environment, const std::string& cpu_model) {
  Json json = {{"gpu_model", environment.gpu_model()},
               {"gpu_form_factor", environment.gpu_form_factor()},
               {"mig_profile", environment.mig_profile()},
               {"gpu_count", environment.gpu_count()},
               {"topology", environment.topology()},
               {"cpu_model", cpu_model},
               {"node_count", environment.node_count()}};
  if (environment.has_power_limit_watts()) {
    json["power_limit_watts"] = environment.power_limit_watts();
  }
  if (environment.has_ecc_enabled()) json["ecc_enabled"] = environment.ecc_enabled();
  if (environment.has_clocks_locked()) json["clocks_locked"] = environment.clocks_locked();
  // NCCL settings are part of the lineage too, because they are not versions.
  for (const auto& [name, value] : environment.nccl()) json["nccl"][name] = value;
  return json;
}

// Results of GPUs are compared across hosts with different CPUs.
std::string CpuOfLineage(const v1::Environment& environment) {
  return environment.gpu_count() > 0 ? "" : environment.cpu_model();
}

Json EnvironmentOf(const v1::Environment& environment) {
  Json json = HardwareOf(environment, environment.cpu_model());
  if (environment.has_driver_version()) json["driver_version"] = environment.driver_version();
  const v1::SoftwareVersions& software = environment.software();
  Json versions = Json::object();
  if (software.has_cuda_runtime()) versions["cuda_runtime"] = software.cuda_runtime();
  if (software.has_cublas()) versions["cublas"] = software.cublas();
  if (software.has_nccl()) versions["nccl"] = software.nccl();
  if (software.has_blas()) versions["blas"] = software.blas();
  json["software"] = std::move(versions);
  return json;
}

}  // namespace

EnvironmentIdentity::EnvironmentIdentity(const v1::Environment& environment)
    : hardware_json(Canonical(HardwareOf(environment, CpuOfLineage(environment)))),
      json(Canonical(EnvironmentOf(environment))),
      id(Sha256Hex(json)) {}

Identity IdentityOf(const v1::CaseResult& result, const EnvironmentIdentity& environment) {
  const v1::Measurement& measurement =
      result.measurements().empty() ? v1::Measurement::default_instance() : result.measurements(0);
  Json parameters = Json::object();
  for (const auto& [name, value] : result.parameters()) parameters[name] = value;
  // The keys before and after "environment", whose text is the same for many results.
  const std::string head = Canonical({{"benchmark", result.benchmark()},
                                      {"cache", measurement.method().cache()},
                                      {"direction", static_cast<int>(measurement.direction())}});
  Json rest = {
      {"version", result.benchmark_version()}, {"parameters", std::move(parameters)},
      {"metric", measurement.metric()},        {"unit", measurement.unit()},
      {"fill", measurement.method().fill()},   {"simulated", result.provenance().simulated()}};
  // No key for results that Assay measured.
  if (const std::string& from = result.provenance().imported_from(); !from.empty()) {
    rest["imported_from"] = from.substr(0, from.find_first_of(" ,"));
  }
  const std::string tail = Canonical(rest);
  const auto series_of = [&](const std::string& json) {
    return head.substr(0, head.size() - 1) + ",\"environment\":" + json + "," + tail.substr(1);
  };
  Identity identity;
  identity.lineage_id = Sha256Hex(series_of(environment.hardware_json));
  identity.environment_json = environment.json;
  identity.environment_id = environment.id;
  identity.series_json = series_of(environment.json);
  identity.series_id = Sha256Hex(identity.series_json);
  return identity;
}

Identity IdentityOf(const v1::CaseResult& result) {
  return IdentityOf(result, EnvironmentIdentity(result.environment()));
}

}  // namespace assay::storage

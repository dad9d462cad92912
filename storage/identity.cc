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
Json HardwareOf(const v1::Environment& environment) {
  Json json = {{"gpu_model", environment.gpu_model()},
               {"gpu_form_factor", environment.gpu_form_factor()},
               {"mig_profile", environment.mig_profile()},
               {"gpu_count", environment.gpu_count()},
               {"topology", environment.topology()},
               {"cpu_model", environment.cpu_model()},
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

Json EnvironmentOf(const v1::Environment& environment) {
  Json json = HardwareOf(environment);
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

Identity IdentityOf(const v1::CaseResult& result) {
  const v1::Measurement& measurement =
      result.measurements().empty() ? v1::Measurement::default_instance() : result.measurements(0);
  Json parameters = Json::object();
  for (const auto& [name, value] : result.parameters()) parameters[name] = value;
  Json series = {{"benchmark", result.benchmark()},
                 {"version", result.benchmark_version()},
                 {"parameters", std::move(parameters)},
                 {"metric", measurement.metric()},
                 {"unit", measurement.unit()},
                 {"direction", static_cast<int>(measurement.direction())},
                 {"cache", measurement.method().cache()},
                 {"fill", measurement.method().fill()},
                 {"simulated", result.provenance().simulated()}};
  // No key for results that Assay measured.
  if (const std::string& from = result.provenance().imported_from(); !from.empty()) {
    series["imported_from"] = from.substr(0, from.find_first_of(" ,"));
  }
  Identity identity;
  series["environment"] = HardwareOf(result.environment());
  identity.lineage_id = Sha256Hex(Canonical(series));
  Json environment = EnvironmentOf(result.environment());
  identity.environment_json = Canonical(environment);
  identity.environment_id = Sha256Hex(identity.environment_json);
  series["environment"] = std::move(environment);
  identity.series_json = Canonical(series);
  identity.series_id = Sha256Hex(identity.series_json);
  return identity;
}

}  // namespace assay::storage

#include "storage/postgres/result_columns.h"

#include <nlohmann/json.hpp>

#include "common/digest.h"
#include "wire/interval.h"
#include "storage/payload.h"
#include "storage/postgres/samples.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

void AddTime(ArrayLiteral& column, bool known, const google::protobuf::Timestamp& time) {
  if (known) return column.Add(schema::SecondsSince1970(schema::FromTimestamp(time)));
  column.AddNull();
}

void AddOptional(ArrayLiteral& column, bool known, double number) {
  if (known) return column.Add(number);
  column.AddNull();
}

void AddOptional(ArrayLiteral& column, bool known, const std::string& text) {
  if (known) return column.Add(text);
  column.AddNull();
}

// In the order of migration 0008.
std::string ModelLiteral(const v1::LinkModel& model) {
  return ArrayOf(std::vector<double>{model.predicted_seconds(), model.latency_seconds(),
                                     model.bandwidth(), model.knee_bytes(), model.error(),
                                     static_cast<double>(model.points())});
}

std::string ParametersJson(const v1::CaseResult& result) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : result.parameters()) json[name] = value;
  return StorableJson(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void InsertEnvironments(pqxx::transaction_base& transaction,
                        const std::vector<const ResultToStore*>& rows) {
  ArrayLiteral ids, contents, models, forms, migs, counts, topologies, cpus, drivers, cudas,
      cublases, nccls, blases;
  for (const ResultToStore* row : rows) {
    const v1::Environment& environment = row->result->environment();
    const v1::SoftwareVersions& software = environment.software();
    ids.Add(row->identity.environment_id);
    contents.Add(StorableJson(row->identity.environment_json));
    models.Add(environment.gpu_model());
    forms.Add(environment.gpu_form_factor());
    migs.Add(environment.mig_profile());
    counts.Add(static_cast<int64_t>(environment.gpu_count()));
    topologies.Add(environment.topology());
    cpus.Add(environment.cpu_model());
    AddOptional(drivers, environment.has_driver_version(), environment.driver_version());
    AddOptional(cudas, software.has_cuda_runtime(), software.cuda_runtime());
    AddOptional(cublases, software.has_cublas(), software.cublas());
    AddOptional(nccls, software.has_nccl(), software.nccl());
    AddOptional(blases, software.has_blas(), software.blas());
  }
  transaction.exec_params(
      "INSERT INTO environment (environment_id, content, gpu_model, gpu_form_factor,"
      "  gpu_mig_profile, gpu_count, topology, cpu_model, driver_version, cuda_version,"
      "  cublas_version, nccl_version, blas_version) "
      "SELECT DISTINCT ON (id) id, content::jsonb, model, form, mig, count, topology, cpu, driver,"
      "  cuda, cublas, nccl, blas "
      "FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[],"
      "  $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])"
      "  AS v(id, content, model, form, mig, count, topology, cpu, driver, cuda, cublas, nccl,"
      "       blas) "
      "ORDER BY id ON CONFLICT DO NOTHING",
      ids.Finish(), contents.Finish(), models.Finish(), forms.Finish(), migs.Finish(),
      counts.Finish(), topologies.Finish(), cpus.Finish(), drivers.Finish(), cudas.Finish(),
      cublases.Finish(), nccls.Finish(), blases.Finish());
}

}  // namespace

void CaseColumns::Add(const v1::CaseResult& result) {
  v1::CaseResult bare = result;
  bare.clear_measurements();
  job_ids.Add(result.job_id());
  epochs.Add(static_cast<int64_t>(result.epoch()));
  case_indices.Add(static_cast<int64_t>(result.case_index()));
  hashes.Add(PayloadHash(result));
  payloads.Add(HexLiteral(DeterministicBytes(bare)));
}

void ResultColumns::Add(const ResultToStore& row) {
  const v1::CaseResult& result = *row.result;
  const std::string result_id = NewUuid();
  job_ids.Add(result.job_id());
  case_indices.Add(static_cast<int64_t>(result.case_index()));
  result_ids.Add(result_id);
  series_keys.Add(row.series_key);
  primary.Add(static_cast<int64_t>(row.primary ? 1 : 0));
  outcomes.Add(static_cast<int64_t>(result.outcome()));
  AddMeasurement(result, result_id);
  AddOrigin(result);
}

void ResultColumns::AddMeasurement(const v1::CaseResult& result, const std::string& result_id) {
  const bool measured = !result.measurements().empty();
  v1::Measurement measurement;
  if (measured) measurement = result.measurements(0);
  if (!measurement.samples().empty()) {
    sample_result_ids.Add(result_id);
    sample_counts.Add(static_cast<int64_t>(measurement.samples_size()));
    sample_data.Add(HexLiteral(CompressSamples(measurement.samples())));
  }
  measurement.clear_samples();
  AddOptional(measurements, measured, HexLiteral(DeterministicBytes(measurement)));
  if (measured) {
    counts.Add(static_cast<int64_t>(measurement.n()));
  } else {
    counts.AddNull();
  }
  AddOptional(medians, measured, measurement.median());
  AddOptional(mads, measured, measurement.mad());
  AddOptional(p05s, measured, measurement.p05());
  AddOptional(p95s, measured, measurement.p95());
  const bool interval = schema::HasInterval(measurement);
  AddOptional(ci_lows, interval, measurement.ci_low());
  AddOptional(ci_highs, interval, measurement.ci_high());
  const std::string& stop_reason = measurement.method().stop_reason();
  AddOptional(stop_reasons, !stop_reason.empty(), stop_reason);
}

void ResultColumns::AddOrigin(const v1::CaseResult& result) {
  const v1::Provenance& origin = result.provenance();
  const v1::Prediction& prediction = result.prediction();
  AddOptional(gpu_ids, !origin.gpu_uuids().empty(),
              origin.gpu_uuids().empty() ? std::string() : origin.gpu_uuids(0));
  AddOptional(efficiencies, prediction.has_efficiency_spec(), prediction.efficiency_spec());
  AddOptional(prices, origin.has_price_per_hour(), origin.price_per_hour());
  AddTime(start_times, result.has_start_time(), result.start_time());
  AddTime(end_times, result.has_end_time(), result.end_time());
  node_ids.Add(ArrayOf(origin.node_ids()));
  node_names.Add(ArrayOf(origin.node_names()));
  gpu_uuids.Add(ArrayOf(origin.gpu_uuids()));
  providers.Add(origin.provider());
  regions.Add(origin.region());
  kernels.Add(origin.kernel());
  agent_versions.Add(origin.agent_version());
  flags.Add(ArrayOf(result.conditions().flags()));
  AddOptional(regimes, !prediction.regime().empty(), prediction.regime());
  AddOptional(failure_reasons, !result.failure().reason().empty(), result.failure().reason());
  AddOptional(link_models, prediction.has_link_model(), ModelLiteral(prediction.link_model()));
  AddOptional(origins, !origin.imported_from().empty(), origin.imported_from());
}

void InsertSeries(pqxx::transaction_base& transaction,
                  const std::vector<const ResultToStore*>& rows) {
  InsertEnvironments(transaction, rows);
  ArrayLiteral ids, lineages, environments, benchmarks, versions, parameters, metrics, units,
      directions, caches, fills, simulated;
  for (const ResultToStore* row : rows) {
    const v1::CaseResult& result = *row->result;
    const v1::Measurement measurement =
        result.measurements().empty() ? v1::Measurement() : result.measurements(0);
    ids.Add(row->identity.series_id);
    lineages.Add(row->identity.lineage_id);
    environments.Add(row->identity.environment_id);
    benchmarks.Add(result.benchmark());
    versions.Add(static_cast<int64_t>(result.benchmark_version()));
    parameters.Add(ParametersJson(result));
    metrics.Add(measurement.metric());
    units.Add(measurement.unit());
    directions.Add(static_cast<int64_t>(measurement.direction()));
    caches.Add(measurement.method().cache());
    fills.Add(measurement.method().fill());
    simulated.Add(static_cast<int64_t>(result.provenance().simulated() ? 1 : 0));
  }
  transaction.exec_params(
      "INSERT INTO series (series_id, lineage_id, environment_id, benchmark, benchmark_version,"
      "  parameters, metric, unit, direction, cache, fill, simulated) "
      "SELECT DISTINCT ON (id) id, lineage, environment, benchmark, version, parameters::jsonb,"
      "  metric, unit, direction, cache, fill, simulated = 1 "
      "FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[],"
      "  $7::text[], $8::text[], $9::smallint[], $10::text[], $11::text[], $12::int[])"
      "  AS v(id, lineage, environment, benchmark, version, parameters, metric, unit, direction,"
      "       cache, fill, simulated) "
      "ORDER BY id ON CONFLICT DO NOTHING",
      ids.Finish(), lineages.Finish(), environments.Finish(), benchmarks.Finish(),
      versions.Finish(), parameters.Finish(), metrics.Finish(), units.Finish(), directions.Finish(),
      caches.Finish(), fills.Finish(), simulated.Finish());
}

std::string StoredColumns() {
  return "r.result_id, r.sequence, r.campaign_id, c.name AS campaign_name, r.job_id,"
         " r.repetition, r.is_primary, s.series_id, s.lineage_id, d.payload, r.measurement ";
}

std::string StoredTables() {
  return "FROM result r JOIN series s USING (series_key) JOIN environment e USING (environment_id)"
         " JOIN campaign c ON c.campaign_id = r.campaign_id"
         " JOIN case_result d ON d.job_id = r.job_id AND d.case_index = r.case_index ";
}

v1::StoredResult StoredResultOf(const pqxx::row& row) {
  v1::StoredResult stored;
  stored.set_result_id(row["result_id"].as<std::string>());
  stored.set_campaign_id(row["campaign_id"].as<std::string>());
  stored.set_campaign_name(row["campaign_name"].as<std::string>());
  stored.set_job_id(row["job_id"].as<std::string>());
  stored.set_repetition(row["repetition"].as<int>());
  stored.set_primary(row["is_primary"].as<bool>());
  stored.set_series_id(row["series_id"].as<std::string>());
  stored.set_lineage_id(row["lineage_id"].as<std::string>());
  v1::CaseResult* result = stored.mutable_case_result();
  result->ParseFromString(BytesOf(row["payload"]));
  if (!row["measurement"].is_null()) {
    result->add_measurements()->ParseFromString(BytesOf(row["measurement"]));
  }
  return stored;
}

}  // namespace assay::storage

// Fills a migrated database with results of a made-up fleet, on the server.
//
// Two metrics of each of 120 cases (10 benchmarks with 12 values of "m") on three GPU models and
// four drivers make 2,880 series. 300 nodes with eight GPUs measure for six months, 50 cases per
// job and 50 jobs per campaign. Newer months have newer drivers. One case in 400 fails.
#pragma once

#include <string>

#include "common/status.h"
#include "storage/postgres/pool.h"
#include "storage/postgres/sql.h"
#include "tests/storage_records.h"

namespace assay::storage {

struct GeneratedHistory {
  int64_t results = 0;

  // Stores the history. Takes about 20 s per million results.
  Status Fill(Pool& pool) const {
    for (const std::string& statement : Tables()) {
      ASSAY_RETURN_IF_ERROR(pool.RunLong("fill", [&](Transaction& transaction) {
        transaction.exec("SET LOCAL statement_timeout = 0");
        transaction.exec(statement);
        return Status::Ok();
      }));
    }
    v1::CaseResult payload = MakeResult(ExampleJob());
    v1::Measurement measurement = payload.measurements(0);
    measurement.clear_samples();
    measurement.set_p05(measurement.ci_low());
    measurement.set_p95(measurement.ci_high());
    v1::Method* method = measurement.mutable_method();
    method->set_timer("events");
    method->set_batch(16);
    method->set_warmup_seconds(0.125);
    method->set_warmup_iterations(100);
    method->set_host_seconds(0.125);
    method->set_effort("standard");
    payload.clear_measurements();
    for (int month = 0; month < kMonths; ++month) {
      ASSAY_RETURN_IF_ERROR(pool.RunLong("fill", [&](Transaction& transaction) {
        transaction.exec("SET LOCAL statement_timeout = 0");
        transaction.exec(Partition(month));
        transaction.exec_params(Results(month), HexLiteral(measurement.SerializeAsString()));
        transaction.exec_params(Cases(month), HexLiteral(payload.SerializeAsString()));
        return Status::Ok();
      }));
    }
    return pool.RunLong("fill", [&](Transaction& transaction) {
      transaction.exec("SET statement_timeout = 0");
      transaction.exec("ANALYZE");
      return Status::Ok();
    });
  }

  static constexpr int kMonths = 6;

 private:
  static LeasedJob ExampleJob() {
    LeasedJob job;
    job.job = MakeJob({"node1"});
    job.node_ids = {"node1"};
    return job;
  }

  static std::vector<std::string> Tables() {
    return {
        "INSERT INTO environment (environment_id, content, gpu_model, gpu_form_factor, gpu_count,"
        "  topology, driver, cuda) "
        "SELECT 'environment' || m * 4 + d, '{}', (ARRAY['H100', 'H200', 'B200'])[m + 1], 'SXM',"
        "  1, 'single', (ARRAY['535.104.12', '550.54.15', '570.86.10', '580.95.05'])[d + 1], '13.0'"
        "FROM generate_series(0, 2) m, generate_series(0, 3) d",
        "INSERT INTO series (series_key, series_id, lineage_id, environment_id, benchmark,"
        "  benchmark_version, parameters, metric, unit, direction, cache, fill, simulated)"
        "OVERRIDING SYSTEM VALUE "
        "SELECT k + 1, md5('series' || k), md5('lineage' || k / 8 % 360 || k % 2),"
        "  'environment' || k / 2 % 12, 'benchmark' || k / 288, 1,"
        "  jsonb_build_object('m', (1 << (k / 24 % 12 + 4))::text, 'dtype', 'bf16'),"
        "  (ARRAY['tflops', 'time'])[k % 2 + 1], (ARRAY['TFLOP/s', 's'])[k % 2 + 1],"
        "  (ARRAY['higher', 'lower'])[k % 2 + 1]::direction, 'cold', 'random', false "
        "FROM generate_series(0, 2879) k",
        "INSERT INTO origin (origin_key, origin_id, node, node_id, gpu_uuid, label, provider,"
        "  kernel, agent_version)"
        "OVERRIDING SYSTEM VALUE "
        "SELECT (month * 300 + node) * 8 + gpu + 1, md5('origin' || month || '.' || node || '.' "
        "    || gpu), ARRAY['n' || node], ARRAY['id' || node],"
        "  ARRAY['GPU-' || node || '-' || gpu],"
        "  jsonb_build_object('rack', 'r' || node / 10), 'runpod', '6.8.0', '0.' || month || '.0' "
        "FROM generate_series(0, 5) month, generate_series(0, 299) node, generate_series(0, 7) "
        "gpu"};
  }

  // Returns an expression for the id of a campaign or job, which is a UUID as in a real history.
  static std::string Id(const std::string& kind, const std::string& number) {
    return "md5('" + kind + "' || " + number + ")::uuid::text";
  }

  std::string Begin(int month) const {
    return "(date_trunc('month', now(), 'UTC') - interval '" + std::to_string(kMonths - 1 - month) +
           " months')";
  }

  // Rows of these numbers belong to a month. Even numbers are the first metric of a case.
  std::string Numbers(int month, int step) const {
    const int64_t first = results / kMonths / 5000 * 5000 * month;
    const int64_t end =
        month + 1 == kMonths ? results : results / kMonths / 5000 * 5000 * (month + 1);
    return "generate_series(" + std::to_string(first) + "::bigint, " + std::to_string(end - 1) +
           ", " + std::to_string(step) + ")";
  }

  std::string Partition(int month) const {
    return "DO $$ DECLARE begin_ timestamptz := " + Begin(month) +
           "; part text := 'result_' || to_char(begin_ AT TIME ZONE 'UTC', 'YYYY_MM');"
           "BEGIN IF to_regclass(part) IS NULL THEN EXECUTE format('CREATE TABLE %I PARTITION OF "
           "result FOR VALUES FROM (%L) TO (%L)', part, begin_, begin_ + interval '1 month');"
           "END IF; END $$";
  }

  std::string Results(int month) const {
    const std::string month_text = std::to_string(month);
    // The last month ends now.
    const std::string span =
        month + 1 == kMonths ? "(now() - " + Begin(month) + ")" : "interval '27 days'";
    const std::string numbers = Numbers(month, 1);
    return "WITH i AS (SELECT i, i / 2 AS c, i / 100 AS j, (i / 100 * 7919) % 300 AS node,"
           "    (i / 30000 + i / 100 * 7919 % 300) % 8 AS gpu, (i / 2 % 50 + i / 100 * 50) % 120 "
           "AS case_number,"
           "    (hashint8(i) & 1023) / 1024.0 AS noise,"
           "    row_number() OVER () / count(*) OVER ()::float8 AS part FROM " +
           numbers +
           " AS i), r AS (SELECT *, node % 3 AS model,"
           "    least(3, " +
           month_text +
           " / 2 + node / 3 % 2) AS driver,"
           "    100 * (1 + case_number / 12) * (1 + 0.3 * (node % 3)) * (0.98 + 0.02 * noise)"
           "      AS value FROM i) "
           "INSERT INTO result (sequence, result_id, ts, series_key, origin_key, campaign_id,"
           "  job_id, case_index, repetition, measurement, \"time\", end_time, \"primary\","
           "  outcome, failure_reason, n, median, mad, p05, p95, ci_low, ci_high, stop_reason,"
           "  effort, efficiency_spec, regime) "
           "SELECT i, gen_random_uuid(), " +
           Begin(month) + " + part * " + span +
           ", ((case_number * 3 + model) * 4 + driver) * 2 + i % 2 + 1,"
           "  (" +
           month_text + " * 300 + node) * 8 + gpu + 1, " + Id("campaign", "i / 5000") + ", " +
           Id("job", "j") + ", c % 50, 0, $1::bytea, " + Begin(month) + " + part * " + span +
           " - interval '1 minute', " + Begin(month) + " + part * " + span +
           ", i % 2 = 0,"
           "  CASE WHEN c % 400 = 7 THEN 'failed' ELSE 'ok' END::case_outcome,"
           "  CASE WHEN c % 400 = 7 THEN 'TIMEOUT' END, 30,"
           "  CASE WHEN c % 400 <> 7 THEN value END, value / 200, value * 0.99, value * 1.01,"
           "  value * 0.998, value * 1.002, 'confidence', 'standard', 0.7, 'compute' FROM r";
  }

  std::string Cases(int month) const {
    const std::string campaigns = Numbers(month, 5000);
    const std::string jobs = Numbers(month, 100);
    return "WITH c AS (INSERT INTO campaign (campaign_id, request_id, name, spec, priority,"
           "    retries, state, verdict, end_time)"
           "  SELECT " +
           Id("campaign", "i / 5000") + ", " + Id("request", "i / 5000") +
           ", 'night' || i / 5000, '', 0, 0,"
           "    'completed', 'passed', now() FROM " +
           campaigns +
           " AS i), j AS (INSERT INTO job (job_id, campaign_id, benchmark, benchmark_version,"
           "    cases, case_count, world_size, node_count, candidate_node_ids, gpu_indices,"
           "    exclusive_node, timeout_ns, repetition, seed, state)"
           "  SELECT " +
           Id("job", "i / 100") + ", " + Id("campaign", "i / 5000") +
           ", 'benchmark1', 1, '', 50, 1, 1,"
           "    ARRAY['x'], '{0}', false, 1, 0, 0, 'succeeded' FROM " +
           jobs +
           " AS i) "
           "INSERT INTO case_result (job_id, case_index, epoch, payload_hash, payload) "
           "SELECT " +
           Id("job", "i / 100") + ", i / 2 % 50, 1, sha256(i::text::bytea), $1::bytea FROM " +
           Numbers(month, 2) + " AS i";
  }
};

}  // namespace assay::storage

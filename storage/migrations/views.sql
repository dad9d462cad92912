-- Views for filters, dashboards and people. Runs whenever this file has changed.

DROP VIEW IF EXISTS result_view, job_view, node_view;

-- Every field of wire/result_fields.cc that filters can use is a column, with _ for a dot.
CREATE VIEW result_view AS
SELECT r.ts, r.sequence, r.series_key, r.case_index, r.result_id, r."time", r.end_time, c.name AS campaign,
       r.campaign_id, r.job_id, r.repetition, s.series_id, s.lineage_id, r.origin_key, o.node,
       o.node_id, o.node[1] AS node_name, o.gpu_uuid, o.gpu_id, s.benchmark, s.benchmark_version, s.parameters,
       r.outcome::text AS outcome, r.failure_reason, s.metric, r."primary", s.unit,
       s.direction::text AS direction, r.n, r.median, r.mad, r.p05, r.p95, r.ci_low, r.ci_high,
       CASE WHEN r.median <> 0 THEN (r.ci_high - r.ci_low) / 2 / abs(r.median) END AS uncertainty,
       s.cache, s.fill, r.stop_reason, r.effort, r.efficiency_spec, r.regime, r.model_seconds,
       r.model_latency_seconds, r.model_bandwidth, r.model_knee_bytes, r.model_error,
       r.model_sizes, r.flag, r.measurement, e.gpu_model, e.gpu_form_factor, e.gpu_count, e.gpu_mig_profile,
       e.topology, e.cpu_model, e.driver, e.driver_order, e.cuda, e.cublas, e.nccl, e.blas,
       e.content -> 'nccl' AS nccl_variables, o.label, o.provider, o.region, o.price_per_hour,
       o.kernel, o.agent_version, s.simulated, o.imported_from IS NOT NULL AS imported,
       o.imported_from
FROM result r
JOIN series s USING (series_key)
JOIN environment e USING (environment_id)
JOIN origin o USING (origin_key)
JOIN campaign c USING (campaign_id);

CREATE VIEW job_view AS
SELECT j.job_id, j.campaign_id, c.name AS campaign, j.benchmark, j.state::text AS state,
       j.attempts, j.repetition, j.case_count, j.cases_done, j.node_ids, j.failures,
       j.create_time, j.start_time, j.end_time
FROM job j JOIN campaign c USING (campaign_id);

CREATE VIEW node_view AS
SELECT n.node_id, n.name, s.owner IS NOT NULL AS in_session, s.last_heartbeat_time,
       n.first_seen_time, n.description_json #>> '{inventory,driverVersion}' AS driver,
       jsonb_array_length(coalesce(n.description_json #> '{inventory,gpus}', '[]')) AS gpu_count,
       n.description_json #>> '{inventory,gpus,0,model}' AS gpu_model,
       n.description_json ->> 'provider' AS provider, n.description_json ->> 'region' AS region,
       (n.description_json ->> 'pricePerHour')::float8 AS price_per_hour,
       coalesce((n.description_json #>> '{inventory,simulated}')::boolean, false) AS simulated,
       n.quarantine, n.quarantine_time
FROM node n JOIN node_session s USING (node_id);

-- Grafana's role, which can only read. Left out if this user may not create roles.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'assay_reader') THEN
    CREATE ROLE assay_reader LOGIN;
  END IF;
  GRANT SELECT ON ALL TABLES IN SCHEMA public TO assay_reader;
  -- Also tables made later, such as partitions.
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO assay_reader;
EXCEPTION
  WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    RAISE NOTICE 'the role assay_reader was not made: %', SQLERRM;
END
$$;

-- Views for filters, dashboards and people. Runs whenever this file has changed.

DROP VIEW IF EXISTS result_view, job_view, node_view, regression_view, incident_view, outlier_view,
  driver_median_view, driver_change_view, case_cost_view, node_flag_view, baseline_view,
  annotation_view;

-- Parameters for people: "dtype=bf16 m=8192".
CREATE OR REPLACE FUNCTION assay_parameter_text(parameters jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT string_agg(key || '=' || value, ' ' ORDER BY key) FROM jsonb_each_text(parameters)
$$;

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

-- Labels and price are those that results get: an operator's, else the agent's.
CREATE VIEW node_view AS
SELECT n.node_id, n.name, s.owner IS NOT NULL AS in_session, s.last_heartbeat_time,
       n.first_seen_time, n.description_json #>> '{inventory,driverVersion}' AS driver,
       jsonb_array_length(coalesce(n.description_json #> '{inventory,gpus}', '[]')) AS gpu_count,
       n.description_json #>> '{inventory,gpus,0,model}' AS gpu_model,
       n.description_json ->> 'provider' AS provider, n.description_json ->> 'region' AS region,
       coalesce(n.price_setting, (n.description_json ->> 'pricePerHour')::float8) AS price_per_hour,
       (SELECT coalesce(jsonb_object_agg(own.key, own.value), '{}')
        FROM jsonb_each(coalesce(n.description_json -> 'labels', '{}')) AS own
        WHERE NOT EXISTS (SELECT FROM jsonb_each(n.label_settings) AS set
                          WHERE CASE WHEN set.value = 'null' THEN set.key = own.key
                                     ELSE lower(set.key) = lower(own.key) END))
         || jsonb_strip_nulls(n.label_settings) AS label,
       coalesce((n.description_json #>> '{inventory,simulated}')::boolean, false) AS simulated,
       n.quarantine, n.quarantine_time, n.cordon_time, n.cordon_reason, n.cordoned_by,
       n.drain_deadline
FROM node n JOIN node_session s USING (node_id);

-- One row per step of a case at a place. `change` is -0.06 for a loss of 6%.
CREATE VIEW regression_view AS
SELECT regression_id, incident_id, state::text AS state, scope::text AS scope,
       state IS NULL OR state NOT IN ('resolved', 'cleared') AS open, benchmark, benchmark_version, parameters,
       assay_parameter_text(parameters) AS parameter_text, metric, unit, direction::text AS direction,
       gpu_model, lineage_id, node, node[1] AS node_name, gpu_uuid, gpu_uuid[1] AS gpu_id,
       ratio, ratio - 1 AS change, median_before, median_after, driver_before, driver_after,
       agent_version_before, agent_version_after, last_good_time, step_time, detected_time,
       confirmed_time, resolved_time, acknowledged_by, acknowledge_note, false_alarm, simulated
FROM regression;

CREATE VIEW incident_view AS
SELECT incident_id, state::text AS state, scope::text AS scope,
       state IS NULL OR state NOT IN ('resolved', 'cleared') AS open, cause::text AS cause, cause_from, cause_to,
       node, node[1] AS node_name, gpu_uuid, gpu_uuid[1] AS gpu_id, start_time, last_good_time,
       regression_count, place_count, case_count, worst_ratio, worst_ratio - 1 AS worst_change,
       simulated
FROM incident;

-- One row per case in which a place differs from its peers.
CREATE VIEW outlier_view AS
SELECT kind::text AS kind, benchmark, benchmark_version, parameters,
       assay_parameter_text(parameters) AS parameter_text, metric, unit, direction::text AS direction,
       gpu_model, driver, lineage_id, node, node[1] AS node_name, gpu_uuid, gpu_uuid[1] AS gpu_id,
       z, ratio, ratio - 1 AS change, rank, place_count, median, peers_median, power_limited,
       end_time, result_id, simulated
FROM outlier;

-- One row per case, driver and state of the clocks: throttled runs have rows of their own.
CREATE VIEW driver_median_view AS
SELECT benchmark, benchmark_version, parameters, assay_parameter_text(parameters) AS parameter_text,
       metric, unit, direction::text AS direction, gpu_model, gpu_mig_profile, gpu_count, conditions,
       standard, throttled, lineage_id, driver, driver_order, median, noise, noise_floor,
       efficiency_spec, runs, places, oldest_time, newest_time, simulated
FROM driver_median;

-- One row per case and new driver. `change` is -0.06 for a loss of 6%. `verdict` considers how many
-- cases the drivers were compared in: the procedure of Benjamini and Hochberg at 1%, as
-- AdjustForCount in analysis/comparison.h.
CREATE VIEW driver_change_view AS
SELECT benchmark, benchmark_version, parameters, assay_parameter_text(parameters) AS parameter_text,
       metric, unit, direction::text AS direction, gpu_model, gpu_mig_profile, gpu_count, conditions,
       standard, throttled, lineage_id, driver_before, driver, driver_order,
       CASE WHEN verdict NOT IN ('regressed', 'improved') OR p_value <= p_limit THEN verdict
            ELSE 'inconclusive' END AS verdict,
       ratio, ratio - 1 AS change, ratio_low - 1 AS change_low, ratio_high - 1 AS change_high,
       median_before, median, places, runs_before, runs, missing, missing_count, change_time,
       simulated
FROM (SELECT *, max(p_value) FILTER (WHERE p_value <= 0.01 * not_larger / compared)
              OVER (PARTITION BY driver_before, driver, gpu_model, simulated) AS p_limit
      FROM (SELECT *,
                   count(ratio_low) OVER (PARTITION BY driver_before, driver, gpu_model, simulated
                                          ORDER BY p_value) AS not_larger,
                   nullif(count(ratio_low) OVER (PARTITION BY driver_before, driver, gpu_model,
                                                 simulated), 0) AS compared
            FROM driver_change) counted) limited;

-- One row per case and offer. `per_dollar` is what a dollar an hour buys, in the metric's unit.
CREATE VIEW case_cost_view AS
SELECT benchmark, benchmark_version, parameters, assay_parameter_text(parameters) AS parameter_text,
       metric, unit, direction::text AS direction, gpu_model, gpu_mig_profile, gpu_count, conditions,
       standard, throttled, lineage_id, provider, dollars_per_hour, median,
       CASE WHEN direction = 'higher' THEN median / nullif(dollars_per_hour, 0) END AS per_dollar,
       runs, places, newest_time, simulated
FROM case_cost;

CREATE VIEW node_flag_view AS
SELECT node_name, flag, gpu_model, lineage_id, flagged_runs, runs, newest_time, simulated
FROM node_flag;

-- One row per case of a baseline.
CREATE VIEW baseline_view AS
SELECT b.name, b.filter, b.create_time, b.created_by, c.benchmark, c.benchmark_version, c.parameters,
       assay_parameter_text(c.parameters) AS parameter_text, c.metric, c.unit,
       c.direction::text AS direction, c.gpu_model, c.lineage_id, c.median, c.runs, c.places,
       c.simulated
FROM baseline b JOIN baseline_case c USING (name);

CREATE VIEW annotation_view AS
SELECT annotation_id, "time", text, node_name, created_by FROM annotation;

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

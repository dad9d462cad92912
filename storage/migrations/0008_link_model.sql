-- What the machine's times of other sizes predict, for filters: model_seconds, model_latency_seconds,
-- model_bandwidth, model_knee_bytes, model_error, model_sizes. NULL without a fit, and for results
-- stored before, whose messages hold it.
ALTER TABLE result ADD COLUMN link_model float8[];

CREATE OR REPLACE VIEW result_view AS
SELECT r.ts, r.result_id, r.start_time, r.end_time, s.benchmark, s.benchmark_version,
       s.parameters, s.metric, s.unit,
       CASE s.direction WHEN 1 THEN 'higher' WHEN 2 THEN 'lower' END AS better,
       CASE r.outcome WHEN 1 THEN 'ok' WHEN 2 THEN 'failed' WHEN 3 THEN 'unsupported' END
         AS outcome,
       r.is_primary, r.n, r.median, r.mad, r.p05, r.p95, r.ci_low, r.ci_high, r.efficiency_spec,
       e.gpu_model, e.gpu_form_factor, e.gpu_count, e.topology, e.cpu_model, e.driver_version,
       e.driver_order, e.cuda_version, e.nccl_version,
       r.node_names[1] AS node_name, r.node_names, r.gpu_id, r.provider, r.region,
       r.price_per_hour, r.flags, r.repetition, r.job_id, r.case_index, r.campaign_id,
       c.name AS campaign_name, s.series_id, s.lineage_id, s.simulated,
       r.regime, r.failure_reason, r.imported_from, r.imported_from IS NOT NULL AS imported,
       r.stop_reason,
       r.link_model[1] AS model_seconds, r.link_model[2] AS model_latency_seconds,
       r.link_model[3] AS model_bandwidth, r.link_model[4] AS model_knee_bytes,
       r.link_model[5] AS model_error, r.link_model[6] AS model_sizes
FROM result r
JOIN series s USING (series_key)
JOIN environment e USING (environment_id)
JOIN campaign c USING (campaign_id);

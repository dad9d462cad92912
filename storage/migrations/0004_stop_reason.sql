-- Why the timing ended, for filters. NULL for results stored before, whose messages hold it,
-- and for what other programs measured.
ALTER TABLE result ADD COLUMN stop_reason text;

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
       r.stop_reason
FROM result r
JOIN series s USING (series_key)
JOIN environment e USING (environment_id)
JOIN campaign c USING (campaign_id);

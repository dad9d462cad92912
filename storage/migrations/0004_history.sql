-- Histories of cases for dashboards, so that they need not read results. All rows of a
-- lineage are replaced when it is judged; throttled runs have rows of their own. `conditions` is
-- what makes a case differ from others with the same parameters, in words: "hot cache, 8 GPUs".
-- `standard`: cold cache, random inputs, single launches, not throttled.

DELETE FROM driver_median;
ALTER TABLE driver_median
  DROP CONSTRAINT driver_median_pkey,
  ADD throttled boolean NOT NULL,
  ADD standard boolean NOT NULL,
  ADD conditions text,
  ADD gpu_mig_profile text,
  ADD gpu_count int NOT NULL,
  ADD noise float8,                     -- Standard deviation between runs of a place, as a fraction.
  ADD noise_floor float8,               -- Median uncertainty of one run, as a fraction.
  ADD efficiency_spec float8,           -- Median.
  ADD oldest_time timestamptz,          -- End of the oldest run.
  ADD PRIMARY KEY (lineage_id, driver, throttled);

-- The runs of a case on one driver, compared with those on the driver before it.
CREATE TABLE driver_change (
  lineage_id text NOT NULL,
  driver_before text NOT NULL,
  driver text NOT NULL,
  driver_order bigint[] GENERATED ALWAYS AS (assay_version(driver)) STORED,
  throttled boolean NOT NULL,
  standard boolean NOT NULL,
  conditions text,
  benchmark text,
  benchmark_version int NOT NULL,
  parameters jsonb NOT NULL,
  metric text,
  unit text,
  direction direction,
  gpu_model text,
  gpu_mig_profile text,
  gpu_count int NOT NULL,
  simulated boolean NOT NULL,
  verdict text,                         -- Of this case alone; the view considers all cases.
  ratio float8,                         -- Performance on `driver` over that on `driver_before`.
  ratio_low float8,                     -- 99% confidence interval. NULL: too few runs.
  ratio_high float8,
  p_value float8,
  median_before float8,
  median float8,
  places int NOT NULL,                  -- Compared on `driver`.
  runs_before int NOT NULL,
  runs int NOT NULL,
  missing text,                         -- Evidence that would lead to a verdict.
  missing_count int NOT NULL,
  change_time timestamptz,              -- End of the first run on `driver`.
  PRIMARY KEY (lineage_id, driver, throttled)
);

-- Prices and medians of a case by offer: a provider and its price.
CREATE TABLE case_cost (
  lineage_id text NOT NULL,
  provider text NOT NULL,
  dollars_per_hour float8 NOT NULL,     -- For what the case uses of its nodes.
  throttled boolean NOT NULL,
  standard boolean NOT NULL,
  conditions text,
  benchmark text,
  benchmark_version int NOT NULL,
  parameters jsonb NOT NULL,
  metric text,
  unit text,
  direction direction,
  gpu_model text,
  gpu_mig_profile text,
  gpu_count int NOT NULL,
  simulated boolean NOT NULL,
  median float8,
  runs int NOT NULL,
  places int NOT NULL,
  newest_time timestamptz,
  PRIMARY KEY (lineage_id, provider, dollars_per_hour, throttled)
);

-- Runs with a flag, by node, among the newest runs of a lineage at each place.
CREATE TABLE node_flag (
  lineage_id text NOT NULL,
  node_name text NOT NULL,
  flag text NOT NULL,
  gpu_model text,
  simulated boolean NOT NULL,
  flagged_runs int NOT NULL,
  runs int NOT NULL,                    -- Of the node and lineage, with the flag or without.
  newest_time timestamptz,              -- End of the newest run with the flag.
  PRIMARY KEY (lineage_id, node_name, flag)
);

-- Failures are few. Without this index, those of a month would be searched among all its results.
CREATE INDEX result_failed ON result (ts DESC, sequence DESC) WHERE outcome = 'failed';

-- Judges all lineages again, which fills these tables in the first pass of the new coordinator.
-- Findings keep their ids, so none is reported twice.
UPDATE judge_state SET cursor = '';

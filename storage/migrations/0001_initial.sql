-- Campaigns, jobs and leases; nodes; results and what makes them comparable.
-- States and kinds are the numbers of the enums in proto/assay/v1.

-- The order of two values as model/filter.h defines it: dotted versions part by
-- part, numbers as numbers, anything else as text. NULL if either is.
CREATE FUNCTION assay_compare(a text, b text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN a ~ '^\d{1,18}(\.\d{1,18})*$' AND b ~ '^\d{1,18}(\.\d{1,18})*$'
      THEN CASE WHEN string_to_array(a, '.')::bigint[] < string_to_array(b, '.')::bigint[] THEN -1
                WHEN string_to_array(a, '.')::bigint[] > string_to_array(b, '.')::bigint[] THEN 1
                ELSE 0 END
    WHEN length(a) <= 80 AND length(b) <= 80
         AND a ~ '^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,2})?$'
         AND b ~ '^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,2})?$'
      THEN CASE WHEN a::float8 < b::float8 THEN -1 WHEN a::float8 > b::float8 THEN 1 ELSE 0 END
    WHEN a COLLATE "C" < b COLLATE "C" THEN -1
    WHEN a COLLATE "C" > b COLLATE "C" THEN 1
    ELSE 0 END
$$;

-- "580.95.05" as {580,95,5}, which orders as versions do; NULL if it is no version.
CREATE FUNCTION assay_version(version text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN version ~ '^\d{1,18}(\.\d{1,18})*$'
              THEN string_to_array(version, '.')::bigint[] END
$$;

CREATE TABLE node (
  node_id text PRIMARY KEY,
  name text NOT NULL UNIQUE,
  description bytea NOT NULL,           -- assay.v1.NodeDescription
  description_json jsonb NOT NULL,      -- The same, for dashboards.
  dial_address text NOT NULL,
  first_seen_time timestamptz NOT NULL DEFAULT now()
);

-- Apart from node, so that heartbeats never wait for a claim that locks the node.
CREATE TABLE node_session (
  node_id text PRIMARY KEY REFERENCES node ON DELETE CASCADE,
  owner text,                           -- NULL: no session.
  last_heartbeat_time timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE dial_address (
  address text PRIMARY KEY
);

CREATE TABLE campaign (
  campaign_id text PRIMARY KEY,
  request_id text NOT NULL UNIQUE,
  sequence bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  name text NOT NULL,
  spec bytea NOT NULL,                  -- assay.v1.CampaignSpec
  priority int NOT NULL,
  retries int NOT NULL,
  state smallint NOT NULL DEFAULT 1,
  cancel_requested boolean NOT NULL DEFAULT false,
  verdict smallint NOT NULL DEFAULT 0,
  rules bytea,                          -- assay.v1.Campaign with rules alone.
  create_time timestamptz NOT NULL DEFAULT now(),
  end_time timestamptz
);
CREATE INDEX campaign_by_name ON campaign (name, sequence DESC);
CREATE INDEX campaign_unfinished ON campaign (state) WHERE state = 1 OR verdict = 0;

CREATE TABLE job (
  job_id text PRIMARY KEY,
  campaign_id text NOT NULL REFERENCES campaign,
  sequence bigint GENERATED ALWAYS AS IDENTITY,
  -- The transaction that changed the row last.
  revision bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  benchmark text NOT NULL,
  benchmark_version int NOT NULL,
  resource smallint NOT NULL,
  cases bytea NOT NULL,                 -- assay.v1.JobSpec with cases alone.
  case_count int NOT NULL,
  cases_done int NOT NULL DEFAULT 0,
  world_size int NOT NULL,
  node_count int NOT NULL,
  candidate_node_ids text[] NOT NULL,
  -- The only candidate, if there is but one.
  pinned_node_id text GENERATED ALWAYS AS (
    CASE WHEN cardinality(candidate_node_ids) = 1 THEN candidate_node_ids[1] END) STORED,
  gpu_indices int[] NOT NULL,
  exclusive_node boolean NOT NULL,
  timeout_ns bigint NOT NULL,
  repetition int NOT NULL,
  seed bigint NOT NULL,                 -- Two's complement of the unsigned number.
  state smallint NOT NULL DEFAULT 1,
  epoch bigint NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 0,
  owner text,
  lease_until timestamptz,
  not_before timestamptz NOT NULL DEFAULT '-infinity',
  node_ids text[] NOT NULL DEFAULT '{}',        -- Of the latest placement.
  avoid_node_ids text[] NOT NULL DEFAULT '{}',
  failures jsonb NOT NULL DEFAULT '[]',         -- [{"class", "reason", "nodes"}]
  failure bytea,                        -- assay.v1.Failure
  cancel_requested boolean NOT NULL DEFAULT false,
  create_time timestamptz NOT NULL DEFAULT now(),
  start_time timestamptz,
  end_time timestamptz
) WITH (fillfactor = 70);
CREATE INDEX job_of_campaign ON job (campaign_id, sequence);
CREATE INDEX job_changes ON job (campaign_id, revision);
CREATE INDEX job_queue_pinned ON job (campaign_id, pinned_node_id, sequence)
  WHERE state = 1 AND pinned_node_id IS NOT NULL;
CREATE INDEX job_queue_pinned_head ON job (campaign_id, sequence)
  WHERE state = 1 AND pinned_node_id IS NOT NULL;
CREATE INDEX job_queue_unpinned ON job (campaign_id, sequence)
  WHERE state = 1 AND pinned_node_id IS NULL;
-- Without lease_until, so that renewals touch no index.
CREATE INDEX job_running ON job (campaign_id) WHERE state = 2;

-- What running jobs hold. gpu_index -1 is the whole node; a row of it excludes all
-- others of the node, which the claim checks with the node locked.
CREATE TABLE allocation (
  node_id text NOT NULL,
  gpu_index int NOT NULL,
  job_id text NOT NULL,
  PRIMARY KEY (node_id, gpu_index)
);
CREATE INDEX allocation_of_job ON allocation (job_id);

CREATE TABLE environment (
  environment_id text PRIMARY KEY,
  content jsonb NOT NULL,
  gpu_model text NOT NULL,
  gpu_form_factor text NOT NULL,
  gpu_mig_profile text NOT NULL,
  gpu_count int NOT NULL,
  topology text NOT NULL,
  cpu_model text NOT NULL,
  driver_version text,
  driver_order bigint[] GENERATED ALWAYS AS (assay_version(driver_version)) STORED,
  cuda_version text,
  cublas_version text,
  nccl_version text,
  blas_version text
);

CREATE TABLE series (
  series_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  series_id text NOT NULL UNIQUE,
  lineage_id text NOT NULL,
  environment_id text NOT NULL REFERENCES environment,
  benchmark text NOT NULL,
  benchmark_version int NOT NULL,
  parameters jsonb NOT NULL,
  metric text NOT NULL,
  unit text NOT NULL,
  direction smallint NOT NULL,
  cache text NOT NULL,
  fill text NOT NULL,
  simulated boolean NOT NULL
);
CREATE INDEX series_of_lineage ON series (lineage_id);
CREATE INDEX series_of_benchmark ON series (benchmark, metric);

-- One row a case, for ever: what makes ingest exactly-once. `payload` is what the
-- agent sent, without measurements.
CREATE TABLE case_result (
  job_id text NOT NULL,
  case_index int NOT NULL,
  epoch bigint NOT NULL,
  payload_hash text NOT NULL,
  payload bytea NOT NULL,               -- assay.v1.CaseResult
  PRIMARY KEY (job_id, case_index)
);

-- One row a metric of a case. `ts` is when it was stored, by the database's clock.
CREATE SEQUENCE result_sequence;
CREATE TABLE result (
  sequence bigint NOT NULL DEFAULT nextval('result_sequence'),
  result_id uuid NOT NULL,
  ts timestamptz NOT NULL DEFAULT now(),
  series_key bigint NOT NULL,
  campaign_id text NOT NULL,
  job_id text NOT NULL,
  case_index int NOT NULL,
  is_primary boolean NOT NULL,
  repetition int NOT NULL,
  outcome smallint NOT NULL,
  gpu_id text,                          -- UUID of the first GPU.
  measurement bytea,                    -- assay.v1.Measurement without samples.
  n int,
  median float8,
  mad float8,
  p05 float8,
  p95 float8,
  ci_low float8,
  ci_high float8,
  efficiency_spec float8,
  price_per_hour float8,
  start_time timestamptz,
  end_time timestamptz,
  node_ids text[] NOT NULL,
  node_names text[] NOT NULL,
  gpu_uuids text[] NOT NULL,
  provider text NOT NULL,
  region text NOT NULL,
  kernel text NOT NULL,
  agent_version text NOT NULL,
  flags text[] NOT NULL,
  PRIMARY KEY (result_id, ts)
) PARTITION BY RANGE (ts);
CREATE INDEX result_newest ON result (sequence DESC);
CREATE INDEX result_of_series ON result (series_key, ts DESC) INCLUDE (median, mad, gpu_id);
CREATE INDEX result_of_gpu ON result (gpu_id, ts DESC);
CREATE INDEX result_of_campaign ON result (campaign_id, sequence);
CREATE INDEX result_by_time ON result USING brin (ts);

-- Raw samples, with a retention of their own: float64, little-endian, zstd.
CREATE TABLE sample (
  result_id uuid PRIMARY KEY,
  ts timestamptz NOT NULL DEFAULT now(),
  n int NOT NULL,
  data bytea NOT NULL
);
CREATE INDEX sample_by_time ON sample USING brin (ts);

-- Makes the monthly partitions of `result` from last month to `months` ahead.
CREATE FUNCTION assay_create_partitions(months int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  month date;
  part text;
BEGIN
  PERFORM pg_advisory_xact_lock(7900, 1);
  FOR month IN SELECT generate_series(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 month',
                                      date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => months),
                                      interval '1 month')::date LOOP
    part := 'result_' || to_char(month, 'YYYY_MM');
    IF to_regclass(part) IS NULL THEN
      EXECUTE format('CREATE TABLE %I PARTITION OF result FOR VALUES FROM (%L) TO (%L)', part,
                     month::timestamp AT TIME ZONE 'UTC',
                     (month + interval '1 month')::timestamp AT TIME ZONE 'UTC');
    END IF;
  END LOOP;
END
$$;

-- Stable names for dashboards and for people.
CREATE VIEW result_view AS
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
       c.name AS campaign_name, s.series_id, s.lineage_id, s.simulated
FROM result r
JOIN series s USING (series_key)
JOIN environment e USING (environment_id)
JOIN campaign c USING (campaign_id);

CREATE VIEW job_view AS
SELECT j.job_id, j.campaign_id, c.name AS campaign_name, j.benchmark,
       CASE j.state WHEN 1 THEN 'queued' WHEN 2 THEN 'running' WHEN 3 THEN 'succeeded'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' WHEN 6 THEN 'skipped' END
         AS state,
       j.attempts, j.repetition, j.case_count, j.cases_done, j.node_ids, j.failures,
       j.create_time, j.start_time, j.end_time
FROM job j JOIN campaign c USING (campaign_id);

CREATE VIEW node_view AS
SELECT n.node_id, n.name, s.owner IS NOT NULL AS in_session, s.last_heartbeat_time,
       n.first_seen_time, n.description_json #>> '{inventory,driverVersion}' AS driver_version,
       jsonb_array_length(coalesce(n.description_json #> '{inventory,gpus}', '[]')) AS gpu_count,
       n.description_json #>> '{inventory,gpus,0,model}' AS gpu_model,
       n.description_json ->> 'provider' AS provider, n.description_json ->> 'region' AS region,
       (n.description_json ->> 'pricePerHour')::float8 AS price_per_hour,
       coalesce((n.description_json #>> '{inventory,simulated}')::boolean, false) AS simulated
FROM node n JOIN node_session s USING (node_id);

-- Grafana's role, which reads and does nothing else. Made where we may.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'assay_reader') THEN
    CREATE ROLE assay_reader LOGIN;
  END IF;
  GRANT SELECT ON ALL TABLES IN SCHEMA public TO assay_reader;
EXCEPTION
  WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    RAISE NOTICE 'the role assay_reader was not made: %', SQLERRM;
END
$$;

-- Campaigns, jobs and leases; nodes; results and what makes them comparable.
-- The views for dashboards and people are in views.sql.

CREATE TYPE campaign_state AS ENUM ('active', 'completed', 'cancelled');
CREATE TYPE verdict AS ENUM ('passed', 'failed');
CREATE TYPE job_state AS ENUM ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'skipped');
CREATE TYPE resource_kind AS ENUM ('cpu', 'gpu', 'network');
CREATE TYPE case_outcome AS ENUM ('ok', 'failed', 'unsupported');
CREATE TYPE direction AS ENUM ('higher', 'lower');

-- Orders two values as CompareValues in model/filter.h does: dotted versions part by part, numbers
-- as numbers, anything else as text. NULL if either value is.
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

-- "580.95.05" as {580,95,5}, which orders as versions do; NULL if it is not a version.
CREATE FUNCTION assay_version(version text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN version ~ '^\d{1,18}(\.\d{1,18})*$'
              THEN string_to_array(version, '.')::bigint[] END
$$;

-- One row. `fleet_id` survives dump and restore. `place` tells that this is another cluster, whose
-- transactions are numbered anew, or another database of it.
CREATE TABLE fleet (
  fleet_id text NOT NULL,
  place text NOT NULL                   -- System identifier and database.
);

-- One row: the coordinator that schedules the fleet, until `lease_until`. `term` grows with each
-- change, and fences the statements of earlier ones.
CREATE TABLE scheduler (
  term bigint NOT NULL,
  owner text NOT NULL,
  address text NOT NULL,                -- HOST:PORT for agents.
  lease_until timestamptz NOT NULL
);
INSERT INTO scheduler VALUES (0, '', '', '-infinity');

-- Schemas of benchmarks, which nodes with equal runners share.
CREATE TABLE schema_set (
  schemas_hash text PRIMARY KEY,        -- SHA-256 of `schemas`, in hexadecimal.
  schemas bytea NOT NULL                -- assay.v1.Schemas
);

CREATE TABLE node (
  node_id text PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  description bytea NOT NULL,           -- assay.v1.NodeDescription without benchmarks
  description_json jsonb NOT NULL,      -- The same, for dashboards.
  schemas_hash text NOT NULL REFERENCES schema_set,
  dial_address text NOT NULL,
  -- The jobs that failed here since one last succeeded, and their campaigns.
  failed_job_ids text[] NOT NULL DEFAULT '{}',
  failed_campaign_ids text[] NOT NULL DEFAULT '{}',
  quarantine text,                      -- Why it gets no jobs. NULL: it gets some.
  quarantine_time timestamptz,
  first_seen_time timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX node_quarantined ON node (node_id) WHERE quarantine IS NOT NULL;

-- Separate from node, so that heartbeats never wait for a claim that locks the node.
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
  state campaign_state NOT NULL DEFAULT 'active',
  cancel_requested boolean NOT NULL DEFAULT false,
  verdict verdict,                      -- NULL until the campaign is judged.
  rules bytea,                          -- assay.v1.Campaign with nothing but rules.
  create_time timestamptz NOT NULL DEFAULT now(),
  end_time timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX campaign_by_name ON campaign (name, sequence DESC);
CREATE INDEX campaign_unfinished ON campaign (state) WHERE state = 'active' OR verdict IS NULL;

-- Nodes among which jobs may choose. Jobs share a set, because 10,000 jobs for any of 1,000 nodes
-- would hold 10 million ids. The sets of a campaign are numbered from 0 and never change.
CREATE TABLE candidate_set (
  campaign_id text NOT NULL REFERENCES campaign,
  candidate_set int NOT NULL,
  node_ids text[] NOT NULL,
  PRIMARY KEY (campaign_id, candidate_set)
);

CREATE TABLE job (
  job_id text PRIMARY KEY,
  campaign_id text NOT NULL REFERENCES campaign,
  sequence bigint GENERATED ALWAYS AS IDENTITY,
  -- The transaction that last changed the row.
  revision bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  benchmark text NOT NULL,
  benchmark_index int,                  -- Entry of the campaign's spec. NULL for an import.
  benchmark_version int NOT NULL,
  resource resource_kind,
  cases bytea NOT NULL,                 -- assay.v1.JobSpec with cases and settings.
  case_count int NOT NULL,
  cases_done int NOT NULL DEFAULT 0,
  world_size int NOT NULL,
  node_count int NOT NULL,
  candidate_set int,                    -- For a job with a choice of nodes.
  candidate_node_ids text[] NOT NULL,   -- For a job without a choice; else empty.
  -- The only candidate, if there is exactly one.
  pinned_node_id text GENERATED ALWAYS AS (
    CASE WHEN cardinality(candidate_node_ids) = 1 THEN candidate_node_ids[1] END) STORED,
  gpu_indices int[] NOT NULL,
  exclusive_node boolean NOT NULL,
  timeout_ns bigint NOT NULL,
  repetition int NOT NULL,
  seed bigint NOT NULL,                 -- Two's complement of the unsigned number.
  state job_state NOT NULL DEFAULT 'queued',
  epoch bigint NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 0,
  owner text,
  lease_until timestamptz,
  not_before timestamptz NOT NULL DEFAULT '-infinity',
  node_ids text[] NOT NULL DEFAULT '{}',        -- The latest placement.
  avoid_node_ids text[] NOT NULL DEFAULT '{}',
  same_nodes boolean NOT NULL DEFAULT false,    -- The next attempt prefers node_ids.
  failures jsonb NOT NULL DEFAULT '[]',         -- One object per failed attempt.
  failure bytea,                        -- assay.v1.Failure
  cancel_requested boolean NOT NULL DEFAULT false,
  create_time timestamptz NOT NULL DEFAULT now(),
  start_time timestamptz,
  end_time timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01,
        autovacuum_analyze_scale_factor = 0.01);
CREATE INDEX job_of_campaign ON job (campaign_id, sequence);
CREATE INDEX job_changes ON job (campaign_id, revision);
CREATE INDEX job_queue_pinned ON job (campaign_id, pinned_node_id, sequence)
  WHERE state = 'queued' AND pinned_node_id IS NOT NULL;
CREATE INDEX job_queue_pinned_head ON job (campaign_id, sequence)
  WHERE state = 'queued' AND pinned_node_id IS NOT NULL;
CREATE INDEX job_queue_unpinned ON job (campaign_id, sequence)
  WHERE state = 'queued' AND pinned_node_id IS NULL;
-- Without lease_until, so that renewals touch no index.
CREATE INDEX job_running ON job (campaign_id) WHERE state = 'running';

-- Counts of a campaign's jobs and cases, which save counting the jobs. A campaign's counts are the
-- sums over its shards, which let jobs of one campaign end at the same time.
CREATE TABLE job_count (
  campaign_id text NOT NULL REFERENCES campaign ON DELETE CASCADE,
  shard int NOT NULL,
  queued bigint NOT NULL DEFAULT 0,
  running bigint NOT NULL DEFAULT 0,
  succeeded bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  cancelled bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  case_count bigint NOT NULL DEFAULT 0,
  cases_done bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (campaign_id, shard)
) WITH (fillfactor = 50);

-- Keeps job_count up to date in the transactions that change jobs. InsertCampaign makes the first
-- row, and jobs are only deleted together with their campaign. Locks counts after jobs, in order.
CREATE FUNCTION assay_count_jobs() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO job_count AS c (campaign_id, shard, queued, running, succeeded, failed, cancelled,
                              skipped, cases_done)
  SELECT campaign_id, pg_backend_pid() % 8, queued, running, succeeded, failed, cancelled, skipped,
    cases_done
  FROM (
    SELECT campaign_id,
      sum(CASE state WHEN 'queued' THEN sign ELSE 0 END) AS queued,
      sum(CASE state WHEN 'running' THEN sign ELSE 0 END) AS running,
      sum(CASE state WHEN 'succeeded' THEN sign ELSE 0 END) AS succeeded,
      sum(CASE state WHEN 'failed' THEN sign ELSE 0 END) AS failed,
      sum(CASE state WHEN 'cancelled' THEN sign ELSE 0 END) AS cancelled,
      sum(CASE state WHEN 'skipped' THEN sign ELSE 0 END) AS skipped,
      sum(sign * cases_done) AS cases_done
    FROM (SELECT campaign_id, state, cases_done, 1 AS sign FROM new_job
          UNION ALL
          SELECT campaign_id, state, cases_done, -1 FROM old_job) job
    GROUP BY campaign_id) change
  WHERE (queued, running, succeeded, failed, cancelled, skipped, cases_done) <> (0, 0, 0, 0, 0, 0, 0)
  ORDER BY campaign_id
  ON CONFLICT (campaign_id, shard) DO UPDATE SET
    queued = c.queued + excluded.queued, running = c.running + excluded.running,
    succeeded = c.succeeded + excluded.succeeded, failed = c.failed + excluded.failed,
    cancelled = c.cancelled + excluded.cancelled, skipped = c.skipped + excluded.skipped,
    cases_done = c.cases_done + excluded.cases_done;
  RETURN NULL;
END
$$;
CREATE TRIGGER job_count AFTER UPDATE ON job
REFERENCING OLD TABLE AS old_job NEW TABLE AS new_job
FOR EACH STATEMENT EXECUTE FUNCTION assay_count_jobs();

-- The nodes and GPUs that running jobs hold. gpu_index -1 is the whole node and excludes all other
-- rows of the node. The claim checks this with the node locked.
CREATE TABLE allocation (
  node_id text NOT NULL,
  gpu_index int NOT NULL,
  job_id text NOT NULL,
  PRIMARY KEY (node_id, gpu_index)
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX allocation_of_job ON allocation (job_id);

-- The columns of environment, series and result that are fields of a result have the names of
-- wire/result_fields.cc, with _ for a dot. Absent values are NULL.
CREATE TABLE environment (
  environment_id text PRIMARY KEY,
  content jsonb NOT NULL,
  gpu_model text,
  gpu_form_factor text,
  gpu_mig_profile text,
  gpu_count int NOT NULL,
  topology text,
  cpu_model text,
  driver text,
  driver_order bigint[] GENERATED ALWAYS AS (assay_version(driver)) STORED,
  cuda text,
  cublas text,
  nccl text,
  blas text
);

CREATE TABLE series (
  series_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  series_id text NOT NULL UNIQUE,
  lineage_id text NOT NULL,
  environment_id text NOT NULL REFERENCES environment,
  benchmark text,
  benchmark_version int NOT NULL,
  parameters jsonb NOT NULL,
  metric text,
  unit text,
  direction direction,
  cache text,
  fill text,
  simulated boolean NOT NULL
);
CREATE INDEX series_of_lineage ON series (lineage_id);
CREATE INDEX series_of_benchmark ON series (benchmark, metric);

-- Where results come from: nodes, their GPUs and agents. The results of a node share a few rows, so
-- these wide columns are not repeated in each result.
CREATE TABLE origin (
  origin_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  origin_id text NOT NULL UNIQUE,       -- SHA-256 of all other columns, in hexadecimal.
  node text[],
  node_id text[],
  gpu_uuid text[],
  gpu_id text GENERATED ALWAYS AS (gpu_uuid[1]) STORED,
  label jsonb,
  provider text,
  region text,
  price_per_hour float8,
  kernel text,
  agent_version text,
  imported_from text
);
CREATE INDEX origin_of_gpu ON origin USING gin (gpu_uuid);
CREATE INDEX origin_of_node ON origin USING gin (node);
CREATE INDEX origin_imported ON origin (origin_key) WHERE imported_from IS NOT NULL;

-- One row per case, which makes ingest exactly-once. Deleted only with its job. `payload` is what
-- the agent sent, without measurements.
CREATE TABLE case_result (
  job_id text NOT NULL,
  case_index int NOT NULL,
  epoch bigint NOT NULL,
  payload_hash bytea NOT NULL,          -- SHA-256
  payload bytea NOT NULL,               -- assay.v1.CaseResult
  PRIMARY KEY (job_id, case_index)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);

-- One row per metric of a case. `ts` is when it was stored, by the database's clock.
CREATE SEQUENCE result_sequence;
CREATE TABLE result (
  sequence bigint NOT NULL DEFAULT nextval('result_sequence'),
  result_id uuid NOT NULL,
  ts timestamptz NOT NULL DEFAULT now(),
  series_key bigint NOT NULL,
  origin_key bigint NOT NULL,
  campaign_id text NOT NULL,
  job_id text NOT NULL,
  case_index int NOT NULL,
  repetition int NOT NULL,
  measurement bytea,                    -- assay.v1.Measurement without samples.
  "time" timestamptz,
  end_time timestamptz,
  "primary" boolean NOT NULL,
  outcome case_outcome,
  failure_reason text,
  n int,
  median float8,
  mad float8,
  p05 float8,
  p95 float8,
  ci_low float8,
  ci_high float8,
  stop_reason text,
  effort text,
  efficiency_spec float8,
  regime text,
  model_seconds float8,
  model_latency_seconds float8,
  model_bandwidth float8,
  model_knee_bytes float8,
  model_error float8,
  model_sizes int,
  flag text[],
  PRIMARY KEY (result_id, ts)
) PARTITION BY RANGE (ts);
-- Each serves lists, newest first, without sorting: partitions follow each other in the order of
-- ts. The columns after INCLUDE let groups and counts read the index only.
CREATE INDEX result_newest ON result (ts DESC, sequence DESC)
  INCLUDE (series_key, end_time, outcome, "primary");
CREATE INDEX result_of_series ON result (series_key, ts DESC, sequence DESC)
  INCLUDE (median, origin_key, outcome, "primary", end_time);
CREATE INDEX result_of_origin ON result (origin_key, ts DESC, sequence DESC)
  INCLUDE (series_key, "primary");
CREATE INDEX result_of_campaign ON result (campaign_id, ts DESC, sequence DESC);

-- Raw samples, which may be deleted earlier than results: float64, little-endian, zstd.
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

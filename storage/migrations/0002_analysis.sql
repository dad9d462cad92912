-- Findings of analyses, and what people say about them. `content` holds the whole message; the other
-- columns repeat what queries, dashboards and people need. Absent values are NULL.

CREATE TYPE regression_state AS ENUM ('detected', 'confirmed', 'acknowledged', 'resolved', 'cleared');
CREATE TYPE regression_scope AS ENUM ('place', 'fleet', 'no_peer');
CREATE TYPE incident_cause AS ENUM ('driver', 'agent', 'gpu', 'node', 'case');
CREATE TYPE outlier_kind AS ENUM ('slow', 'implausible');

-- One row: how far results have been judged. Transactions that change findings lock it.
CREATE TABLE judge_state (
  cursor text NOT NULL,                 -- See ListChangedLineages.
  judged_until timestamptz              -- End of the newest result that was judged.
);
INSERT INTO judge_state VALUES ('', NULL);

-- One row per step of a case at a place.
CREATE TABLE regression (
  regression_id text COLLATE "C" PRIMARY KEY,
  state regression_state,
  scope regression_scope,
  incident_id text COLLATE "C",
  lineage_id text NOT NULL,
  benchmark text,
  benchmark_version int NOT NULL,
  parameters jsonb NOT NULL,
  metric text,
  unit text,
  direction direction,
  gpu_model text,
  simulated boolean NOT NULL,
  node text[],
  gpu_uuid text[],
  ratio float8,                -- Performance after over before.
  median_before float8,
  median_after float8,
  driver_before text,
  driver_after text,
  agent_version_before text,
  agent_version_after text,
  last_good_time timestamptz,
  step_time timestamptz,
  detected_time timestamptz NOT NULL,
  confirmed_time timestamptz,
  resolved_time timestamptz,
  acknowledged_by text,
  acknowledge_note text,
  false_alarm boolean NOT NULL,
  content bytea NOT NULL                -- assay.v1.Regression
);
CREATE INDEX regression_newest ON regression (detected_time DESC, regression_id DESC);
CREATE INDEX regression_open ON regression (detected_time DESC, regression_id DESC)
  WHERE state IS NULL OR state NOT IN ('resolved', 'cleared');
CREATE INDEX regression_of_incident ON regression (incident_id);
CREATE INDEX regression_of_lineage ON regression (lineage_id);
CREATE INDEX regression_of_node ON regression USING gin (node);

CREATE TABLE incident (
  incident_id text COLLATE "C" PRIMARY KEY,
  state regression_state,
  scope regression_scope,
  cause incident_cause,
  cause_from text,                      -- "580.95.05", for a driver.
  cause_to text,
  simulated boolean NOT NULL,
  node text[],
  gpu_uuid text[],
  start_time timestamptz NOT NULL,
  last_good_time timestamptz,
  regression_count int NOT NULL,
  place_count int NOT NULL,
  case_count int NOT NULL,
  worst_ratio float8,
  content bytea NOT NULL                -- assay.v1.Incident
);
CREATE INDEX incident_newest ON incident (start_time DESC, incident_id DESC);

-- One row per case in which a place is an outlier. All rows of a lineage are replaced together.
CREATE TABLE outlier (
  lineage_id text NOT NULL,
  kind outlier_kind,
  benchmark text,
  benchmark_version int NOT NULL,
  parameters jsonb NOT NULL,
  metric text,
  unit text,
  direction direction,
  gpu_model text,
  driver text,
  simulated boolean NOT NULL,
  node text[],
  gpu_uuid text[],
  z float8,                    -- Negative: slower than the peers.
  ratio float8,                -- Performance over the median of the peers.
  rank int NOT NULL,                    -- From the slowest, from 1.
  place_count int NOT NULL,
  median float8,
  peers_median float8,
  power_limited boolean NOT NULL,
  end_time timestamptz,
  result_id text,
  content bytea NOT NULL                -- assay.v1.Outlier with this case.
);
CREATE INDEX outlier_of_lineage ON outlier (lineage_id);

-- The places of each lineage that were compared with peers, and those with too few peers: GPU UUIDs,
-- or node names if there are none, joined by "+".
CREATE TABLE judged_lineage (
  lineage_id text PRIMARY KEY,
  simulated boolean NOT NULL,
  with_peers text[] NOT NULL,
  without_peers text[] NOT NULL
);

-- Median performance of a case by driver, which saves dashboards reading the results.
CREATE TABLE driver_median (
  lineage_id text NOT NULL,
  driver text NOT NULL,
  driver_order bigint[] GENERATED ALWAYS AS (assay_version(driver)) STORED,
  benchmark text,
  benchmark_version int NOT NULL,
  parameters jsonb NOT NULL,
  metric text,
  unit text,
  direction direction,
  gpu_model text,
  simulated boolean NOT NULL,
  median float8,
  runs int NOT NULL,
  places int NOT NULL,
  newest_time timestamptz,              -- End of the newest run.
  PRIMARY KEY (lineage_id, driver)
);
CREATE INDEX driver_median_of_benchmark ON driver_median (benchmark, metric);

CREATE TABLE baseline (
  name text COLLATE "C" PRIMARY KEY,
  filter text,
  create_time timestamptz,
  created_by text,
  case_count int NOT NULL,
  run_count int NOT NULL,
  content bytea NOT NULL                -- assay.v1.Baseline without cases.
);

CREATE TABLE baseline_case (
  name text COLLATE "C" NOT NULL REFERENCES baseline ON DELETE CASCADE,
  position int NOT NULL,                -- In the baseline's list.
  lineage_id text NOT NULL,
  benchmark text,
  benchmark_version int NOT NULL,
  parameters jsonb NOT NULL,
  metric text,
  unit text,
  direction direction,
  gpu_model text,
  simulated boolean NOT NULL,
  median float8,
  runs int NOT NULL,
  places int NOT NULL,
  content bytea NOT NULL,               -- assay.v1.BaselineCase
  PRIMARY KEY (name, position)
);

CREATE TABLE annotation (
  annotation_id text PRIMARY KEY,
  "time" timestamptz NOT NULL,
  text text,
  node_name text,                       -- NULL: the fleet.
  created_by text,
  content bytea NOT NULL                -- assay.v1.Annotation
);
CREATE INDEX annotation_by_time ON annotation ("time");

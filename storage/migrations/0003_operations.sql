-- Operations of people on a fleet: cordons, drains, labels, prices, paused campaigns, schedules.

ALTER TABLE node
  ADD cordon_time timestamptz,          -- NULL: not cordoned.
  ADD cordon_reason text,
  ADD cordoned_by text,
  ADD drain_deadline timestamptz,       -- When running jobs are stopped and queued again.
  -- Labels in place of the agent's; null for a label that the node shall not have.
  ADD label_settings jsonb NOT NULL DEFAULT '{}',
  ADD price_setting float8;             -- In place of the agent's. NULL: the agent's.
CREATE INDEX node_cordoned ON node (node_id) WHERE cordon_time IS NOT NULL;
CREATE INDEX node_with_settings ON node (node_id)
  WHERE label_settings <> '{}' OR price_setting IS NOT NULL;

ALTER TABLE campaign
  ADD pause_time timestamptz,           -- NULL: not paused.
  ADD paused_by text;

CREATE TYPE schedule_outcome AS ENUM ('created', 'skipped', 'failed');

-- Campaigns that recur.
CREATE TABLE schedule (
  schedule_id text PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  cron text NOT NULL,
  time_zone text NOT NULL,
  next_time timestamptz NOT NULL,
  created_by text,
  create_time timestamptz NOT NULL,
  content bytea NOT NULL                -- assay.v1.Schedule without next_time and runs.
);
CREATE INDEX schedule_due ON schedule (next_time);

-- The newest runs of each schedule.
CREATE TABLE schedule_run (
  schedule_id text NOT NULL REFERENCES schedule ON DELETE CASCADE,
  "time" timestamptz NOT NULL,          -- When it was due.
  outcome schedule_outcome,
  campaign_id text,
  message text,
  PRIMARY KEY (schedule_id, "time")
);

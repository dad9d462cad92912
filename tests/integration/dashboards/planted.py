"""A history with planted facts, judged by a real coordinator, for dashboards that read PostgreSQL.

Three nodes with eight H200 each ran nine cases in 20 nights; in the last eight nights on another
driver. GPUs are named GPU-NODE-INDEX, nodes as in NODES. Values scatter by 0.5%, and:

- driver 590.10 costs 9.4% in both bf16 GEMMs and 10% in launch_overhead, gains 3% in
  memory_bandwidth, and changes nothing else;
- GPU-2-3 is 6% slower than its peers, on both drivers, in the five cases with standard conditions;
- GPU-1-2 became 5% slower six nights before the driver, in two cases; GPU-1-5 was 8% slower in one
  last run;
- all GPUs of node 3 are throttled in one GEMM, to 80%;
- results with a hot cache, of graphs, of MIG slices and of simulated nodes have other levels, and
  unverified ones absurd values;
- GPU-2-7 failed its verification in two cases of the last nights;
- node 1 costs 16 dollars an hour at vast.ai, node 2 24 at lambda, and node 3 has no price.
"""

import os
import subprocess

import harness

OLD, NEW = "580.95.05", "590.10"
NODES = ("g1", "<script>alert(1)</script>", "o'brien \"x\"")
NIGHTS, UPGRADE = 20, 12

# Number, benchmark, parameters, metric, unit, cache, MIG profile, simulated, level on the old
# driver, performance on the new driver over that on the old, efficiency on the old driver.
CASES = """
  (1, 'gemm', '{"m": "8192", "dtype": "bf16"}', 'tflops', 'TFLOP/s', 'cold', NULL, false, 700, 0.906, 0.7),
  (2, 'gemm', '{"m": "4096", "dtype": "bf16"}', 'tflops', 'TFLOP/s', 'cold', NULL, false, 600, 0.906, 0.6),
  (3, 'gemm', '{"m": "8192", "dtype": "fp8_e4m3"}', 'tflops', 'TFLOP/s', 'cold', NULL, false, 1300, 1, 0.65),
  (4, 'memory_bandwidth', '{"op": "copy", "bytes": "1073741824"}', 'bandwidth', 'GB/s', 'cold', NULL,
   false, 4000, 1.03, 0.8),
  (5, 'launch_overhead', '{"kind": "empty"}', 'time', 's', 'none', NULL, false, 2e-6, 0.9, NULL),
  (6, 'memory_bandwidth', '{"op": "copy", "bytes": "1073741824"}', 'bandwidth', 'GB/s', 'hot', NULL,
   false, 9000, 1, 1.8),
  (7, 'gemm', '{"m": "8192", "dtype": "bf16"}', 'tflops', 'TFLOP/s', 'cold', '1g.18gb', false, 100, 1, 0.9),
  (8, 'gemm', '{"m": "8192", "dtype": "bf16"}', 'tflops', 'TFLOP/s', 'cold', NULL, true, 7000, 1.5, 7),
  (9, 'gemm', '{"m": "8192", "dtype": "bf16", "launch": "graph"}', 'tflops', 'TFLOP/s', 'cold', NULL,
   false, 720, 1, 0.72)
"""
SEED = f"""
INSERT INTO campaign (campaign_id, request_id, name, spec, priority, retries, state, verdict, end_time)
VALUES ('planted', 'planted', 'nightly', '', 0, 0, 'completed', 'passed', now());
CREATE TABLE planted AS SELECT * FROM (VALUES {CASES})
  AS c (id, benchmark, parameters, metric, unit, cache, mig, simulated, level, factor, efficiency);
INSERT INTO environment (environment_id, content, gpu_model, gpu_form_factor, gpu_mig_profile,
                         gpu_count, topology, driver)
SELECT 'environment ' || coalesce(mig, '') || driver, '{{"node_count": 1, "power_limit_watts": 700}}',
       'H200', 'SXM', mig, 1, 'single', driver
FROM unnest(ARRAY[NULL, '1g.18gb']) AS mig, unnest(ARRAY['{OLD}', '{NEW}']) AS driver;
INSERT INTO series (series_id, lineage_id, environment_id, benchmark, benchmark_version, parameters,
                    metric, unit, direction, cache, fill, simulated)
SELECT 'series ' || id || driver, 'lineage' || id, 'environment ' || coalesce(mig, '') || driver,
       benchmark, 1, parameters::jsonb, metric, unit,
       (CASE metric WHEN 'time' THEN 'lower' ELSE 'higher' END)::direction, cache, 'random', simulated
FROM planted, unnest(ARRAY['{OLD}', '{NEW}']) AS driver;
INSERT INTO origin (origin_id, node, node_id, gpu_uuid, provider, price_per_hour, agent_version)
SELECT concat_ws(' ', node, gpu, mig), ARRAY[name], ARRAY['id' || node],
       ARRAY[CASE WHEN mig THEN 'MIG-' ELSE 'GPU-' END || node || '-' || gpu],
       (ARRAY['vast.ai', 'lambda'])[node], (ARRAY[16, 24])[node], '0.1.0'
FROM unnest($names$@NAMES@$names$::text[]) WITH ORDINALITY AS n(name, node),
     generate_series(0, 7) AS gpu, unnest(ARRAY[false, true]) AS mig;
CREATE TABLE planted_run AS
SELECT c.*, node, gpu, night, now() - make_interval(days => {NIGHTS} - night, mins => c.id) AS ended,
       CASE WHEN night < {UPGRADE} THEN '{OLD}' ELSE '{NEW}' END AS driver,
       c.id = 1 AND node = 3 AS throttled,
       (1 + 0.01 * ((hashint8(c.id * 100000 + node * 10000 + gpu * 1000 + night) & 1023) / 1023.0 - 0.5))
       * CASE WHEN night < {UPGRADE} THEN 1 ELSE factor END
       * CASE WHEN node = 2 AND gpu = 3 AND c.id <= 5 THEN 0.94 ELSE 1 END
       * CASE WHEN node = 1 AND gpu = 2 AND c.id IN (3, 6) AND night >= 6 THEN 0.95 ELSE 1 END
       * CASE WHEN node = 1 AND gpu = 5 AND c.id = 3 AND night = {NIGHTS - 1} THEN 0.92 ELSE 1 END
       * CASE WHEN c.id = 1 AND node = 3 THEN 0.8 ELSE 1 END AS performance
FROM planted c, generate_series(1, 3) AS node, generate_series(0, 7) AS gpu,
     generate_series(0, {NIGHTS - 1}) AS night;
INSERT INTO result (result_id, ts, series_key, origin_key, campaign_id, job_id, case_index, repetition,
                    "time", end_time, "primary", outcome, n, median, ci_low, ci_high, efficiency_spec,
                    flag)
SELECT gen_random_uuid(), ended, series_key, origin_key, 'planted', 'job' || night, r.id, 0, ended,
       ended, true, 'ok', 30, value, value * 0.998, value * 1.002, r.efficiency * performance,
       CASE WHEN throttled THEN ARRAY['throttled'] END
FROM (SELECT *, CASE metric WHEN 'time' THEN level / performance ELSE level * performance END AS value
      FROM planted_run) r
JOIN series s ON s.series_id = 'series ' || r.id || r.driver
JOIN origin o ON o.origin_id = concat_ws(' ', r.node, r.gpu, mig IS NOT NULL);
-- Absurd values that nothing verified, and failures of which two are of a verification.
INSERT INTO result (result_id, ts, series_key, origin_key, campaign_id, job_id, case_index, repetition,
                    end_time, "primary", outcome, failure_reason, n, median, flag)
SELECT gen_random_uuid(), now() - made.ago, series_key, origin_key, 'planted', 'other', number, 0,
       now() - made.ago, true, outcome::case_outcome, reason, 30, value, flags
FROM (VALUES (1, '1 0 f', 'ok', NULL, interval '1 day', 5000, ARRAY['unverified']),
             (2, '1 1 f', 'ok', NULL, interval '2 days', 5000, ARRAY['unverified', 'busy_host']),
             (3, '2 7 f', 'failed', 'VERIFICATION_FAILED', interval '1 day', NULL, NULL),
             (4, '2 7 f', 'failed', 'VERIFICATION_FAILED', interval '3 days', NULL, NULL),
             (5, '2 6 f', 'failed', 'VERIFICATION_FAILED', interval '15 days', NULL, NULL),
             (6, '1 7 f', 'failed', 'TIMEOUT', interval '1 day', NULL, NULL))
       AS made (number, origin, outcome, reason, ago, value, flags)
JOIN origin ON origin_id = made.origin
JOIN series ON series_id = 'series 1{NEW}';
DROP TABLE planted, planted_run;
-- As migrations that add rows for dashboards do.
UPDATE judge_state SET cursor = '';
"""


def describe(node_id, name, number):
    """Returns a description of a node with eight GPUs, encoded as PostgreSQL's text of bytes."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    gpus = "".join(f'gpus {{ index: {gpu} uuid: "GPU-{number}-{gpu}" model: "H200" }} '
                   for gpu in range(8))
    encoded = subprocess.run(
        ["protoc", f"-I{os.path.join(harness.ROOT, 'proto')}", "--encode=assay.v1.NodeDescription",
         "assay/v1/inventory.proto"], check=True, capture_output=True,
        input=f'node_id: "{node_id}" name: "{quoted}" inventory {{ {gpus} }}'.encode())
    return "\\x" + encoded.stdout.hex()


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def plant(fleet):
    """Starts a coordinator, which migrates the database, stores the history, and lets another
    coordinator judge it. `fleet` is a harness.Fleet that was not started."""
    fleet.start().coordinator.stop()
    fleet.postgres.rows("INSERT INTO schema_set VALUES ('planted', '')")
    for number, name in enumerate(NODES, 1):
        fleet.postgres.rows(
            "INSERT INTO node (node_id, name, description, description_json, schemas_hash,"
            f" dial_address) VALUES ('id{number}', {literal(name)},"
            f" '{describe(f'id{number}', name, number)}', '{{}}', 'planted', '')")
        fleet.postgres.rows(f"INSERT INTO node_session VALUES ('id{number}', NULL, now())")
    names = "{" + ",".join('"' + name.replace('"', '\\"') + '"' for name in NODES) + "}"
    fleet.postgres.rows(SEED.replace("@NAMES@", names))
    # Reruns need nodes that are connected.
    fleet.restart_coordinator("--judge-every", "2s", "--rerun-share", "0")
    harness.eventually(
        lambda: int(fleet.postgres.value(
            "SELECT count(*) FROM incident WHERE cause = 'driver' AND state = 'confirmed'")),
        180, "the confirmed incident")

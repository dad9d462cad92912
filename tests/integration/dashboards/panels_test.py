"""Runs every query of every dashboard against data that Assay's programs produced.

Starts a private fleet with two nodes (one has eight simulated GPUs from a fake NVML), runs
campaigns, lets Debian's Prometheus discover and scrape everything, and sends the queries that
Grafana would send. No panel may be empty.
"""

import glob
import json
import os
import re
import sys
import time
import unittest
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

import harness  # noqa: E402
from harness import Fleet, eventually, fetch, free_port  # noqa: E402

PROMETHEUS = """
global: {{scrape_interval: 500ms}}
scrape_configs:
  - job_name: assay-coordinator
    static_configs: [{{targets: ["{coordinator}"]}}]
  - job_name: assay-agent
    http_sd_configs: [{{url: "http://{coordinator}/sd", refresh_interval: 1s}}]
"""

CAMPAIGN = """
name: panels
repetitions: 2
benchmarks:
  - {benchmark}
"""

# Results that a machine without a GPU cannot produce: one lineage on two drivers and two nodes.
SEED = """
INSERT INTO environment (environment_id, content, gpu_model, gpu_form_factor, gpu_count,
                         topology, cpu_model, driver)
SELECT 'seed-' || driver, '{}', 'H200', 'SXM', 1, 'single', 'Fake CPU', driver
FROM unnest(ARRAY['570.86.15', '580.95.05']) AS driver;
INSERT INTO series (series_id, lineage_id, environment_id, benchmark, benchmark_version,
                    parameters, metric, unit, direction, cache, fill, simulated)
SELECT environment_id, 'seed', environment_id, 'gemm', 1, '{"m": "8192"}', 'tflops', 'TFLOP/s', 'higher',
       'cold', 'random', false
FROM environment WHERE environment_id LIKE 'seed-%';
INSERT INTO origin (origin_id, node_id, node)
SELECT node, ARRAY[node], ARRAY[node] FROM unnest(ARRAY['seed-a', 'seed-b']) AS node;
INSERT INTO result (result_id, series_key, origin_key, campaign_id, job_id, case_index, repetition,
                    "primary", outcome, n, median, mad, p05, p95, ci_low, ci_high, efficiency_spec,
                    flag)
SELECT gen_random_uuid(), series_key, origin_key, (SELECT min(campaign_id) FROM campaign), 'seed', 0, run, true,
       'ok', 30, 700 + run, 1, 690, 710, 699, 701, 0.71,
       CASE run WHEN 1 THEN ARRAY['throttled'] END
FROM series, generate_series(1, 3) AS run, origin
WHERE origin_id LIKE 'seed-%' AND lineage_id = 'seed';
"""

# A window with several scrapes, as Grafana would choose it.
RATE_INTERVAL = "4s"


def dashboards():
    for path in sorted(glob.glob(os.path.join(ROOT, "dashboards", "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), json.load(file)


def panels(dashboard):
    for panel in dashboard["panels"]:
        if panel["type"] != "row":
            yield panel
        yield from panel.get("panels", [])


class PanelsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet().__enter__()
        try:
            cls.run_campaigns()
            cls.start_prometheus()
        except BaseException:
            cls.fleet.__exit__(*sys.exc_info())
            raise

    @classmethod
    def tearDownClass(cls):
        cls.fleet.__exit__(None, None, None)

    @classmethod
    def run_campaigns(cls):
        fleet = cls.fleet
        fleet.start()
        fake_nvml = os.path.join(harness.BUILD, "tests", "unit", "host", "libfake_nvml.so")
        fleet.new_agent("gpu-node", env={"ASSAY_NVML_LIBRARY": fake_nvml}).start()
        fleet.await_node("gpu-node")
        fleet.agent("cpu-node", runner=harness.RUNNER)
        cls.started = time.time()

    @classmethod
    def start_prometheus(cls):
        fleet = cls.fleet
        config = fleet.path("prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(PROMETHEUS.format(coordinator=fleet.coordinator.addresses["http"]))
        cls.url = f"http://127.0.0.1:{free_port()}"
        fleet.add("prometheus", [
            "prometheus", f"--config.file={config}",
            f"--storage.tsdb.path={fleet.path('prometheus')}",
            f"--web.listen-address={cls.url.removeprefix('http://')}"]).start()
        eventually(lambda: cls.ask("count(up == 1) == 3"), 60, "a scrape of all three programs")
        # A counter needs a sample before it grows, otherwise its rate is zero.
        for benchmark in ("ok: {value: 5}", "slow: {value: [1, 2], millis: 300}",
                          "cpu_memory_bandwidth: {op: triad, bytes: 8MiB}"):
            campaign = fleet.submit(CAMPAIGN.format(benchmark=benchmark))
            fleet.await_end(campaign, 120)
        eventually(lambda: cls.ask("sum(assay_jobs_total) > 0"), 30, "a scrape of the ended jobs")
        fleet.postgres.rows(SEED)

    @classmethod
    def ask(cls, expression, path="query", **parameters):
        query = urllib.parse.urlencode({"query": expression, **parameters})
        try:
            answer = json.loads(fetch(f"{cls.url}/api/v1/{path}?{query}"))
        except OSError as error:
            body = error.read().decode() if hasattr(error, "read") else str(error)
            if "parse error" in body:
                raise AssertionError(f"{expression}\n{body}") from error
            return []
        return answer["data"]["result"]

    def substitute(self, text):
        text = text.replace("$__rate_interval", RATE_INTERVAL)
        text = text.replace("$__timeFilter(time)", "time > now() - interval '1 hour'")
        text = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 > now() - interval '1 hour'", text)
        return re.sub(r"\$(job|instance|gpu_model|driver)\b", ".*", text)

    def test_every_promql(self):
        empty = []
        for name, dashboard in dashboards():
            for panel in panels(dashboard):
                for target in panel["targets"]:
                    if "expr" not in target:
                        continue
                    expression = self.substitute(target["expr"])

                    def answered(expression=expression):
                        return self.ask(expression, "query_range", start=self.started,
                                        end=time.time(), step="1s")
                    try:
                        eventually(answered, 5, expression)
                    except AssertionError:
                        empty.append(f"{name}: {panel['title']}: {expression}")
        self.assertEqual(empty, [], "\n".join(empty))

    def sql_variables(self, dashboard):
        """Returns each variable as Grafana expands "All": all values, quoted, separated by commas.
        """
        values = {}
        for variable in dashboard["templating"]["list"]:
            if variable["type"] != "query" or not isinstance(variable["query"], str):
                continue
            sql = self.fill(variable["query"], values)
            rows = [row[0] for row in self.fleet.postgres.rows(self.substitute(sql))]
            self.assertTrue(rows, f"variable {variable['name']} has no values: {sql}")
            values[variable["name"]] = ",".join("'" + row.replace("'", "''") + "'" for row in rows)
        return values

    @staticmethod
    def fill(sql, values):
        for name, value in values.items():
            sql = re.sub(rf"\$\{{{name}:sqlstring\}}|\${name}\b", lambda _, v=value: v, sql)
        return sql

    def test_every_sql(self):
        faults, seen = [], 0
        for name, dashboard in dashboards():
            queries = [(panel["title"], target["rawSql"]) for panel in panels(dashboard)
                       for target in panel["targets"] if "rawSql" in target]
            if not queries:
                continue
            values = self.sql_variables(dashboard)
            for title, sql in queries:
                seen += 1
                sql = self.substitute(self.fill(sql, values))
                if not self.fleet.postgres.rows(sql):
                    faults.append(f"{name}: {title} is empty: {sql}")
        self.assertEqual(faults, [], "\n".join(faults))
        self.assertGreater(seen, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

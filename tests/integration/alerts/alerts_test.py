"""Plants outages in fleets of real processes, which Debian's Prometheus scrapes and judges with the
rules of deploy/prometheus. Each outage must fire its alert and no other.

The test changes the rules mechanically, because a test cannot wait for their intervals:
- every duration is divided by 60, so a minute becomes a second: `for`, ranges and offsets;
- a second copy of the file judges simulated nodes instead of real ones: `simulated=""` becomes
  `simulated="true"`, and its alerts have the label nodes="simulated". The first copy must stay
  silent on simulated nodes.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

import harness  # noqa: E402
from harness import Fleet, FleetCase, eventually, fetch, free_port, let_pass  # noqa: E402
from simulate_test import connected, simulation, write  # noqa: E402

RULES = os.path.join(ROOT, "deploy", "prometheus", "alerts.yaml")
SCRAPES = os.path.join(ROOT, "deploy", "compose", "prometheus.yml")
FAKE_NVML = os.path.join(harness.BUILD, "tests", "unit", "host", "libfake_nvml.so")
SKIPPED = 77
PROMETHEUS = """
global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}
rule_files: [real.yaml, simulated.yaml]
scrape_configs:
  - job_name: assay-coordinator
    static_configs: [{{targets: [{targets}]}}]
  - job_name: assay-gpus
    metrics_path: /metrics/gpus
    static_configs: [{{targets: [{targets}]}}]
  - job_name: assay-agent
    http_sd_configs: [{{url: "http://{discovery}/sd", refresh_interval: 1s}}]
    relabel_configs:
{relabelling}
"""
# Longer than each `for` and each range under 24 h of the changed rules, except of QueueStalled.
SETTLED = 12
SECONDS = {"s": 1, "m": 60, "h": 3600}
NODES = 8
NIGHTS_BEFORE = 12
NIGHTS_AFTER = 8
CAMPAIGN = """
name: nightly
exclusive: gpu
effort: quick
benchmarks:
  - memory_bandwidth: {op: [copy, triad], bytes: 1GiB}
"""
FAULTS = """
faults:
  - slow_gpu: {node: sim-0003, gpu: 3, factor: 0.85}
"""
UPGRADE = """  - driver_step: {node: "*", driver: "590.10", factor: 0.93, since: 2026-01-01}
"""


def shortened(text):
    """Returns the rules with every duration divided by 60."""
    def divided(match):
        return f"{int(match[1]) * SECONDS[match[2]] * 1000 // 60}ms"
    lines = []
    for line in text.splitlines():
        if re.match(r"\s+for: ", line) or re.search(r"\[\d+[smh]|offset \d", line):
            line = re.sub(r"\b(\d+)([smh])\b", divided, line)
        lines.append(line)
    return "\n".join(lines) + "\n"


def series(page):
    return sum(1 for line in page.splitlines() if not line.startswith("#"))


def values(page, metric):
    """Returns the labels and the value of each series of a metric."""
    series_of = re.findall(rf"^{metric}\{{(.*)\}} (\S+)$", page, re.MULTILINE)
    return [(dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value))
            for labels, value in series_of]


class Watched:
    """A fleet with a Prometheus that scrapes its coordinators."""

    def __init__(self, fleet, coordinators):
        with open(RULES, encoding="utf-8") as file:
            rules = shortened(file.read())
        write(fleet, "real.yaml", rules)
        write(fleet, "simulated.yaml", rules.replace('simulated=""', 'simulated="true"').replace(
            "        labels:\n", "        labels:\n          nodes: simulated\n"))
        targets = ", ".join(f'"{one.addresses["http"]}"' for one in coordinators)
        with open(SCRAPES, encoding="utf-8") as file:
            relabelling = re.findall(r"^ +- {source_labels: .*", file.read(), re.MULTILINE)
        config = write(fleet, "prometheus.yml", PROMETHEUS.format(
            targets=targets, discovery=coordinators[0].addresses["http"],
            relabelling="\n".join(relabelling)))
        self.url = f"http://127.0.0.1:{free_port()}"
        fleet.add("prometheus", [
            "prometheus", f"--config.file={config}",
            f"--storage.tsdb.path={fleet.path('prometheus')}",
            f"--web.listen-address={self.url.removeprefix('http://')}"]).start()
        eventually(lambda: self.ask('count(up{job!="assay-agent"} == 1)') == 2 * len(coordinators),
                   60, "a scrape")

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        try:
            return json.loads(fetch(f"{self.url}/api/v1/{path}?{query}"))["data"]
        except OSError:
            return None

    def ask(self, expression):
        data = self.get("query", query=expression)
        return float(data["result"][0]["value"][1]) if data and data["result"] else None

    def firing(self, rules="real"):
        """Returns the alerts of one copy of the rules that fire, with their severities."""
        data = self.get("rules", type="alert")
        groups = [group for group in (data or {"groups": []})["groups"]
                  if group["file"].endswith(f"/{rules}.yaml")]
        return {(rule["name"], rule["labels"]["severity"]) for group in groups
                for rule in group["rules"] if rule["state"] == "firing"}

    def fired(self, nodes="simulated"):
        """Returns name, node and GPU of the alerts of one copy of the rules that fired so far."""
        data = self.get("query", query='last_over_time(ALERTS{alertstate="firing",'
                        f'nodes="{nodes}"}}[1h])')
        return {(one["metric"]["alertname"], one["metric"].get("node"), one["metric"].get("gpu"))
                for one in data["result"]}

    def await_firing(self, expected, rules="real", seconds=60):
        """Waits until exactly these alerts fire, and checks that it stays so."""
        try:
            eventually(lambda: self.firing(rules) == expected, seconds, f"{expected}")
        except AssertionError as error:
            raise AssertionError(f"{error}; firing: {self.firing(rules)}") from None
        end = time.monotonic() + SETTLED
        while time.monotonic() < end:
            firing = self.firing(rules)
            if firing != expected:
                raise AssertionError(f"firing: {firing}; expected: {expected}")
            let_pass(0.5)


class AlertsTest(FleetCase):
    maxDiff = None

    def test_outages_of_a_real_fleet(self):
        fleet = self.open(Fleet())
        fleet.start()
        second = fleet.new_coordinator("second").start()
        lost = fleet.agent("lost-node", "--provider", "lab", "--region", "eu-1")
        fleet.agent("healthy-node")
        watched = Watched(fleet, [fleet.coordinator, second])

        with self.subTest("the fleet is idle"):
            watched.await_firing(set())
        with self.subTest("an agent is killed"):
            labels = 'node="lost-node",provider="lab",region="eu-1"'
            eventually(lambda: watched.ask(f"up{{{labels}}} == 1"), 60, "a scrape of the agent")
            lost.kill()
            watched.await_firing({("AgentDown", "warning")})
            self.assertEqual(watched.ask(f"up{{{labels}}}"), 0)
            self.assertEqual(watched.ask('max by (node) (assay_fleet_node_up) == 0'), 0)
            self.assertEqual(watched.ask('assay_fleet_node_up{node="healthy-node"}'), 1)
            lost.start()
            eventually(lambda: not watched.firing(), 60, "the end of the alert")
            eventually(lambda: watched.ask('assay_fleet_node_up{node="lost-node"} == 1'), 60,
                       "the node's return")
        with self.subTest("a coordinator is killed"):
            second.kill()
            watched.await_firing({("CoordinatorNotReady", "warning")})
        with self.subTest("the database is away"):
            fleet.postgres.stop()
            watched.await_firing({("CoordinatorNotReady", "critical")})
            fleet.postgres.start()
            eventually(lambda: watched.firing() == {("CoordinatorNotReady", "warning")}, 60,
                       "the end of the critical alert")

    def test_restart_of_all_coordinators_fires_nothing(self):
        fleet = self.open(Fleet())
        fleet.start()
        second = fleet.new_coordinator("second").start()
        both = f"{fleet.address()},{second.addresses['grpc']}"
        fleet.agent("one", coordinator=both)
        fleet.agent("two", coordinator=both)
        watched = Watched(fleet, [fleet.coordinator, second])
        fleet.coordinator.stop()
        fleet.restart_coordinator()
        watched.await_firing(set())
        addresses = second.addresses
        second.stop()
        fleet.new_coordinator("second-again", grpc=addresses["grpc"],
                              http=addresses["http"]).start()
        watched.await_firing(set())
        self.assertEqual(watched.fired(nodes=""), set())

    def test_xid_of_a_gpu(self):
        fleet = self.open(Fleet())
        fleet.start()
        # GPU 2 of this driver logs Xid 94. All GPUs are busy and reach their power limit.
        fleet.agent("gpu-node", env={"ASSAY_NVML_LIBRARY": FAKE_NVML})
        watched = Watched(fleet, [fleet.coordinator])
        watched.await_firing({("GpuXid", "warning")})
        self.assertEqual(watched.fired(nodes=""), {("GpuXid", "gpu-node", "2")})

    def test_metrics_follow_the_conventions_and_stay_few(self):
        fleet = self.open(Fleet())
        fleet.start()
        agent = fleet.agent("gpu-node", env={"ASSAY_NVML_LIBRARY": FAKE_NVML})
        faults = ("faults:\n  - memory_errors: {node: sim-0001, gpu: 1}\n"
                  "  - link_errors: {node: sim-0002, gpu: 2}\n"
                  "  - slow_gpu: {node: sim-0002, gpu: 3, factor: 0.8}\n")
        simulation(fleet, "errors", "--faults", write(fleet, "errors.yaml", faults),
                   nodes=2).start()
        fleet.await_end(fleet.submit(CAMPAIGN), 120)
        gpus = f"http://{fleet.coordinator.addresses['http']}/metrics/gpus"

        def all_nodes():
            text = fetch(gpus)
            return text if text.count("\nassay_fleet_gpu_temperature_celsius{") == 8 * 3 - 1 else None
        text = eventually(all_nodes, 60, "telemetry of three nodes")  # GPU 6 is off the bus.
        own = fleet.metrics(agent)
        for name, page in {"coordinator": fleet.metrics(fleet.coordinator), "fleet": text,
                           "agent": own}.items():
            check = subprocess.run(["promtool", "check", "metrics"], input=page, text=True,
                                   capture_output=True, check=False)
            self.assertEqual((check.returncode, check.stderr), (0, ""), name)
        for metric, node, gpu, expected in (("nvlinks_active", "sim-0002", "2", 17),
                                            ("nvlinks_expected", "sim-0002", "2", 18),
                                            ("row_remap_pending", "sim-0001", "1", 1)):
            shown = [(labels, value) for labels, value in values(text, f"assay_fleet_gpu_{metric}")
                     if (labels["node"], labels["gpu"]) == (node, gpu)]
            self.assertEqual(shown, [({"node": node, "gpu": gpu, "model": "H200",
                                       "simulated": "true"}, expected)], metric)
        self.assertIn('assay_fleet_node_info{node="gpu-node",node_id="', text)
        self.assertLess(max(own.count(f'gpu="{gpu}"') for gpu in range(8)), 40)
        self.assertLess(series(fleet.metrics(fleet.coordinator)), 2000)

    def test_findings_of_a_simulated_fleet(self):
        fleet = self.open(Fleet())
        fleet.start("--judge-every", "500ms", "--rerun-spacing", "100ms")
        watched = Watched(fleet, [fleet.coordinator])
        nodes = self.simulate(fleet, "before", FAULTS)
        self.run_nights(fleet, NIGHTS_BEFORE)
        # Keeps the GPUs busy for some seconds.
        fleet.await_end(fleet.submit(CAMPAIGN + "repetitions: 8\n"), 120)
        # The slow GPU was throttled under load. Now it is idle.
        watched.await_firing({("OutlierGPU", "warning")}, "simulated")
        self.assertEqual(watched.fired(), {
            ("ThrottledDuringBenchmark", "sim-0003", "3"), ("OutlierGPU", None, None)})
        nodes.stop()
        self.simulate(fleet, "after", FAULTS + UPGRADE, NIGHTS_BEFORE)
        self.run_nights(fleet, NIGHTS_AFTER)
        watched.await_firing({("OutlierGPU", "warning"), ("RegressionConfirmed", "warning")},
                             "simulated", 120)
        self.assertEqual(watched.fired(), {
            ("ThrottledDuringBenchmark", "sim-0003", "3"), ("OutlierGPU", None, None),
            ("RegressionConfirmed", None, None)})
        self.assertEqual(watched.fired(nodes=""), set())

    @staticmethod
    def simulate(fleet, name, faults, first_run=0):
        process = simulation(fleet, name, "--seed", "3", "--first-run", str(first_run), "--faults",
                             write(fleet, f"{name}.yaml", faults), nodes=NODES,
                             jobs_take="500ms").start()
        eventually(lambda: len(connected(fleet)) == NODES, 60, "all sessions")
        return process

    @staticmethod
    def run_nights(fleet, count):
        for _ in range(count):
            fleet.await_end(fleet.submit(CAMPAIGN), 120)


if __name__ == "__main__":
    if not shutil.which("prometheus"):
        print("prometheus is absent")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)

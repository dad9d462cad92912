"""Checks what the dashboards on Prometheus show of a fleet with planted faults.

    panels_test.py [NODES]      # 20 simulated nodes of eight GPUs each

Two coordinators, real and simulated nodes, and Debian's Prometheus with the rules of
deploy/prometheus. Every query of panels, variables, annotations and links is sent as Grafana would
send it, and its rows are compared with what was planted. The test changes one thing, because nobody
can wait for it: rules are evaluated at every scrape, and panels that count per minute count per
4 s.
"""

import collections
import http.server
import itertools
import os
import re
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "tests", "integration",
                                                                      "alerts")]

import grafana  # noqa: E402
import harness  # noqa: E402
import sources  # noqa: E402
from alerts_test import shortened  # noqa: E402
from grafana import Dashboard, GrafanaError, Scope, TimeRange  # noqa: E402
from harness import eventually, free_port  # noqa: E402
from replicas import Replicas  # noqa: E402
from simulate_test import simulation, write  # noqa: E402

NODES = 20
GPUS = 8
# A panel may have this many series at most, at any fleet's size.
MOST_SERIES = 60
CONSOLE = "http://127.0.0.1:7980"
RULES = os.path.join(ROOT, "deploy", "prometheus")
PROFILES = os.path.join(ROOT, "agent", "simulate", "profiles")
PROMETHEUS = """
global: {{scrape_interval: {scrape}, evaluation_interval: {scrape}}}
rule_files: [alerts.yaml, recordings.yaml]
scrape_configs:
  - job_name: assay-coordinator
    static_configs: [{{targets: [{targets}]}}]
  - job_name: assay-gpus
    metrics_path: /metrics/gpus
    static_configs: [{{targets: [{targets}, "{old}"]}}]
"""
FAULTS = """
faults:
  - slow_gpu: {node: sim-0003, gpu: 3, factor: 0.85}
  - failing_node: {node: sim-0005}
  - memory_errors: {node: sim-0006, gpu: 1}
  - link_errors: {node: sim-0006, gpu: 2}
"""
# A name that PromQL, regular expressions and addresses must not misread.
HOSTILE = r'''we"ird\n.*&#<b>$x'''
COMPARE = """
name: compare
exclusive: gpu
effort: quick
nodes: name in ("sim-0001", "sim-0002", "sim-0003", "sim-0004", "sim-0007", "sim-0008")
benchmarks:
  - memory_bandwidth: {bytes: 1GiB}
"""
FAILING = """
name: failing
retries: 0
exclusive: gpu
effort: quick
nodes: name = "sim-0005"
benchmarks:
  - memory_bandwidth: {bytes: 1GiB}
"""
LONG = """
name: long
exclusive: gpu
effort: quick
repetitions: 3
nodes: provider = "rack"
benchmarks:
  - memory_bandwidth: {bytes: 1GiB}
"""
# Metrics of a release that knew neither assay_fleet_node_info nor slow-down limits.
OLD = """
assay_fleet_gpu_temperature_celsius{node="old",gpu="0",model="A100"} 40
assay_fleet_gpu_power_watts{node="old",gpu="0",model="A100"} 90
"""


def profile(base, provider, change=lambda text: text):
    """Returns the text of a profile with this provider."""
    with open(os.path.join(PROFILES, f"{base}.textproto"), encoding="utf-8") as file:
        return change(re.sub(r"(?m)^provider: .*$", f'provider: "{provider}"', file.read()))


def sliced(text):
    """Makes each GPU of a profile a MIG slice."""
    return re.sub(r"(?m)^(  gpus \{)", r'\1 mig_profile: "1g.18gb"', text)


class OldCoordinator(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(OLD.encode())

    def log_message(self, *arguments):
        pass


class TwoCoordinators(Replicas):
    def address(self):
        """The first one is elected, and the simulator takes one address only."""
        return self.address_of("c1")


class PanelsTest(unittest.TestCase):
    maxDiff = None
    numbers = itertools.count(1)

    @classmethod
    def setUpClass(cls):
        cls.fleet = TwoCoordinators().__enter__()
        try:
            cls.began = time.time()
            cls.start_nodes()
            cls.start_prometheus()
            cls.run_campaigns()
            cls.settle()
        except BaseException:
            cls.fleet.__exit__(*sys.exc_info())
            raise

    @classmethod
    def tearDownClass(cls):
        cls.old.shutdown()
        cls.fleet.__exit__(None, None, None)

    @classmethod
    def simulate(cls, prefix, count, text, *options, **more):
        name = f"simulation-{next(cls.numbers)}"
        path = write(cls.fleet, f"{name}.textproto", text)
        return simulation(cls.fleet, name, "--prefix", prefix, "--profile", path, *options,
                          nodes=count, **more).start()

    @classmethod
    def start_nodes(cls):
        if NODES > 50:
            cls.fleet.lease, cls.fleet.heartbeat = "30s", "5s"  # The defaults.
        fleet = cls.fleet.start("--judge-every", "2s")
        fake_nvml = os.path.join(harness.BUILD, "tests", "unit", "host", "libfake_nvml.so")
        fleet.new_agent("gpu-node", env={"ASSAY_NVML_LIBRARY": fake_nvml}).start()
        fleet.agent("cpu-node")
        gone = cls.simulate("gone-", 1, profile("8x-h200", "vast.ai"))
        fleet.await_node("gone-0001")
        cls.simulate("sim-", NODES, profile("8x-h200", "lambda"), "--faults",
                     write(fleet, "faults.yaml", FAULTS), "--seed", "3")
        cls.simulate("busy-", 2, profile("8x-h100", "rack"), jobs_take="600s")
        cls.simulate("mig-", 1, profile("8x-h200", "vast.ai", sliced))
        cls.simulate(HOSTILE, 1, profile("8x-h200", "vast.ai"))
        cls.up = NODES + 4  # Simulated nodes with a session.
        gone.kill()
        # The list of all nodes is long: the database answers sooner.
        sessions = ("SELECT count(*) FROM node_session JOIN node USING (node_id) "
                    "WHERE owner IS NOT NULL AND name <> 'gone-0001'")
        eventually(lambda: int(fleet.postgres.value(sessions)) == cls.up + 2, 60 + NODES,
                   "all sessions", 0.5)
        fleet.cli("node", "cordon", "sim-0010", "--reason", "new PSU")
        cls.hostile = fleet.postgres.value("SELECT name FROM node WHERE name LIKE 'we%'")

    @classmethod
    def start_prometheus(cls):
        fleet = cls.fleet
        cls.scrape = "1s" if NODES <= 50 else "5s"
        cls.old = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OldCoordinator)
        threading.Thread(target=cls.old.serve_forever, daemon=True).start()
        for name in ("alerts.yaml", "recordings.yaml"):
            with open(os.path.join(RULES, name), encoding="utf-8") as file:
                rules = shortened(file.read()).replace("interval: 30s", f"interval: {cls.scrape}")
            # Alerts of simulated nodes instead of real ones.
            write(fleet, name, rules.replace('simulated=""', 'simulated="true"'))
        targets = ", ".join(f'"{one.addresses["http"]}"' for one in fleet.coordinators.values())
        config = write(fleet, "prometheus.yml", PROMETHEUS.format(
            targets=targets, scrape=cls.scrape, old=f"127.0.0.1:{cls.old.server_port}"))
        url = f"http://127.0.0.1:{free_port()}"
        fleet.add("prometheus", [
            "prometheus", f"--config.file={config}",
            f"--storage.tsdb.path={fleet.path('prometheus')}",
            f"--web.listen-address={url.removeprefix('http://')}"]).start()
        cls.client = sources.Prometheus(url)
        eventually(lambda: cls.ask("count(up == 1)") == 5, 60, "a scrape of all targets")

    @classmethod
    def run_campaigns(cls):
        fleet = cls.fleet
        fleet.await_end(fleet.submit(FAILING), 60)
        # A counter's first value is no increase.
        eventually(lambda: cls.ask('sum(assay_jobs_total{outcome="failed"})'), 30, "failures")
        fleet.await_end(fleet.submit(FAILING.replace("name: failing", "name: failing-again")), 60)
        for run in range(3):
            fleet.await_end(fleet.submit(COMPARE.replace("name: compare", f"name: compare-{run}")),
                            120)
        cls.long = fleet.submit(LONG)
        eventually(lambda: len(cls.jobs("RUNNING")) == 2 * GPUS, 60, "running jobs")

    @classmethod
    def jobs(cls, state):
        return [job for job in cls.fleet.jobs(cls.long) if job["state"] == f"JOB_STATE_{state}"]

    @classmethod
    def settle(cls):
        """Waits until the last planted facts have reached Prometheus and its rules."""
        conditions = (f'max(assay_jobs{{state="running"}}) == {2 * GPUS}',
                      'max(assay_outlier_gpus{kind="slow"}) == 1',
                      'count(assay:fleet_gpu:over_limit{reason="Rows to remap"}) == 1',
                      'assay:fleet_gpu:over_limit{reason="Throttled by heat or hardware"} == 3',
                      f'sum(assay:fleet_gpu_busy_clock_percent:bins{{simulated="true"}}) == {2 * GPUS}',
                      'max(assay_agents{state="disconnected",simulated="true"}) == 1',
                      'ALERTS{alertname="AgentDown",alertstate="firing"}',
                      'ALERTS{alertname="GpuXid",alertstate="firing",node="sim-0006",gpu="2"}')
        for condition in conditions:
            eventually(lambda condition=condition: cls.ask(condition) is not None, 90 + NODES / 2,
                       condition)

    @classmethod
    def ask(cls, expression):
        try:
            result = cls.client.get("query", {"query": expression})["result"]
        except OSError:
            return None
        return float(result[0]["value"][1]) if result else None

    # What a person sees.

    def scope(self, name, **choose):
        choose = {"simulated": "true", **choose}
        if name == "node":
            choose.setdefault("node", "sim-0003")
        board = Dashboard(os.path.join(ROOT, "dashboards", f"{name}.json"))
        for panel in board.panels():
            if "interval" in panel:
                panel["interval"] = "4s"
        return Scope(board, TimeRange(self.began * 1000, time.time() * 1000, "now-6h", "now"),
                     {grafana.PROMETHEUS: self.client}, choose, minimum=self.scrape, points=200)

    def shown(self, name, title, **choose):
        """Returns the last value of each series of a panel, by its legend."""
        scope = self.scope(name, **choose)
        panel, values = scope.board.panel(title), {}
        for target, answer in zip(panel["targets"], sources.run(scope, panel)):
            for one in answer:
                legend = re.sub(r"\{\{(\w+)\}\}", lambda match: one["metric"].get(match[1], ""),
                                target["legendFormat"])
                values[legend] = float((one.get("value") or one["values"][-1])[1])
        return values

    def rows(self, name, title, *columns, **choose):
        scope = self.scope(name, **choose)
        rows = sources.table(scope, scope.board.panel(title))
        return [tuple(row.get(column) for column in columns) for row in rows] if columns else rows

    def await_shown(self, expected, *arguments, seconds=60, **choose):
        """Waits until a panel shows exactly these values."""
        seen = {}

        def same():
            seen.update(found=self.shown(*arguments, **choose))
            return seen["found"] == expected
        try:
            eventually(same, seconds, "the values")
        except AssertionError:
            self.assertEqual(seen["found"], expected)

    # Fleet.

    def test_fleet_nodes(self):
        self.await_shown({"Up": self.up, "Missing": 1, "Cordoned": 1, "Quarantined": 0}, "fleet",
                         "Nodes")
        self.await_shown({"Up": 2, "Missing": 0, "Cordoned": 0, "Quarantined": 0}, "fleet", "Nodes",
                         simulated="^$")
        self.assertEqual(self.shown("fleet", "Nodes over time"), {"Up": self.up, "Missing": 1})
        (node, age, provider, model, driver), = self.rows(
            "fleet", "Missing nodes", "node", "Value", "provider", "model", "driver")
        self.assertEqual((node, provider, model), ("gone-0001", "vast.ai", "H200"))
        self.assertTrue(driver)
        self.assertTrue(0 < age < time.time() - self.began, age)
        self.assertEqual(self.rows("fleet", "Missing nodes", provider="lambda"), [])
        self.assertEqual(self.rows("fleet", "Missing nodes", simulated="^$"), [])

    def test_fleet_gpus(self):
        whole = GPUS * (self.up - 1)
        self.assertEqual(self.shown("fleet", "GPUs"), {
            "Reporting": whole, "Over a limit": 3, "Slower than peers": 1, "MIG slices": GPUS})
        self.assertEqual(self.shown("fleet", "GPUs", provider="rack"), {
            "Reporting": 2 * GPUS, "Over a limit": 0, "Slower than peers": 1, "MIG slices": 0})
        self.assertEqual(self.shown("fleet", "GPUs", gpu_model="H100")["Reporting"], 2 * GPUS)
        self.assertEqual(self.shown("fleet", "GPUs", simulated="^$")["Reporting"], GPUS)

    def test_fleet_gpus_over_a_limit(self):
        rows = self.rows("fleet", "GPUs over a limit", "node", "gpu", "model", "provider", "reason")
        # The slow GPU's temperature is about its limit.
        hot = ("sim-0003", "3", "H200", "lambda", "At the slow-down limit")
        self.assertEqual(rows[0][-1], "Xid")
        self.assertEqual(set(rows) - {hot}, {
            ("sim-0003", "3", "H200", "lambda", "Throttled by heat or hardware"),
            ("sim-0006", "1", "H200", "lambda", "Xid"),
            ("sim-0006", "1", "H200", "lambda", "Rows to remap"),
            ("sim-0006", "1", "H200", "lambda", "Uncorrected ECC errors"),
            ("sim-0006", "2", "H200", "lambda", "Xid"),
            ("sim-0006", "2", "H200", "lambda", "NVLinks missing")})
        counts = self.shown("fleet", "GPUs over a limit, by reason")
        counts.pop("At the slow-down limit", None)
        self.assertEqual(counts, {"Throttled by heat or hardware": 1, "Xid": 2, "Rows to remap": 1,
                                  "Uncorrected ECC errors": 1, "NVLinks missing": 1})
        self.assertEqual(self.rows("fleet", "GPUs over a limit", provider="rack"), [])

    def test_fleet_heat_maps(self):
        heat = self.shown("fleet", "Temperature")
        self.assertEqual(list(map(int, sorted(heat, key=int))), list(range(30, 101, 10)))
        self.assertEqual(sum(heat.values()), GPUS * (self.up - 1))
        self.assertEqual(heat["90"] + heat["100"], 1)
        power = self.shown("fleet", "Power, % of limit")
        self.assertEqual(sum(power.values()), GPUS * (self.up - 1))
        self.assertEqual(power["90"], 2 * GPUS)  # Busy GPUs draw 83 to 90%.
        clock = self.shown("fleet", "Clock of busy GPUs, % of maximum")
        self.assertEqual(clock["100"], 2 * GPUS)
        self.assertEqual(sum(clock.values()), 2 * GPUS)
        self.assertEqual(sum(self.shown("fleet", "Temperature", gpu_model="H100").values()),
                         2 * GPUS)

    def test_fleet_work_and_findings(self):
        work = self.shown("fleet", "Work")
        self.assertEqual(work["Running jobs"], 2 * GPUS)
        self.assertEqual(work["Queued jobs"], len(self.jobs("QUEUED")))
        self.assertTrue(0 < work["Oldest queued job"] < time.time() - self.began)
        self.assertEqual(work["Active campaigns"], 1)
        findings = self.shown("fleet", "Findings")
        self.assertEqual((findings["Regressions"], findings["Rejected results"]), (0, 0))
        self.assertGreater(findings["Failed attempts"], 0)
        self.assertEqual(self.rows("fleet", "Outlier GPUs by model", "model", "kind", "Value"),
                         [("H200", "slow", 1)])
        self.assertEqual(self.shown("fleet", "Jobs over time"), {
            "running": 2 * GPUS, "queued": len(self.jobs("QUEUED"))})

    def test_fleet_rates(self):
        """Counters of what has ended by now: the series are named, and were positive at a time."""
        self.assertEqual(self.peaks("fleet", "Failed attempts by benchmark"), {"memory_bandwidth"})
        self.assertEqual(self.peaks("fleet", "Attempts that ended"), {"succeeded"})
        self.assertEqual(self.peaks("fleet", "Results that arrived"), {"stored"})
        self.assertEqual(self.peaks("fleet", "Duration of jobs"), {"median", "95th percentile"})

    def peaks(self, name, title, **choose):
        """Returns the legends of the series that were ever above 0."""
        scope = self.scope(name, **choose)
        panel, found = scope.board.panel(title), set()
        for target, answer in zip(panel["targets"], sources.run(scope, panel)):
            for one in answer:
                if any(float(value) > 0 for _, value in one["values"]):
                    found.add(re.sub(r"\{\{(\w+)\}\}",
                                     lambda match, one=one: one["metric"].get(match[1], ""),
                                     target["legendFormat"]))
        return found

    # Node and GPU.

    def test_node_session(self):
        shown = self.shown("node", "Session")
        self.assertLess(shown.pop("Last heartbeat"), 30)
        self.assertLess(abs(shown.pop("Clock ahead by")), 1)
        self.assertGreater(shown.pop("Price per hour"), 0)
        self.assertEqual(shown, {"Session": 1, "Running jobs": 0, "Results that wait": 0,
                                 "Cordoned": 0, "Quarantined": 0})
        lost = self.shown("node", "Session", node="gone-0001")
        self.assertEqual(lost["Session"], 0)
        self.assertNotIn("Results that wait", lost)  # Unknown, not zero.
        self.assertEqual(self.shown("node", "Session", node="sim-0010")["Cordoned"], 1)
        busy = self.shown("node", "Session", node="busy-0001")
        self.assertEqual(busy["Running jobs"], GPUS)
        self.assertEqual(self.rows("node", "What the node is", "node", "provider", "model", "gpus"),
                         [("sim-0003", "lambda", "H200", "8")])

    def test_node_gpus(self):
        columns = dict(temperature="B", margin="C", power="D", share="E", clock="F", fastest="G",
                       busy="H", memory="I", reasons="J", xid="K", age="L", ecc="M", remap="N",
                       links="O")
        columns = {name: f"Value #{ref}" for name, ref in columns.items()}

        def gpus(node):
            return {row["gpu"]: {name: row.get(column) for name, column in columns.items()}
                    for row in self.rows("node", "GPUs now", node=node)}
        slow = gpus("sim-0003")
        self.assertEqual(sorted(slow), [str(gpu) for gpu in range(GPUS)])
        self.assertEqual([slow[gpu]["reasons"] for gpu in sorted(slow)], [0, 0, 0, 1, 0, 0, 0, 0])
        self.assertLess(slow["3"]["margin"], 5)
        self.assertGreater(slow["0"]["margin"], 20)
        self.assertEqual((slow["0"]["links"], slow["0"]["ecc"], slow["0"]["xid"]), (0, 0, None))
        errors = gpus("sim-0006")
        self.assertEqual((errors["1"]["xid"], errors["1"]["remap"]), (94, 1))
        self.assertGreater(errors["1"]["ecc"], 0)
        self.assertEqual((errors["2"]["xid"], errors["2"]["links"]), (74, 1))
        self.assertTrue(0 <= errors["1"]["age"] < time.time() - self.began)
        busy = gpus("busy-0001")
        self.assertTrue(all(0.8 < gpu["share"] <= 1 and gpu["fastest"] > 0.9 and gpu["busy"] == 1
                            for gpu in busy.values()), busy)
        self.assertEqual(self.rows("node", "GPUs now", node="mig-0001", *["gpu"]), [])
        self.assertEqual(len(self.rows("node", "MIG slices now", node="mig-0001")), GPUS)
        self.assertEqual(self.rows("node", "MIG slices now"), [])
        self.assertEqual([row["gpu"] for row in self.rows("node", "GPUs now", gpu="3")], ["3"])

    def test_node_history(self):
        self.assertEqual(self.shown("node", "Throttle reasons"), {"GPU 3 hw_thermal_slowdown": 2})
        self.assertEqual(self.peaks("node", "Time throttled, by reason"), {"GPU 3 thermal"})
        temperature = self.shown("node", "Temperature")
        self.assertEqual(len(temperature), GPUS + 1)
        limit = temperature.pop("lowest slow-down limit")
        self.assertAlmostEqual(temperature["GPU 3"], limit, delta=5)
        gpus = {f"GPU {gpu}" for gpu in range(GPUS)}
        for title in ("Power, share of limit", "SM clock, share of maximum", "Busy, share of time",
                      "Memory in use"):
            self.assertEqual(set(self.shown("node", title)), gpus, title)
        self.assertLessEqual({"PCIe replays", "NVLink errors"},
                             self.peaks("node", "Errors of GPUs", node="sim-0006"))
        self.assertEqual(self.shown("node", "Jobs and results that wait", node="busy-0001"),
                         {"running jobs": GPUS, "results that wait": 0})

    def test_node_with_a_hostile_name(self):
        self.assertEqual(len(self.rows("node", "GPUs now", node=self.hostile)), GPUS)
        self.assertEqual(self.shown("node", "Session", node=self.hostile)["Session"], 1)

    # Coordinator.

    def test_coordinators(self):
        self.assertEqual(self.shown("coordinator", "Coordinators"),
                         {"Ready": 2, "Down or not ready": 0, "Versions": 1})
        addresses = {one.addresses["http"] for one in self.fleet.coordinators.values()}
        rows = self.rows("coordinator", "Coordinators now", "instance", "Value #B", "Value #D")
        self.assertEqual({row[:2] for row in rows}, {(address, 1) for address in addresses})
        self.assertTrue(all(0 < samples < 2000 for _, _, samples in rows), rows)
        one = sorted(addresses)[0]
        self.assertEqual(self.shown("coordinator", "Coordinators", instance=one)["Ready"], 1)
        self.assertEqual(self.shown("coordinator", "Ready"), {address: 1 for address in addresses})
        self.assertLessEqual({f"{job} {address}" for address in addresses
                              for job in ("assay-coordinator", "assay-gpus")},
                             set(self.shown("coordinator", "Time of a scrape")))

    def test_coordinator_database_and_calls(self):
        database = self.shown("coordinator", "Database")
        self.assertEqual(database["Waiting calls"], 0)
        self.assertEqual(set(database), {"Waiting calls", "Connections in use",
                                         "Query time, 95th percentile"})
        self.assertEqual(set(self.shown("coordinator", "Connections")),
                         {"in_use", "idle", "waiting"})
        # The ten largest of each moment, so more than ten over time.
        self.assertGreaterEqual(len(self.shown("coordinator", "Query time, 95th percentile")), 10)
        self.assertGreaterEqual(len(self.shown("coordinator", "Queries per second")), 10)
        self.assertEqual(set(self.shown("coordinator", "gRPC calls")),
                         {"Calls per second", "Server errors", "Refused calls"})
        self.fleet.cli("campaign", "show", "no-such-campaign", code=None)
        # A counter's first value is no increase.
        eventually(lambda: self.ask('sum(assay_grpc_requests_total{code="NOT_FOUND"})'), 30,
                   "the first refused call")
        self.fleet.cli("campaign", "show", "no-such-campaign", code=None)
        eventually(lambda: any("NOT_FOUND" in one for one in self.peaks(
            "coordinator", "Errors by method and code")), 30, "the refused call")
        self.assertFalse(any("CANCELLED" in one or " OK" in one for one in self.peaks(
            "coordinator", "Errors by method and code")))
        self.assertTrue(self.peaks("coordinator", "Calls per second"))
        self.assertLessEqual({"start delay, 95th percentile"},
                             self.peaks("coordinator", "What a job costs besides its runner"))

    def test_coordinator_agents(self):
        self.assertEqual(self.shown("coordinator", "Agents"),
                         {"Late heartbeats": 0, "Results wait": 0, "Clock is off": 0})
        self.assertEqual(self.rows("coordinator", "Nodes over a limit"), [])

    # All dashboards.

    def every_scope(self):
        yield self.scope("fleet")
        yield self.scope("fleet", simulated="^$")
        yield self.scope("node")
        yield self.scope("node", simulated="^$", node="cpu-node")
        yield self.scope("node", node=self.hostile)
        yield self.scope("coordinator")

    def test_variables(self):
        fleet, node = self.scope("fleet"), self.scope("node")
        self.assertEqual(fleet.variables["provider"].options, ["lambda", "rack", "vast.ai"])
        self.assertEqual(fleet.variables["gpu_model"].options, ["H100", "H200"])
        self.assertEqual(node.variables["gpu"].options, [str(gpu) for gpu in range(GPUS)])
        self.assertIn(self.hostile, node.variables["node"].options)
        self.assertEqual(len(self.scope("coordinator").variables["instance"].options), 2)

    def test_every_query_is_valid_and_bounded(self):
        for scope in self.every_scope():
            for panel in scope.board.panels():
                with self.subTest(board=scope.board.name, panel=panel["title"]):
                    for answer in sources.run(scope, panel):
                        self.assertLessEqual(len(answer), MOST_SERIES)

    def test_every_link_leads_somewhere(self):
        boards = [Dashboard(os.path.join(ROOT, "dashboards", name))
                  for name in sorted(os.listdir(os.path.join(ROOT, "dashboards")))
                  if name.endswith(".json")]
        faults = [fault for scope in self.every_scope()
                  for fault in sources.link_faults(scope, boards, CONSOLE)]
        self.assertEqual(faults, [])

    def test_annotations(self):
        def marked(scope):
            found = collections.defaultdict(list)
            for one, series in sources.annotations(scope):
                found[one["name"]] += [row["metric"] for row in series if row["values"]]
            return found
        # An annotation's query has steps, so the newest samples of an alert may lie after its last.
        def alerts():
            return {(one["alertname"], one.get("node"), one.get("gpu"))
                    for one in marked(self.scope("fleet"))["Alerts"]}
        eventually(lambda: ("GpuXid", "sim-0006", "2") in alerts(), 60, "the Xid's annotation")
        eventually(lambda: "AgentDown" in {name for name, *_ in alerts()}, 60,
                   "the annotation of an agent that is down", 0.5)
        node = marked(self.scope("node", node="sim-0006"))
        self.assertEqual({one["gpu"] for one in node["Xid"]} - {"1", "2"}, set())
        self.assertEqual(marked(self.scope("coordinator"))["Not ready"], [])

    def test_new_driver_is_marked(self):
        def drivers():
            (_, series), = [one for one in sources.annotations(self.scope("fleet"))
                            if one[0]["name"] == "New driver"]
            return {row["metric"]["driver"] for row in series}
        self.assertEqual(drivers(), set())
        self.simulate("new-", 1, profile("8x-h200", "vast.ai", lambda text: re.sub(
            r'driver_version: ".*?"', 'driver_version: "590.10"', text)))
        eventually(lambda: drivers() == {"590.10"}, 60, "the annotation")

    def test_z_a_coordinator_is_killed(self):
        """Runs last, because the other tests count two coordinators."""
        self.fleet.coordinators[self.fleet.follower()].kill()
        self.await_shown({"Ready": 1, "Down or not ready": 1, "Versions": 1}, "coordinator",
                         "Coordinators")
        self.assertEqual(sorted(row[0] for row in self.rows(
            "coordinator", "Coordinators now", "Value #B")), [0, 1])


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        NODES = int(sys.argv.pop(1))
    unittest.main(verbosity=2)

"""A simulated fleet: real sessions, results that nothing measured, and planted faults."""

import collections
import os
import subprocess
import unittest

import checker
from harness import BUILD, Fleet, FleetCase, eventually, fetch

AGENT = os.path.join(BUILD, "bin", "assay-agent")
NODES = 20
CAMPAIGN = """
name: simulated
retries: 0
benchmarks:
  - memory_bandwidth: {bytes: 1GiB}
  - all_reduce: {bytes: 1GiB, ranks: 8}
"""
FAULTS = """
faults:
  - slow_gpu: {node: sim-0007, gpu: 3, factor: 0.8}
  - driver_step: {node: sim-0008, driver: "590.10", factor: 1.0, since: 2026-01-01}
  - lying_node: {node: sim-0009, factor: 3}
  - failing_node: {node: sim-0010}
"""


def simulation(fleet, name="simulation", *options, nodes=NODES, jobs_take="20ms"):
    """Returns `assay-agent simulate`, not started."""
    return fleet.add(name, [AGENT, "simulate", "--coordinator", fleet.address(), "--nodes",
                            str(nodes), "--jobs-take", jobs_take, *options], ready=True)


def write(fleet, name, text):
    path = fleet.path(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def connected(fleet):
    return {node["description"]["name"] for node in fleet.nodes()
            if node["state"] == "NODE_STATE_CONNECTED"}


def results(fleet, restriction):
    return fleet.cli_json("results", "--limit", "1000", "--filter",
                          f"{restriction} AND simulated = true")


def medians(fleet):
    """Returns the median bandwidths by node and GPU."""
    return {(one["node"][0], one["gpu"]["uuid"][0]): one["median"]
            for one in results(fleet, "benchmark = memory_bandwidth AND metric = bandwidth")}


class SimulateTest(FleetCase):
    def start(self):
        return self.open(Fleet()).start()

    def run_campaign(self, fleet, nodes=NODES):
        eventually(lambda: len(connected(fleet)) == nodes, 30, "all sessions")
        return fleet.await_end(fleet.submit(CAMPAIGN))

    def test_faults_show_in_results(self):
        fleet = self.start()
        simulation(fleet, "faulty", "--faults", write(fleet, "faults.yaml", FAULTS)).start()
        shown = self.run_campaign(fleet)
        self.assertEqual(shown["verdict"], "VERDICT_FAILED")

        values = {}
        for (node, _), median in medians(fleet).items():
            values.setdefault(node, []).append(median)
        self.assertNotIn("sim-0010", values)
        self.assertEqual(len(values["sim-0001"]), 8)
        slow = sorted(values["sim-0007"])
        self.assertLess(slow[0], 0.9 * slow[1])
        self.assertGreater(min(values["sim-0009"]), 2 * max(values["sim-0001"]))
        drivers = {one["driver"] for one in results(fleet, "node = sim-0008")}
        self.assertEqual(drivers, {"590.10"})

        # Only a filter that names simulated results shows them.
        hidden = fleet.cli("results", "--campaign", "simulated")
        self.assertEqual(hidden.stdout, "")
        self.assertIn("simulated = true", hidden.stderr)

    def test_faults_show_in_telemetry(self):
        fleet = self.start()
        faults = "faults: [slow_gpu: {node: sim-0002, gpu: 3, factor: 0.8}]"
        simulation(fleet, "hot", "--faults", write(fleet, "hot.yaml", faults), nodes=2).start()

        def read():
            answer = fleet.call("NodeService/GetFleet", {"filter": "name = sim-0002"})[0]
            gpus = [gpu for node in answer.get("nodes", []) for gpu in node["gpus"]]
            return gpus if gpus and "temperature_celsius" in gpus[3] else None
        gpus = eventually(read, 30, "telemetry")
        self.assertEqual(gpus[3]["throttle_reasons"], ["hw_thermal_slowdown"])
        self.assertGreater(gpus[3]["temperature_celsius"], gpus[2]["temperature_celsius"] + 20)
        self.assertIn("hw_thermal_slowdown", fleet.cli("node", "show", "sim-0002").stdout)
        self.assertEqual(len(fleet.cli_json("node", "show", "sim-0002")["telemetry"]), 8)
        address = fleet.coordinator.addresses["http"]
        scraped = fetch(f"http://{address}/metrics/gpus")
        for node in ("sim-0001", "sim-0002"):
            self.assertIn(f'assay_fleet_gpu_temperature_celsius{{node="{node}",gpu="7",', scraped)
        self.assertNotIn("assay_fleet_gpu", fleet.metrics(fleet.coordinator))

    def test_failing_node_costs_few_jobs(self):
        nodes, jobs, most_failed = 100, 200, 5
        fleet = self.start()
        faults = "faults: [failing_node: {node: sim-0005}]"
        simulation(fleet, "black-hole", "--faults", write(fleet, "fails.yaml", faults),
                   nodes=nodes).start()
        eventually(lambda: len(connected(fleet)) == nodes, 60, "all sessions")
        campaign = fleet.submit(f"name: any\nretries: 0\nplacement: any\nrepetitions: {jobs}\n"
                                "benchmarks:\n  - cpu_memory_bandwidth: {}\n")
        fleet.await_end(campaign, 120)
        states = collections.Counter(job["state"] for job in fleet.jobs(campaign))
        self.assertEqual(sum(states.values()), jobs, states)
        self.assertGreaterEqual(states["JOB_STATE_FAILED"], 1, "the failing node had no job")
        self.assertLessEqual(states["JOB_STATE_FAILED"], most_failed, states)
        self.assertEqual({row[2] for row in checker.failures(fleet, campaign)}, {"sim-0005"})

    def test_same_seed_gives_same_values(self):
        runs = []
        for seed in ("7", "7", "8"):
            fleet = self.start()
            simulation(fleet, "seeded", "--seed", seed, nodes=2).start()
            self.run_campaign(fleet, nodes=2)
            runs.append(medians(fleet))
        self.assertEqual(len(runs[0]), 16)
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(sorted(runs[0].values()), sorted(runs[2].values()))

    def test_vanished_node_returns(self):
        fleet = self.start()
        faults = "faults: [vanishing_node: {node: sim-0002, after: 3s, returns_after: 6s}]"
        simulation(fleet, "vanishing", "--faults", write(fleet, "vanish.yaml", faults),
                   nodes=2).start()
        fleet.await_node("sim-0002")
        fleet.await_node("sim-0002", "DISCONNECTED")
        fleet.await_node("sim-0002")

    def test_names_of_real_nodes_are_refused(self):
        fleet = self.start()
        fleet.agent("sim-0001")
        process = simulation(fleet, "namesake", nodes=2).start()
        fleet.await_node("sim-0002")
        eventually(lambda: process.said("sim-0001"), 30, "the refusal")
        real = next(node for node in fleet.nodes() if node["description"]["name"] == "sim-0001")
        self.assertFalse(real["description"]["inventory"].get("simulated", False))

    def test_damaged_files_are_refused_with_their_line(self):
        fleet = self.start()
        cases = [
            ("--profile", "inventory {\n  cpu { cores: many }\n}\n", ":2:"),
            ("--profile", "inventory { }\n", "cores"),
            ("--faults", "faults:\n  - slow_gpu: {node: sim-0001, gpu: 1}\n", ":2: "),
            ("--faults", "faults:\n  - failing_node: {node: sim-0001}\n  - lyingnode: {}\n", ":3: "),
            ("--faults", "faults:\n  - failing_node: {node: real}\n", "real"),
            ("--faults", "faults: [\n", ":2: "),
        ]
        for option, text, expected in cases:
            with self.subTest(text=text):
                run = subprocess.run(
                    [AGENT, "simulate", "--coordinator", fleet.address(), option,
                     write(fleet, "damaged", text)],
                    capture_output=True, text=True, timeout=20, check=False)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(expected, run.stderr)


if __name__ == "__main__":
    unittest.main()

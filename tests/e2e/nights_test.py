"""Runs simulated nights with planted faults, and checks that each is named, and nothing else.

    nights_test.py [NODES]      # 24 simulated nodes of eight GPUs each
"""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest

from harness import FleetCase, Fleet, eventually
from simulate_test import connected, simulation, write

GUIDES = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "guides")
NODES = 24
NIGHTS_BEFORE = 12
NIGHTS_AFTER = 8
CAMPAIGN = """
name: nightly
exclusive: gpu
effort: quick
benchmarks:
  - memory_bandwidth: {op: [copy, triad], bytes: 1GiB}
  - gemm: {m: 8192, n: =m, k: =m, dtype: bf16}
"""
FAULTS = """
faults:
  - slow_gpu: {node: sim-0007, gpu: 3, factor: 0.9}
  - lying_node: {node: sim-0021, factor: 3}
"""
UPGRADE = """  - driver_step: {node: "*", driver: "590.10", factor: 0.93, since: 2026-01-01}
"""


def commands(guide):
    """Returns the commands of a guide, each as a list of arguments after `assay`."""
    with open(os.path.join(GUIDES, guide), encoding="utf-8") as file:
        blocks = re.findall(r"```console\n(.*?)```", file.read(), re.DOTALL)
    lines = [line for block in blocks for line in re.sub(r" \\\n *", " ", block).splitlines()]
    return [shlex.split(line)[2:] for line in lines if line.startswith("$ assay ")]


def simulated(arguments):
    """Returns the command for simulated results, which filters must name."""
    if arguments[0] in ("regressions", "outliers"):
        return [*arguments, "--simulated"] if "ack" not in arguments else arguments
    if arguments[0] in ("annotate",):
        return arguments
    if "--filter" in arguments:
        at = arguments.index("--filter") + 1
        return [*arguments[:at], f"{arguments[at]} AND simulated = true", *arguments[at + 1:]]
    return [*arguments, "--filter", "simulated = true"]


class NightsTest(FleetCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fleet = fleet = Fleet()
        cls.addClassCleanup(fleet.__exit__, None, None, None)
        fleet.__enter__().start("--judge-every", "2s", "--rerun-spacing", "100ms")
        nodes = cls.simulate("before", FAULTS)
        cls.run_nights(NIGHTS_BEFORE)
        fleet.cli("baseline", "set", "before-590", "--filter", "simulated = true")
        nodes.stop()
        cls.simulate("after", FAULTS + UPGRADE, NIGHTS_BEFORE)
        cls.run_nights(NIGHTS_AFTER)
        eventually(lambda: any(one["cause"] == "driver" and one["state"] == "confirmed"
                               for one in cls.incidents()), 120, "the confirmed incident")

    @classmethod
    def simulate(cls, name, faults, first_run=0):
        process = simulation(cls.fleet, name, "--seed", "3", "--first-run", str(first_run),
                             "--faults", write(cls.fleet, f"{name}.yaml", faults), nodes=NODES,
                             jobs_take="5ms").start()
        eventually(lambda: len(connected(cls.fleet)) == NODES, 60, "all sessions")
        return process

    @classmethod
    def run_nights(cls, count):
        for _ in range(count):
            cls.fleet.await_end(cls.fleet.submit(CAMPAIGN), 120)

    @classmethod
    def incidents(cls):
        return cls.fleet.cli_json("regressions", "--simulated")["incidents"]

    def test_slow_gpu_and_lying_node_are_outliers(self):
        outliers = self.fleet.cli_json("outliers", "--simulated")["outliers"]
        slow = {(one["place"]["node_names"][0], one["place"]["gpu_indices"][0])
                for one in outliers if one["kind"] == "slow"}
        implausible = {one["place"]["node_names"][0]
                       for one in outliers if one["kind"] == "implausible"}
        self.assertEqual(slow, {("sim-0007", 3)})
        self.assertEqual(implausible, {"sim-0021"})

    def test_driver_is_the_only_confirmed_incident(self):
        confirmed = [one for one in self.incidents() if one["state"] == "confirmed"]
        self.assertEqual([(one["cause"], one["from"], one["to"]) for one in confirmed],
                         [("driver", "580.95.05", "590.10")])
        self.assertEqual(confirmed[0]["scope"], "fleet")
        self.assertGreater(confirmed[0]["place_count"], 0.95 * NODES * 8)
        self.assertEqual(confirmed[0]["case_count"], 3)

    def test_comparison_names_the_driver(self):
        answer = self.fleet.cli("compare", "--by", "driver", "--filter", "simulated = true",
                                "-o", "json", code=1)
        compared = json.loads(answer.stdout)
        self.assertEqual(compared["label_b"], "driver 590.10")
        self.assertEqual({one["verdict"] for one in compared["cases"]}, {"regressed"})
        for one in compared["cases"]:
            self.assertAlmostEqual(one["ratio"], 0.93, delta=0.01)
        # The same nodes and nights on both sides: no difference.
        self.fleet.cli("compare", "--by", "node", "sim-0001", "sim-0002", "--filter",
                       'simulated = true AND driver = "590.10"')

    def test_history_marks_the_step_and_the_driver(self):
        history = self.fleet.cli_json("history", "gemm[m=8192]", "--filter",
                                      "simulated = true AND node = sim-0001")
        self.assertEqual(len(history["places"]), 8)
        steps = [step for place in history["places"] for step in place["steps"]
                 if (step["driver_before"], step["driver_after"]) == ("580.95.05", "590.10")]
        self.assertGreaterEqual(len(steps), 6)
        for step in steps:
            self.assertAlmostEqual(step["ratio"], 0.93, delta=0.03)

    def test_accept_rules_hold_a_baseline(self):
        rules = """accept:
  - gemm.tflops >= 95% of baseline before-590
  - gemm.tflops spread <= 60%
"""
        campaign = self.fleet.await_end(self.fleet.submit(CAMPAIGN + rules), 120)
        verdicts = [rule["verdict"] for rule in campaign["rules"]]
        self.assertEqual(verdicts, ["VERDICT_FAILED", "VERDICT_FAILED"])
        # A lying node passes every limit from below, and fails a spread.
        self.assertIn("before-590", campaign["rules"][0]["explanation"])

    def test_every_command_of_the_guides_answers(self):
        for guide in ("did-the-upgrade-cost-anything.md", "which-gpu-is-slow.md"):
            for arguments in commands(guide):
                with self.subTest(guide=guide, command=" ".join(arguments)):
                    command = simulated(arguments)
                    run = self.fleet.command(*command)
                    ended = subprocess.run(run, capture_output=True, text=True, timeout=60,
                                           check=False)
                    self.assertIn(ended.returncode, (0, 1), ended.stderr)
                    self.assertNotEqual(ended.stdout, "")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        NODES = int(sys.argv.pop(1))
    unittest.main()

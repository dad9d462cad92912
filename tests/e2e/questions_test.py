"""Runs every command of docs/guides/ask-your-fleet.md on a simulated fleet."""

import os
import re
import shlex
import unittest

from harness import FleetCase, Fleet, eventually
from simulate_test import connected, simulation, write

GUIDE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "guides", "ask-your-fleet.md")
NODES = 12
CAMPAIGN = """
name: nightly
retries: 0
benchmarks:
  - memory_bandwidth: {bytes: 1GiB}
  - all_reduce: {bytes: [64MiB, 1GiB], ranks: 8}
"""
FAULTS = """
faults:
  - slow_gpu: {node: sim-0007, gpu: 3, factor: 0.8}
  - driver_step: {node: sim-0008, driver: "590.10", factor: 0.9, since: 2026-01-01}
  - failing_node: {node: sim-0010}
"""


def commands():
    """Returns the commands of the guide, each as a list of arguments after `assay`."""
    with open(GUIDE, encoding="utf-8") as file:
        blocks = re.findall(r"```console\n(.*?)```", file.read(), re.DOTALL)
    lines = [line for block in blocks for line in re.sub(r" \\\n *", " ", block).splitlines()]
    return [shlex.split(line)[2:] for line in lines if line.startswith("$ assay ")]


def simulated(arguments):
    """Returns the command for results of a simulated fleet, which filters must name."""
    if arguments[0] != "results":
        return arguments
    if "--filter" not in arguments:
        return [*arguments, "--filter", "simulated = true"]
    at = arguments.index("--filter") + 1
    return [*arguments[:at], f"{arguments[at]} AND simulated = true", *arguments[at + 1:]]


class QuestionsTest(FleetCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fleet = Fleet()
        cls.addClassCleanup(cls.fleet.__exit__, None, None, None)
        cls.fleet.__enter__().start()
        simulation(cls.fleet, "simulation", "--faults", write(cls.fleet, "faults.yaml", FAULTS),
                   nodes=NODES).start()
        eventually(lambda: len(connected(cls.fleet)) == NODES, 30, "all sessions")
        for _ in range(2):
            cls.fleet.await_end(cls.fleet.submit(CAMPAIGN))

    def results(self, *arguments):
        return self.fleet.cli_json(*simulated(["results", *arguments]))

    def test_every_command_of_the_guide_has_an_answer(self):
        self.assertGreaterEqual(len(commands()), 6)
        for arguments in commands():
            with self.subTest(command=shlex.join(arguments)):
                run = self.fleet.cli(*simulated(arguments))
                # The jobs of the failing node have no results.
                if "--failing" not in arguments:
                    self.assertGreater(len(run.stdout.splitlines()), 1, run.stderr)
                if os.environ.get("ASSAY_PRINT"):
                    print(f"$ assay {shlex.join(arguments)}\n{run.stdout}{run.stderr}")

    def test_groups_are_sorted_best_first(self):
        groups = self.results("--by", "node", "--filter", "benchmark = memory_bandwidth")
        medians = [one["median"] for one in groups if "median" in one]
        self.assertEqual(len(medians), NODES - 1)
        self.assertEqual(medians, sorted(medians, reverse=True))
        self.assertEqual({one["gpus"] for one in groups if "median" in one}, {8})
        drivers = self.results("--by", "driver", "--filter", "benchmark = memory_bandwidth")
        self.assertEqual(drivers[-1]["group"]["driver"], "590.10")
        self.assertLess(drivers[-1]["median"], 0.95 * drivers[0]["median"])

    def test_sorted_pages_are_complete(self):
        everything = self.results("--limit", "0")
        by_median = self.results("--limit", "0", "--sort", "-median,node")
        self.assertEqual(len(everything), len(by_median))
        medians = [one["median"] for one in by_median if "median" in one]
        self.assertEqual(medians, sorted(medians, reverse=True))
        listed = self.fleet.cli(*simulated(["results", "--limit", "10"]))
        self.assertIn(f"{len(everything) - 10} more results", listed.stderr)


if __name__ == "__main__":
    unittest.main()

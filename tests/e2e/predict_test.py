"""Predictions from a fleet's own measurements, on simulated nodes of which one is slow."""

import collections
import json
import os
import subprocess
import unittest

from harness import BUILD, Fleet, FleetCase, eventually
from simulate_test import connected, simulation, write

CLI = os.path.join(BUILD, "bin", "assay")
CAMPAIGN = """
name: ceilings
retries: 0
benchmarks:
  - memory_bandwidth: {op: [copy, read], bytes: 1GiB}
  - gemm: {m: [128, 1024, 8192], n: 8192, k: 8192}
  - all_reduce: {bytes: [64KiB, 1MiB, 16MiB, 256MiB, 1GiB], ranks: 8}
"""
ROOFLINE = """
name: roofline
retries: 0
nodes: name = "sim-0001"
benchmarks:
  - gemm: {m: {from: 8, to: 8192, factor: 2}, n: 8192, k: 8192, dtype: fp16}
  - gemm: {m: 128, n: 128, k: 128, dtype: fp16}
"""
SLOW = "sim-0002"
FACTOR = 0.8
DECODE = ["predict", "decode", "--model", "llama-3-8b", "--gpu", "H200", "--batch", "1",
          "--context", "1024", "--launch", "graph"]


class PredictTest(FleetCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(Fleet())
        cls.fleet.start()
        faults = "faults:\n" + "".join(f"  - slow_gpu: {{node: {SLOW}, gpu: {gpu}, "
                                       f"factor: {FACTOR}}}\n" for gpu in range(8))
        simulation(cls.fleet, "simulation", "--faults",
                   write(cls.fleet, "faults.yaml", faults), nodes=3).start()
        eventually(lambda: len(connected(cls.fleet)) == 3, 30, "all sessions")
        cls.fleet.await_end(cls.fleet.submit(CAMPAIGN))
        cls.fleet.await_end(cls.fleet.submit(ROOFLINE))

    def ask(self, *arguments):
        return self.fleet.cli_json(*arguments, "--simulated")

    @staticmethod
    def term(answer, name):
        return next(term for term in answer["terms"] if term["name"] == name)

    def test_decode_uses_what_the_fleet_measured(self):
        answer = self.ask(*DECODE)
        self.assertTrue(self.term(answer, "bandwidth")["source"].startswith("measured in this"))
        offline = self.fleet.cli_json(*DECODE, "--offline")
        self.assertEqual(self.term(offline, "bandwidth")["source"], "sheet")
        # Nothing reaches the sheet, and GPUs differ.
        step, by_sheet = self.term(answer, "step"), self.term(offline, "step")
        self.assertGreater(step["value"], by_sheet["value"])
        self.assertLess(step["low"], step["high"])
        self.assertEqual(by_sheet["low"], by_sheet["high"])

    def test_ridge_lies_where_memory_gives_way_to_arithmetic(self):
        simulated = "simulated = true AND benchmark = gemm"
        answer = self.fleet.cli_json("fit", "roofline", "--campaign", "roofline",
                                     "--filter", simulated)
        value = {term["name"]: term["value"] for term in answer["terms"]}
        self.assertEqual(value["points_left_out"], 8)  # The small product on each GPU.
        rows = self.fleet.cli_json("results", "--campaign", "roofline", "--filter", simulated)
        regimes = collections.defaultdict(list)
        for row in rows:
            regimes[row["regime"]].append(float(row["arithmetic_intensity"]))
        self.assertGreater(value["ridge"], max(regimes["memory"]) / 2)
        self.assertLess(value["ridge"], min(regimes["compute"]) * 2)

    def test_prediction_moves_as_much_as_a_slow_node(self):
        busy = {node: self.term(self.ask(*DECODE, "--node", node), "busy")
                for node in ("sim-0001", SLOW)}
        ratio = busy["sim-0001"]["value"] / busy[SLOW]["value"]
        self.assertAlmostEqual(ratio, FACTOR, delta=0.05)

    def test_node_names_its_gpu(self):
        answer = self.ask("predict", "matmul", "--node", SLOW, "m=4096", "n=8192", "k=8192")
        self.assertEqual(answer["inputs"]["gpu"], "H200 SXM")
        self.assertTrue(self.term(answer, "efficiency")["source"].startswith("fitted"))

    def test_a_node_that_cannot_be_meant_is_refused(self):
        for node, more in (("nowhere", ["--simulated"]), (SLOW, []),
                           (SLOW, ["--simulated", "--gpu", "H100 SXM"])):
            run = self.fleet.cli("predict", "decode", "--model", "llama-3-8b", "--node", node,
                                 *more, code=4 if node == "nowhere" else 2)
            self.assertEqual(run.stdout, "")

    def test_all_reduce_is_fitted(self):
        answer = self.ask("predict", "allreduce", "--gpu", "H200", "--gpus", "8", "--bytes",
                          "32MiB")
        self.assertTrue(self.term(answer, "time")["source"].startswith("fitted to 5 sizes"))

    def test_check_sets_predictions_beside_measurements(self):
        answer = self.ask("predict", "--check")
        rows = answer["tables"][0]["rows"]
        for benchmark in ("gemm", "memory_bandwidth", "all_reduce"):
            errors = [row["model_error"] for row in rows if row["case"].startswith(benchmark)]
            self.assertTrue(errors, benchmark)
            known = [error for error in errors if error is not None]
            self.assertTrue(known, benchmark)
            self.assertLess(self.term(answer, benchmark)["value"], 0.5)

    def test_plan_considers_measured_gpus(self):
        answer = self.ask("plan", "serve", "--model", "llama-3-8b", "--gpu", "H200,A100-SXM4-80GB",
                          "--input-tokens", "1024", "--output-tokens", "256", "--slo-ttft", "500ms",
                          "--slo-tpot", "30ms")
        self.assertEqual({row["gpu"] for row in answer["tables"][0]["rows"]},
                         {"H200 SXM", "A100-SXM4-80GB"})

    def test_sheets_serve_without_a_coordinator(self):
        environment = {key: value for key, value in os.environ.items()
                       if key != "ASSAY_COORDINATOR"}
        away = subprocess.run([CLI, *DECODE, "-o", "json", "--coordinator", "127.0.0.1:1"],
                              capture_output=True, text=True, env=environment, check=False)
        self.assertEqual(away.returncode, 3)
        offline = subprocess.run([CLI, *DECODE, "-o", "json", "--offline"], capture_output=True,
                                 text=True, env=environment, check=True)
        self.assertEqual(offline.stderr, "")
        self.assertEqual(self.term(json.loads(offline.stdout), "bandwidth")["source"], "sheet")


if __name__ == "__main__":
    unittest.main()

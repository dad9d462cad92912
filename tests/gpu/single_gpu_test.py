#!/usr/bin/env python3
"""single_gpu.py without a GPU: its bars fit its campaign, and what goes wrong is said."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

import single_gpu
from single_gpu_bars import Bar, all_bars

CAMPAIGN = os.path.join(single_gpu.HERE, "../../examples/single-gpu.yaml")
CASE = "gemm m=8 n=8"


class FakeCampaigns:
    """The result of one case, of 100 TFLOP/s."""

    rows = [{"benchmark": "gemm", "parameters": "m=8;n=8", "outcome": "ok", "median": "100",
             "unit": "TFLOP/s"}]


def judge(value, least=1.0, stretch=0.0, same_call=False, halves=(1.0, 1.0), **more):
    """A bar against a reference of `value` TFLOP/s."""
    bar = Bar("a bar", CASE, ("torch", "gemm 8 8 8"), least, stretch, same_call=same_call)
    return single_gpu.Judged(bar, FakeCampaigns(),
                             [{"value": value, "halves": list(halves), **more}])


class Entries(unittest.TestCase):
    def test_are_of_the_first_gpu(self):
        self.assertEqual(single_gpu.on_first_gpu("  - gemm: {m: [8, 16]}\n"),
                         "  - gemm: {m: [8, 16], gpus: [0]}\n")
        self.assertEqual(single_gpu.on_first_gpu("  - gemm: {}"), "  - gemm: {gpus: [0]}")
        self.assertEqual(single_gpu.on_first_gpu("  - cpu_gemm: {m: 8}"), "  - cpu_gemm: {m: 8}")


class Bars(unittest.TestCase):
    def test_each_is_of_a_case_of_the_campaign(self):
        _, listed = single_gpu.entries(CAMPAIGN)
        for bar in all_bars():
            selectors = [bar.case] + ([bar.reference[1]] if bar.reference[0] == "case" else [])
            for selector in selectors:
                self.assertTrue(any(single_gpu.holds(entry, selector) for entry in listed),
                                f"{bar.name}: no entry holds {selector}")

    def test_verdicts(self):
        self.assertEqual(judge(100).verdict(), "met")
        self.assertEqual(judge(101).verdict(), "MISSED")
        self.assertEqual(judge(90, stretch=1.1).verdict(), "stretch met")
        self.assertEqual(judge(95, stretch=1.1).verdict(), "met")
        self.assertEqual(judge(100.4, same_call=True).verdict(), "parity")
        self.assertEqual(judge(102, same_call=True).verdict(), "MISSED")
        self.assertEqual(judge(102, same_call=True, halves=(0.97, 1.0)).verdict(), "parity")

    def test_the_report_names_what_pytorch_ran(self):
        self.assertIn("| PyTorch (CUDNN_ATTENTION) |",
                      judge(100, backend="CUDNN_ATTENTION").line())
        self.assertIn("| PyTorch |", judge(100).line())


class FakeStack:
    """Every campaign is refused."""
    code = 2

    def campaign(self, _):
        return "refused"

    def rows(self, _):
        return []

    def run(self, *_):
        return ""


class RefusedCampaigns(unittest.TestCase):
    def test_are_told_though_they_have_no_rows(self):
        campaigns = single_gpu.Campaigns(FakeStack())
        with contextlib.redirect_stdout(io.StringIO()):
            campaigns.run("single-gpu-00", "name: x")
        self.assertEqual(campaigns.not_passed, ["single-gpu-00"])


class WithoutPyTorch(unittest.TestCase):
    def test_bars_are_not_measured_and_say_why(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w") as file:
                file.write("raise SystemExit(3)\n")
            with mock.patch.dict(os.environ, PYTHONPATH=folder):
                torch = single_gpu.Torch()
            answers = [torch.measure("gemm 8 8 8") for _ in range(2)]
            torch.close()
        for answer in answers:
            self.assertIn("reference_torch.py ended with exit code 3", answer["error"])
        bar = Bar("a bar", CASE, ("torch", "gemm 8 8 8"), 1.0)
        judged = single_gpu.Judged(bar, FakeCampaigns(), answers)
        self.assertEqual(judged.verdict(), "not measured")
        self.assertIn("ended with exit code 3", judged.line())


class Words(unittest.TestCase):
    def test_that_no_entry_contains_are_refused(self):
        error = io.StringIO()
        with mock.patch.object(sys, "argv", ["single_gpu.py", "bin", "tests", "--out", "/nowhere",
                                             "--only", "gemn"]), \
                contextlib.redirect_stderr(error), self.assertRaises(SystemExit) as ended:
            single_gpu.main()
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("contains gemn", error.getvalue())


if __name__ == "__main__":
    unittest.main()

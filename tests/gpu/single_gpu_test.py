#!/usr/bin/env python3
"""single_gpu.py without a GPU: its bars fit its campaign, and what goes wrong is said."""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

import references
import single_gpu
import single_gpu_bars
from single_gpu_bars import Bar, all_bars

CAMPAIGN = os.path.join(single_gpu.HERE, "../../examples/single-gpu.yaml")
CASE = "gemm m=8 n=8"


class FakeCampaigns:
    """The result of one case, of 100 TFLOP/s."""

    rows = [{"benchmark": "gemm", "parameters": "m=8;n=8", "outcome": "ok", "median": "100",
             "unit": "TFLOP/s"}]


def judge(value, least=1.0, stretch=0.0, band=0.0, same_call=False, halves=(1.0, 1.0), **more):
    """A bar against a reference of `value` TFLOP/s."""
    bar = Bar("a bar", CASE, ("torch", "gemm 8 8 8"), least, stretch, band=band,
              same_call=same_call)
    return single_gpu.Judged(bar, FakeCampaigns(),
                             [{"value": value, "halves": list(halves), **more}])


class Entries(unittest.TestCase):
    def test_entries_use_one_gpu(self):
        self.assertEqual(single_gpu.on_gpu(3, "  - gemm: {m: [8, 16]}\n"),
                         "  - gemm: {m: [8, 16], gpus: [3]}\n")
        self.assertEqual(single_gpu.on_gpu(0, "  - gemm: {}"), "  - gemm: {gpus: [0]}")
        self.assertEqual(single_gpu.on_gpu(3, "  - cpu_gemm: {m: 8}"), "  - cpu_gemm: {m: 8}")


class Bars(unittest.TestCase):
    def test_each_bar_has_a_case_in_the_campaign(self):
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
        self.assertEqual(judge(99.8, same_call=True).verdict(), "parity")
        self.assertEqual(judge(98, same_call=True).verdict(), "met")
        self.assertEqual(judge(98, same_call=True, halves=(0.97, 1.0)).verdict(), "parity")
        self.assertEqual(judge(102, same_call=True).verdict(), "MISSED")
        self.assertEqual(judge(102, same_call=True, halves=(0.97, 1.0)).verdict(), "parity")

    def test_verdicts_on_both_sides(self):
        for value in (92, 108):
            self.assertEqual(judge(value, band=0.1).verdict(), "met")
        for value in (88, 115):
            self.assertEqual(judge(value, band=0.1).verdict(), "MISSED")
            self.assertEqual(judge(value, band=0.1, halves=(0.5, 1.0)).verdict(), "MISSED")

    def test_several_processes_are_compared_by_their_medians(self):
        class Campaigns:
            rows = [dict(FakeCampaigns.rows[0], median=median) for median in ("100", "150", "104")]

        turns = [{"value": value, "halves": [1.0, 1.0]} for value in (90, 100, 101, 160)]
        bar = Bar("a bar", CASE, ("program", "launch", "a bare loop"), band=0.1, processes=3)
        judged = single_gpu.Judged(bar, Campaigns(), turns)
        self.assertEqual((judged.ours, judged.theirs), (104, 100.5))
        self.assertEqual(judged.verdict(), "met")

    def test_report_names_the_backend_of_pytorch(self):
        for judged, name in ((judge(100, backend="CUDNN_ATTENTION"), "PyTorch (CUDNN_ATTENTION)"),
                             (judge(100), "PyTorch")):
            self.assertIn(name, [cell.strip() for cell in judged.line().split("|")])


def curve(values, direction="lower", theory=None):
    """A curve whose metric takes these values at 1, 2, 4 ... of `ways`."""
    points = [1 << index for index in range(len(values))]
    rows = [{"benchmark": "bank_conflict", "parameters": f"ways={point}", "outcome": "ok",
             "median": str(value), "unit": "cycles", "direction": direction}
            for point, value in zip(points, values) if value]
    return single_gpu.JudgedCurve(
        single_gpu_bars.Curve("bank_conflict", "ways", tuple(points), theory), rows)


class Curves(unittest.TestCase):
    def test_curve_gets_worse_with_each_value(self):
        self.assertEqual(curve([1, 2, 9]).verdict(), "met")
        self.assertEqual(curve([1, 3, 2]).verdict(), "MISSED")
        self.assertEqual(curve([1, 1, 2]).verdict(), "MISSED")
        self.assertEqual(curve([9, 2, 1], direction="higher").verdict(), "met")
        self.assertEqual(curve([1, 2, 9], direction="higher").verdict(), "MISSED")

    def test_curve_follows_the_theory(self):
        def ways(value):
            return value

        self.assertEqual(curve([1.05, 2.01, 4.02], theory=ways).verdict(), "met")
        self.assertEqual(curve([1, 2, 5], theory=ways).verdict(), "MISSED")

    def test_curve_with_a_missing_case_is_not_measured(self):
        self.assertEqual(curve([1, None, 3]).verdict(), "not measured")
        self.assertEqual(curve([None, None]).verdict(), "not measured")

    def test_curves_have_cases_in_the_campaign(self):
        _, listed = single_gpu.entries(CAMPAIGN)
        for one in single_gpu_bars.curves():
            for value in one.values:
                self.assertTrue(any(single_gpu.holds(entry, f"{one.benchmark} {one.parameter}={value}")
                                    for entry in listed), f"{one.benchmark} {value}")


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
    def test_refused_campaign_is_reported(self):
        campaigns = single_gpu.Campaigns(FakeStack())
        with contextlib.redirect_stdout(io.StringIO()):
            campaigns.run("single-gpu-00", "name: x")
        self.assertEqual(campaigns.not_passed, ["single-gpu-00"])


@contextlib.contextmanager
def pytorch_that(code):
    """Within it, reference_torch.py imports this for torch."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "torch.py"), "w") as file:
            file.write(code)
        with mock.patch.dict(os.environ, PYTHONPATH=folder):
            yield


SOON = 0.1  # Seconds, for what never answers.
HANG = "import threading\nthreading.Event().wait()\n"
# Answers the first command after each start, and then none.
ANSWER_ONCE = """import sys
sys.stdin.readline()
print('{"value": 100.0, "seconds": 1.0, "halves": [1.0, 1.0]}', flush=True)
""" + HANG


class ReferencesThatFail(unittest.TestCase):
    def judge(self, answers):
        bar = Bar("a bar", CASE, ("torch", "gemm 8 8 8"), 1.0)
        return single_gpu.Judged(bar, FakeCampaigns(), answers)

    def test_bar_without_pytorch_is_not_measured(self):
        with pytorch_that("raise SystemExit(3)\n"):
            torch = references.Torch()
            answers = [torch.measure("gemm 8 8 8") for _ in range(2)]
            torch.close()
        for answer in answers:
            self.assertIn("reference_torch.py ended with exit code 3", answer["error"])
        judged = self.judge(answers)
        self.assertEqual(judged.verdict(), "not measured")

    def test_hanging_pytorch_is_restarted(self):
        with pytorch_that(ANSWER_ONCE):
            torch = references.Torch()
            answers = [torch.measure("gemm 8 8 8")]
            with mock.patch.object(torch, "PATIENCE", SOON):
                answers.append(torch.measure("gemm 8 8 8"))
            answers.append(torch.measure("gemm 8 8 8"))
            torch.PATIENCE = SOON
            torch.close()
        self.assertEqual(answers[0], answers[2])
        self.assertEqual(answers[1],
                         {"error": "reference_torch.py gave no answer within 0.1 s: gemm 8 8 8"})
        self.assertEqual(self.judge(answers[:1]).verdict(), "met")
        self.assertEqual(self.judge(answers[:2]).verdict(), "not measured")

    def test_pytorch_that_never_answers_is_asked_once(self):
        with pytorch_that(HANG), mock.patch.object(references.Torch, "PATIENCE", SOON):
            torch = references.Torch()
            answers = [torch.measure("gemm 8 8 8") for _ in range(2)]
            self.assertIsNotNone(torch.process.returncode)
            torch.close()
        self.assertNotEqual(answers[1]["error"], answers[0]["error"])

    def test_pytorch_that_does_not_end_is_killed(self):
        with pytorch_that(ANSWER_ONCE):
            torch = references.Torch()
            torch.measure("gemm 8 8 8")
            torch.PATIENCE = SOON
            torch.close()
        self.assertLess(torch.process.returncode, 0)

    def test_bar_is_not_measured_if_the_program_hangs_or_prints_nonsense(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, code in (("hangs", HANG), ("raves", "print('oops')")):
                path = os.path.join(folder, name)
                with open(path, "w") as file:
                    file.write(f"#!{sys.executable}\n{code}")
                os.chmod(path, 0o755)
            programs = references.Programs(folder)
            with mock.patch.object(programs, "PATIENCE", SOON):
                self.assertEqual(programs.measure("hangs 8"),
                                 {"error": "hangs gave no answer within 0.1 s"})
            self.assertEqual(programs.measure("raves"),
                             {"error": "raves printed no JSON but 'oops'"})
            self.assertTrue(programs.measure("absent")["error"])


class Columns(unittest.TestCase):
    """Without this test, a renamed column is noticed only on a machine with GPUs."""

    def test_scripts_read_columns_that_exist(self):
        fields = os.path.join(single_gpu.HERE, "../../docs/reference/filter-fields.md")
        with open(fields) as file:
            known = set(re.findall(r"^\| `([\w.]+)`", file.read(), re.MULTILINE))
        for script in ("single_gpu", "collectives", "collective_bars", "system_run", "turns"):
            with open(os.path.join(single_gpu.HERE, script + ".py")) as file:
                read = set(re.findall(r"""\b(?:row|first)(?:\.get\(|\[)["']([\w.]+)""", file.read()))
            self.assertTrue(read, script)
            self.assertEqual(read - known, set(), script)
        self.assertEqual(set(OneCaseStack.case) - known, set())


class OneCaseStack:
    """A system with a GPU that measures one case of every campaign."""
    code = 0
    case = {"benchmark": "gemm", "parameters": "m=4096;n=4096;dtype=bf16;fill=random;layout=nn",
            "job_id": "1", "outcome": "ok", "median": "1", "unit": "s", "gpu.model": "H200",
            "time": "2026-01-01", "driver": "580", "cuda": "13.0", "cublas": "13.1",
            "sm_clock_mhz": "1980", "power_watts": "600", "flag": ""}

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def campaign(self, _):
        return ""

    def rows(self, _):
        return [self.case]

    def run(self, *arguments):
        if arguments[0] == "node":
            return json.dumps([{"description": {"inventory": {"gpus": [{}]}}}])
        return "\n".join([",".join(self.case), ",".join(self.case.values())])


class Report(unittest.TestCase):
    def test_report_is_written_if_a_reference_hangs(self):
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, pytorch_that(HANG), \
                mock.patch.object(references.Torch, "PATIENCE", SOON), \
                mock.patch.object(single_gpu, "Stack", OneCaseStack), \
                mock.patch.object(sys, "argv", ["single_gpu.py", "bin", "tests", "--out", folder,
                                                "--only", "{m: 4096, n: =m, k: =m, dtype: bf16"]), \
                contextlib.redirect_stdout(printed):
            code = single_gpu.main()
            with open(os.path.join(folder, "report.md")) as file:
                report = file.read()
            self.assertTrue(os.path.getsize(os.path.join(folder, "references.json")))
        self.assertEqual(code, 1)
        self.assertRegex(report, r"\| gemm bf16 4096 \| 1 s \|.*\| not measured \| "
                                 r"reference_torch.py gave no answer within 0.1 s")

    def test_run_is_skipped_without_the_requested_gpu(self):
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(single_gpu, "Stack", OneCaseStack), \
                mock.patch.object(sys, "argv", ["single_gpu.py", "bin", "tests", "--out", folder,
                                                "--gpu", "1"]), \
                contextlib.redirect_stdout(printed):
            self.assertEqual(single_gpu.main(), 77)
        self.assertTrue(printed.getvalue())

    def test_report_is_written_without_any_result(self):
        campaigns = single_gpu.Campaigns(FakeStack())
        self.assertTrue(single_gpu.report(campaigns, [], [], "x"))


class OnlyOption(unittest.TestCase):
    def test_unknown_word_is_refused(self):
        error = io.StringIO()
        unknown = "gemn"
        with mock.patch.object(sys, "argv", ["single_gpu.py", "bin", "tests", "--out", "/nowhere",
                                             "--only", unknown]), \
                contextlib.redirect_stderr(error), self.assertRaises(SystemExit) as ended:
            single_gpu.main()
        self.assertEqual(ended.exception.code, 2)
        self.assertIn(unknown, error.getvalue())


if __name__ == "__main__":
    unittest.main()

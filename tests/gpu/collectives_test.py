#!/usr/bin/env python3
"""collectives.py without a GPU: the bars that other programs measure, and wrong words."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

import collectives


class Others(unittest.TestCase):
    def of_slow_rank(self, script):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "gpu_slow_rank")
            with open(program, "w") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(program, 0o755)
            return collectives.slow_rank(folder, folder, 4)

    def test_say_what_the_program_said(self):
        met = self.of_slow_rank("echo ok on $1 ranks")
        self.assertEqual(met.verdict, "met")
        self.assertIn("ok on 4 ranks", met.text())
        self.assertEqual(self.of_slow_rank("exit 1").verdict, "MISSED")
        skipped = self.of_slow_rank("echo skipped: needs 2 GPUs; exit 77")
        self.assertEqual(skipped.verdict, "skipped")
        self.assertIn("needs 2 GPUs", skipped.text())

    def test_that_are_missing_say_so(self):
        missing = collectives.slow_rank("/nowhere", "/nowhere", 2)
        self.assertEqual(missing.verdict, "MISSED")
        self.assertIn("/nowhere/gpu_slow_rank", missing.text())

    def test_the_network_is_skipped_without_iperf3(self):
        with mock.patch.dict(os.environ, PATH="/nowhere"):
            skipped = collectives.network("/nowhere/bin", "", 2)
        self.assertEqual(skipped.verdict, "skipped")
        self.assertIn("iperf3", skipped.text())

    def test_stand_in_the_report_of_no_entry(self):
        class Nothing:
            rows = []

        text = collectives.report(Nothing, [], {}, [self.of_slow_rank("echo named")], ["network"],
                                  "")
        self.assertIn("named", text)
        self.assertIn("network", text)


class References(unittest.TestCase):
    ROW = {"benchmark": "all_reduce", "parameters": "bytes=8;ranks=2;policy=assay",
           "median": "1"}
    GOOD = '{"seconds": 2.0, "low": 1.9, "high": 2.1}'

    def measure(self, script, commands=("all_reduce 8", "all_reduce 16"), patience=20):
        """The answers of a program of this script."""
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "gpu_reference_nccl")
            with open(program, "w") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(program, 0o755)
            reference = collectives.Reference(folder)
            reference.PATIENCE = patience
            answers = reference.measure([(("gpu_reference_nccl", "2"), one) for one in commands])
            self.assertIsNone(reference.process)
            return list(answers.values())

    def test_answer_each_command(self):
        answers = self.measure(f"while read line; do echo '{self.GOOD}'; done")
        self.assertEqual([one["seconds"] for one in answers], [2.0, 2.0])
        line = collectives.Line([(self.ROW, 1.0, answers[0])])
        self.assertEqual(line.verdict(), "met")

    def test_that_end_or_hang_leave_their_bars_unmeasured(self):
        for script in ("exit 3", "exec cat > /dev/null"):
            answers = self.measure(script, patience=0.2)
            self.assertEqual(len(answers), 2)
            for answer in answers:
                self.assertIn("gpu_reference_nccl: ", answer["error"])
            line = collectives.Line([(self.ROW, 1.0, answers[0])])
            self.assertTrue(line.missed())
            self.assertIn("not measured: gpu_reference_nccl", line.text())

    def test_a_turn_without_an_answer_is_none(self):
        line = collectives.Line([(self.ROW, 1.0, {"error": "it ended"}),
                                 (self.ROW, 1.0, {"seconds": 1.0, "low": 1.0, "high": 1.0})])
        self.assertEqual(line.verdict(), "met")
        self.assertEqual(line.ratio, 1.0)


class Words(unittest.TestCase):
    def test_that_nothing_contains_are_refused(self):
        error = io.StringIO()
        with mock.patch.object(sys, "argv", ["collectives.py", "bin", "tests", "--out", "/nowhere",
                                             "--only", "all_redcue"]), \
                contextlib.redirect_stderr(error), self.assertRaises(SystemExit) as ended:
            collectives.main()
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("all_redcue", error.getvalue())
        self.assertIn("slow_rank", error.getvalue())


if __name__ == "__main__":
    unittest.main()

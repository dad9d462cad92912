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

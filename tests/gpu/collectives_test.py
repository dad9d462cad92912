#!/usr/bin/env python3
"""collectives.py without a GPU: the bars that other programs measure, and wrong words."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

import collective_bars
import collectives
import turns


class OtherPrograms(unittest.TestCase):
    def of_slow_rank(self, script):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "gpu_slow_rank")
            with open(program, "w") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(program, 0o755)
            return collectives.slow_rank(folder, folder, 4)

    def test_output_of_the_program_is_reported(self):
        met = self.of_slow_rank("echo ok on $1 ranks")
        self.assertEqual(met.verdict, "met")
        self.assertIn("ok on 4 ranks", met.text())
        self.assertEqual(self.of_slow_rank("exit 1").verdict, "MISSED")
        skipped = self.of_slow_rank("echo skipped: needs 2 GPUs; exit 77")
        self.assertEqual(skipped.verdict, "skipped")

    def test_missing_program_is_missed(self):
        missing = collectives.slow_rank("/nowhere", "/nowhere", 2)
        self.assertEqual(missing.verdict, "MISSED")

    def test_network_is_skipped_without_iperf3(self):
        with mock.patch.dict(os.environ, PATH="/nowhere"):
            skipped = collectives.network("/nowhere/bin", "", 2)
        self.assertEqual(skipped.verdict, "skipped")

    def test_report_without_entries_lists_them(self):
        class Nothing:
            rows = []

        text = collectives.report(Nothing, [], {}, [self.of_slow_rank("echo named")], ["network"],
                                  "")
        for name in ("named", "network"):
            self.assertIn(name, text)


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

    def test_each_command_is_answered(self):
        answers = self.measure(f"while read line; do echo '{self.GOOD}'; done")
        self.assertEqual([one["seconds"] for one in answers], [2.0, 2.0])
        line = collective_bars.Line([(self.ROW, 1.0, answers[0])])
        self.assertEqual(line.verdict(), "met")

    def test_each_runs_in_its_own_process_up_to_1_mib(self):
        # The answer tells how many lines the process has had.
        count = 'n=0; while read line; do n=$((n+1)); echo "{\\"seconds\\": $n}"; done'
        commands = [f"all_reduce {size}" for size in (1 << 20, 16 << 20, 1 << 30, 512, 8)]
        answers = self.measure(count, commands)
        # In the order of their texts: 1 MiB and the two large ones, then 512 and 8.
        self.assertEqual([one["seconds"] for one in answers], [1, 2, 3, 1, 1])

    def test_bar_is_not_measured_if_the_program_ends_or_hangs(self):
        for script in ("exit 3", "exec cat > /dev/null"):
            answers = self.measure(script, patience=0.2)
            self.assertEqual(len(answers), 2)
            for answer in answers:
                self.assertTrue(answer["error"])
            line = collective_bars.Line([(self.ROW, 1.0, answers[0])])
            self.assertTrue(line.missed())

    def test_turn_without_an_answer_is_not_counted(self):
        line = collective_bars.Line([(self.ROW, 1.0, {"error": "it ended"}),
                                 (self.ROW, 1.0, {"seconds": 1.0, "low": 1.0, "high": 1.0})])
        self.assertEqual(line.verdict(), "met")
        self.assertEqual(line.ratio, 1.0)


class Starts(unittest.TestCase):
    FAST, SLOW = 15.07e-6, 15.34e-6  # As NCCL's all-reduce of 1 MiB starts on two H200.

    def line(self, ours, theirs):
        row = {"benchmark": "all_reduce", "parameters": "bytes=1048576;ranks=2;policy=assay",
               "median": "1", "flag": ""}
        return collective_bars.Line(
            [(row, mine, {"seconds": other, "low": other, "high": other})
             for mine, other in zip(ours, theirs)])

    def test_chance_follows_the_rank_sum_test(self):
        # All of three slower: one of the twenty ways to divide six.
        self.assertAlmostEqual(collective_bars.chance_of_slower([4, 5, 6], [1, 2, 3]), 1 / 20)
        self.assertAlmostEqual(collective_bars.chance_of_slower([1, 2, 3], [4, 5, 6]), 1)
        # Ranks 1.5, 1.5, 3.5, 3.5: of the six ways one gives 7, four 5, one 3.
        self.assertAlmostEqual(collective_bars.chance_of_slower([2, 2], [1, 1]), 1 / 6)
        self.assertAlmostEqual(collective_bars.chance_of_slower([1, 2], [1, 2]), 5 / 6)
        # From tables of the statistic: 8 and 8, a rank sum of 85 or more is 4.2%, 84 is 5.2%.
        ours = [4, 6, 9, 11, 12, 13, 14, 16]  # Their ranks.
        others = [rank for rank in range(1, 17) if rank not in ours]
        self.assertAlmostEqual(collective_bars.chance_of_slower(ours, others), 0.0415, 4)
        ours[0], others[others.index(3)] = 3, 4
        self.assertAlmostEqual(collective_bars.chance_of_slower(ours, others), 0.0524, 4)

    def test_difference_within_chance_is_parity(self):
        line = self.line([self.SLOW] * 2 + [self.FAST], [self.FAST] * 2 + [self.SLOW])
        self.assertLess(line.ratio, 0.99)
        self.assertEqual(line.verdict(), "parity")
        self.assertFalse(line.missed())
        self.assertIn("| 3 | 1.8% | 1.8% |", line.text())

    def test_all_slower_is_a_miss(self):
        self.assertEqual(self.line([self.SLOW] * 3, [self.FAST] * 3).verdict(), "MISSED")
        # Each mode 2% slower than the reference's.
        ours = [self.FAST * 1.02] * 4 + [self.SLOW * 1.02] * 5
        self.assertEqual(self.line(ours, [self.FAST] * 4 + [self.SLOW] * 5).verdict(), "MISSED")

    def test_two_starts_are_judged_by_their_ratio(self):
        self.assertEqual(self.line([self.SLOW, self.FAST], [self.FAST] * 2).verdict(), "met")
        self.assertEqual(self.line([self.SLOW] * 2, [self.FAST, self.FAST]).verdict(), "MISSED")


class Turns(unittest.TestCase):
    ENTRY = "  - all_reduce: {ranks: 2, bytes: [1MiB, 16MiB]}\n"
    LARGE, BRIEF = (f"  - all_reduce: {{ranks: 2, bytes: {size}}}" for size in ("16MiB", "1MiB"))
    WHOLE = f"{LARGE}\n{BRIEF}"

    def test_small_cases_are_run_one_by_one(self):
        entry = "  - reduce: {ranks: [2, 4], bytes: [8, 1MiB, 16MiB, 8GiB], policy: [a, b]}\n"
        small = [f"  - reduce: {{ranks: {ranks}, bytes: {size}, policy: {policy}}}"
                 for ranks in (2, 4) for size in ("8", "1MiB") for policy in "ab"]
        self.assertEqual(turns.alone(entry, turns.brief(entry)), "\n".join(small))
        large = "  - reduce: {ranks: [2, 4], bytes: [16MiB, 8GiB], policy: [a, b]}"
        self.assertEqual(turns.whole(entry), "\n".join([large] + small))
        self.assertEqual(turns.whole(self.BRIEF), self.BRIEF)

    def test_large_cases_are_run_by_entry(self):
        for entry in ("  - overlap: {ranks: 2, bytes: 256MiB, ctas: [0, 8]}\n",
                      "  - peer_transfer: {ranks: 8, from: [0, 1], to: [0, 1]}\n"):
            self.assertEqual(turns.brief(entry), [])
            self.assertEqual(turns.whole(entry), entry)

    def take(self, slower, rounds=1, starts=3, turns_in_time=100):
        """Parts of the turns taken, and the lines; `slower(size, number)`: ours beside 1 s."""
        parts = []

        def take_turn(part, number):
            self.assertEqual(number, len(parts))
            parts.append(part)
            rows = [{"benchmark": "all_reduce", "flag": "", "median": "1",
                     "parameters": f"bytes={size};ranks=2;policy=assay"}
                    for size, word in ((1 << 20, " 1MiB"), (16 << 20, " 16MiB")) if word in part]
            return [(row, slower(row["parameters"], number),
                     {"seconds": 1, "low": 1, "high": 1}) for row in rows]

        lines = turns.lines_of(self.ENTRY, take_turn, rounds, starts,
                               lambda: len(parts) >= turns_in_time)
        return parts, lines

    def test_turns_end_when_every_bar_is_met(self):
        parts, lines = self.take(lambda *_: 1.001)
        self.assertEqual(parts, [self.WHOLE] + [self.BRIEF] * 2)
        self.assertEqual([len(line.our_starts) for line in lines], [3, 1])

    def test_case_that_misses_gets_as_many_turns_again(self):
        # By chance slower at first, and then as fast.
        for size, alone, starts in (("1048576", self.BRIEF, [6, 1]),
                                    ("16777216", self.LARGE, [3, 4])):
            parts, lines = self.take(
                lambda given, number, size=size: 1.02 if size in given and number < 3 else 1)
            self.assertEqual(parts, [self.WHOLE] + [self.BRIEF] * 2 + [alone] * 3)
            self.assertEqual([len(line.our_starts) for line in lines], starts)
            self.assertFalse(any(line.missed() for line in lines))
        # What is slower stays so.
        parts, lines = self.take(lambda *_: 1.02)
        self.assertEqual(parts[3:], [f"{self.BRIEF}\n{self.LARGE}"] * 3)
        self.assertEqual([line.verdict() for line in lines], ["MISSED", "MISSED"])

    def test_no_turn_starts_after_the_deadline(self):
        self.assertEqual(len(self.take(lambda *_: 1.02, turns_in_time=4)[0]), 4)
        self.assertEqual(len(self.take(lambda *_: 1.02, turns_in_time=2)[0]), 2)
        self.assertEqual(len(self.take(lambda *_: 1.02, turns_in_time=0)[0]), 1)


class Ranks(unittest.TestCase):
    def test_only_requested_ranks_remain(self):
        entry = "  - all_reduce: {ranks: [2, 4, 8], bytes: 1MiB}"
        self.assertEqual(collectives.fitted(entry, 4, []), entry.replace(", 8]", "]"))
        self.assertEqual(collectives.fitted(entry, 8, [4]), entry.replace("2, 4, 8", "4"))
        self.assertEqual(collectives.fitted(entry, 4, [8]), "")
        pairs = "  - peer_transfer: {ranks: 8, from: [0, 7], to: [0, 7]}"
        self.assertEqual(collectives.fitted(pairs, 8, [2]),
                         "  - peer_transfer: {ranks: [8], from: [0, 7], to: [0, 7]}")

    def test_pairs_cover_all_gpus_once(self):
        campaign = os.path.join(collectives.HERE, "../../examples/collectives.yaml")
        listed = collectives.without_subsets(collectives.entries(campaign)[1])
        pairs = [entry for entry in listed if "peer_transfer" in entry]
        self.assertEqual(len(pairs), 1)
        self.assertIn("{ranks: [6], from: [0, 1, 2, 3, 4, 5], to: [0, 1, 2, 3, 4, 5]}",
                      collectives.fitted(pairs[0], 6, []))
        self.assertEqual(collectives.without_subsets(["  - reduce: {ranks: 2}"]),
                         ["  - reduce: {ranks: 2}"])


class OnlyOption(unittest.TestCase):
    def test_unknown_word_is_refused(self):
        error = io.StringIO()
        with mock.patch.object(sys, "argv", ["collectives.py", "bin", "tests", "--out", "/nowhere",
                                             "--only", "all_redcue"]), \
                contextlib.redirect_stderr(error), self.assertRaises(SystemExit) as ended:
            collectives.main()
        self.assertEqual(ended.exception.code, 2)
        for name in ("all_redcue", "slow_rank"):
            self.assertIn(name, error.getvalue())


if __name__ == "__main__":
    unittest.main()

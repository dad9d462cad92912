"""random_shapes.py without a GPU: its shapes, ratios, verdicts, tables and exit codes."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

import random_draws
import random_shapes
from random_draws import KERNELS, draw


def turn(seconds, spread=0.0):
    return {"seconds": seconds, "halves": [seconds * (1 - spread / 2), seconds * (1 + spread / 2)]}


def answer(errors=None, **variants):
    """An answer of reference_torch.py."""
    return {"torch": "2.11", "errors": errors or {}, "variants": variants}


OURS = {"seconds": 1e-3, "flags": [], "gpu": "H100", "cuda": "13.0", "cublas": "13.1"}
SHAPE = draw(1, "softmax", 8)[0]


def record(*answers, ours=None, shape=SHAPE):
    return random_shapes.compared(shape, ours or OURS, list(answers))


class Drawing(unittest.TestCase):
    def test_shapes_depend_on_seed_and_kernel_only(self):
        for kernel in KERNELS:
            self.assertEqual(draw(7, kernel, 8), draw(7, kernel, 8))
            self.assertNotEqual(draw(7, kernel, 8), draw(8, kernel, 8))
        self.assertNotEqual([one.parameters for one in draw(7, "vector_add", 8)],
                            [one.parameters for one in draw(7, "elementwise_mul", 8)])

    def test_half_of_the_shapes_are_powers_of_two_and_one_is_small(self):
        for seed in range(20):
            for kernel in KERNELS:
                shapes = draw(seed, kernel, 8)
                self.assertEqual(len({one.reference for one in shapes}), 8)
                self.assertEqual([one.small for one in shapes].count(True), 1)
                powers = [all(random_draws.is_power(value) for value in one.parameters.values()
                              if isinstance(value, int)) for one in shapes]
                self.assertEqual(powers.count(True), 4)
                self.assertEqual(powers, [one.power for one in shapes])

    def test_amounts_are_within_limits(self):
        for seed in range(20):
            for kernel in KERNELS:
                for one in draw(seed, kernel, 8):
                    if kernel in random_shapes.PRODUCTS:
                        limits = random_draws.SMALL_FLOPS if one.small else random_draws.FLOPS
                        least_stream = random_draws.GRAPH_FLOPS
                    else:
                        limits = random_draws.SMALL_TRAFFIC if one.small else random_draws.TRAFFIC
                        least_stream = random_draws.GRAPH_TRAFFIC
                    # Rounded rows may change the amount by 1%.
                    self.assertGreaterEqual(one.amount, limits[0] * 0.99, one)
                    self.assertLessEqual(one.amount, limits[1] * 1.01, one)
                    self.assertEqual(one.launch,
                                     "graph" if one.amount < least_stream else "stream")
                    self.assertEqual("--graph" in one.reference, one.launch == "graph")

    def test_rows_of_fp8_are_multiples_of_16(self):
        drawn = [one for seed in range(30) for one in draw(seed, "gemm", 8)
                 if one.dtype == "fp8_e4m3"]
        self.assertTrue(drawn)
        for one in drawn:
            self.assertEqual((one.parameters["n"] % 16, one.parameters["k"] % 16,
                              one.parameters["layout"]), (0, 0, "nt"))


class Ratios(unittest.TestCase):
    def test_ratio_is_against_the_better_reference(self):
        fast_eager = record(answer(eager=turn(1e-3), compiled=turn(2e-3)))
        self.assertEqual((fast_eager["better"], fast_eager["ratio"]), ("eager", 1.0))
        fast_compiled = record(answer(eager=turn(1e-3), compiled=turn(0.5e-3)))
        self.assertEqual((fast_compiled["better"], fast_compiled["ratio"]), ("compiled", 0.5))

    def test_both_turns_count(self):
        one = record(answer(eager=turn(0.9e-3)), answer(eager=turn(1.1e-3)))
        self.assertAlmostEqual(one["ratio"], 1.0)
        self.assertAlmostEqual(one["spread"], 0.2)

    def test_verdicts(self):
        self.assertEqual(random_shapes.verdict(record(answer(eager=turn(0.981e-3)))), "met")
        self.assertEqual(random_shapes.verdict(record(answer(eager=turn(0.97e-3)))), "BELOW")
        self.assertEqual(random_shapes.verdict(record(answer(eager=turn(0.97e-3, 0.02)))),
                         "within spread")
        self.assertEqual(random_shapes.verdict(record({"error": "it ended"})), "not measured")

    def test_failed_reference_stays_visible_beside_the_other(self):
        one = record(answer({"compiled": "no compiler"}, eager=turn(1e-3)))
        self.assertEqual(one["ratio"], 1.0)
        self.assertEqual(one["errors"], {"compiled": "no compiler"})
        self.assertEqual(random_shapes.cells(one)[5], "error")
        self.assertFalse(random_shapes.passed([one], []))

    def test_failed_case_of_ours_is_an_error(self):
        one = record(answer(eager=turn(1e-3)), ours={"error": "verification failed"})
        self.assertEqual(one["errors"], {"ours": "verification failed"})
        self.assertEqual(random_shapes.cells(one)[3], "error")
        self.assertEqual(random_shapes.verdict(one), "not measured")

    def test_attention_is_against_its_fastest_backend(self):
        one = record(answer(CUDNN_ATTENTION=turn(1e-3), FLASH_ATTENTION=turn(2e-3)),
                     shape=draw(1, "attention", 8)[0])
        self.assertEqual(one["ratio"], 1.0)
        eager, compiled = random_shapes.cells(one)[4:6]
        self.assertTrue(eager.endswith(" CUDNN"), eager)
        self.assertEqual(compiled, "same")


class ListedTorch:
    """Answers commands from a list and notes them."""

    def __init__(self, answers):
        self.answers = answers
        self.commands = []

    def measure(self, command):
        self.commands.append(command)
        return self.answers.pop(0)


class NotingRunner:
    def __init__(self, flags):
        self.efforts = []
        self.flags = flags

    def measure(self, _, effort):
        self.efforts.append(effort)
        return {**OURS, "flags": self.flags}


class Repeating(unittest.TestCase):
    def measure(self, *answers, shape=SHAPE, flags=()):
        torch, runner = ListedTorch(list(answers)), NotingRunner(flags)
        return random_shapes.measure(shape, torch, runner, "fast"), torch, runner

    def test_clear_result_is_measured_once(self):
        for seconds in (1e-3, 0.5e-3):
            one, torch, runner = self.measure(*[answer(eager=turn(seconds))] * 2)
            self.assertEqual(runner.efforts, ["quick"])
            self.assertEqual(torch.commands, [f"{SHAPE.reference} --compiled --rule fast"] * 2)
            self.assertNotIn("first_ratio", one)

    def test_uncertain_result_is_measured_again_for_longer(self):
        one, torch, runner = self.measure(*[answer(eager=turn(0.97e-3))] * 2,
                                          *[answer(eager=turn(1e-3))] * 2)
        self.assertEqual(runner.efforts, ["quick", "standard"])
        self.assertTrue(torch.commands[-1].endswith("--rule normal"))
        self.assertEqual(one["ratio"], 1.0)
        self.assertAlmostEqual(one["first_ratio"], 0.97)

    def test_doubtful_result_below_the_bar_is_measured_again(self):
        for flag in ("unsettled", "throttled"):
            for eager, efforts in ((0.8e-3, ["quick", "standard"]), (1e-3, ["quick"])):
                _, _, runner = self.measure(*[answer(eager=turn(eager))] * 4, flags=[flag])
                self.assertEqual(runner.efforts, efforts)

    def test_product_at_the_power_limit_is_never_quick(self):
        shape = max(draw(1, "gemm", 8), key=lambda one: one.amount)
        _, _, runner = self.measure(*[answer(eager=turn(1e-3))] * 2, shape=shape)
        self.assertEqual(runner.efforts, ["standard"])


# Answers like assay-runner: a GPU without wgmma, on which one relu fails.
RUNNER = f"""#!{sys.executable}
import json, os, sys
if sys.argv[1] == "list":
    print(os.environ.get("FAKE_LIST", "relu"))
    sys.exit()
seconds = 0.5e-3 if "pad=true" in sys.argv else 1e-3
row = {{"outcome": "ok", "metric": "time", "median": seconds, "gpu": {{"model": "H100"}}}}
if "variant=flash_wgmma" in sys.argv:
    row.update(outcome="unsupported", failure_message="needs Hopper")
if "elements=" + os.environ.get("FAKE_FAILS", "") in sys.argv:
    row.update(outcome="failed", failure_message="verification failed")
print(json.dumps([{{**row, "metric": "bandwidth", "median": 5.0}}, row]))
"""


class FakeTorch:
    """A reference_torch.py that is as fast as `seconds` says, for each command alike."""
    seconds = 1e-3

    def measure(self, command):
        name = "CUDNN_ATTENTION" if command.startswith("attention") else "eager"
        return answer(**{name: turn(self.seconds)})

    def close(self):
        pass


class Program(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = stack.enter_context(tempfile.TemporaryDirectory())
        path = os.path.join(self.folder, "assay-runner")
        with open(path, "w") as file:
            file.write(RUNNER)
        os.chmod(path, 0o755)
        stack.enter_context(mock.patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=self.folder,
                                            ASSAY_CACHE_DIR=self.folder))
        stack.enter_context(mock.patch.object(random_shapes, "Torch", FakeTorch))
        stack.enter_context(mock.patch.object(random_shapes, "compile_in_advance"))
        stack.enter_context(mock.patch("importlib.util.find_spec"))

    def run_main(self, *arguments):
        """Returns the exit code and what was printed."""
        printed = io.StringIO()
        with mock.patch.object(sys, "argv", ["random_shapes.py", *arguments]), \
                contextlib.redirect_stdout(printed):
            code = random_shapes.main()
        return code, printed.getvalue()

    def compare(self, seed, *options):
        """Runs a comparison of 2 shapes and returns its file, exit code and what was printed."""
        out = os.path.join(self.folder, f"{seed}{len(os.listdir(self.folder))}.json")
        return out, *self.run_main(self.folder, "--seed", str(seed), "--shapes", "2", "--out", out,
                                   *options)

    def test_worst_ratio_of_each_kernel_is_printed(self):
        out, code, printed = self.compare(3)
        self.assertEqual(code, 0)
        with open(out) as file:
            report = json.load(file)
        self.assertEqual((len(report["shapes"]), report["not_begun"]), (2 * len(KERNELS), []))
        self.assertEqual((report["gpu"], report["torch"]), ("H100", "2.11"))
        last = printed.splitlines()[-len(KERNELS):]
        self.assertEqual([line.split()[0] for line in last], list(KERNELS))
        self.assertEqual({line.split()[1] for line in last}, {"1.000"})

    def test_variant_that_the_gpu_has_is_used(self):
        out, _, _ = self.compare(3, "--kernels", "attention")
        with open(out) as file:
            commands = {one["ours"]["command"] for one in json.load(file)["shapes"]}
        self.assertTrue(all("variant=flash_mma" in one for one in commands), commands)

    def test_faster_of_padded_and_plain_products_counts_where_rows_are_not_whole_vectors(self):
        out, _, _ = self.compare(1, "--kernels", "gemm", "--shapes", "8")
        with open(out) as file:
            shapes = json.load(file)["shapes"]
        padded = {one["shape"]: "pad=true" in one["ours"]["command"] for one in shapes}
        self.assertEqual(set(padded.values()), {True, False})
        for shape, pad in padded.items():
            m, _, n, _, k, layout = shape.split()
            stored = (m if layout[0] == "t" else k, k if layout[1] == "t" else n, n)
            self.assertEqual(pad, any(int(length) % 8 for length in stored), shape)

    def test_shapes_of_earlier_files_are_left_out(self):
        first, _, _ = self.compare(3, "--kernels", "relu")
        out, code, _ = self.compare(3, "--kernels", "relu", "transpose", "--without", first)
        self.assertEqual(code, 0)
        with open(out) as file:
            self.assertEqual({one["kernel"] for one in json.load(file)["shapes"]}, {"transpose"})

    def test_exit_code_is_1_below_the_bar(self):
        with mock.patch.object(FakeTorch, "seconds", 0.9e-3):
            _, code, printed = self.compare(3, "--kernels", "relu")
        self.assertEqual(code, 1)
        self.assertIn("BELOW", printed)

    def test_exit_code_is_1_if_a_case_fails(self):
        failing = str(draw(3, "relu", 2)[1].parameters["elements"])
        with mock.patch.dict(os.environ, FAKE_FAILS=failing):
            _, code, printed = self.compare(3, "--kernels", "relu")
        self.assertEqual(code, 1)
        self.assertRegex(printed, rf"ERROR relu {failing} .*verification failed")

    def test_limit_leaves_shapes_out_and_says_so(self):
        out, code, _ = self.compare(3, "--limit", "-1")
        self.assertEqual(code, 1)
        self.assertFalse(os.path.exists(out))

    def test_runs_without_a_gpu_or_pytorch_are_skipped(self):
        with mock.patch.dict(os.environ, FAKE_LIST="unsupported here: needs a CUDA GPU"):
            self.assertEqual(self.compare(3)[1], 77)
        with mock.patch("importlib.util.find_spec", return_value=None):
            self.assertEqual(self.compare(3)[1], 77)

    def test_seeds_are_merged_into_one_page(self):
        first, _, _ = self.compare(2, "--kernels", "relu", "transpose")
        with mock.patch.object(FakeTorch, "seconds", 0.95e-3):
            second, _, _ = self.compare(1, "--kernels", "relu")
        code, page = self.run_main("--compare", first, second)
        self.assertEqual(code, 1)
        self.assertIn("| kernel | shapes | seed 1: worst, median | seed 2: worst, median |", page)
        self.assertRegex(page, r"\| relu \| 4 \| 0\.950, 0\.950 \| 1\.000, 1\.000 \| .*: BELOW \|")
        self.assertRegex(page, r"\| transpose \| 2 \| not measured \| 1\.000, 1\.000 \| .*: met \|")
        self.assertEqual(page.count("| BELOW |"), 2)
        self.assertEqual(self.run_main("--compare", first)[0], 0)

    def test_later_file_replaces_and_completes_an_earlier_one(self):
        with mock.patch.object(FakeTorch, "seconds", 0.95e-3):
            cut, _, _ = self.compare(1, "--kernels", "relu")
        with open(cut) as file:
            report = json.load(file)
        report["not_begun"] = [["relu", report["shapes"].pop()["reference"]]]
        with open(cut, "w") as file:
            json.dump(report, file)
        code, page = self.run_main("--compare", cut)
        self.assertEqual(code, 1)
        self.assertIn("was not begun", page)
        again, _, _ = self.compare(1, "--kernels", "relu")
        code, page = self.run_main("--compare", cut, again)
        self.assertEqual(code, 0)
        self.assertNotIn("was not begun", page)

    def test_missing_arguments_are_refused(self):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
            self.run_main(self.folder)
        self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    unittest.main()

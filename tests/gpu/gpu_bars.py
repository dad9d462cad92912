#!/usr/bin/env python3
"""Checks Assay's GPU benchmarks against their bars, relative to PyTorch in the same run.

Runs assay-runner and PyTorch alternately, so that both run at the same temperature and power, and
compares the medians of all rounds. Prints every round and a table. The exit code is 1 if a bar is
missed, and 77 without a GPU.

A gemm makes the same library call as PyTorch. If it is as close to its bar as PyTorch's rounds are
to each other, the verdict is "parity", and the bar is not missed.

    gpu_bars.py ASSAY_RUNNER [--rounds 3] [--only gemm copy all_reduce] [--ranks 2 4]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference_torch.py")
GIB = 1 << 30


class Bar:
    """One comparison: the arguments for Assay's runner and for PyTorch, and the least ratio."""

    def __init__(self, name, runner, reference, least, same_call=False):
        self.name = name
        self.runner = runner
        self.reference = reference
        self.least = least
        self.same_call = same_call


def bars(only, ranks):
    chosen = []
    if "gemm" in only:
        for n in (4096, 8192):
            chosen.append(Bar(f"gemm bf16 {n}", ["gemm", f"m={n}", f"n={n}", f"k={n}"],
                              ["gemm", str(n), str(n), str(n)], 1.00, same_call=True))
    if "copy" in only:
        chosen.append(Bar("memory_bandwidth copy 4GiB",
                          ["memory_bandwidth", "op=copy", "bytes=4GiB"],
                          ["copy", str(4 * GIB)], 0.95))
    if "all_reduce" in only:
        for count in ranks:
            chosen.append(Bar(f"all_reduce 1GiB, {count} ranks",
                              ["all_reduce", f"ranks={count}", "bytes=1GiB", "in_place=true"],
                              ["all_reduce", str(GIB), str(count)], 0.99))
    return chosen


# The best relative precision: a measurement stops at this confidence interval of the median.
RESOLUTION = 0.005


def is_parity(ratio, least, spread):
    """Returns true if the ratio cannot be told apart from the bar, above or below it."""
    return abs(least - ratio) <= max(spread, RESOLUTION)


def table(values):
    """Returns a table of (bar, our values, the reference's values), and whether a bar is missed."""
    lines = [f"{'benchmark':<28} {'assay':>10} {'torch':>10} {'spread':>7} {'ratio':>7} {'bar':>5}"]
    missed = False
    for bar, *sides in values:
        ours, theirs = map(statistics.median, sides)
        spread = (max(sides[1]) - min(sides[1])) / theirs
        short = ours / theirs < bar.least
        parity = bar.same_call and is_parity(ours / theirs, bar.least, spread)
        missed = missed or (short and not parity)
        verdict = "  parity" if parity else "  MISSED" if short else ""
        lines.append(f"{bar.name:<28} {ours:>10.2f} {theirs:>10.2f} {spread:>7.2%} "
                     f"{ours / theirs:>7.4f} {bar.least:>5.2f}{verdict}")
    return "\n".join(lines), missed


def run_text(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"gpu_bars: exit code {done.returncode} from {' '.join(command)}\n{done.stdout}")
    return done.stdout


def run_json(command):
    """Runs a command and parses the last line of its output as JSON."""
    return json.loads(run_text(command).strip().splitlines()[-1])


def run_assay(runner, arguments):
    primary = json.loads(run_text([runner, "run", *arguments, "-o", "json"]))[0]
    return primary["median"], {name: primary.get(name) for name in (
        "n", "stop_reason", "error", "sm_clock_mhz", "power_watts", "temperature_celsius",
        "throttle_reason", "flag", "cuda", "cublas", "nccl")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runner")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["gemm", "copy"],
                        choices=["gemm", "copy", "all_reduce"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[2])
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.runner, "list"], stdout=subprocess.PIPE, text=True).stdout
    if "gemm" not in listed or "needs a CUDA GPU" in listed:
        print("skipped: no CUDA GPU, or a runner built without CUDA")
        return 77
    values = []
    for bar in bars(arguments.only, arguments.ranks):
        values.append((bar, [], []))
        for round_number in range(1, arguments.rounds + 1):
            value, details = run_assay(arguments.runner, bar.runner)
            reference = run_json([sys.executable, REFERENCE, *bar.reference])
            values[-1][1].append(value)
            values[-1][2].append(reference["value"])
            print(f"{bar.name}, round {round_number}: assay {value:.2f}, "
                  f"torch {reference['value']:.2f} {reference['unit']}; "
                  f"assay: {json.dumps(details)}; torch: {json.dumps(reference)}", flush=True)
    text, missed = table(values)
    print("\n" + text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Sets predictions beside measurements on real GPUs.

Starts `assay up` from a folder of programs, then
  1. measures copies, matrix products and (with two or more GPUs) all-reduces, and prints
     `assay predict --check`: each case predicted from the others;
  2. predicts three cases that were not measured, measures them, and prints the error;
  3. predicts decode steps and times them with PyTorch, if it is installed.
The exit code is 1 if the median error of 2 exceeds 10%. Decode has no bar: PyTorch's kernels are not
those that a prediction assumes (its attention does not divide long contexts over the SMs).

    predictions.py PROGRAMS [--ranks N] [--no-decode]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

from system_run import Stack

BAR = 0.10
LEARNED = """name: learned
effort: quick
benchmarks:
  - memory_bandwidth: {{op: [read, copy], bytes: [256MiB, 1GiB, 4GiB], gpus: [0]}}
  - gemm: {{m: [1, 8, 32, 128, 512, 2048, 8192], n: [2048, 4096, 16384], k: [2048, 4096, 14336],
           gpus: [0]}}
{all_reduce}"""
ASKED = """name: asked
benchmarks:
  - memory_bandwidth: {{op: copy, bytes: 2GiB, gpus: [0]}}
  - gemm: {{m: 3072, n: 8192, k: 6144, gpus: [0]}}
  - gemm: {{m: 16, n: 14336, k: 4096, gpus: [0]}}
{all_reduce}"""


def term(answer, name):
    return next(one for one in answer["terms"] if one["name"] == name)


def predict(stack, *arguments):
    text = stack.run("predict", *arguments, "-o", "json")
    if stack.code != 0:
        sys.exit(f"predict {' '.join(arguments)} ended with {stack.code}")
    return json.loads(text)


def measured_seconds(stack, restriction):
    rows = json.loads(stack.run("results", "--filter",
                                f"campaign = asked AND metric = time AND {restriction}",
                                "-o", "json"))
    return rows[0]["median"] * {"s": 1, "ms": 1e-3, "us": 1e-6}[rows[0]["unit"]]


def ask(stack, gpu, ranks):
    """Predicts cases, then measures them. Returns rows (case, predicted, source, measured)."""
    answer = predict(stack, "copy", "--gpu", gpu, "--bytes", "2GiB")
    predictions = [("copy 2 GiB", term(answer, "time")["value"],
                    term(answer, "bandwidth")["source"], "benchmark = memory_bandwidth")]
    for m, n, k in ((3072, 8192, 6144), (16, 14336, 4096)):
        answer = predict(stack, "matmul", "--gpu", gpu, f"m={m}", f"n={n}", f"k={k}")
        predictions.append((f"gemm {m} x {n} x {k}", term(answer, "time")["value"],
                            term(answer, "efficiency")["source"],
                            f"benchmark = gemm AND parameters.m = {m}"))
    if ranks > 1:
        answer = predict(stack, "allreduce", "--gpu", gpu, "--gpus", str(ranks), "--bytes",
                         "96MiB")
        predictions.append((f"all_reduce 96 MiB, {ranks} GPUs", term(answer, "time")["value"],
                            term(answer, "time")["source"], "benchmark = all_reduce"))
    reduce = f"  - all_reduce: {{ranks: {ranks}, bytes: 96MiB}}\n" if ranks > 1 else ""
    stack.campaign(ASKED.format(all_reduce=reduce))
    return [(case, predicted, source, measured_seconds(stack, restriction))
            for case, predicted, source, restriction in predictions]


def decode(stack, gpu):
    """Returns rows (case, predicted, source, measured) of decode steps."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference_decode.py")
    run = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        print(f"reference_decode.py ended with {run.returncode}")
        return []
    rows = []
    for one in json.loads(run.stdout):
        answer = predict(stack, "decode", "--model", one["model"], "--gpu", gpu, "--batch",
                         str(one["batch"]), "--context", str(one["context"]), "--launch", "graph")
        step = term(answer, "step")
        rows.append((f"{one['model']} B {one['batch']} c {one['context']}", step["value"],
                     answer["dominant"], one["seconds"]))
    return rows


def report(title, rows):
    """Prints the rows and returns the median of their errors."""
    print(f"\n{title}\n{'case':<32}{'predicted':>12}{'measured':>12}{'error':>9}  source")
    errors = []
    for case, predicted, source, measured in rows:
        error = predicted / measured - 1
        errors.append(abs(error))
        print(f"{case:<32}{predicted * 1e3:>9.4f} ms{measured * 1e3:>9.4f} ms{error:>+9.1%}  "
              f"{source}")
    median = statistics.median(errors)
    print(f"median error {median:.1%}", flush=True)
    return median


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--ranks", type=int, default=1, help="GPUs of the all-reduces")
    parser.add_argument("--no-decode", action="store_true")
    arguments = parser.parse_args()
    with Stack(arguments.programs, None) as stack:
        inventory = json.loads(stack.run("node", "list", "-o", "json"))[0]["description"]
        gpu = inventory["inventory"]["gpus"][0]["name"]
        print(gpu, inventory["inventory"].get("driver_version", ""), flush=True)
        reduce = (f"  - all_reduce: {{ranks: {arguments.ranks}, bytes: "
                  "{from: 16KiB, to: 1GiB, factor: 4}}\n" if arguments.ranks > 1 else "")
        stack.campaign(LEARNED.format(all_reduce=reduce))
        print(stack.run("predict", "--check"), flush=True)
        bad = report("Predicted before it was measured", ask(stack, gpu, arguments.ranks)) > BAR
        if not arguments.no_decode:
            rows = decode(stack, gpu)
            if rows:
                report("Decode steps, by PyTorch", rows)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

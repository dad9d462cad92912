#!/usr/bin/env python3
"""Compares kernels with PyTorch, eager and compiled, over shapes that a seed draws at random.

Draws 8 shapes per kernel: half have only powers of two, the others do not, and one is small.
PyTorch is measured right before and right after our case, in a process that stays loaded. Each
time, it measures the eager call and torch.compile's version in turns. The ratio is the time of the
faster of the two over ours. Cases of less than about 100 us are replayed from a CUDA graph on both
sides, so that the host's speed does not decide.

A ratio below 0.98 is measured again once, for longer, if the reference's own spread or the
precision of a quick case (2%) could explain it, if our samples had not settled, or if the GPU
throttled. The second result counts. It is "within spread" if the spread still exceeds the gap.

    random_shapes.py PROGRAMS --seed N [--kernels gemm ...] [--shapes 8] [--out FILE.json]
                     [--limit SECONDS] [--rule fast|normal] [--without FILE.json ...]
    random_shapes.py --compare FILE.json ...   prints files of several seeds as one Markdown page

With --rule fast, the default, cases are measured with `effort: quick`, and PyTorch in similar
windows. Large matrix products and attention reach the GPU's power limit, where clocks take seconds
to settle, and are always measured with the standard effort. --out is written after each shape. No
shape begins after --limit seconds; --without leaves out those that earlier files have measured. The
exit code is 1 if a ratio is below 0.98, a kernel or a reference failed, or a shape was not begun;
and 77 without a GPU or PyTorch.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from gpu_bars import RESOLUTION
from random_draws import KERNELS, MOST_SHAPES, draw
from references import HERE, Torch, parsed

BAR = 0.98
# `effort: quick` ends when the median is known to 2%, so a smaller gap is not certain.
QUICK_RESOLUTION = 0.02
PRODUCTS = ("gemm", "attention")
SUSTAINED_FLOPS = 2e10  # Products of so many reach the power limit.


class Runner:
    """Measures our cases with assay-runner, one process per case."""

    PATIENCE = 180  # Maximum seconds per case.

    def __init__(self, programs):
        self.path = os.path.join(programs, "assay-runner")

    def has_gpu(self):
        listed = subprocess.run([self.path, "list", "relu"], stdout=subprocess.PIPE, text=True,
                                check=False)
        return listed.returncode == 0 and "unsupported here" not in listed.stdout

    def measure(self, shape, effort):
        """Returns the result of the first of the kernel's variants that this GPU supports.

        If the shape can also be computed in a second way, returns the faster result.
        """
        for parameters in shape.attempts():
            arguments = [shape.kernel, *parameters, "--effort", effort]
            answer = self.run(arguments)
            if not answer.pop("unsupported", False):
                break
        if shape.also and "error" not in answer:
            also = self.run([*arguments, *shape.also])
            answer = min(answer, also, key=lambda one: one.get("seconds", 0))
        return answer

    def run(self, arguments):
        command = " ".join(arguments)
        try:
            done = subprocess.run([self.path, "run", *arguments, "-o", "json"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=self.PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"{command}: no answer within {self.PATIENCE} s"}
        rows = parsed(done.stdout, "assay-runner")
        if not isinstance(rows, list):
            return {"error": f"{command}: {done.stderr.strip() or rows['error']}"}
        if rows[0]["outcome"] != "ok":
            return {"error": f"{command}: {rows[0]['failure_message']}",
                    "unsupported": rows[0]["outcome"] == "unsupported"}
        row = next(row for row in rows if row["metric"] == "time")
        return {"command": command, "seconds": row["median"], "flags": row.get("flag", []),
                "gpu": row["gpu"].get("model", ""),
                **{name: row.get(name, "") for name in ("cuda", "cublas")}}


def driver_version():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                              stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.split("\n")[0]


def compared(shape, ours, answers):
    """Returns the record of a shape: our answer against those of PyTorch around it."""
    record = {"kernel": shape.kernel, "shape": shape.text, "dtype": shape.dtype,
              "powers_of_two": shape.power, "small": shape.small, "launch": shape.launch,
              "reference": shape.reference, "amount": shape.amount, "unit": shape.unit,
              "ours": ours, "torch": answers, "errors": {}}
    if "error" in ours:
        record["errors"]["ours"] = ours["error"]
    turns = {}
    for answer in answers:
        if "error" in answer:
            record["errors"]["torch"] = answer["error"]
        record["errors"].update(answer.get("errors", {}))
        for name, turn in answer.get("variants", {}).items():
            turns.setdefault(name, []).append(turn)
    record["seconds"] = {name: statistics.fmean(turn["seconds"] for turn in of_name)
                         for name, of_name in turns.items()}
    if record["seconds"] and "error" not in ours:
        better = min(record["seconds"], key=record["seconds"].get)
        halves = [seconds for turn in turns[better] for seconds in turn["halves"]]
        record["better"] = better
        record["ratio"] = record["seconds"][better] / ours["seconds"]
        record["spread"] = (max(halves) - min(halves)) / statistics.fmean(halves)
    return record


def verdict(record):
    if "ratio" not in record:
        return "not measured"
    if record["ratio"] >= BAR:
        return "met"
    within = BAR - record["ratio"] <= max(record["spread"], RESOLUTION)
    return "within spread" if within else "BELOW"


def is_uncertain(record):
    """Returns true if the ratio is below the bar, and a longer measurement may say otherwise."""
    if "ratio" not in record or record["ratio"] >= BAR:
        return False
    # At the power limit, clocks depend on what ran before.
    return bool({"unsettled", "throttled"} & set(record["ours"]["flags"])) or \
        BAR - record["ratio"] <= max(record["spread"], QUICK_RESOLUTION)


def measure(shape, torch, runner, rule):
    """Measures a shape between two turns of PyTorch, and once more if the result is uncertain."""
    def turns(rule):
        sustained = shape.kernel in PRODUCTS and shape.amount >= SUSTAINED_FLOPS
        effort = "standard" if sustained or rule == "normal" else "quick"
        command = f"{shape.reference} --compiled --rule {rule}"
        before = torch.measure(command)
        ours = runner.measure(shape, effort)
        return compared(shape, ours, [before, torch.measure(command)])

    first = turns(rule)
    if not is_uncertain(first):
        return first
    return {**turns("normal"), "first_ratio": first["ratio"]}


def rate(record, seconds):
    scale = 1e12 if record["unit"] == "TFLOP/s" else 1e9
    return f"{record['amount'] / seconds / scale:.4g}"


def cells(record):
    """Returns the columns of the table: kernel to verdict."""
    seconds = record["seconds"]

    def reference(name):
        if name in seconds:
            return rate(record, seconds[name])
        return "error" if name in record["errors"] or "torch" in record["errors"] else ""

    ours, eager, compiled = record["ours"], reference("eager"), reference("compiled")
    if record["kernel"] == "attention" and seconds:  # The fastest backend, which both can call.
        fastest = min(seconds, key=seconds.get)
        eager = f"{rate(record, seconds[fastest])} {fastest.split('_')[0]}"
        compiled = "same"
    return [record["kernel"], record["shape"],
            record["dtype"] + (", graph" if record["launch"] == "graph" else ""),
            rate(record, ours["seconds"]) if "seconds" in ours else "error",
            eager, compiled, record["unit"],
            f"{record['ratio']:.3f}" if "ratio" in record else "",
            f"{record['spread']:.1%}" if "spread" in record else "", verdict(record)]


COLUMNS = ["kernel", "shape", "dtype", "ours", "eager", "compiled", "unit", "ratio", "spread", ""]
WIDTHS = [15, 34, 15, 8, 16, 9, 8, 6, 7, 0]


def text_line(columns):
    return " ".join(f"{text:<{width}}" for text, width in zip(columns, WIDTHS)).rstrip()


def markdown_line(columns):
    return "| " + " | ".join(columns) + " |"


def worst(records):
    """Returns the record with the lowest ratio, or None."""
    return min((one for one in records if "ratio" in one), key=lambda one: one["ratio"],
               default=None)


def in_order(kernels):
    return sorted(kernels, key=list(KERNELS).index)


def summary(report):
    """Returns the worst ratio of each kernel as text, and what went wrong."""
    lines = [f"worst ratio of each kernel, seed {report['seed']}, at least {BAR}:"]
    records = report["shapes"]
    for kernel in in_order({one["kernel"] for one in records}):
        last = worst([one for one in records if one["kernel"] == kernel])
        lines.append(f"  {kernel:<15} " + ("not measured" if last is None else (
            f"{last['ratio']:.3f}  {last['shape']}, {last['dtype']} ({verdict(last)})")))
    for one in records:
        lines += [f"ERROR {one['kernel']} {one['shape']} {one['dtype']}, {name}: {error}"
                  for name, error in one["errors"].items()]
    if report["not_begun"]:
        lines.append(f"{len(report['not_begun'])} shapes were not begun within the limit")
    return lines


def passed(records, not_begun):
    return not not_begun and all(
        verdict(one) in ("met", "within spread") and not one["errors"] for one in records)


def write(path, report):
    if not path:
        return
    with open(path + ".new", "w") as file:
        json.dump(report, file, indent=1)
    os.replace(path + ".new", path)


def compile_in_advance(shapes):
    """Fills Inductor's cache. Products are left out: whether padding pays is decided by timing."""
    lines = [shape.reference + "\n" for shape in shapes if shape.kernel not in PRODUCTS]
    if not lines:
        return
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", os.path.join(HERE, "reference_torch.py"), "compile",
         "--processes", str(os.cpu_count() or 1)], input="".join(lines), text=True, check=False)
    print(f"compiled {len(lines)} shapes in {time.monotonic() - begin:.0f} s"
          + (f", exit code {done.returncode}" if done.returncode else ""), flush=True)


def measure_all(shapes, runner, arguments):
    """Measures the shapes, the first of each kernel before the second of any."""
    begin = time.monotonic()
    torch = Torch()  # PyTorch is loaded while others compile.
    compile_in_advance(shapes)
    report = {"seed": arguments.seed, "rule": arguments.rule, "shapes": [],
              "date": time.strftime("%Y-%m-%d", time.gmtime()), "driver": driver_version(),
              "not_begun": [[one.kernel, one.reference] for one in shapes]}
    print(text_line(COLUMNS), flush=True)
    for shape in shapes:
        if time.monotonic() - begin > arguments.limit:
            break
        record = measure(shape, torch, runner, arguments.rule)
        report["shapes"].append(record)
        report["not_begun"].pop(0)
        report["torch"] = next((one["torch"] for one in record["torch"] if "torch" in one),
                               report.get("torch", ""))
        for name in ("gpu", "cuda", "cublas"):
            report[name] = record["ours"].get(name) or report.get(name, "")
        print(text_line(cells(record)), flush=True)
        write(arguments.out, report)
    torch.close()
    print(f"{time.monotonic() - begin:.0f} s", flush=True)
    return report


def read_all(paths):
    reports = []
    for path in paths:
        with open(path) as file:
            reports.append(json.load(file))
    return reports


def by_seed(reports):
    """Returns the records of each seed, and the shapes that are in none of the reports.

    If a shape was measured twice, the later report counts.
    """
    seeds, not_begun = {}, set()
    for report in reports:
        seed = report["seed"]
        for one in report["shapes"]:
            seeds.setdefault(seed, {})[one["kernel"], one["reference"]] = one
        not_begun |= {(seed, *case) for case in report["not_begun"]}
    not_begun -= {(seed, *case) for seed, records in seeds.items() for case in records}
    return {seed: list(seeds[seed].values()) for seed in sorted(seeds)}, sorted(not_begun)


def distinct(reports, make):
    return "; ".join(dict.fromkeys(make(report) for report in reports))


def merged(reports, seeds, not_begun):
    """Returns a Markdown page about several seeds."""
    records = [one for of_seed in seeds.values() for one in of_seed]
    numbers = ", ".join(map(str, seeds))
    software = distinct(reports, lambda one: f"driver {one['driver']}, CUDA {one['cuda']}, cuBLAS "
                        f"{one['cublas']}, PyTorch {one['torch']}")
    lines = ["| | |", "|---|---|",
             f"| date | {distinct(reports, lambda one: one['date'])} |",
             f"| hardware | {distinct(reports, lambda one: one['gpu'])} |",
             f"| software | {software} |",
             f"| command | `tests/gpu/random_shapes.py PROGRAMS --seed N --rule "
             f"{distinct(reports, lambda one: one['rule'])} --out FILE`, N = {numbers}; "
             "`--compare FILE ...` printed these tables |", "",
             f"Ratio: our rate over the better of PyTorch's eager and compiled; at least {BAR}. "
             "Worst and median of each seed's shapes.", "",
             markdown_line(["kernel", "shapes", *(f"seed {seed}: worst, median" for seed in seeds),
                            "worst shape"]),
             "|---" * (3 + len(seeds)) + "|"]
    for kernel in in_order({one["kernel"] for one in records}):
        columns = [kernel, str(sum(one["kernel"] == kernel for one in records))]
        for of_seed in seeds.values():
            measured = [one for one in of_seed if one["kernel"] == kernel and "ratio" in one]
            columns.append(f"{worst(measured)['ratio']:.3f}, "
                           f"{statistics.median(one['ratio'] for one in measured):.3f}"
                           if measured else "not measured")
        last = worst([one for one in records if one["kernel"] == kernel])
        columns.append("" if last is None else f"{last['shape']}, {last['dtype']}, "
                       f"{last['launch']}: {verdict(last)}")
        lines.append(markdown_line(columns))
    return "\n".join(lines + [""] + below(records) + failures(records, not_begun))


def below(records):
    """Returns a table of the shapes that did not meet the bar."""
    missed = sorted((one for one in records if verdict(one) in ("BELOW", "within spread")),
                    key=lambda one: one["ratio"])
    if not missed:
        return [f"No shape is below {BAR}."]
    return [f"Shapes below {BAR}; spread is how far the reference's own windows lie apart:", "",
            markdown_line(COLUMNS), "|---" * len(COLUMNS) + "|",
            *(markdown_line(cells(one)) for one in missed)]


def failures(records, not_begun):
    """Returns what is missing from the tables."""
    lines = [f"- {one['kernel']} {one['shape']} {one['dtype']}, {name}: {error}"
             for one in records for name, error in one["errors"].items()]
    lines += [f"- seed {seed}, {kernel}: `{reference}` was not begun within the time limit"
              for seed, kernel, reference in not_begun]
    return ["", "Not measured:", "", *lines] if lines else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="?", help="folder of assay-runner")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=list(KERNELS))
    parser.add_argument("--shapes", type=int, default=8, choices=range(1, MOST_SHAPES + 1),
                        metavar="N", help=f"number per kernel, at most {MOST_SHAPES}; 8")
    parser.add_argument("--out", help="JSON file of the results")
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--rule", default="fast", choices=["fast", "normal"])
    parser.add_argument("--without", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--compare", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.compare:
        reports = read_all(arguments.compare)
        seeds, not_begun = by_seed(reports)
        print(merged(reports, seeds, not_begun))
        return 0 if passed([one for of_seed in seeds.values() for one in of_seed],
                           not_begun) else 1
    if arguments.programs is None or arguments.seed is None:
        parser.error("PROGRAMS and --seed are required; to merge results, use --compare FILE ...")
    runner = Runner(arguments.programs)
    if not runner.has_gpu():
        print("skipped: assay-runner finds no usable GPU")
        return 77
    if importlib.util.find_spec("torch") is None:
        print("skipped: this Python has no PyTorch")
        return 77
    # The measuring process finds what the compiling ones made, and later seeds' runs the ceilings.
    for name in ("TORCHINDUCTOR_CACHE_DIR", "ASSAY_CACHE_DIR"):
        os.environ.setdefault(name, os.path.join(tempfile.gettempdir(), "random_shapes", name))
        os.makedirs(os.environ[name], exist_ok=True)
    # Several processes compile already.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    earlier = by_seed(read_all(arguments.without))[0].get(arguments.seed, [])
    left_out = {(one["kernel"], one["reference"]) for one in earlier if "ratio" in one}
    drawn = [draw(arguments.seed, kernel, arguments.shapes) for kernel in arguments.kernels]
    report = measure_all([shape for of_index in zip(*drawn) for shape in of_index
                          if (shape.kernel, shape.reference) not in left_out], runner, arguments)
    print("\n".join(summary(report)))
    return 0 if passed(report["shapes"], report["not_begun"]) else 1


if __name__ == "__main__":
    sys.exit(main())

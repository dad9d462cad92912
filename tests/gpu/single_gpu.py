#!/usr/bin/env python3
"""Runs all benchmarks of one GPU, compares them with references and bars, and writes a report.

Starts `assay up` (PostgreSQL, coordinator, agent) from a folder of programs and submits
examples/single-gpu.yaml entry by entry. The references of an entry's bars, most of them PyTorch in
a process that stays loaded, are measured just before and just after the entry. Their mean then
applies to the same temperature and power as our case. All use one GPU, the first or that of --gpu.

Writes report.md, results.csv and references.json to --out. If a reference does not answer in time,
its bars are reported as not measured. The exit code is 1 if a bar is missed or not measured, a case
failed or an entry did not pass, and 77 without a GPU.

    single_gpu.py PROGRAMS REFERENCES --out DIR [--gpu N] [--campaign FILE] [--only WORD ...]
"""

import argparse
import csv
import io
import json
import os
import re
import statistics
import sys

from gpu_bars import is_parity
from references import Programs, Reference, Torch
from single_gpu_bars import all_bars, curves
from system_run import Stack

HERE = os.path.dirname(os.path.abspath(__file__))
# Other metrics to show next to the primary one, by benchmark.
BESIDE = {"sustained": ("time_to_throttle", "steady_tflops", "flops_per_joule")}
SMALL = 1e-3  # Metrics below this are printed with an exponent.


def entries(path):
    """Returns the text of the campaign file up to its benchmarks, and the text of each entry."""
    with open(path) as file:
        text = file.read()
    head, listed = text.split("\nbenchmarks:\n")
    chunks = re.split(r"(?m)^  - ", listed)[1:]
    return head, ["  - " + re.sub(r"(?m)^  #.*\n", "", chunk) for chunk in chunks]


def on_gpu(gpu, entry):
    """Returns the entry restricted to GPU `gpu`; entries of CPU benchmarks are unchanged."""
    if entry.split()[1].startswith("cpu_"):
        return entry
    end = entry.rindex("}")
    return entry[:end] + ("" if entry[:end].endswith("{") else ", ") + f"gpus: [{gpu}]" + entry[end:]


def as_reported(word):
    """Converts a size such as "4KiB" to bytes, as results show it; keeps other words."""
    size = re.fullmatch(r"(\d+)([KMGT])iB", word)
    return str(int(size[1]) << 10 * (1 + "KMGT".index(size[2]))) if size else word


def holds(entry, selector):
    """Returns true if an entry `- name: {a: 1, b: [2, 3], c: =a}` may have the selected case."""
    benchmark, *pairs = selector.split()
    if entry.split()[1].rstrip(":") != benchmark:
        return False
    body = entry[entry.index("{") + 1:entry.rindex("}")]
    values = {name: [as_reported(word.strip()) for word in text.strip("[]").split(",")]
              for name, text in re.findall(r"(\w+): *(\[[^\]]*\]|[^,]+)", body)}
    for name, value in (pair.split("=", 1) for pair in pairs):
        words = values.get(name, [value])  # Not given: the default, which bars refer to.
        if words[0].startswith("="):
            words = values[words[0][1:]]
        if value not in words:
            return False
    return True


def parameters(row):
    return dict(pair.split("=", 1) for pair in row["parameters"].split(";") if "=" in pair)


def find(rows, selector):
    """Returns the last successful result that "benchmark k=v k=v" selects, or None."""
    benchmark, *pairs = selector.split()
    wanted = dict(pair.split("=", 1) for pair in pairs)
    found = [row for row in rows
             if row["benchmark"] == benchmark and row["outcome"] == "ok"
             and all(parameters(row).get(name) == value for name, value in wanted.items())]
    return found[-1] if found else None


def alike(row, other):
    """Returns true if both rows are results of the same case, or the same row."""
    return all(row[name] == other[name] for name in ("benchmark", "parameters", "outcome"))


class Campaigns:
    """The results of the entries that have run: primary metrics, and times by result."""

    def __init__(self, stack):
        self.stack = stack
        self.rows = []
        self.times = {}
        self.beside = {}  # Texts of the metrics in BESIDE.
        self.failed = []
        self.not_passed = []  # Names of campaigns; some of their cases may have no row.

    def run(self, name, text):
        print(self.stack.campaign(text), flush=True)
        if self.stack.code != 0:
            self.not_passed.append(name)
        rows = sorted(self.stack.rows(name), key=lambda row: row["time"])
        self.rows += rows
        self.failed += [row for row in rows if row["outcome"] == "failed"]
        for row in self.of_metric(name, "time"):
            self.times[self.key(row)] = float(row["median"])
        for metric in dict.fromkeys(one for row in rows for one in BESIDE.get(row["benchmark"], ())):
            for row in self.of_metric(name, metric):
                self.beside.setdefault(self.key(row), []).append(
                    f"{metric} {number(row['median'])} {row['unit']}")

    def of_metric(self, name, metric):
        listed = self.stack.run("results", "--campaign", name, "--filter", f'metric="{metric}"',
                                "-o", "csv", "-n", "0")
        return csv.DictReader(io.StringIO(listed))

    @staticmethod
    def key(row):
        return row["benchmark"], row["parameters"], row["job_id"]

    def seconds(self, row):
        return self.times[self.key(row)]


class Judged:
    """The outcome of one bar. `turns` are the answers of its reference."""

    def __init__(self, bar, campaigns, turns):
        self.bar = bar
        self.row = find(campaigns.rows, bar.case)
        kind, reference = bar.reference[0], bar.reference[1]
        self.ours = self.theirs = self.ratio = self.spread = None
        self.source = {"torch": "PyTorch", "case": reference}.get(kind, bar.reference[-1])
        if self.row is None:
            return
        self.ours = statistics.median(float(row["median"]) for row in campaigns.rows
                                      if alike(row, self.row))
        if kind == "published":
            self.theirs = reference
        elif kind in ("torch", "program"):
            measured = Reference(turns)
            if measured.errors or not measured.turns:
                self.source = "; ".join(dict.fromkeys(measured.errors))
                return
            self.source += measured.backend()
            field = "seconds" if bar.by_time else "value"
            self.theirs = measured.median(field) if kind == "program" else measured.mean(field)
            self.spread = measured.spread()
        else:
            other = find(campaigns.rows, reference)
            if other is None:
                return
            self.theirs = campaigns.seconds(other) if bar.by_time else float(other["median"])
        if bar.by_time:
            self.ours = campaigns.seconds(self.row)
            self.ratio = self.theirs / self.ours
        else:
            self.ratio = self.ours / self.theirs

    def verdict(self):
        if self.ratio is None:
            return "not measured"
        if self.bar.band:
            return "met" if abs(self.ratio - 1) <= self.bar.band else "MISSED"
        if not self.bar.least:
            return ""
        if self.bar.same_call and is_parity(self.ratio, self.bar.least, self.spread):
            return "parity"
        if self.ratio < self.bar.least:
            return "MISSED"
        return "stretch met" if self.bar.stretch and self.ratio >= self.bar.stretch else "met"

    def line(self):
        unit = "s" if self.bar.by_time else (self.row or {}).get("unit", "")
        bar = f"within {self.bar.band:.0%}" if self.bar.band else (
            f"{self.bar.least:.2f}" if self.bar.least else "")
        stretch = f" ({self.bar.stretch:.2f})" if self.bar.stretch else ""
        return (f"| {self.bar.name} | {number(self.ours)} {unit} | {number(self.theirs)} | "
                f"{'' if self.spread is None else f'{self.spread:.1%}'} | "
                f"{'' if self.ratio is None else f'{self.ratio:.3f}'} | {bar}{stretch} | "
                f"{self.verdict()} | {self.source} |")


class JudgedCurve:
    """The outcome of a curve. `points` has each parameter value and our primary metric for it."""

    def __init__(self, curve, rows):
        self.curve = curve
        found = [(value, find(rows, f"{curve.benchmark} {curve.parameter}={value}"))
                 for value in curve.values]
        self.rows = [row for _, row in found if row]
        self.points = [(value, float(row["median"])) for value, row in found if row]

    def verdict(self):
        if len(self.points) < len(self.curve.values):
            return "not measured"
        metric = [value for _, value in self.points]
        better = max if self.rows[0]["direction"] == "higher" else min
        falls = all(better(one, other) == one and one != other
                    for one, other in zip(metric, metric[1:]))
        of_theory = [abs(one - 1) <= self.curve.band for one in self.of_theory()]
        return "met" if falls and all(of_theory) else "MISSED"

    def of_theory(self):
        """Returns each metric relative to theory, scaled to the first point; [] without it."""
        if not self.curve.theory or not self.points:
            return []
        (begin, first), scale = self.points[0], self.curve.theory
        return [metric / (first * scale(value) / scale(begin)) for value, metric in self.points]

    def line(self):
        text = ", ".join(f"{value}: {number(metric)}" for value, metric in self.points)
        unit = self.rows[0]["unit"] if self.rows else ""
        theory = ", ".join(f"{one:.3f}" for one in self.of_theory())
        bar = f"within {self.curve.band:.0%}" if self.curve.theory else "worse with each"
        return (f"| {self.curve.benchmark} | {self.curve.parameter} | {text} {unit} | {theory} | "
                f"{bar} | {self.verdict()} |")


def number(value):
    if value is None or value == "":
        return ""
    value = float(value)
    return f"{value:.4g}" if abs(value) >= SMALL else f"{value:.3e}"


def percent(text):
    return f"{float(text):.0%}" if text else ""


def catalogue(campaigns):
    """Returns a table with a line for every result."""
    lines = ["| benchmark | parameters | result | time | spec | ceiling | clock | regime | "
             "SM MHz | W | flags |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in campaigns.rows:
        if row["outcome"] != "ok":
            lines.append(f"| {row['benchmark']} | {row['parameters']} | {row['outcome']}: "
                         f"{row['failure_message']} | | | | | | | | |")
            continue
        value = f"{number(row['median'])} {row['unit']}"
        lines.append(
            f"| {row['benchmark']} | {row['parameters'].replace(';', ' ')} | "
            f"{', '.join([value, *campaigns.beside.get(campaigns.key(row), [])])} | "
            f"{number(campaigns.seconds(row))} s | "
            f"{percent(row.get('efficiency_spec'))} | {percent(row.get('efficiency_measured'))} | "
            f"{percent(row.get('efficiency_clock'))} | {row.get('regime', '')} | "
            f"{number(row['sm_clock_mhz'])} | {number(row['power_watts'])} | "
            f"{row['flag'].replace(';', ' ')} |")
    return lines


def report(campaigns, judged, bent, command):
    first = next((row for row in campaigns.rows if row.get("gpu.model")), None)
    software = "No result of a GPU." if first is None else (
        f"{first['time'][:10]}, driver {first['driver']}, CUDA {first['cuda']}, "
        f"cuBLAS {first['cublas']}.")
    lines = [f"# One {first['gpu.model'] if first else 'GPU'}, the whole catalogue", "",
             f"{software} One run of `{command}`.", "",
             "Times are medians; spec, ceiling and clock are the three efficiencies (against the "
             "sheet, the measured ceilings, the peak at the observed clock). `shared_gpu` on every "
             "result is the process of the references, idle while a case runs.", "",
             "## Bars", "", "Ratio: ours over the reference's rate, or the reference's time over "
             "ours; a reference without a bar is shown for comparison. PyTorch's is the mean of a "
             "turn right before the campaign entry and one right after it (a reference without a "
             "bar: after it only), and its spread is how far the halves of these turns' windows "
             "lie apart, over their mean: at the power limit, clocks follow temperature, and no "
             "ratio is better known than that. Parity: the same call of the same library, no further "
             "from the bar, above or below, than the reference's spread, or half a percent. Of bare "
             "programs and what is held to them: the median of several processes in turns, for the "
             "pace of launches is a process's own.", "",
             "| bar | ours | reference | its spread | ratio | bar (stretch) | | against |",
             "|---|---|---|---|---|---|---|---|"]
    lines += [one.line() for one in judged]
    if bent:
        lines += ["", "## Curves", "", "The primary metric at each value of the parameter, and over "
                  "what theory makes of the first: a bank serves one word a cycle, and branches "
                  "that a warp takes run one after the other.", "",
                  "| benchmark | parameter | metric | over theory | bar | |",
                  "|---|---|---|---|---|---|"] + [one.line() for one in bent]
    return "\n".join(lines + ["", "## Every case", ""] + catalogue(campaigns)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", help="folder of assay, assay-coordinator, ...")
    parser.add_argument("references", help="folder of gpu_reference_launch")
    parser.add_argument("--out", required=True)
    parser.add_argument("--gpu", type=int, default=0, help="its index, in the order of PCI; 0")
    parser.add_argument("--campaign", default=os.path.join(HERE, "../../examples/single-gpu.yaml"))
    parser.add_argument("--only", nargs="*", default=[], help="entries that contain one of these")
    arguments = parser.parse_args()
    head, listed = entries(arguments.campaign)
    if arguments.only and not any(word in entry for word in arguments.only for entry in listed):
        parser.error(f"--only: no entry of {arguments.campaign} contains "
                     f"{' or '.join(arguments.only)}")
    os.makedirs(arguments.out, exist_ok=True)
    bars = all_bars()
    with Stack(arguments.programs, None) as stack:
        gpus = json.loads(stack.run("node", "list", "-o", "json"))[0]["description"][
            "inventory"].get("gpus", [])
        if not 0 <= arguments.gpu < len(gpus):
            print(f"skipped: --gpu is {arguments.gpu}, and this node's GPUs are 0 to "
                  f"{len(gpus) - 1}" if gpus else "skipped: this node has no GPU")
            return 77
        # Makes our GPU the references' GPU 0. The agent sets the GPUs of its own processes.
        os.environ.update(CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_VISIBLE_DEVICES=str(arguments.gpu))
        campaigns = Campaigns(stack)
        references = {"torch": Torch(), "program": Programs(arguments.references)}
        turns = {}  # Answers of the references that run around our cases, by bar.
        for index, entry in enumerate(listed):
            if arguments.only and not any(word in entry for word in arguments.only):
                continue
            beside = [bar for bar in bars
                      if bar.reference[0] in references and holds(entry, bar.case)]
            judging = dict.fromkeys(bar.reference[:2] for bar in beside if bar.least or bar.band)
            measured = {bar.reference[:2]: [] for bar in beside}
            for turn in range(max((bar.processes for bar in beside), default=1)):
                for one in judging:
                    measured[one].append(references[one[0]].measure(one[1]))
                name = f"single-gpu-{index:02}" + (f"-{turn + 1}" if turn else "")
                campaigns.run(name, re.sub(r"(?m)^name: .*$", f"name: {name}", head) +
                              "\nbenchmarks:\n" + on_gpu(arguments.gpu, entry))
            for one in measured:
                measured[one].append(references[one[0]].measure(one[1]))
            turns.update((bar.name, measured[bar.reference[:2]]) for bar in beside)
        judged = [Judged(bar, campaigns, turns.get(bar.name, [])) for bar in bars]
        bent = [JudgedCurve(curve, campaigns.rows) for curve in curves()]
        if arguments.only:
            judged = [one for one in judged if one.row is not None]
            bent = [one for one in bent if one.rows]
        references["torch"].close()
        with open(os.path.join(arguments.out, "results.csv"), "w") as file:
            file.write(stack.run("results", "-o", "csv", "-n", "0"))
    with open(os.path.join(arguments.out, "references.json"), "w") as file:
        json.dump({**references["torch"].turns, **references["program"].turns}, file, indent=1)
    text = report(campaigns, judged, bent, "tests/gpu/single_gpu.py PROGRAMS REFERENCES --out DIR")
    with open(os.path.join(arguments.out, "report.md"), "w") as file:
        file.write(text)
    print(text)
    for row in campaigns.failed:
        print(f"FAILED {row['benchmark']} {row['parameters']}: {row['failure_message']}")
    verdicts = [one.verdict() for one in judged + bent if one.verdict()]
    missed = [verdict for verdict in verdicts if verdict in ("MISSED", "not measured")]
    print(f"{len(verdicts)} bars, {len(missed)} missed; {len(campaigns.rows)} results, "
          f"{len(campaigns.failed)} failed; {len(campaigns.not_passed)} campaigns not passed"
          + "".join(f" {name}" for name in campaigns.not_passed))
    return 1 if missed or campaigns.failed or campaigns.not_passed else 0


if __name__ == "__main__":
    sys.exit(main())

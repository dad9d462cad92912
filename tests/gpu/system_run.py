#!/usr/bin/env python3
"""The whole system on the GPUs of this machine, beside PyTorch on the same GPUs.

Starts `assay up` (PostgreSQL, coordinator, agent) from a folder of programs, then
  1. runs the bars: a campaign and the PyTorch reference in turns, several rounds,
     so that both meet the same temperature and power;
  2. runs a sweep over all GPUs, dtypes and message sizes;
and writes to --out what `assay results` reads back from PostgreSQL: bars.txt,
results.csv, results.txt, nodes.json, campaign outputs. Exit code 1 if a bar is
missed or a campaign failed, 77 without a GPU.

    system_run.py PROGRAMS --out DIR [--rounds 3] [--ranks 2 4]
                  [--data DIR] [--no-bars] [--no-sweep]
"""

import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from gpu_bars import bars, run_json, table, REFERENCE


def bars_campaign(name, ranks):
    """One round: the cases of gpu_bars.bars(), on GPU 0 or on the first `ranks` GPUs."""
    return f"""name: {name}
benchmarks:
  - gemm: {{m: [4096, 8192], n: =m, k: =m, dtype: bf16, gpus: [0]}}
  - memory_bandwidth: {{op: copy, bytes: 4GiB, gpus: [0]}}
""" + (f"  - all_reduce: {{ranks: {ranks}, bytes: 1GiB, in_place: true}}\n" if ranks else "")


def sweep_campaign(name, ranks):
    """Every GPU, dtype and message size; GPUs are measured side by side."""
    return f"""name: {name}
exclusive: gpu
benchmarks:
  - gemm: {{m: [1024, 4096, 8192], n: =m, k: =m, dtype: [fp32, tf32, bf16, fp16]}}
  - memory_bandwidth: {{op: [copy, triad], bytes: 4GiB}}
""" + (f"  - all_reduce: {{ranks: {ranks}, bytes: {{from: 8, to: 8GiB, factor: 4}}}}\n"
       if ranks else "") + """accept:
  - gemm[dtype=bf16, m=8192].tflops >= 60% of spec
  - memory_bandwidth[op=copy].bandwidth >= 80% of spec
"""


class Stack:
    """`assay up` on free ports; a context manager. Without `data`, on a folder that goes."""

    def __init__(self, programs, data, agent=True):
        self.assay = os.path.join(programs, "assay")
        self.agent = agent
        self.temporary = None if data else tempfile.mkdtemp(prefix="assay-", dir="/var/tmp")
        if self.temporary:
            os.chmod(self.temporary, 0o755)  # PostgreSQL runs as another user than root.
        self.data = data or os.path.join(self.temporary, "up")

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.assay, "up", "--data", self.data,
             "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
             *([] if self.agent else ["--no-agent"])], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.strip().startswith("Coordinator:"):
                self.address = line.split()[1]
            if line.startswith("Stop it"):
                if self.agent:
                    self.await_nodes(1)
                return self
        sys.exit(f"system_run: assay up ended with exit code {self.process.wait()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        if self.temporary:
            shutil.rmtree(self.temporary, ignore_errors=True)

    def run(self, *arguments):
        """Standard output of one assay command; its exit code is in `self.code`."""
        done = subprocess.run([self.assay, *arguments, "--coordinator", self.address],
                              stdout=subprocess.PIPE, text=True, timeout=900)
        self.code = done.returncode
        return done.stdout

    def await_nodes(self, count, seconds=30):
        """Returns when `count` nodes are connected."""
        deadline = time.monotonic() + seconds
        while True:
            nodes = json.loads(self.run("node", "list", "-o", "json"))
            connected = [one for one in nodes if one["state"] == "NODE_STATE_CONNECTED"]
            if len(connected) >= count:
                return
            if time.monotonic() > deadline:
                sys.exit(f"{len(connected)} of {count} nodes connected within {seconds} s")

    def campaign(self, text):
        """Submits and watches; the watch's output."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return self.run("campaign", "submit", file.name, "--watch")

    def rows(self, campaign):
        text = self.run("results", "--campaign", campaign, "-o", "csv", "-n", "0")
        return list(csv.DictReader(io.StringIO(text)))


def matches(row, runner_arguments):
    """Is this result the case that `assay-runner run` would be given so?"""
    benchmark, *parameters = runner_arguments
    own = dict(pair.split("=") for pair in row["parameters"].split(";"))
    own["bytes"] = {"4294967296": "4GiB", "1073741824": "1GiB"}.get(own.get("bytes"), own.get("bytes"))
    return row["benchmark"] == benchmark and all(
        own.get(pair.split("=")[0]) == pair.split("=")[1] for pair in parameters)


def run_bars(stack, arguments, out):
    chosen = bars(["gemm", "copy"] + (["all_reduce"] if arguments.ranks else []), arguments.ranks)
    values = [(bar, [], []) for bar in chosen]
    for round_number in range(1, arguments.rounds + 1):
        name = f"bars-{round_number}"
        out.write(stack.campaign(bars_campaign(name, arguments.ranks)))
        rows = stack.rows(name)
        for bar, ours, theirs in values:
            found = [row for row in rows if matches(row, bar.runner) and row["outcome"] == "ok"]
            if len(found) != 1:
                sys.exit(f"system_run: {len(found)} results of {bar.name} in {name}:\n{rows}")
            reference = run_json([sys.executable, REFERENCE, *bar.reference])
            ours.append(float(found[0]["median"]))
            theirs.append(reference["value"])
            line = (f"{bar.name}, round {round_number}: assay {float(found[0]['median']):.2f}, "
                    f"torch {reference['value']:.2f} {reference['unit']}; "
                    f"SM {found[0]['sm_clock_mhz']} MHz, {found[0]['power_watts']} W, "
                    f"{found[0]['temperature_celsius']} C, flags [{found[0]['flag']}]; "
                    f"{json.dumps(reference)}")
            print(line, flush=True)
            out.write(line + "\n")
    text, missed = table(values)
    print(text, flush=True)
    out.write(text + "\n")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", help="folder of assay, assay-coordinator, ...")
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", nargs="*", type=int, default=[2])
    parser.add_argument("--data", help="folder that keeps the database; default: one that goes")
    parser.add_argument("--no-bars", action="store_true")
    parser.add_argument("--no-sweep", action="store_true")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)

    def save(name, text):
        with open(os.path.join(arguments.out, name), "w") as file:
            file.write(text)

    with Stack(arguments.programs, arguments.data) as stack:
        nodes = stack.run("node", "list", "-o", "json")
        save("nodes.json", nodes)
        gpus = len(json.loads(nodes)[0]["description"]["inventory"].get("gpus", []))
        if gpus == 0:
            print("skipped: this node has no GPU")
            return 77
        arguments.ranks = [ranks for ranks in arguments.ranks if ranks <= gpus]
        print(stack.run("node", "list"), stack.run("benchmark", "list"), flush=True)
        failed = False
        if not arguments.no_bars:
            with open(os.path.join(arguments.out, "bars.txt"), "w") as out:
                failed = run_bars(stack, arguments, out)
        if not arguments.no_sweep:
            watched = stack.campaign(sweep_campaign("sweep", arguments.ranks))
            failed = failed or stack.code != 0
            print(watched, flush=True)
            save("sweep.txt", watched)
        save("results.csv", stack.run("results", "-o", "csv", "-n", "0"))
        listing = stack.run("results", "-n", "0")
        save("results.txt", listing)
        print(listing, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

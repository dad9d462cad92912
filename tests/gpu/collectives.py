#!/usr/bin/env python3
"""Compares collectives and links of one machine's GPUs with NCCL called directly.

Starts `assay up` (PostgreSQL, coordinator, agent) from a folder of programs and submits
examples/collectives.yaml entry by entry. After each entry, gpu_reference_nccl runs the same cases
on the same GPUs, either in loops of nccl-tests or in loops as long as Assay's samples. Each case is
run alternately by both sides: --rounds times or, up to 1 MiB, --starts times with new processes
each time. A case that misses its bar is repeated as often again (turns.py).

Entries with `nodes: 2` run on two more agents, each with half of the GPUs, which NCCL treats as two
machines. Finally, other programs check their own bars: gpu_slow_rank (is a delayed rank named?) and
network_bench.py (tcp_bandwidth compared with iperf3). Select these with --only slow_rank and --only
network.

Writes report.md, results.csv and references.json to --out. The exit code is 1 if a bar is missed, a
case failed or an entry did not pass, and 77 with fewer than two GPUs.

    collectives.py PROGRAMS REFERENCES --out DIR [--campaign FILE] [--only WORD ...]
                   [--ranks N ...] [--rounds N] [--starts N] [--seconds N]
"""

import argparse
import contextlib
import csv
import io
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time

from collective_bars import MIB, size
from single_gpu import Campaigns, entries, number, parameters
from system_run import Stack
from turns import lines_of

HERE = os.path.dirname(os.path.abspath(__file__))
# Other metrics to show next to the primary one, by benchmark.
BESIDE = {"overlap": ("gemm_slowdown", "collective_slowdown")}
NCCL = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all",
        "gather", "scatter", "send_recv")
RING_BYTES, RING, RING_STRETCH = 256 * MIB, 0.75, 0.90
SKIPPED = 77


class Reference:
    """Runs gpu_reference_nccl for one number of ranks, or gpu_reference_peer, and asks for times.

    `answers` has all answers so far, by program and command. If the program ends, or does not
    answer within PATIENCE seconds, the answer is {"error": reason}, also for the other commands to
    that program in the same turn.
    """

    PATIENCE = 120  # Seconds. Filling and moving 8 GiB takes a few.

    def __init__(self, folder):
        self.folder = folder
        self.answers = {}
        self.process = None
        self.running = None

    def measure(self, asked):
        """Returns the answers to `asked`, a list of (program with arguments, command).

        Commands to the same program share one process, except for sizes up to 1 MiB, which each get
        a new process (turns.py explains why).
        """
        answers, broken = {}, {}
        for program, command in sorted(set(asked)):
            if program[0] == "gpu_reference_nccl" and int(command.split()[1]) <= MIB:
                self.stop()
            answer = broken.get(program) or self.ask(program, command)
            if "error" in answer:
                broken[program] = answer
            answers[program, command] = answer
            self.answers.setdefault(" ".join((*program, command)), []).append(answer)
        self.stop()
        return answers

    def ask(self, program, command):
        try:
            self.start(program)
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except OSError as error:  # The program does not exist or has ended.
            return self.give_up(str(error))
        if not select.select([self.process.stdout], [], [], self.PATIENCE)[0]:
            return self.give_up(f"no answer within {self.PATIENCE} s: {command}")
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else self.give_up("it ended, and said why above")

    def give_up(self, why):
        name = self.running[0] if self.running else "the reference"
        if self.process:
            self.process.kill()
        self.stop()
        return {"error": f"{name}: {why}"}

    def start(self, program):
        if program != self.running:
            self.stop()
            self.running = program
            self.process = subprocess.Popen(
                [os.path.join(self.folder, program[0]), *program[1:]], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True)

    def stop(self):
        """Ends the program, because an idle one counts as another process on the GPUs."""
        if self.process:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.wait(timeout=60)
            self.process.stdout.close()
        self.process, self.running = None, None


class Agent:
    """An additional agent that uses some of the GPUs. A context manager."""

    def __init__(self, programs, coordinator, name, gpus):
        self.folder = tempfile.mkdtemp(prefix="assay-", dir="/var/tmp")
        self.process = subprocess.Popen(
            [os.path.join(programs, "assay-agent"), "--data", self.folder, "--coordinator",
             coordinator, "--listen", "", "--http", "", "--name", name,
             "--gpus", ",".join(map(str, gpus)), "--advertise-address", "127.0.0.1",
             "--label", "half=yes"], stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)


def connected(stack):
    listed = json.loads(stack.run("node", "list", "-o", "json"))
    return [node for node in listed if node.get("state") == "NODE_STATE_CONNECTED"]


def pairs_among(entry):
    """Returns how many GPUs a peer_transfer entry measures pairs of; 0 for other entries."""
    found = re.search(r"peer_transfer:.*\branks: (\d+)", entry)
    return int(found[1]) if found else 0


def without_subsets(listed):
    """Drops peer_transfer entries for fewer GPUs; the one for most GPUs includes their pairs."""
    most = max(map(pairs_among, listed), default=0)
    return [entry for entry in listed if pairs_among(entry) in (0, most)]


def fitted(entry, gpus, ranks):
    """Returns the entry reduced to what this machine has enough GPUs for; "" if nothing remains.

    For collectives, this removes numbers of ranks: those above `gpus` and, if `ranks` is not empty,
    those not in it. For peer_transfer, it removes GPUs that do not exist.
    """
    pairs = pairs_among(entry) > 0

    def kept(name, text):
        numbers = list(map(int, re.findall(r"\d+", text)))
        if name != "ranks":
            return [number for number in numbers if number < gpus]
        if pairs:
            return [min(*numbers, gpus)]
        return [n for n in numbers if n <= gpus and (not ranks or n in ranks)]

    lists = {name: kept(name, text) for name, text in
             re.findall(r"\b(ranks|from|to): (\[[^]]*\]|\d+)", entry)}
    if not all(lists.values()):
        return ""
    return re.sub(r"\b(ranks|from|to): (\[[^]]*\]|\d+)",
                  lambda found: f"{found[1]}: {lists[found[1]]}", entry)


def reference_of(row):
    """Returns the reference program and command for the case of a row; None if there is none."""
    given = parameters(row)
    if row["outcome"] != "ok":
        return None
    if row["benchmark"] == "peer_transfer":
        if given["engine"] != "copy":
            return None
        return ("gpu_reference_peer",), " ".join(
            (given["from"], given["to"], given["bytes"], given["mode"], given["direction"]))
    plain = (row["benchmark"] in NCCL and given["nodes"] == "1" and given["aggregate"] == "1" and
             given["launch"] == "stream" and given.get("op", "sum") == "sum" and
             given.get("root", "0") == "0")
    if not plain:
        return None
    place = "in" if given["in_place"] == "true" else "out"
    loops = "short" if given["policy"] == "nccl_tests" else "long"
    return (("gpu_reference_nccl", given["ranks"]),
            f"{row['benchmark']} {given['bytes']} {given['dtype']} {place} {loops}")


def ring_lines(campaigns):
    """Compares our ring with NCCL's all-reduce of the same size, type and number of ranks."""
    lines, missed = [], 0
    for row in campaigns.rows:
        if row["benchmark"] != "ring_all_reduce" or row["outcome"] != "ok":
            continue
        given = parameters(row)
        other = next((one for one in campaigns.rows if one["benchmark"] == "all_reduce" and
                      one["outcome"] == "ok" and
                      all(parameters(one).get(name) == given[name]
                          for name in ("ranks", "bytes", "dtype")) and
                      parameters(one).get("nodes", "1") == "1" and
                      parameters(one).get("policy", "assay") == "assay"), None)
        if other is None:
            continue
        ratio = campaigns.seconds(other) / campaigns.seconds(row)
        judged = int(given["bytes"]) >= RING_BYTES
        verdict = "" if not judged else "MISSED" if ratio < RING else (
            "stretch met" if ratio >= RING_STRETCH else "met")
        missed += verdict == "MISSED"
        lines.append(f"| {given['ranks']} | {size(int(given['bytes']))} | "
                     f"{number(row['median'])} | {number(other['median'])} | {ratio:.3f} | "
                     f"{verdict} | {number(row.get('efficiency_measured'))} |")
    return lines, missed


def model_lines(campaigns):
    """Returns a line for the model of each collective and number of ranks, from the last result."""
    last = {}
    for row in campaigns.rows:
        given = parameters(row)
        if row.get("model_sizes") and given.get("policy", "assay") == "assay":
            last[row["benchmark"], given["ranks"], given.get("nodes", "1")] = row
    return [f"| {name}{'' if nodes == '1' else f' over {nodes} nodes'} | {ranks} | "
            f"{row['model_sizes']} | {float(row['model_latency_seconds']) * 1e6:.2f} | "
            f"{float(row['model_bandwidth']) * 1e-9:.1f} | "
            f"{size(round(float(row['model_knee_bytes'])))} | {float(row['model_error']):.0%} |"
            for (name, ranks, nodes), row in last.items()]


def other_lines(campaigns, judged, beside):
    """Returns a line for every result that no other table shows."""
    shown = {id(row) for one in judged for row in one.rows}
    lines = []
    for row in campaigns.rows:
        given = parameters(row)
        same = "from" in given and given["from"] == given["to"]
        if id(row) in shown or row["benchmark"] == "ring_all_reduce" or same:
            continue
        what = row["parameters"].replace(";", " ")
        value = (f"{number(row['median'])} {row['unit']} | {number(campaigns.seconds(row))} s"
                 if row["outcome"] == "ok" else f"{row['outcome']}: {row['failure_message']} |")
        value = value.replace(" |", beside.get(campaigns.key(row), "") + " |", 1)
        lines.append(f"| {row['benchmark']} | {what} | {value} | "
                     f"{row['flag'].replace(';', ' ')} |")
    return lines


def report(campaigns, judged, beside, others, left_out, command):
    lines = collective_lines(campaigns, judged, beside, command) if campaigns.rows else []
    lines += [one.text() for one in others]
    if left_out:
        lines += ["", "Left out for want of time:", ""] + [entry.strip() for entry in left_out]
    return "\n".join(lines) + "\n"


def collective_lines(campaigns, judged, beside, command):
    first = next(row for row in campaigns.rows if row.get("gpu.model"))
    rings, _ = ring_lines(campaigns)
    lines = [f"# Collectives and links of {first['gpu.model']} GPUs", "",
             f"{first['time'][:10]}, driver {first['driver']}, CUDA {first['cuda']}, NCCL "
             f"{first.get('nccl', '')}. One run of `{command}`.", "",
             "## Against NCCL and peer copies called directly", "",
             "Times in us, medians. By policy: `assay`, ours of samples of at least 10 ms, of the "
             "slowest rank, the reference of loops as long, of the mean over ranks; `nccl_tests`, "
             "both of nccl-tests' loop of 20 calls, of the mean over ranks. Both are medians "
             "over starts, in turns, each with ranks of its own. Spread is the reference's "
             "from the 5th to the 95th percentile, the median over starts; apart how far the "
             "starts' medians lie apart, of ours and of the reference. The ratio is the "
             "reference's time over ours; the bar is 1% from 1 MiB on, below it 3% or the "
             "spread, and 2% for peer copies. Parity: short of it, and yet the starts do not tell "
             "ours from what would meet it (Wilcoxon's exact one-sided test, 5%). A case that "
             "misses takes as many turns again, by itself. GB/s is the bus bandwidth.", "",
             "| benchmark | ranks | bytes | | ours | reference | spread | starts | apart, ours | "
             "reference's | GB/s | ratio | bar | | flags |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    lines += [one.text() for one in judged]
    lines += ["", "## Our ring against NCCL's all-reduce", "",
              "| ranks | bytes | ring, bus GB/s | NCCL, bus GB/s | ratio | bar 0.75 (0.90) "
              "| of NCCL after it, in one process |", "|---|---|---|---|---|---|---|"] + rings
    lines += ["", "## The alpha-beta model", "",
              "Of all other sizes of the same collective and ranks: latency, bandwidth of the "
              "payload, the knee, the median distance of a size from the line of the others.", "",
              "| collective | ranks | sizes | latency us | GB/s | knee | error |",
              "|---|---|---|---|---|---|---|"] + model_lines(campaigns)
    lines += ["", "## Links, overlap, gangs over two agents", "",
              "| benchmark | parameters | result | time | flags |", "|---|---|---|---|---|"]
    return lines + other_lines(campaigns, judged, beside)


class Other:
    """A bar that another program checks: its output, and the verdict from its exit code."""

    def __init__(self, title, *commands, env=None):
        """Runs `commands` in order until one does not exit with SKIPPED."""
        self.title, self.printed = title, ""
        code = SKIPPED
        for command in commands:
            if code == SKIPPED:
                code = self.run(command, env)
        self.verdict = {0: "met", SKIPPED: "skipped"}.get(code, "MISSED")

    def run(self, command, env):
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False, env=env)
        except OSError as error:
            self.printed += str(error)
            return error.errno
        self.printed += done.stdout
        return done.returncode

    def text(self):
        return f"\n## {self.title}\n\n```\n{self.printed.strip()}\n```\n\n{self.verdict}\n"


def slow_rank(_, references, gpus):
    return Other("A rank delayed by 200 us is named",
                 [os.path.join(references, "gpu_slow_rank"), str(gpus)])


def network(programs, *_):
    bench = [sys.executable, os.path.join(HERE, "../e2e/network_bench.py")]
    build = os.path.dirname(os.path.abspath(programs))
    return Other("The network between nodes", bench, [*bench, "--loopback"],
                 env={**os.environ, "ASSAY_BUILD": build})


OTHERS = {"slow_rank": slow_rank, "network": network}


def beside_of(campaigns, name, benchmark):
    """Returns, for each result, the text of the metrics shown next to its primary metric."""
    texts = {}
    for metric in BESIDE.get(benchmark, ()):
        listed = campaigns.stack.run("results", "--campaign", name, "--filter",
                                     f'metric="{metric}"', "-o", "csv", "-n", "0")
        for row in csv.DictReader(io.StringIO(listed)):
            key = campaigns.key(row)
            texts[key] = texts.get(key, "") + f", {metric} {number(row['median'])}"
    return texts


def run_entry(campaigns, head, entry, name, nodes):
    head = re.sub(r"(?m)^name: .*$", f"name: {name}", head)
    head = re.sub(r"(?m)^nodes: .*$", f"nodes: '{nodes}'", head)
    before = len(campaigns.rows)
    campaigns.run(name, head + "\nbenchmarks:\n" + entry)
    return campaigns.rows[before:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", help="folder of assay, assay-coordinator, ...")
    parser.add_argument("references", help="folder of gpu_reference_nccl and gpu_reference_peer")
    parser.add_argument("--out", required=True)
    parser.add_argument("--campaign", default=os.path.join(HERE, "../../examples/collectives.yaml"))
    parser.add_argument("--only", nargs="*", default=[],
                        help="entries that contain one of these; slow_rank, network")
    parser.add_argument("--ranks", nargs="*", type=int, default=[],
                        help="of the rank counts of the campaign only these")
    parser.add_argument("--rounds", type=int, default=3,
                        help="ours and the reference in turns so many times; 3 if not given")
    parser.add_argument("--starts", type=int, default=9,
                        help="the same for the sizes up to 1 MiB; 9 if not given")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="begin no entry and no further turn after this time; the report "
                             "names the entries left out")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.seconds
    head, listed = entries(arguments.campaign)
    for word in arguments.only:
        if word not in OTHERS and not any(word in entry for entry in listed):
            parser.error(f"no entry of {arguments.campaign} contains {word}, and it is none of "
                         f"{', '.join(OTHERS)}")
    listed = without_subsets(listed)
    os.makedirs(arguments.out, exist_ok=True)
    judged, beside, left_out = [], {}, []
    with Stack(arguments.programs, None) as stack:
        node = connected(stack)[0]["description"]
        gpus = len(node["inventory"].get("gpus", []))
        if gpus < 2:
            print(f"skipped: this node has {gpus} GPUs, and a collective needs two")
            return SKIPPED
        campaigns, reference = Campaigns(stack), Reference(arguments.references)
        chosen = [(index, fitted(entry, gpus, arguments.ranks)) for index, entry in enumerate(listed)
                  if not arguments.only or any(word in entry for word in arguments.only)]

        def take_turn(part, name):
            rows = run_entry(campaigns, head, part, name, f'name = "{node["name"]}"')
            beside.update(beside_of(campaigns, name, part.split()[1].rstrip(":")))
            known = [(row, reference_of(row)) for row in rows]
            known = [(row, asked) for row, asked in known if asked]
            answers = reference.measure([asked for _, asked in known])
            return [(row, campaigns.seconds(row), answers[asked]) for row, asked in known]

        for index, entry in chosen:
            if not entry or "nodes: 2" in entry:
                continue
            if time.monotonic() > deadline:
                left_out.append(entry)
                continue
            judged += lines_of(
                entry, lambda part, number, index=index: take_turn(
                    part, f"collectives-{index:02}-{number + 1}"),
                arguments.rounds, arguments.starts, lambda: time.monotonic() > deadline)
        gangs = [(index, entry) for index, entry in chosen if entry and "nodes: 2" in entry]
        if gangs:
            half = gpus // 2
            with Agent(arguments.programs, stack.address, "half-0", range(half)), \
                    Agent(arguments.programs, stack.address, "half-1", range(half, 2 * half)):
                stack.await_nodes(3)
                for index, entry in gangs:
                    if time.monotonic() > deadline:
                        left_out.append(entry)
                        continue
                    run_entry(campaigns, head, entry, f"collectives-{index:02}",
                              'label.half = "yes"')
        with open(os.path.join(arguments.out, "results.csv"), "w") as file:
            file.write(stack.run("results", "-o", "csv", "-n", "0"))
        print(stack.run("node", "show", node["name"]))
    with open(os.path.join(arguments.out, "references.json"), "w") as file:
        json.dump(reference.answers, file, indent=1)
    others = []
    for name, measured in OTHERS.items():
        if arguments.only and name not in arguments.only:
            continue
        if time.monotonic() > deadline:
            left_out.append(name)
            continue
        others.append(measured(arguments.programs, arguments.references, gpus))
    text = report(campaigns, judged, beside, others, left_out,
                  "tests/gpu/collectives.py PROGRAMS REFERENCES --out DIR")
    with open(os.path.join(arguments.out, "report.md"), "w") as file:
        file.write(text)
    print(text)
    for row in campaigns.failed:
        print(f"FAILED {row['benchmark']} {row['parameters']}: {row['failure_message']}")
    missed = sum(one.missed() for one in judged) + ring_lines(campaigns)[1]
    missed += sum(one.verdict == "MISSED" for one in others)
    print(f"{len(judged) + len(others)} comparisons, {missed} missed; "
          f"{len(campaigns.rows)} results, "
          f"{len(campaigns.failed)} failed; {len(campaigns.not_passed)} campaigns not passed"
          + "".join(f" {name}" for name in campaigns.not_passed))
    return 1 if missed or campaigns.failed or campaigns.not_passed else 0


if __name__ == "__main__":
    sys.exit(main())

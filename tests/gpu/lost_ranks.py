#!/usr/bin/env python3
"""Kills and freezes ranks of GPU collectives in every phase, on real GPUs.

Starts `assay up` without its agent, and three agents. One has all GPUs, so that its jobs run on one
node and the ranks communicate over NVLink. The other two have half of the GPUs each, which NCCL
treats as two machines. The runner of a random rank gets SIGKILL or SIGSTOP as soon as the job is in
the phase to test. After that, the test checks:

- The job fails within seconds, with an error that names the rank.
- No runner is left, and no process holds a GPU.
- The same collective succeeds on the same GPUs.

The exit code is 1 if a check fails, and 77 with fewer than two GPUs.

    lost_ranks.py PROGRAMS [--rounds N] [--seed N]
"""

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../e2e"))

from harness import eventually
from system_run import Stack

# "prepare": the runners have started. "final": the verification after timing.
PHASES = ("prepare", "rendezvous", "verify", "warm_up", "measure", "final")
MET = PHASES[2:]  # Phases in which the ranks exchange heartbeats.
# Maximum seconds to the end of the job. A frozen rank reports nothing, and its peers wait 15 s for
# a heartbeat. Before the first heartbeat they would wait for up to a minute.
BOUNDS = {"kill": 20, "stop": 40}
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
REASONS = {"kill": "RUNNER_CRASHED", "stop": "PEER_FROZEN"}
ENTRY = "all_reduce: {{ranks: {ranks}, nodes: {nodes}, bytes: 64MiB}}"
CAMPAIGN = """name: lost-ranks
nodes: 'label.set = "{label}"'
placement: any
retries: 0
timeout: 120s
benchmarks:
  - """


class Agent:
    """An agent that uses some or all of the GPUs. Agents with the same `label` share jobs."""

    def __init__(self, programs, stack, folder, name, label, gpus=()):
        self.label = label
        self.log = os.path.join(folder, f"{name}.log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [os.path.join(programs, "assay-agent"), "--data", os.path.join(folder, name),
                 "--coordinator", stack.address, "--listen", "", "--http", "", "--name", name,
                 *(["--gpus", ",".join(map(str, gpus))] if gpus else []),
                 "--advertise-address", "127.0.0.1", "--label", f"set={label}",
                 "--log-level", "debug"], stderr=log)

    def stop(self):
        """Ends the agent. Resumes frozen runners first, because they would not end otherwise."""
        for pid in self.runners():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.process.terminate()
        self.process.wait(timeout=60)

    def runners(self):
        """Returns the process ids of the agent's runners that have a job or a rank of one."""
        children = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{entry}/stat") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{entry}/cmdline") as line:
                    if parent == self.process.pid and "serve" in line.read().split("\0"):
                        children.append(int(entry))
        return children

    def mark_log(self):
        """Makes `said` search only the lines that are logged from now on."""
        self.mark = os.path.getsize(self.log)

    def said(self, pattern):
        with open(self.log, errors="replace") as file:
            file.seek(self.mark)
            return re.search(pattern, file.read(), re.DOTALL)


def gpu_processes():
    listed = subprocess.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    return listed.split()


def submit(stack, text):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        said = stack.run("campaign", "submit", file.name)
    return re.search(r"\(([0-9a-f-]{36})\)", said)[1]


def how_it_ended(stack, campaign):
    """Returns the output of `campaign show` once the campaign has ended; "" while it runs."""
    shown = json.loads(stack.run("campaign", "show", campaign, "-o", "json"))
    active = shown["state"] == "CAMPAIGN_STATE_ACTIVE"
    return "" if active else stack.run("campaign", "show", campaign)


def trial(stack, agents, ranks, phase, kind, source):
    """Sends a signal to one rank and checks the outcome with assertions.

    Returns the seconds from the signal to the end of the job.
    """
    for agent in agents:
        agent.mark_log()
    text = CAMPAIGN.format(label=agents[0].label) + ENTRY.format(ranks=ranks, nodes=len(agents))
    campaign = submit(stack, text)

    def runners():
        return [pid for agent in agents for pid in agent.runners()]

    eventually(lambda: len(runners()) == ranks, 30, f"{ranks} runners", 0.002)
    victim = source.choice(runners())
    if phase != "prepare":
        pattern = "is in phase measure.*is in phase verify" if phase == "final" else (
            f"is in phase {phase}\n")
        eventually(lambda: any(agent.said(pattern) for agent in agents),
                   60, f"phase {phase}", 0.002)
    begin = time.monotonic()
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, SIGNALS[kind])
    try:
        shown = eventually(lambda: how_it_ended(stack, campaign), BOUNDS[kind],
                           "the end of the job")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGCONT)
    took = time.monotonic() - begin
    failure = re.search(r": ([A-Z_]+): (.*\brank \d+\b.*)", shown)
    if failure:
        assert failure[1] == REASONS[kind], shown
    else:  # The job may have ended before the signal arrived.
        assert phase == "final" and "Jobs:  1 succeeded" in shown, shown
    eventually(lambda: not runners(), 15, "the end of all runners")
    eventually(lambda: not gpu_processes(), 15, "the end of every process on the GPUs")
    again = submit(stack, text)
    shown = eventually(lambda: how_it_ended(stack, again), 90, "the same job after it")
    assert "Jobs:  1 succeeded" in shown, shown
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", help="folder of assay, assay-coordinator, ...")
    parser.add_argument("--rounds", type=int, default=1, help="of every phase and signal")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    arguments = parser.parse_args()
    source = random.Random(arguments.seed)
    print(f"seed {arguments.seed}", flush=True)
    done = failed = 0
    with contextlib.ExitStack() as cleanup:
        folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="assay-", dir="/var/tmp"))
        stack = cleanup.enter_context(Stack(arguments.programs, None, agent=False))

        def agent(*its):
            one = Agent(arguments.programs, stack, folder, *its)
            cleanup.callback(one.stop)
            return one

        whole = agent("whole", "whole")
        stack.await_nodes(1)
        node, = json.loads(stack.run("node", "list", "-o", "json"))
        gpus = len(node["description"]["inventory"].get("gpus", []))
        if gpus < 2:
            print(f"skipped: this node has {gpus} GPUs, and a collective needs two")
            return 77
        half = gpus // 2
        halves = [agent("half-0", "half", range(half)),
                  agent("half-1", "half", range(half, 2 * half))]
        stack.await_nodes(3)
        for _ in range(arguments.rounds):
            for agents, ranks in (([whole], gpus), (halves, 2 * half)):
                for phase, kind in [*((phase, "kill") for phase in PHASES),
                                    *((phase, "stop") for phase in MET)]:
                    what = f"{kind} at {phase}, {ranks} ranks on {len(agents)} node(s)"
                    done += 1
                    try:
                        took = trial(stack, agents, ranks, phase, kind, source)
                        print(f"ok   {what}: ended in {took:.1f} s", flush=True)
                    except AssertionError as error:
                        failed += 1
                        print(f"FAIL {what}: {error}", flush=True)
    print(f"{done} losses, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Judges a real GPU: equal runs must not differ, and a busy neighbour must become a regression.

Starts `assay up` (PostgreSQL, coordinator, agent) from a folder of programs, then
  1. runs one campaign ten times under two names, in the order A B B A, and compares the names;
  2. runs it twice more, then eight times while another process keeps the GPU busy, and waits until
     the coordinator has confirmed the regression by reruns.
Prints the verdicts. The exit code is 1 if a case of 1 regressed or improved, or if 2 is not
confirmed.

    judge.py PROGRAMS [--gpu N] [--neighbour COMMAND]
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time

from system_run import Stack

STARTS = 10
MORE_BEFORE = 2
BESIDE_NEIGHBOUR = 8
PATIENCE_SECONDS = 150


def campaign(name, gpu):
    return f"""name: {name}
benchmarks:
  - memory_bandwidth: {{op: copy, bytes: 1GiB, gpus: [{gpu}]}}
  - gemm: {{m: 2048, n: =m, k: =m, dtype: bf16, gpus: [{gpu}]}}
  - softmax: {{gpus: [{gpu}]}}
"""


def compare(stack):
    """Returns whether no case differs between both names."""
    compared = json.loads(stack.run("compare", "--by", "campaign", "aa-a", "aa-b", "-o", "json"))
    print(stack.run("compare", "--by", "campaign", "aa-a", "aa-b"), flush=True)
    verdicts = [one["verdict"] for one in compared["cases"]]
    return len(verdicts) == 3 and not {"regressed", "improved"} & set(verdicts)


def await_confirmed(stack):
    """Returns whether a regression is confirmed in time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        listed = json.loads(stack.run("regressions", "-o", "json"))
        if any(one["state"] == "confirmed" for one in listed["incidents"]):
            return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--neighbour", help="command that keeps the GPU busy until it is ended")
    arguments = parser.parse_args()
    runner = os.path.join(arguments.programs, "assay-runner")
    # Settings of the coordinator that `assay up` starts: minutes instead of hours.
    os.environ |= {"ASSAY_JUDGE_EVERY": "1s", "ASSAY_RERUN_SPACING": "1s"}
    # Several at a time, so that one is measuring while the others start.
    neighbour = shlex.split(arguments.neighbour) if arguments.neighbour else [
        "bash", "-c", "for i in 1 2 3 4; do while true; do "
        f"{runner} run memory_bandwidth op=copy bytes=1GiB >/dev/null 2>&1; done & done; wait"]
    with Stack(arguments.programs, None) as stack:
        print(json.loads(stack.run("node", "list", "-o", "json"))[0]["description"]["inventory"]
              ["gpus"][arguments.gpu]["name"], flush=True)
        for start in range(STARTS):
            stack.campaign(campaign("aa-a" if start % 4 in (0, 3) else "aa-b", arguments.gpu))
        equal = compare(stack)
        for _ in range(MORE_BEFORE):
            stack.campaign(campaign("nightly", arguments.gpu))
        other = subprocess.Popen(neighbour, start_new_session=True)
        try:
            for _ in range(BESIDE_NEIGHBOUR):
                stack.campaign(campaign("nightly", arguments.gpu))
            confirmed = await_confirmed(stack)
        finally:
            os.killpg(other.pid, signal.SIGKILL)
        print(stack.run("regressions", "-v"), flush=True)
        print(stack.run("history", "softmax"), flush=True)
    print(f"equal starts: {'no difference' if equal else 'a DIFFERENCE'}; "
          f"busy neighbour: {'confirmed' if confirmed else 'NOT confirmed'}")
    sys.exit(0 if equal and confirmed else 1)


if __name__ == "__main__":
    main()

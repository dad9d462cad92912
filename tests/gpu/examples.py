#!/usr/bin/env python3
"""The campaigns of examples/ on the GPUs of this machine, through the whole system.

Starts `assay up` (PostgreSQL, coordinator, agent) from a folder of programs, submits each campaign
and writes to --out what `assay results` reads back from PostgreSQL: one CSV file for each campaign,
with all metrics, and nodes.json. Exit code 1 if a campaign failed, 77 without a GPU.

    examples.py PROGRAMS EXAMPLES --out DIR [--only NAME ...] [--limit SECONDS]

EXAMPLES is the folder of campaign files. By default, those that one GPU can run. No campaign starts
after --limit.
"""

import argparse
import json
import os
import sys
import time

from system_run import Stack

ONE_GPU = ("environment-check", "fp32-gemm-baseline", "roofline", "ffn-sweep", "matmul-ladder",
           "tile-size", "softmax-fusion", "layernorm-linear", "flash-attention", "coalescing",
           "bank-conflicts", "divergence", "occupancy", "block-size", "memory-hierarchy",
           "l2-masking", "counters", "cpu-vs-gpu", "format-sweep", "performance-per-watt")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", help="folder of assay, assay-coordinator, ...")
    parser.add_argument("examples", help="folder of campaign files")
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", nargs="*", default=ONE_GPU)
    parser.add_argument("--limit", type=float, default=float("inf"))
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    begin = time.monotonic()
    failed = []
    with Stack(arguments.programs, None) as stack:
        nodes = stack.run("node", "list", "-o", "json")
        if not json.loads(nodes)[0]["description"]["inventory"].get("gpus"):
            print("skipped: this node has no GPU")
            return 77
        with open(os.path.join(arguments.out, "nodes.json"), "w") as file:
            file.write(nodes)
        for name in arguments.only:
            if time.monotonic() - begin > arguments.limit:
                failed.append(name)
                print(f"{name}: not started within {arguments.limit:.0f} s", flush=True)
                continue
            submitted = time.monotonic()
            watched = stack.run("campaign", "submit",
                                os.path.join(arguments.examples, name + ".yaml"), "--watch")
            if stack.code:
                failed.append(name)
            print(f"{name}: exit code {stack.code} after {time.monotonic() - submitted:.0f} s\n"
                  f"{watched}", flush=True)
            with open(os.path.join(arguments.out, name + ".csv"), "w") as file:
                file.write(stack.run("results", "--campaign", name, "-o", "csv", "-n", "0",
                                     "--filter", "primary = true OR primary = false"))
    print("failed:", ", ".join(failed) or "none")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

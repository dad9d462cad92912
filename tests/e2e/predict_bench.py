"""Measures how long predictions take among a million stored results.

A database is filled by history_bench; a tenth of its results become GEMMs, copies and all-reduces
on H200. `assay predict` and `assay plan` then ask a coordinator for measured figures. Prints the
median and the 95th percentile of each command's time, start of the program included. Ends with 1 if
a prediction exceeds 200 ms; a plan asks once per GPU and has no goal.

    predict_bench.py [--rows 1000000] [--runs 30]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

from harness import BUILD, Fleet

GOAL_MS = 200
CLI = os.path.join(BUILD, "bin", "assay")
COMMANDS = {
    "predict matmul": ["predict", "matmul", "--gpu", "H200", "m=4096", "n=4096", "k=4096"],
    "predict decode": ["predict", "decode", "--model", "llama-3-70b", "--gpu", "H200", "--tp", "4",
                       "--batch", "32", "--context", "4096"],
    "predict allreduce": ["predict", "allreduce", "--gpu", "H200", "--gpus", "8", "--bytes",
                          "1GiB"],
    "plan serve, 3 GPUs": ["plan", "serve", "--model", "llama-3-70b", "--gpu",
                           "H100 SXM,H200 SXM,B200", "--input-tokens", "1024", "--output-tokens",
                           "256"],
}
# history_bench names its benchmarks benchmark0 to benchmark9.
RENAMES = """
UPDATE series SET benchmark = 'gemm', parameters = parameters || '{"n": "4096", "k": "4096",
  "batch": "1"}' WHERE benchmark = 'benchmark0';
UPDATE series SET benchmark = 'memory_bandwidth', metric = replace(metric, 'tflops', 'bandwidth'),
  parameters = parameters || '{"op": "read", "cache": "cold", "bytes": "1073741824"}'
  WHERE benchmark = 'benchmark1';
UPDATE series SET benchmark = 'all_reduce', metric = replace(metric, 'tflops', 'bus_bandwidth'),
  parameters = parameters || '{"ranks": "8", "nodes": "1", "aggregate": "1",
  "bytes": "1073741824"}' WHERE benchmark = 'benchmark2';
ANALYZE series;
"""


def fill(fleet, rows):
    """Fills the database "postgres" of the fleet's server with `rows` results."""
    subprocess.run([os.path.join(BUILD, "tests", "history_bench"), "--rows", str(rows), "--runs",
                    "1", "--folder", fleet.path("pg")], check=False, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    # history_bench's server takes no connections over TCP.
    with open(fleet.path("pg", "data", "pg_hba.conf"), "a", encoding="utf-8") as rules:
        rules.write("host all all 127.0.0.1/32 trust\n")


def milliseconds(command, address, runs):
    times = []
    for _ in range(runs + 3):
        begin = time.monotonic()
        subprocess.run([CLI, *command, "--coordinator", address, "-o", "json"], check=True,
                       stdout=subprocess.DEVNULL)
        times.append((time.monotonic() - begin) * 1e3)
    return sorted(times[3:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=30)
    arguments = parser.parse_args()
    met = True
    with Fleet() as fleet:
        fill(fleet, arguments.rows)
        fleet.postgres.start()
        fleet.postgres.rows(RENAMES, "postgres", writable=True)
        fleet.coordinator = fleet.new_coordinator(
            "coordinator", database=fleet.postgres.conninfo_of("postgres")).start()
        print(f"| command, {arguments.rows:,} results, goal {GOAL_MS} ms | p50 ms | p95 ms |\n"
              "|---|---:|---:|", flush=True)
        for name, command in COMMANDS.items():
            times = milliseconds(command, fleet.address(), arguments.runs)
            slow = times[int(0.95 * len(times))]
            met = met and (slow <= GOAL_MS or name.startswith("plan"))
            print(f"| `{name}` | {statistics.median(times):.0f} | {slow:.0f} |", flush=True)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()

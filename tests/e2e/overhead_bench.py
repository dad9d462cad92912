"""Measures the overhead of Assay from outside, on real processes.

- start: from spawning `assay campaign submit` to the first instruction of the first
  runner that the agent starts for it.
- outside: a job's duration, as the coordinator stored it, minus the time that its
  runner spent measuring (a fake runner that takes exactly `millis`).
- rate: jobs per second of one agent if each job takes no time.
"""

import os
import statistics
import sys
import time

import harness
from harness import Fleet

ROUNDS = 20
MILLIS = 100
START_LIMIT_MS = 100
OUTSIDE_LIMIT_MS = 50

RUNNER = """#!/bin/sh
if [ "$1" = serve ]; then date +%s%N >>'{log}'; fi
exec '{runner}' "$@"
"""


def recording_runner(fleet):
    """Returns (path of a runner that first records the time, path of its records)."""
    path, log = fleet.path("recording-runner"), fleet.path("starts")
    with open(path, "w", encoding="ascii") as file:
        file.write(RUNNER.format(log=log, runner=harness.FAKE_RUNNER))
    os.chmod(path, 0o755)
    open(log, "w", encoding="ascii").close()
    os.chmod(log, 0o666)
    return path, log


def report(name, values, unit, limit=None):
    values = sorted(values)
    median = statistics.median(values)
    line = (f"{name:<44} median {median:8.1f} {unit}  min {values[0]:8.1f}  "
            f"p95 {values[int(0.95 * (len(values) - 1))]:8.1f}")
    print(line + (f"  limit {limit}" if limit else ""), flush=True)
    return limit is None or median < limit


def starts(log):
    with open(log, encoding="ascii") as file:
        return [int(line) for line in file]


def measure_start_and_outside(fleet, log):
    delays, outside = [], []
    for _ in range(ROUNDS):
        campaign_file = fleet.write_campaign(
            f"name: overhead\nbenchmarks:\n  - slow: {{value: 1, millis: {MILLIS}}}\n")
        seen = len(starts(log))
        began = time.time_ns()
        fleet.cli("campaign", "submit", campaign_file, "--watch")
        delays.append((starts(log)[seen] - began) / 1e6)
        outside.append(float(fleet.postgres.value(
            "SELECT extract(epoch FROM end_time - start_time) * 1000 FROM job "
            "ORDER BY end_time DESC LIMIT 1")) - MILLIS)
    return delays, outside


def measure_rate(fleet, jobs):
    campaign = fleet.submit(
        f"name: rate\nrepetitions: {jobs}\nbenchmarks:\n  - ok: {{value: 1}}\n")
    fleet.await_end(campaign, 300)
    return jobs / float(fleet.postgres.value(
        "SELECT extract(epoch FROM max(end_time) - min(start_time)) FROM job "
        f"WHERE campaign_id = '{campaign}'"))


def main():
    with Fleet() as fleet:
        fleet.start()
        runner, log = recording_runner(fleet)
        fleet.agent("node-a", runner=runner)
        delays, outside = measure_start_and_outside(fleet, log)
        fine = report("submit to the first runner's start", delays, "ms", START_LIMIT_MS)
        fine &= report("job time outside the runner's measuring", outside, "ms", OUTSIDE_LIMIT_MS)
        report("jobs through one agent", [measure_rate(fleet, 50)], "jobs/s")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()

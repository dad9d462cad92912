"""Measures what fleets of simulated nodes cost the coordinator and PostgreSQL.

For each size: cores and memory while the fleet is idle, times of calls, and the rate and the CPU
time of a campaign of jobs with one case each. PostgreSQL runs without fsync, and everything shares
this machine.

    fleet_bench.py [--all] [--idle SECONDS] [NODES ...]     # 100 1000, with --all also 10000
"""

import argparse
import os
import re
import sys
import time

from harness import BUILD, Fleet, children, eventually, let_pass

TICKS = os.sysconf("SC_CLK_TCK")
CALLS = 40
JOBS_PER_NODE = 2
CORE_LIMIT, GIB_LIMIT, LIST_LIMIT_S = 0.08, 0.4, 0.2  # At 1,000 nodes.
LIMITS_AT = 1000


def stat(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()


def cpu_seconds(pid):
    fields = stat(pid, "stat").rsplit(")", 1)[1].split()
    # User and system time of the process and of its ended children.
    return sum(int(fields[i]) for i in (11, 12, 13, 14)) / TICKS


class Usage:
    """CPU time and memory of the coordinator and of PostgreSQL with its processes."""

    def __init__(self, fleet):
        self._coordinator, self._postgres = fleet.coordinator.pid, fleet.postgres.server.pid

    def cpu(self):
        """Returns the CPU seconds so far: (coordinator, PostgreSQL)."""
        total = cpu_seconds(self._postgres)
        for pid in children(self._postgres):
            try:
                total += cpu_seconds(pid)
            except OSError:
                pass  # It has ended, so it counts as an ended child from now on.
        return cpu_seconds(self._coordinator), total

    def mib(self):
        """Returns (coordinator, its peak, PostgreSQL)."""
        status = stat(self._coordinator, "status")
        own = [int(re.search(rf"{name}:\s*(\d+)", status).group(1)) / 1024
               for name in ("VmRSS", "VmHWM")]
        pages = 0
        for pid in [self._postgres, *children(self._postgres)]:
            try:
                # Each process's share of what several map.
                pages += int(re.search(r"^Pss:\s*(\d+)", stat(pid, "smaps_rollup"), re.M).group(1))
            except OSError:
                pass
        return own[0], own[1], pages / 1024


def per_second(usage, seconds):
    before, began = usage.cpu(), time.monotonic()
    let_pass(seconds)
    lived = time.monotonic() - began
    return [(after - start) / lived for start, after in zip(before, usage.cpu())]


def p99_of(action):
    """Returns median and 99th percentile of CALLS calls, or of those of the first 30 s."""
    times, end = [], time.monotonic() + 30
    while len(times) < CALLS and (not times or time.monotonic() < end):
        began = time.monotonic()
        action()
        times.append(time.monotonic() - began)
    times.sort()
    return times[len(times) // 2], times[min(len(times) - 1, int(0.99 * len(times)))]


def query_p99s(fleet):
    """Returns the 99th percentiles of database queries, as upper bounds of histogram buckets."""
    buckets = {}
    for query, bound, count in re.findall(
            r'assay_db_query_duration_seconds_bucket\{[^}]*query="([^"]+)"[^}]*le="([^"]+)"\} (\S+)',
            fleet.metrics(fleet.coordinator)):
        buckets.setdefault(query, []).append((float(bound), float(count)))
    found = {}
    for query, pairs in buckets.items():
        pairs.sort()
        total = pairs[-1][1]
        if total:
            found[query] = next(bound for bound, count in pairs if count >= 0.99 * total)
    return found


def say(name, text, fine=True):
    print(f"  {name:<34} {text}{'' if fine else '   MISSED'}", flush=True)
    return fine


def measure(nodes, idle):
    judged = nodes == LIMITS_AT
    with Fleet() as fleet:
        fleet.lease, fleet.heartbeat = "30s", "10s"
        fleet.start()
        usage = Usage(fleet)
        print(f"{nodes} nodes", flush=True)
        began = time.monotonic()
        simulation = fleet.add("simulation", [
            os.path.join(BUILD, "bin", "assay-agent"), "simulate", "--coordinator",
            fleet.address(), "--nodes", str(nodes), "--jobs-take", "0ms"], ready=True).start()

        def attached():
            return int(fleet.postgres.value(
                "SELECT count(*) FROM node_session WHERE owner <> ''")) >= nodes
        eventually(attached, 60 + nodes / 20, "all sessions", 0.1)
        say("all attached after", f"{time.monotonic() - began:.1f} s, "
            f"CPU {usage.cpu()[0]:.1f} + {usage.cpu()[1]:.1f} s")
        let_pass(15)  # The first States and their renewals.
        cores = per_second(usage, idle)
        mib = usage.mib()
        fine = say(f"cores, idle for {idle:g} s",
                   f"{cores[0]:.3f} + {cores[1]:.3f}   goal at 1,000: <= {CORE_LIMIT}",
                   not judged or sum(cores) <= CORE_LIMIT)
        fine &= say("memory (coordinator, PostgreSQL)",
                    f"{mib[0]:.0f} + {mib[2]:.0f} MiB, coordinator's peak {mib[1]:.0f}   "
                    f"goal at 1,000: <= {GIB_LIMIT} GiB",
                    not judged or mib[1] + mib[2] <= GIB_LIMIT * 1024)
        median, p99 = p99_of(lambda: fleet.cli("node", "list"))
        fine &= say("assay node list",
                    f"median {median:.3f} s, p99 {p99:.3f} s   goal at 1,000: < {LIST_LIMIT_S} s",
                    not judged or p99 < LIST_LIMIT_S)
        run_jobs(fleet, usage, nodes)
        median, p99 = p99_of(lambda: fleet.cli("campaign", "list"))
        say("assay campaign list", f"median {median:.3f} s, p99 {p99:.3f} s")
        slowest = sorted(query_p99s(fleet).items(), key=lambda one: -one[1])[:6]
        say("p99 of queries, at most", ", ".join(f"{name} {bound:g} s" for name, bound in slowest))
        simulation.kill()
    return fine


def run_jobs(fleet, usage, nodes):
    jobs = nodes * JOBS_PER_NODE
    before = usage.cpu()
    campaign = fleet.submit(f"name: one-case\nrepetitions: {JOBS_PER_NODE}\nbenchmarks:\n"
                            "  - cpu_memory_bandwidth: {}\n")
    # Polling the campaign would be part of what is measured.
    eventually(lambda: fleet.postgres.rows(
        f"SELECT 1 FROM campaign WHERE campaign_id = '{campaign}' AND end_time IS NOT NULL"),
        600, "the campaign's end", 0.5)
    after = usage.cpu()
    seconds = float(fleet.postgres.value(
        "SELECT extract(epoch FROM max(end_time) - min(create_time)) FROM job"))
    cost = [1000 * (end - start) / jobs for start, end in zip(before, after)]
    say(f"{jobs} jobs of one case", f"{jobs / seconds:.0f} jobs/s, CPU per job "
        f"{cost[0]:.2f} + {cost[1]:.2f} ms")
    say("peak after the jobs", f"{usage.mib()[1]:.0f} MiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="also 10000 nodes")
    parser.add_argument("--idle", type=float, default=60, help="seconds of idling")
    parser.add_argument("nodes", type=int, nargs="*")
    options = parser.parse_args()
    sizes = options.nodes or [100, 1000] + ([10_000] if options.all else [])
    fine = [measure(nodes, options.idle) for nodes in sizes]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()

"""Measures what Prometheus' scrapes of a coordinator cost with many simulated nodes of eight GPUs.

Everything shares this machine, and PostgreSQL runs without fsync.

    scrape_bench.py [--nodes N] [--scrapes N]               # 10000 nodes, medians of 20
"""

import argparse
import os
import re
import socket
import statistics
import sys
import threading
import time

from fleet_bench import Usage, say
from harness import BUILD, Fleet, eventually, let_pass

GPUS = 8
# Limits at 10,000 nodes.
METRICS_S, METRICS_SERIES, FLEET_S, COUNT_S = 0.1, 2000, 5, 0.02


def scrape(url):
    """Returns seconds, bytes and series of an answer. Uses HTTP/1.0, because urllib would spend most
    of the time on chunks."""
    address, _, path = url.removeprefix("http://").partition("/")
    host, _, port = address.partition(":")
    began, size, series = time.monotonic(), 0, 0
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f"GET /{path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        head, _, data = connection.recv(1 << 16).partition(b"\r\n\r\n")
        if b" 200 " not in head:
            raise ConnectionError(f"no answer, but {head.decode()!r}")
        while data or (data := connection.recv(1 << 20)):
            size += len(data)
            series += data.count(b"\nassay_")
            data = b""
    return time.monotonic() - began, size, series


def median_of(url, count, pause=0.0):
    """Returns the median and the longest time, and size and series of the last answer."""
    times = []
    for _ in range(count):
        seconds, size, series = scrape(url)
        times.append(seconds)
        let_pass(pause)
    return statistics.median(times), max(times), size, series


class Prober:
    """Asks for /healthz all the time, and keeps the longest time."""

    def __init__(self, url):
        self._url, self._stop, self.longest = url, threading.Event(), 0
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._stop.wait(0.02):
            self.longest = max(self.longest, scrape(self._url)[0])

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def mean_query(metrics, name):
    """Returns the mean time of a kind of query."""
    def value(part):
        return float(re.search(
            rf'assay_db_query_duration_seconds_{part}{{query="{name}"}} (\S+)', metrics).group(1))
    return value("sum") / value("count")


def measure(nodes, scrapes):
    with Fleet() as fleet:
        fleet.lease, fleet.heartbeat = "30s", "10s"
        fleet.start()
        usage = Usage(fleet)
        print(f"{nodes} nodes with {GPUS} GPUs, medians of {scrapes} scrapes", flush=True)
        simulation = fleet.add("simulation", [
            os.path.join(BUILD, "bin", "assay-agent"), "simulate", "--coordinator",
            fleet.address(), "--nodes", str(nodes)], ready=True).start()

        def attached():
            return int(fleet.postgres.value(
                "SELECT count(*) FROM node_session WHERE owner <> ''")) >= nodes
        eventually(attached, 60 + nodes / 20, "all sessions", 1)
        base = f"http://{fleet.coordinator.addresses['http']}"

        def all_send():
            try:
                return scrape(f"{base}/metrics/gpus")[2] >= nodes * GPUS * 20
            except OSError:
                return False  # The coordinator is busy with all the new sessions.
        eventually(all_send, 60 + nodes / 20, "telemetry of all GPUs", 5)
        let_pass(15)

        median, longest, size, series = median_of(f"{base}/metrics", scrapes)
        fine = say("/metrics", f"{1000 * median:.1f} ms, at most {1000 * longest:.1f} ms, "
                   f"{series} series, {size / 1e3:.0f} kB   "
                   f"goal: < {1000 * METRICS_S:.0f} ms, < {METRICS_SERIES} series",
                   median < METRICS_S and series < METRICS_SERIES)
        before = usage.cpu()
        with Prober(f"{base}/healthz") as prober:
            median, longest, size, series = median_of(f"{base}/metrics/gpus", scrapes, 1)
        cpu = (usage.cpu()[0] - before[0]) / scrapes
        fine &= say("/metrics/gpus", f"{median:.2f} s, at most {longest:.2f} s, {series} series, "
                    f"{size / 1e6:.0f} MB, CPU {cpu:.2f} s   goal: < {FLEET_S} s",
                    median < FLEET_S)
        say("/healthz meanwhile, at most", f"{1000 * prober.longest:.0f} ms")
        median, longest, _, _ = median_of(f"{base}/sd", scrapes, 1)
        say("/sd", f"{1000 * median:.0f} ms, at most {1000 * longest:.0f} ms")
        count = mean_query(fleet.metrics(fleet.coordinator), "count_nodes")
        fine &= say("count_nodes, mean", f"{1000 * count:.1f} ms   goal: < {1000 * COUNT_S:.0f} ms",
                    count < COUNT_S)
        say("memory (coordinator, its peak)", "{:.0f}, {:.0f} MiB".format(*usage.mib()[:2]))
        simulation.kill()
    return fine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--scrapes", type=int, default=20)
    options = parser.parse_args()
    sys.exit(0 if measure(options.nodes, options.scrapes) else 1)


if __name__ == "__main__":
    main()
